//! The answer that a message is owed, by the rules of JSON-RPC alone.
//!
//! Written apart from the server, so that both would have to be wrong in the same way.

use serde_json::Value;

/// The answer that is owed.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Expectation {
    /// An answer, to this id if the message has one.
    Answer(Option<Value>),
    /// Nothing, or an error without an id: whether it is a broken request or a broken notification
    /// is a matter of taste.
    Optional,
    /// Nothing: it is a notification or an answer, as they should be.
    Silence,
}

/// The most values that the server reads in one message.
const MAX_VALUES: usize = 100_000;

/// The codes that an error may have.
const CODES: [i64; 10] = [
    -32700, -32600, -32601, -32602, -32000, -32001, -32002, -32020, -32021, -32022,
];

/// The answer that this message is owed by a server that reads so many bytes.
pub(super) fn expectation(bytes: &[u8], most: usize) -> Option<Expectation> {
    let bytes = bytes.trim_ascii();
    if bytes.is_empty() {
        return None;
    }
    let unmarked = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let Ok(Value::Object(message)) = serde_json::from_slice::<Value>(unmarked) else {
        return Some(Expectation::Answer(None));
    };
    if bytes.len() > most {
        return Some(Expectation::Answer(None));
    }
    let is_answer = message.contains_key("result") != message.contains_key("error");
    let method = message.get("method").is_some_and(Value::is_string);
    let two = message.get("jsonrpc").and_then(Value::as_str) == Some("2.0");
    let params = message.get("params").is_none_or(Value::is_object);
    // A name that may stand twice is one to refuse.
    let once = ["jsonrpc", "method", "params", "_meta"]
        .iter()
        .all(|name| names(bytes, name) < 2);
    Some(match message.get("id") {
        None if method && two && params && once && !is_answer && !is_crowded(bytes) => {
            Expectation::Silence
        }
        // Of two methods it is open which one is believed.
        None if method || names(bytes, "method") > 1 => Expectation::Optional,
        _ if is_answer && !message.contains_key("method") => Expectation::Optional,
        // Of two ids neither is believed.
        Some(id @ (Value::String(_) | Value::Number(_))) if names(bytes, "id") == 1 => {
            let integer = id.is_string() || id.is_i64() || whole(id);
            Expectation::Answer(Some(id.clone()).filter(|_| integer))
        }
        _ => Expectation::Answer(None),
    })
}

/// True when a message may have more values than the server reads: then it may refuse the
/// message unread, as one that is too long.
fn is_crowded(bytes: &[u8]) -> bool {
    let begins = bytes.iter().filter(|byte| b",[{".contains(byte));
    begins.count() > MAX_VALUES
}

/// True when a number with a fraction stands for an integer all the same.
fn whole(id: &Value) -> bool {
    id.is_f64()
        && id
            .as_f64()
            .is_some_and(|number| number.fract() == 0.0 && number.abs() < 9e15)
}

/// The most times that a name may occur in a message.
fn names(bytes: &[u8], name: &str) -> usize {
    let name = format!("\"{name}\"");
    let mut windows = bytes.windows(name.len());
    // An escape could hide another one.
    let escaped = bytes.windows(2).any(|pair| pair == b"\\u");
    usize::from(escaped)
        + std::iter::from_fn(|| windows.find(|part| *part == name.as_bytes())).count()
}

/// True when two ids are the same, however they are written.
pub(super) fn same(one: &Value, other: &Value) -> bool {
    one == other || one.is_number() && other.is_number() && one.as_f64() == other.as_f64()
}

/// The name of an answer in the table: the code of its error, or `result`.
pub(super) fn answer_name(answer: &Value) -> Result<String, String> {
    let object = answer.as_object().ok_or("an answer that is no object")?;
    if object.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(format!("an answer without `jsonrpc`: {answer}"));
    }
    let id = object.get("id");
    if !matches!(id, None | Some(Value::String(_) | Value::Number(_))) {
        return Err(format!("an id that is none: {answer}"));
    }
    match (object.get("result"), object.get("error")) {
        (Some(result), None) if result.is_object() && id.is_some() => Ok("result".to_owned()),
        (None, Some(error)) => {
            let code = error.get("code").and_then(Value::as_i64);
            let text = error.get("message").and_then(Value::as_str);
            match (code, text) {
                (Some(code), Some(text)) if CODES.contains(&code) && !text.is_empty() => {
                    Ok(code.to_string())
                }
                _ => Err(format!("an error that isn't allowed: {answer}")),
            }
        }
        _ => Err(format!("neither a result nor an error: {answer}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Expectation, answer_name, expectation};

    #[test]
    fn each_message_is_owed_its_answer() {
        let of = |text: &str| expectation(text.as_bytes(), 200);
        assert_eq!(of(" \r"), None);
        assert_eq!(of("{"), Some(Expectation::Answer(None)));
        assert_eq!(
            of(&format!("\"{}\"", "x".repeat(200))),
            Some(Expectation::Answer(None))
        );
        let id = |id| Some(Expectation::Answer(Some(id)));
        assert_eq!(of(r#"{"id":1}"#), id(json!(1)));
        assert_eq!(of(r#"{"id":"a","method":5}"#), id(json!("a")));
        assert_eq!(of(r#"{"id":1.5}"#), Some(Expectation::Answer(None)));
        assert_eq!(of(r#"{"id":1,"id":2}"#), Some(Expectation::Answer(None)));
        assert_eq!(
            of(r#"{"jsonrpc":"2.0","method":"a"}"#),
            Some(Expectation::Silence)
        );
        let twice = r#"{"jsonrpc":"2.0","method":"a","method":null}"#;
        assert_eq!(of(twice), Some(Expectation::Optional));
        let crowd = |count| {
            let values = vec!["1"; count].join(",");
            let text = format!(r#"{{"jsonrpc":"2.0","method":"a","params":{{"x":[{values}]}}}}"#);
            expectation(text.as_bytes(), usize::MAX)
        };
        assert_eq!(crowd(90_000), Some(Expectation::Silence));
        assert_eq!(crowd(110_000), Some(Expectation::Optional));
        assert_eq!(of(r#"{"method":"a"}"#), Some(Expectation::Optional));
        assert_eq!(of(r#"{"id":1,"result":{}}"#), Some(Expectation::Optional));
    }

    #[test]
    fn an_answer_is_one_of_json_rpc() {
        assert_eq!(
            answer_name(&json!({ "jsonrpc": "2.0", "id": 1, "result": {} })),
            Ok("result".to_owned())
        );
        let error = |code| json!({ "jsonrpc": "2.0", "error": { "code": code, "message": "a" } });
        assert_eq!(answer_name(&error(-32700)), Ok("-32700".to_owned()));
        assert!(answer_name(&error(-32603)).is_err());
        assert!(answer_name(&json!({ "jsonrpc": "2.0", "id": null, "result": {} })).is_err());
        assert!(answer_name(&json!([])).is_err());
    }
}
