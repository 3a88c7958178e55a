//! Frontmatter as it is found in the wild.

use super::Frontmatter;
use crate::skill::Diagnostic;
use crate::skill::source_text::SourceText;

fn read(text: &str) -> (serde_json::Value, Vec<String>) {
    let mut diagnostics: Vec<Diagnostic> = Vec::new();
    let Some(source) = SourceText::decode(text.as_bytes(), "SKILL.md", &mut diagnostics) else {
        panic!("{text:?} is text")
    };
    let frontmatter = Frontmatter::read(&source, &mut diagnostics);
    let codes = diagnostics.iter().map(|found| {
        let place = found
            .position
            .map_or(String::new(), |at| format!("@{}:{}", at.line, at.column));
        format!("{}{place}", found.finding.code())
    });
    (
        serde_json::Value::Object(frontmatter.to_json()),
        codes.collect(),
    )
}

#[test]
fn valid_frontmatter_has_no_findings() {
    for text in [
        "---\nname: a\n---\nbody",
        "---\r\nname: a\r\n---\r\nbody",
        "---  \nname: a\n--- \n",
        "-----\nname: a\n-----\n",
        "---\nname: a\n...\nbody\n",
        "---\nname: a",
    ] {
        let (value, codes) = read(text);
        assert_eq!(value["name"], "a", "{text:?}");
        assert!(
            codes
                .iter()
                .all(|code| code.starts_with("frontmatter-unclosed")),
            "{text:?} {codes:?}"
        );
    }
}

#[test]
fn dashes_inside_values_do_not_end_it() {
    let (value, codes) = read(
        "---\nname: a\ndescription: |\n  one\n  ---\n  two --- three\nlicense: x---y\n---\nbody\n---\n",
    );
    assert_eq!(value["description"], "one\n---\ntwo --- three\n");
    assert_eq!(value["license"], "x---y");
    assert!(codes.is_empty(), "{codes:?}");
}

#[test]
fn value_that_needs_quotes_is_read_as_if_quoted() {
    for (value, meant) in [
        ("Use: when", "Use: when"),
        (
            "first: second\n  third: fourth",
            "first: second third: fourth",
        ),
        ("@home now", "@home now"),
        ("\"A\" or \"B\"", "\"A\" or \"B\""),
        ("[x] done: y", "[x] done: y"),
        ("{{name}} tool: x", "{{name}} tool: x"),
        ("`run` it", "`run` it"),
        ("%percent", "%percent"),
    ] {
        let (read, codes) = read(&format!(
            "---\nname: a\ndescription: {value}\nlicense: MIT\n---\nbody\n"
        ));
        assert_eq!(read["description"], meant, "{value:?} {codes:?}");
        assert_eq!(read["license"], "MIT", "{value:?}");
        assert_eq!(codes, ["yaml-unquoted@3:14"], "{value:?}");
    }
}

#[test]
fn frontmatter_that_is_not_yaml_is_read_by_line() {
    let (value, codes) =
        read("---\nname: a\n\tdescription: tab\nlicense: MIT\nx: [1, 2\n---\nbody\n");
    assert_eq!(value["name"], "a");
    assert_eq!(value["license"], "MIT");
    assert_eq!(codes.len(), 1, "{codes:?}");
    assert!(codes[0].starts_with("yaml-invalid@"), "{codes:?}");
}

#[test]
fn places_survive_a_repair() {
    let (_, codes) = read("---\ndescription: a: \"b\"\nname: x\nname: y\n---\n");
    assert_eq!(codes, ["yaml-unquoted@2:14", "yaml-duplicate-key@4:1"]);
}

#[test]
fn missing_fences_are_reported() {
    assert_eq!(read("# Title\n\ntext\n").1, ["frontmatter-missing@1:1"]);
    assert_eq!(
        read("\n\n---\nname: a\n---\n").1,
        ["frontmatter-not-first@1:1"]
    );
    let (value, codes) = read("---\nname: a\ndescription: d\n\n# Title\ntext: not a field\n");
    assert_eq!(value, serde_json::json!({"name": "a", "description": "d"}));
    assert_eq!(codes, ["frontmatter-unclosed@1:1"]);
    assert_eq!(read("---\n- a\n- b\n---\n").1, ["yaml-not-a-mapping@2:1"]);
}

#[test]
fn a_rule_in_the_body_is_no_fence() {
    let (value, codes) =
        read("---\nname: a\ndescription: d\n\n# Title\nSome text: with: colons\n\n---\nmore\n");
    assert_eq!(value, serde_json::json!({"name": "a", "description": "d"}));
    assert_eq!(codes, ["frontmatter-unclosed@1:1"]);
    let (value, codes) = read("---\nname: a\n\n# a comment\ndescription: one: two\n---\nbody\n");
    assert_eq!(value["description"], "one: two");
    assert_eq!(codes, ["yaml-unquoted@5:14"]);
}
