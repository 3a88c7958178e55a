//! Documents as people write them, and what becomes of each.

use serde_json::json;

use super::super::format::{Added, Format};

const PATH: &[&str] = &["mcpServers"];

fn entry() -> serde_json::Value {
    json!({ "command": "/usr/bin/gongfu", "args": ["mcp"] })
}

/// Puts the entry in; taking it out again must give the very bytes back.
fn round(text: &str) -> String {
    let (new, added) = Format::Json.insert(text, PATH, "gongfu", &entry()).unwrap();
    let back = Format::Json.remove(&new, PATH, "gongfu", &added).unwrap();
    assert_eq!(back, text, "after\n{new}");
    new
}

#[test]
fn style_is_kept() {
    for text in [
        "",
        "\n",
        "// only a comment",
        "// only a comment\n",
        "/* c */",
        "{}",
        "{ }",
        "{\n}",
        "{\n\n}\n",
        "{ /* c */ }",
        "{ // c\n}",
        "{\"a\":1}",
        "{\"a\":1,}",
        "{ \"a\": 1 }",
        "{\n  \"a\": 1\n}",
        "{\n  \"a\": 1,\n}\n",
        "{\n\t\"a\": 1 // why\n\t// end\n}\n",
        "{\n\t\"a\": 1, // why\n\t// end\n}\n",
        "{\r\n    \"a\": 1\r\n}\r\n",
        "{\"a\": {\n \"b\": 1}}",
        "{\n  \"mcpServers\": null\n}",
        "{\r\n\t\"a\": 1,\r\n\t\"mcpServers\":null, // none\r\n}\r\n",
        "{\"mcpServers\": null /* none */,}",
        "{\n  \"mcpServers\": {}\n}",
        "{\n  \"mcpServers\": { }, \"z\": []\n}",
        "{\n  \"mcpServers\": {\n  }\n}",
        "{\n  \"mcpServers\": {\n    // nothing yet\n  }\n}",
        "{\n  \"mcpServers\": { /* nothing yet */ }\n}",
        "{\n  \"mcpServers\": {\n    \"x\": { \"command\": \"x\" } // x\n    /* y */\n  },\n  \"z\": 1\n}",
        "{\"mcpServers\": {\"x\": {\"command\": \"x\"}}}",
        "{\"mcpServers\": {\"x\": {\"command\": \"x\"},}}",
        "{\"mcpServers\": {\"x\": {\"command\": \"x\"} /* c */, /* d */ } }",
        "{\"mcpServers\":\n{\"x\": {\n\"command\": \"x\"}}}",
        "{\"gongfu\": 1, \"a\": {\"mcpServers\": {\"gongfu\": 1}}}",
    ] {
        let new = round(text);
        assert_eq!(new.contains("\r\n"), text.contains("\r\n"), "{new:?}");
        assert!(
            !text.contains("\r\n") || !new.replace("\r\n", "").contains('\n'),
            "{new:?}"
        );
    }
}

#[test]
fn what_is_put_in_looks_like_the_rest() {
    insta::assert_snapshot!(round(
        "{\n\t\"mcpServers\": {\n\t\t\"x\": { \"command\": \"x\" } // the first\n\t\t// more below\n\t}\n}\n"
    ));
    insta::assert_snapshot!(round("{\"mcpServers\": {\"x\": {\"command\": \"x\"}}}"));
    insta::assert_snapshot!(round("// mine\n{\n    \"a\": 1, // one\n}\n"));
}

