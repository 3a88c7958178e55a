//! Answers to bytes that are not a message, and limits of messages.

use rmcp::model::{ClientRequest, JsonRpcMessage};
use serde_json::{Value, json};

use super::{MAX_VALUES, read};

/// The answer to bytes that are no message.
fn refused(text: impl AsRef<[u8]>) -> Value {
    let text = text.as_ref();
    let Err(refusal) = read(text) else {
        panic!("accepted: {}", String::from_utf8_lossy(text));
    };
    serde_json::to_value(refusal.into_message()).unwrap()
}

#[track_caller]
fn check(text: impl AsRef<[u8]>, code: i32, id: Value, part: &str) {
    let answer = refused(text);
    assert_eq!(answer["error"]["code"], code, "{answer}");
    assert_eq!(answer.get("id").unwrap_or(&Value::Null), &id, "{answer}");
    let text = answer["error"]["message"].as_str().unwrap();
    assert!(text.contains(part), "{text}");
}

#[test]
fn answers_what_is_not_json_with_a_parse_error() {
    check("", -32700, Value::Null, "line 1 column 0");
    check("not json", -32700, Value::Null, "line 1 column 2");
    let cut = r#"{"jsonrpc":"2.0","id":3,"method":"#;
    check(cut, -32700, json!(3), "EOF");
    let surrogate = r#"{"jsonrpc":"2.0","id":"a","method":"\ud800"}"#;
    check(surrogate, -32700, json!("a"), "hex escape");
    let not_utf8 = b"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"\xff\"}";
    check(not_utf8, -32700, json!(4), "unicode");
    let two = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}{"#;
    check(two, -32700, json!(1), "trailing characters");
    check("{}]", -32700, Value::Null, "trailing characters");
    let deep = format!(r#"{{"id":5,"a":{}"#, "[".repeat(90_000));
    check(deep, -32700, json!(5), "recursion limit");
    let answer = refused("{\"a\":\n x}");
    assert_eq!(answer["error"]["data"], json!({"line": 2, "column": 2}));
}

#[test]
fn answers_json_that_is_no_message_with_an_invalid_request() {
    let batch = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#;
    check(batch, -32600, Value::Null, "2025-06-18");
    for (text, id) in [
        ("7", Value::Null),
        (r#"{"id":1,"method":"ping"}"#, json!(1)),
        (r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#, json!("a")),
        (r#"{"jsonrpc":"2.0","id":1,"method":5}"#, json!(1)),
        (r#"{"jsonrpc":"2.0","id":1}"#, json!(1)),
        (
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            Value::Null,
        ),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, Value::Null),
        (
            r#"{"jsonrpc":"2.0","id":1,"id":1,"method":"ping"}"#,
            json!(1),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}"#,
            json!(1),
        ),
        (r#"{"jsonrpc":"2.0","id":1,"error":"a"}"#, Value::Null),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"x","params":[1]}"#,
            json!(1),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":5}}"#,
            json!(1),
        ),
    ] {
        check(text, -32600, id, "JSON-RPC 2.0");
    }
}

#[test]
fn limits_the_number_of_values() {
    let many = |value: &str, count: usize| {
        let values = vec![value; count].join(",");
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{{"a":[{values}]}}}}"#)
    };
    for value in ["1", "[]", "{}", r#"{"a":1}"#] {
        let text = many(value, MAX_VALUES + 1);
        check(text, -32600, json!(1), "100000 values");
    }
    // The members and braces of the message count as well.
    assert!(read(many("1", MAX_VALUES - 5).as_bytes()).is_ok());
    check(many("1", MAX_VALUES - 4), -32600, json!(1), "100000 values");
    let string = r#"\",[{"#.repeat(MAX_VALUES);
    assert!(read(many(&format!(r#""{string}""#), 1).as_bytes()).is_ok());
}

#[test]
fn reads_a_message_behind_a_byte_order_mark() {
    let text = "\u{feff} {\"jsonrpc\":\"2.0\",\"id\":-1,\"method\":\"no/such\"}\r";
    let Ok(JsonRpcMessage::Request(request)) = read(text.as_bytes()) else {
        panic!("refused");
    };
    assert_eq!(request.request.method(), "no/such");
}

#[test]
fn leaves_wrong_parameters_of_a_method_to_the_server() {
    let text = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}"#;
    let Ok(JsonRpcMessage::Request(request)) = read(text.as_bytes()) else {
        panic!("refused");
    };
    assert!(matches!(request.request, ClientRequest::CustomRequest(_)));
}

#[test]
fn tells_notifications_from_requests() {
    let is_notification = |text: &str| read(text.as_bytes()).unwrap_err().is_notification;
    assert!(is_notification(r#"{"method":"textDocument/didOpen"}"#));
    assert!(is_notification(
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"_meta":1}}"#
    ));
    assert!(!is_notification(
        r#"{"id":1,"method":"textDocument/hover"}"#
    ));
    assert!(!is_notification(r#"{"jsonrpc":"2.0"}"#));
    assert!(!is_notification(r#"{"jsonrpc":"2.0","method":5}"#));
    assert!(!is_notification("{"));
}

#[test]
fn does_not_repeat_a_long_message() {
    let long = "x".repeat(1 << 20);
    for text in [
        format!(r#"{{"jsonrpc":"{long}","id":1,"method":"ping"}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{long}","params":[]}}"#),
        long.clone(),
    ] {
        assert!(refused(&text).to_string().len() < 1000);
    }
}
