//! Tests of fenced calls.

use serde_json::json;

use super::parse;

/// The tools, arguments and problems of a text, in short.
fn calls(text: &str) -> Vec<String> {
    let (calls, _) = parse(text);
    let shown = calls.into_iter().map(|call| match call.problem {
        Some(problem) => format!("{}! {problem}", call.tool),
        None => format!("{} {}", call.tool, json!(call.params)),
    });
    shown.collect()
}

#[test]
fn block_is_a_call_and_other_blocks_are_text() {
    let text = "I look.\n```action\n{\"tool\": \"a\", \"params\": {\"x\": 1}}\n```\n";
    assert_eq!(calls(text), ["a {\"x\":1}"]);
    assert_eq!(
        calls("```json\n{\"tool\": \"a\"}\n```"),
        Vec::<String>::new()
    );
    assert_eq!(
        calls("  ```ACTION\r\n{\"tool\": \"a\"}\r\n  ```\r\n"),
        ["a {}"]
    );
    let two =
        "```action\n{\"tool\":\"a\"}\n```\nand\n```action\n{\"tool\":\"b\",\"params\":null}\n```";
    assert_eq!(calls(two), ["a {}", "b {}"]);
}

#[test]
fn block_inside_of_another_block_is_no_call() {
    let text = "````markdown\n```action\n{\"tool\": \"a\"}\n```\n````\n";
    assert_eq!(calls(text), Vec::<String>::new());
    let text = "~~~ markdown\n```action\n{\"tool\": \"a\"}\n```\n~~~\n";
    assert_eq!(calls(text), Vec::<String>::new());
    assert_eq!(
        calls("~~~action\n{\"tool\": \"a\"}\n~~~"),
        Vec::<String>::new()
    );
    assert_eq!(calls("write `` ```action `` so"), Vec::<String>::new());
}

#[test]
fn call_after_an_example_is_found() {
    let example = "```markdown\n```action\n{\"tool\": \"a\"}\n```\n```\n";
    let call = "```action\n{\"tool\": \"b\"}\n```\n";
    assert_eq!(calls(&format!("{example}{call}")), ["b {}"]);
}

#[test]
fn what_follows_the_last_block_is_left_out() {
    let text = "First.\n```action\n{\"tool\": \"a\"}\n```\nObservation: it worked, 12 rows.";
    let (_, known) = parse(text);
    assert_eq!(known, "First.\n```action\n{\"tool\": \"a\"}\n```");
    assert_eq!(parse("No call at all. ").1, "No call at all.");
}

#[test]
fn broken_blocks_say_what_is_wrong() {
    for (text, problem) in [
        (
            "```action\n{\"tool\": \"a\", \"par",
            "the action block doesn't end",
        ),
        (
            "```action\n{\"tool\": \"a\",}\n```",
            "the action block isn't valid JSON",
        ),
        (
            "```action\n[1]\n```",
            "the action block is not a JSON object",
        ),
        (
            "```action\n{\"params\": {}}\n```",
            "the action block has no `tool`",
        ),
        (
            "```action\n{\"tool\": \"a\", \"params\": [1]}\n```",
            "`params` is not a JSON object",
        ),
        ("```action\n```", "the action block isn't valid JSON"),
    ] {
        let found = calls(text);
        assert!(
            found.len() == 1 && found[0].contains(problem),
            "{text:?}: {found:?}"
        );
    }
    // Whole but for its end, it is understood.
    assert_eq!(calls("```action\n{\"tool\": \"a\"}"), ["a {}"]);
}
