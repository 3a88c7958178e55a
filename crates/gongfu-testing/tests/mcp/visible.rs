//! A person can see what a model reads: no answer holds a character that a screen hides or obeys.

use gongfu_core::text::visible_lines;
use gongfu_testing::sandbox;
use serde_json::{Value, json};

use crate::fixture::Fixture;

/// An escape, a tag, zero width, a bidirectional override and a control character of the second kind.
const HIDDEN: &str = "\u{1b}]0;title\u{7}\u{e0041}\u{200b}\u{202e}\u{9b}";

/// The strings of an answer that hold something hidden.
fn hidden(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) if visible_lines(text) != *text => vec![text.clone()],
        Value::Array(all) => all.iter().flat_map(hidden).collect(),
        Value::Object(members) => members.values().flat_map(hidden).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn no_answer_holds_hidden_characters() {
    let fixture = Fixture::default();
    let description = format!("Divides{HIDDEN} numbers.");
    let quoted = serde_json::to_string(&description).unwrap();
    let document = format!("---\nname: gcd\ndescription: {quoted}\n---\nRead{HIDDEN} this.\n");
    fixture.write("lib/gcd", "SKILL.md", document);
    fixture.write("lib/gcd", "notes.md", format!("Notes{HIDDEN}."));
    for profile in [
        "standard",
        "autosnippet",
        "read_skill",
        "agentskills",
        "skills",
    ] {
        let mut client = fixture.silent_client_of(profile);
        let mut answers = vec![client.initialize("2025-11-25")];
        for list in ["tools/list", "prompts/list", "resources/list"] {
            answers.push(client.ask(list, json!({})));
        }
        answers.push(client.ask("prompts/get", json!({ "name": "gcd" })));
        for answer in &answers {
            assert_eq!(hidden(answer), [""; 0], "{profile}: {answer:#}");
        }
        let told = answers.iter().map(ToString::to_string).collect::<String>();
        assert!(told.contains("Divides"), "{profile}: {told}");
    }
    let mut client = fixture.client();
    fixture
        .space
        .sandbox
        .script(sandbox::good(&format!("said{HIDDEN}\n")));
    for (tool, arguments, part) in [
        ("skill_list", json!({}), "Divides"),
        ("skill_search", json!({ "query": "divides" }), "Divides"),
        ("skill_load", json!({ "skill_name": "gcd" }), "Read"),
        (
            "skill_read",
            json!({ "skill_name": "gcd", "path": "notes.md" }),
            "Notes",
        ),
        (
            "skill_run",
            json!({ "skill_name": "gcd", "command": "say" }),
            "said",
        ),
        (
            "skill_load",
            json!({ "skill_name": format!("no{HIDDEN}") }),
            "no",
        ),
        (&format!("tool{HIDDEN}"), json!({}), "tool"),
    ] {
        let params = json!({ "name": tool, "arguments": arguments });
        let answer = client.request("tools/call", params);
        assert_eq!(hidden(&answer), [""; 0], "{tool}: {answer:#}");
        assert!(answer.to_string().contains(part), "{tool}: {answer:#}");
    }
    // The control: a resource is the file itself, because its digest is told.
    let notes = client.ask(
        "resources/read",
        json!({ "uri": "skill://lib/gcd/notes.md" }),
    );
    assert_eq!(hidden(&notes).len(), 1, "{notes:#}");
}
