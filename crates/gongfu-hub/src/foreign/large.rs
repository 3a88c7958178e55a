//! Large answers of other servers: a file takes their place, with its beginning and its shape.

use gongfu_core::port::Timestamp;
use serde_json::{Map, Value};

use crate::call::{Call, Form};
use crate::output::{Content, ToolResult};

/// The longest text of an answer that goes on as it is, in bytes.
const MAX_TEXT: usize = 32 * 1024;
/// The same of an answer for a script, which reads it by itself.
const MAX_SCRIPTED: usize = 8 * 1024 * 1024;
/// The bytes of a longer one that are shown.
const HEAD: usize = 2 * 1024;
/// The most keys of an object that are named.
const MAX_KEYS: usize = 20;

/// The answer, or one that says where its long text is. Structured content stays where a schema promises it.
pub(super) async fn fitted(mut result: ToolResult, call: &Call, has_schema: bool) -> ToolResult {
    let length = text_of(&result.content).map(str::len).sum::<usize>();
    let structured = result.structured_content.as_ref();
    let limit = match call.form {
        Form::Scripted => MAX_SCRIPTED,
        Form::Direct | Form::Indirect => MAX_TEXT,
    };
    if length.max(structured.map_or(0, size)) <= limit {
        return result;
    }
    let data = structured.map(Value::to_string).unwrap_or_default();
    // Most servers write the same into both; only a longer structured part has more to say.
    let whole = if data.len() > length {
        data
    } else {
        text_of(&result.content).collect::<Vec<_>>().join("\n")
    };
    let shown = shown(&whole, call).await;
    let mut at = None;
    let content = std::mem::take(&mut result.content);
    for block in content {
        if block.as_text().is_some() {
            at.get_or_insert(result.content.len());
        } else {
            result.content.push(block);
        }
    }
    result.content.insert(at.unwrap_or(0), Content::text(shown));
    if !has_schema {
        result.structured_content = None;
    }
    result
}

/// The bytes of a value as JSON, without those of escapes: writing it only to count them would take as long as sending it.
fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 4,
        Value::Number(_) => 8,
        Value::String(text) => text.len() + 2,
        Value::Array(values) => values.iter().map(|value| size(value) + 1).sum::<usize>() + 2,
        Value::Object(fields) => {
            let fields = fields.iter();
            fields
                .map(|(name, value)| name.len() + size(value) + 4)
                .sum::<usize>()
                + 2
        }
    }
}

fn text_of(content: &[Content]) -> impl Iterator<Item = &str> {
    content.iter().filter_map(Content::as_text)
}

/// The beginning of a long text, with where the rest is.
async fn shown(whole: &str, call: &Call) -> String {
    let json: Option<Value> = serde_json::from_str(whole).ok();
    let name = if json.is_some() {
        "answer.json"
    } else {
        "answer.txt"
    };
    let Timestamp(now) = call.space.now();
    let folder = format!("{now}-{}-{}-answer", std::process::id(), call.id);
    let kept = call
        .space
        .files()
        .keep(&folder, name, whole.as_bytes())
        .await;
    let shape = match &json {
        Some(value) => format!("JSON: {}", shape(value)),
        None => format!("{} lines of text", whole.lines().count()),
    };
    let length = whole.len();
    let (room, place) = match kept {
        Ok(path) => {
            let more = format!("all of it is in {path}; read on with `file_read`");
            (HEAD, more)
        }
        Err(error) => {
            let more = format!("the rest is lost, because it can't be kept: {error}; ask for less");
            (MAX_TEXT, more)
        }
    };
    let end = whole.floor_char_boundary(room);
    let head = whole.get(..end).unwrap_or_default();
    format!("{head}\n… [these are {end} of {length} bytes; {shape}; {place}]")
}

/// The rows of a list and the keys of an object, for people and models.
fn shape(value: &Value) -> String {
    match value {
        Value::Array(rows) => {
            let of = match rows.first() {
                Some(Value::Object(first)) => format!(" with the keys {}", keys(first)),
                _ => String::new(),
            };
            format!("a list of {}{of}", rows.len())
        }
        Value::Object(fields) => {
            let lists = fields.iter().filter_map(|(name, value)| match value {
                Value::Array(_) => Some(format!("; {name} is {}", shape(value))),
                _ => None,
            });
            let lists: String = lists.take(MAX_KEYS).collect();
            format!("an object with the keys {}{lists}", keys(fields))
        }
        _ => "one value".to_owned(),
    }
}

fn keys(fields: &Map<String, Value>) -> String {
    let names = fields.keys().take(MAX_KEYS);
    let mut names: Vec<String> = names.map(|name| name.chars().take(64).collect()).collect();
    if fields.len() > MAX_KEYS {
        names.push(format!("and {} more", fields.len() - MAX_KEYS));
    }
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::shape;

    #[test]
    fn shape_names_rows_and_keys() {
        for (value, expected) in [
            (json!([]), "a list of 0"),
            (
                json!([{ "a": 1, "b": 2 }, {}]),
                "a list of 2 with the keys a, b",
            ),
            (
                json!({ "total": 3, "items": [{ "id": 1 }, { "id": 2 }] }),
                "an object with the keys total, items; items is a list of 2 with the keys id",
            ),
            (json!("x"), "one value"),
        ] {
            assert_eq!(shape(&value), expected);
        }
        let wide: serde_json::Map<_, _> = (0..25).map(|n| (n.to_string(), json!(n))).collect();
        assert!(shape(&json!(wide)).ends_with("19, and 5 more"));
    }
}
