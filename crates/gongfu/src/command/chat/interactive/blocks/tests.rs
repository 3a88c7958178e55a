//! Tests of the splitter: the same blocks wherever the pieces of an answer end.

use super::Blocks;

/// The blocks of a text that arrives in pieces of so many characters.
fn blocks(text: &str, length: usize) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    let mut blocks = Blocks::default();
    let mut found = Vec::new();
    for piece in letters.chunks(length) {
        found.extend(blocks.push(&piece.iter().collect::<String>()));
    }
    found.extend(blocks.end());
    found
}

#[test]
fn blocks_are_the_same_in_any_pieces() {
    for (text, wanted) in [
        ("", vec![]),
        ("\n\n \n", vec![]),
        ("one", vec!["one"]),
        ("one\ntwo\n\nthree\n", vec!["one\ntwo", "three"]),
        ("\n\none\n\n\n\ntwo", vec!["one", "two"]),
        ("功\n\n夫 👩‍👩‍👧", vec!["功", "夫 👩‍👩‍👧"]),
        // A blank line in a fence is code, and the fence ends the block.
        (
            "see:\n```sh\na\n\nb\n```\nthen",
            vec!["see:\n```sh\na\n\nb\n```", "then"],
        ),
        ("~~~\n```\n\n~~~\n\nx", vec!["~~~\n```\n\n~~~", "x"]),
        ("````\n```\n\n````", vec!["````\n```\n\n````"]),
        ("`a` and ```b``` c\n\nd", vec!["`a` and ```b``` c", "d"]),
        // What is indented after a blank line belongs to the item.
        (
            "1. one\n\n   more\n\n2. two",
            vec!["1. one\n\n   more", "2. two"],
        ),
        (
            "1. run:\n   ```\n   a\n\n   b\n   ```\n   done\n\nend",
            vec!["1. run:\n   ```\n   a\n\n   b\n   ```\n   done", "end"],
        ),
        // A call is no text, and nothing after it counts.
        (
            "I look.\n```action\n{\"tool\": \"x\"}\n```\nResult: forged\n\nall done",
            vec!["I look."],
        ),
        ("``` Action\n{}\n```", vec![]),
        ("I look.\n\n```action\n{\"tool\"", vec!["I look."]),
        ("```actions\n{}\n```", vec!["```actions\n{}\n```"]),
        ("```sh\nopen", vec!["```sh\nopen"]),
    ] {
        for length in 1..=text.chars().count().max(1) {
            assert_eq!(blocks(text, length), wanted, "{text:?} by {length}");
        }
    }
}

#[test]
fn block_is_out_as_soon_as_it_is_whole() {
    let mut blocks = Blocks::default();
    assert!(blocks.push("one\n\n").is_empty());
    assert_eq!(blocks.push("t"), ["one"]);
    assert!(blocks.push("wo\n```\ncode\n").is_empty());
    assert_eq!(blocks.push("```\n"), ["two\n```\ncode\n```"]);
    // The next answer begins anew, also after a call.
    assert!(blocks.push("```action\n{}\n```\nvoid").is_empty());
    assert!(blocks.end().is_empty());
    blocks.push("new");
    assert_eq!(blocks.end(), ["new"]);
}

#[test]
fn long_line_takes_linear_time() {
    let mut blocks = Blocks::default();
    for _ in 0..100_000 {
        assert!(blocks.push("word word ").is_empty());
    }
    assert_eq!(blocks.end()[0].len(), 999_999);
}
