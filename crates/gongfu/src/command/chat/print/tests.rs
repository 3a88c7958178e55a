//! Tests of prompts with a text from standard input.

use super::joined;

#[test]
fn text_is_in_a_fence_that_it_does_not_close() {
    for (text, wanted) in [
        ("", "p"),
        (" \n\n", "p"),
        ("a\nb\n", "p\n\n```\na\nb\n```"),
        ("a `b` ``c``", "p\n\n```\na `b` ``c``\n```"),
        ("```\na\n```\n````", "p\n\n`````\n```\na\n```\n````\n`````"),
    ] {
        assert_eq!(joined("p", text), wanted, "{text:?}");
    }
}
