//! The abilities of expressions, and that they end.

use serde_json::{Value, json};

use super::super::expression::Expression;
use super::super::{Scope, StepIdentity};

fn value(text: &str) -> Result<Value, String> {
    let input = json!({"n": 3, "list": [3, 1, 2], "text": "ab", "items": [{"ok": true, "id": "x"}, {"ok": false, "id": "y"}], "long": "x".repeat(100_000)});
    let outputs = json!({"a": {"count": 2, "z": 1, "b": 2}, "hidden": 1});
    let run = StepIdentity {
        id: "r".to_owned(),
        step: "r/s".to_owned(),
        again: false,
    };
    let scope = Scope {
        input: &input,
        outputs: outputs.as_object().unwrap(),
        visible: vec!["a"],
        output: None,
        run: &run,
    };
    Expression::parse(text)?.value(&scope)
}

#[test]
fn expression_has_operators_filters_and_tests() {
    for (text, wanted) in [
        ("input.n + 1", json!(4)),
        ("input.n > 2 and not false", json!(true)),
        ("steps.a.count == 2 if input.n else 'no'", json!(true)),
        ("input.list | sort | join('-')", json!("1-2-3")),
        (
            "input.items | selectattr('ok') | map(attribute='id') | list",
            json!(["x"]),
        ),
        ("input.missing | default('none')", json!("none")),
        ("input['text'] ~ '!'", json!("ab!")),
        (
            "{'a': [1, 2.5, none, true]}",
            json!({"a": [1, 2.5, null, true]}),
        ),
        ("steps['a']['count']", json!(2)),
        ("steps.keys is defined", json!(false)),
        ("'x' in input.text or steps.hidden is defined", json!(false)),
        ("run.id ~ run.step", json!("rr/s")),
        ("{'a': 1} | tojson", json!("{\"a\": 1}")),
        ("range(3) | list", json!([0, 1, 2])),
        // The order of fields is that of the tool.
        ("steps.a | list | join", json!("countzb")),
    ] {
        assert_eq!(value(text), Ok(wanted), "{text}");
    }
}

#[test]
fn expression_that_is_wrong_says_why() {
    for (text, wanted) in [
        ("input.n +", "unexpected end of input"),
        ("", "can't parse the expression"),
        ("input | nofilter", "nofilter"),
        ("input.n + 'x'", "the expression failed: invalid operation"),
        ("input.missing", "add `| default(…)`"),
        ("input.missing.more", "undefined value"),
        ("steps.hidden.x", "undefined value"),
        ("range", "can't be written as JSON"),
    ] {
        let error = value(text).unwrap_err();
        assert!(error.contains(wanted), "{text}: {error}");
    }
    assert!(value(&"(".repeat(4_000)).unwrap_err().contains("recursion"));
    assert!(
        value(&"1".repeat(5_000))
            .unwrap_err()
            .contains("4096 bytes at most")
    );
}

#[test]
fn expression_ends_within_its_fuel() {
    let twice = "input.long ~ ".repeat(300) + "''";
    let escaped = format!("input.long{}", " | tojson".repeat(300));
    let nested = format!("[1] {}", "| map('list') | list ".repeat(50));
    for text in [
        twice.as_str(),
        escaped.as_str(),
        "'x' * 99999999",
        "('x' * 9999) | replace('x', 'x' * 9999)",
        "[1] * 99999999",
        "([1] * 99999999) | list",
        "([1] * 99999999) | sum",
        "range(100000) | list | map('string') | join(input.long)",
        "input.long | list | sort | unique | list | length + (input.long | batch(1) | list | length) * 9 ** 99",
        "9 ** 99 ** 9",
        "input.long | indent(99999)",
        "('%s' * 9999) | format(input.long)",
        nested.as_str(),
    ] {
        match value(text) {
            Ok(value) => assert!(value.to_string().len() < 600_000, "{text}"),
            Err(error) => assert!(error.len() < 400, "{text}: {}", error.len()),
        }
    }
    let error = value(&twice).unwrap_err();
    assert!(error.contains("too long"), "{error}");
}
