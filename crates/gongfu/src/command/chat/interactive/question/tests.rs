//! Tests of questions: which answers there are, and the values that lines of a form stand for.

use gongfu_hub::call::Question;
use gongfu_hub::surface::approval::Reply;
use serde_json::json;

use super::{Form, Key, keys};

fn question(has_session: bool) -> Question {
    Question {
        id: "0123".to_owned(),
        serial: 1,
        text: "run this command".to_owned(),
        always: "until it changes".to_owned(),
        has_session,
        has_any: false,
    }
}

#[test]
fn answer_is_one_of_those_that_are_shown() {
    let all = keys(&question(true));
    for (line, wanted) in [
        ("o", Some(Reply::Once)),
        ("ONCE", Some(Reply::Once)),
        ("s", Some(Reply::Session)),
        ("always", Some(Reply::Always)),
        ("n", Some(Reply::No)),
        ("never", Some(Reply::Never)),
        ("", None),
        ("y", None),
        ("on", None),
        ("once always", None),
    ] {
        assert_eq!(
            Key::meant(&all, line).map(|key| key.reply),
            wanted,
            "{line:?}"
        );
    }
    assert!(Key::meant(&keys(&question(false)), "s").is_none());
}

#[test]
fn fields_take_lines_as_values() {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "title": "Name", "description": "of the host" },
            "share": { "type": "number", "default": 0.5 },
            "port": { "type": "integer" },
            "safe": { "type": "boolean", "default": true },
            "size": { "type": "string", "enum": ["s", "l"], "enumNames": ["small", "large"] },
            "color": { "type": "string", "oneOf": [{ "const": "r", "title": "red" }, { "const": "g" }] },
        },
        "required": ["name", "port"],
    });
    let form = Form::read(&json!({ "message": "Which?", "requestedSchema": schema })).unwrap();
    let questions: Vec<String> = form.fields.iter().map(super::Field::question).collect();
    assert_eq!(
        questions,
        [
            "Name, of the host: ",
            "share (a number) [0.5]: ",
            "port (a whole number): ",
            "safe (yes or no) [true]: ",
            "size (1 small, 2 large) [nothing]: ",
            "color (1 red, 2 g) [nothing]: ",
        ]
    );
    let value = |index: usize, line: &str| form.fields[index].value(line).ok();
    for (index, line, wanted) in [
        (0, "here", Some(Some(json!("here")))),
        (0, "", None),
        (1, "", Some(Some(json!(0.5)))),
        (1, "2.5", Some(Some(json!(2.5)))),
        (1, "inf", None),
        (1, "much", None),
        (2, "22", Some(Some(json!(22)))),
        (2, "2.5", None),
        (3, "", Some(Some(json!(true)))),
        (3, "N", Some(Some(json!(false)))),
        (3, "perhaps", None),
        (4, "", Some(None)),
        (4, "2", Some(Some(json!("l")))),
        (4, "small", Some(Some(json!("s")))),
        (4, "0", None),
        (4, "3", None),
        (5, "red", Some(Some(json!("r")))),
        (5, "g", Some(Some(json!("g")))),
    ] {
        assert_eq!(value(index, line), wanted, "{index} {line:?}");
    }
}

#[test]
fn form_that_lines_cannot_fill_in_is_not_asked() {
    let with = |property: serde_json::Value| {
        let schema = json!({ "properties": { "x": property } });
        Form::read(&json!({ "message": "m", "requestedSchema": schema })).is_some()
    };
    assert!(with(json!({ "type": "string" })));
    assert!(!with(json!({ "type": "array", "items": {} })));
    assert!(!with(json!({ "title": "no type" })));
    assert!(!with(json!({ "type": "string", "enum": [1, 2] })));
    assert!(Form::read(&json!({ "requestedSchema": { "properties": {} } })).is_none());
    let hidden = json!({ "properties": { "a\u{1b}[2J": { "type": "string" } } });
    assert!(Form::read(&json!({ "message": "m", "requestedSchema": hidden })).is_none());
    let long = json!({ "message": "m".repeat(70_000), "requestedSchema": { "properties": {} } });
    assert!(Form::read(&long).is_none());
    for (url, is_asked) in [("https://x.y/z", true), ("file:///etc/passwd", false)] {
        let question = json!({ "message": "m", "mode": "url", "url": url });
        assert_eq!(Form::read(&question).is_some(), is_asked, "{url}");
    }
}
