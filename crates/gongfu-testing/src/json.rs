//! Looks into JSON and the messages of MCP; what isn't there fails the test and shows the value.

use serde_json::{Value, json};

/// The member of a JSON object or list at a pointer.
#[track_caller]
pub fn at<'a>(value: &'a Value, pointer: &str) -> &'a Value {
    let found = value.pointer(pointer);
    found.unwrap_or_else(|| panic!("no {pointer} in {value:#}"))
}

/// The text at a pointer.
#[track_caller]
pub fn text_at<'a>(value: &'a Value, pointer: &str) -> &'a str {
    let text = at(value, pointer).as_str();
    text.unwrap_or_else(|| panic!("no text at {pointer} in {value:#}"))
}

/// The items of the list at a pointer.
#[track_caller]
pub fn list_at<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    let items = at(value, pointer).as_array();
    items.unwrap_or_else(|| panic!("no list at {pointer} in {value:#}"))
}

/// The text at a pointer of each item.
#[track_caller]
pub fn texts<'a>(items: &'a [Value], pointer: &str) -> Vec<&'a str> {
    items.iter().map(|item| text_at(item, pointer)).collect()
}

/// The members of a JSON object, sorted.
pub fn keys(value: &Value) -> Vec<&str> {
    let members = value.as_object().unwrap();
    let mut keys: Vec<&str> = members.keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

/// The codes of the diagnostics of a checked skill.
pub fn codes(skill: &Value) -> Vec<String> {
    let codes = texts(list_at(skill, "/diagnostics"), "/code");
    codes.into_iter().map(str::to_owned).collect()
}

/// The context of a request of 2026-07-28 or another revision without a greeting.
pub fn context(version: &str) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// The result of a response, which must have one.
#[track_caller]
pub fn result(mut response: Value) -> Value {
    match response.get_mut("result") {
        Some(result) => result.take(),
        None => panic!("no result: {response:#}"),
    }
}

/// The code of a response that is an error.
#[track_caller]
pub fn error_code(response: &Value) -> i64 {
    let code = at(response, "/error/code").as_i64();
    code.unwrap_or_else(|| panic!("no code: {response:#}"))
}

/// The result of a call, which must be no error.
#[track_caller]
pub fn succeeded(result: Value) -> Value {
    assert!(!is_error(&result), "{result:#}");
    result
}

/// The error of a failed call, which must have a code, a message and a hint.
#[track_caller]
pub fn failed(result: &Value) -> Value {
    assert!(is_error(result), "{result:#}");
    let error = at(result, "/structuredContent");
    for part in ["/code", "/message", "/hint"] {
        assert!(!text_at(error, part).is_empty(), "no {part}: {error:#}");
    }
    let shown = text_at(result, "/content/0/text");
    assert!(shown.starts_with(text_at(error, "/code")), "{shown}");
    error.clone()
}

/// True if the result of a call is an error.
pub fn is_error(result: &Value) -> bool {
    result.get("isError") == Some(&Value::Bool(true))
}

/// A line of a table of calls: the name of a tool or method, its arguments as JSON, and the rest.
///
/// # Panics
/// The line has another form.
pub fn case(line: &str) -> (&str, Value, &str) {
    let (name, rest) = line
        .split_once(' ')
        .unwrap_or_else(|| panic!("no name: {line}"));
    let mut values = serde_json::Deserializer::from_str(rest).into_iter();
    let arguments = values
        .next()
        .unwrap()
        .unwrap_or_else(|error| panic!("{error}: {line}"));
    let rest = rest[values.byte_offset()..].trim_start();
    (name, arguments, rest)
}
