//! Fields as `npx skills` 1.7.4 reads them, and documents that it doesn't take.

use gongfu_core::skill::document;

use super::{is_exact, text};

fn name(written: &str) -> Option<String> {
    let source = format!("---\nname: {written}\ndescription: x\n---\n");
    let document = document::parse(source.as_bytes(), "folder").unwrap();
    text(&document, "name")
}

#[test]
fn names_are_lines_without_what_a_terminal_obeys() {
    for (written, expected) in [
        ("plain", Some("plain")),
        (r#""  padded  ""#, Some("padded")),
        (r#""a\nb""#, Some("a b")),
        (r#""a\n\n\nb\n""#, Some("a b")),
        (r#""a\tb""#, Some("a\tb")),
        (r#""read\e[31m-only""#, Some("read-only")),
        (r#""a\e]0;title\ab""#, Some("ab")),
        (r#""a\ePx\e\\b""#, Some("ab")),
        (r#""a\e]open""#, Some("aopen")),
        (r#""a\e[1;2 qb\x9bc\x01d""#, Some("abcd")),
        (r#""a\e""#, Some("a")),
        (r#""\e[0m""#, None),
        ("12", None),
        ("", None),
    ] {
        assert_eq!(name(written).as_deref(), expected, "{written}");
    }
}

#[test]
fn only_documents_of_the_letter_are_exact() {
    let is_exact = |source: &str| {
        let mut diagnostics = Vec::new();
        let document = document::read(source.as_bytes(), "folder", &mut diagnostics).unwrap();
        is_exact(&document, &diagnostics)
    };
    for source in [
        "---\nname: a\ndescription: x\n---\n",
        "\u{feff}---\r\nname: a\r\ndescription: x\r\n---",
    ] {
        assert!(is_exact(source), "{source}");
    }
    for source in [
        "# Title\n",
        "--- \nname: a\ndescription: x\n---\n",
        "\n---\nname: a\ndescription: x\n---\n",
        "---\nname: a\ndescription: x\n",
        "---\nname: a\ndescription: use it: now\n---\n",
        "---\nname: a\nname: b\ndescription: x\n---\n",
        "---\n- name: a\n- description: x\n---\n",
    ] {
        assert!(!is_exact(source), "{source}");
    }
}