#[test]
fn edits_in_between_stay() {
    let text = "{\n  \"mcpServers\": {\n    \"x\": {} // x\n  }\n}\n";
    let (new, added) = Format::Json.insert(text, PATH, "gongfu", &entry()).unwrap();
    let ours = new.find("\n    \"gongfu\"").unwrap();
    let end = new.find("\n  }\n}").unwrap();
    let without = |text: &str| Format::Json.remove(text, PATH, "gongfu", &added).unwrap();
    // Behind it.
    let edited = format!("{},\n    \"y\": {{}} // y{}", &new[..end], &new[end..]);
    assert_eq!(
        without(&edited),
        "{\n  \"mcpServers\": {\n    \"x\": {}, // x\n    \"y\": {} // y\n  }\n}\n"
    );
    // Before it.
    let edited = format!("{}\n    \"y\": {{}},{}", &new[..ours], &new[ours..]);
    assert_eq!(
        without(&edited),
        "{\n  \"mcpServers\": {\n    \"x\": {}, // x\n    \"y\": {}\n  }\n}\n"
    );
    // A comma that somebody's formatter put behind it.
    let edited = format!("{},{}", &new[..end], &new[end..]);
    assert_eq!(
        without(&edited),
        "{\n  \"mcpServers\": {\n    \"x\": {}, // x\n  }\n}\n"
    );
    // The others are gone.
    let edited = new.replace("\"x\": {}, // x", "");
    assert_eq!(
        without(&edited).replace(char::is_whitespace, ""),
        "{\"mcpServers\":{}}"
    );
}

#[test]
fn what_was_made_goes_only_when_it_is_empty() {
    let (new, added) = Format::Json
        .insert("{\n  \"a\": 1\n}\n", PATH, "gongfu", &entry())
        .unwrap();
    let other = new.replace("\"mcpServers\": {", "\"mcpServers\": {\n    \"y\": {},");
    let left = Format::Json.remove(&other, PATH, "gongfu", &added).unwrap();
    assert_eq!(
        left,
        "{\n  \"a\": 1,\n  \"mcpServers\": {\n    \"y\": {}\n  }\n}\n"
    );
    let noted = new.replace("\"mcpServers\": {", "\"mcpServers\": {\n    // mine");
    let left = Format::Json.remove(&noted, PATH, "gongfu", &added).unwrap();
    assert!(left.contains("// mine"), "{left}");
    // Without a record the container stays.
    let left = Format::Json
        .remove(&new, PATH, "gongfu", &Added::default())
        .unwrap();
    assert!(left.contains("\"mcpServers\": {"), "{left}");
}

#[test]
fn nothing_becomes_a_part_of_a_comment() {
    let text = "{\"mcpServers\": { // c\n\"gongfu\": {}, \"b\": {}}}";
    let left = Format::Json
        .remove(text, PATH, "gongfu", &Added::default())
        .unwrap();
    assert_eq!(left, "{\"mcpServers\": { // c\n\"b\": {}}}");
}

#[test]
fn single_fields_are_updated() {
    let text = "{\"mcpServers\": {\n  \"gongfu\": {\n    // the old one\n    \"command\": \"/old\", // here\n    \"args\": [\"mcp\"],\n    \"env\": {\"A\": \"b\"} // mine\n  }\n}}";
    let old = json!({ "command": "/old", "args": ["mcp"], "env": { "A": "b" } });
    let new = json!({ "env": { "A": "b" }, "type": "http", "url": "http://127.0.0.1:1/mcp" });
    let changed = Format::Json
        .update(text, PATH, "gongfu", (&old, &new))
        .unwrap();
    insta::assert_snapshot!(changed);
}

#[test]
fn refusals_name_the_place() {
    let refused = |text: &str| {
        let problem = Format::Json.find(text, PATH, "gongfu").unwrap_err();
        format!("{}: {}", problem.code, problem.message)
    };
    insta::assert_snapshot!(
        [
            "{\n  \"a\": 1\n  \"b\": 2\n}",
            "{",
            "{'a': 1}",
            "{a: 1}",
            "[]",
            "\n\"text\"",
            "{\"mcpServers\": []}",
            "null",
            "{\n\"mcpServers\": true}",
            "{\"mcpServers\": \"x\"}",
            "{\"mcpServers\": {},\n\"mcpServers\": {}}",
            "{\"mcpServers\": {\"gongfu\": {},\n\n\"gongfu\": {}}}",
            "{} {}",
        ]
        .map(refused)
        .join("\n")
    );
    let deep = "[".repeat(100_000);
    assert!(refused(&deep).starts_with("unparsable"));
}
