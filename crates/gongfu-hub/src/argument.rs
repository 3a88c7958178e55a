//! Arguments of a call against the schema of its tool, with errors that say how to fix them.

use gongfu_core::near;
use serde_json::{Map, Value};

use crate::problem::Problem;

/// Checks names and types; what a value means is the tool's own affair.
///
/// # Errors
/// The first fault: an unknown argument, a missing one, or one of the wrong type.
pub fn check(schema: &Map<String, Value>, arguments: &Map<String, Value>) -> Result<(), Problem> {
    let none = Map::new();
    let properties = schema
        .get("properties")
        .and_then(Value::as_object)
        .unwrap_or(&none);
    if let Some(unknown) = arguments
        .keys()
        .find(|name| !properties.contains_key(*name))
    {
        let known = near::nearest_first(unknown, properties.keys().map(String::as_str))
            .into_iter()
            .map(str::to_owned)
            .collect();
        return Err(Problem::UnknownArgument {
            name: unknown.clone(),
            known,
        });
    }
    let required = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    for name in required {
        if arguments.get(name).is_none_or(Value::is_null) {
            let about = properties
                .get(name)
                .and_then(|property| property.get("description"))
                .and_then(Value::as_str)
                .unwrap_or("it is required");
            return Err(Problem::MissingArgument {
                name: name.to_owned(),
                about: about.to_owned(),
            });
        }
    }
    for (name, value) in arguments {
        if let Some(property) = properties.get(name) {
            check_value(name, property, value)?;
        }
    }
    Ok(())
}

fn check_value(name: &str, property: &Value, value: &Value) -> Result<(), Problem> {
    if value.is_null() {
        return Ok(());
    }
    let choices: Option<Vec<&str>> = property
        .get("enum")
        .and_then(Value::as_array)
        .map(|choices| choices.iter().filter_map(Value::as_str).collect());
    if let (Some(choices), Some(text)) = (&choices, value.as_str())
        && !choices.contains(&text)
    {
        return Err(Problem::wrong_value(
            name,
            "it is not one of the choices",
            format!("use one of: {}", choices.join(", ")),
        ));
    }
    let Some(wanted) = property.get("type").and_then(Value::as_str) else {
        return Ok(());
    };
    let fits = match wanted {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    };
    if !fits {
        return Err(Problem::WrongType {
            name: name.to_owned(),
            wanted: a_value(wanted),
            given: given(value),
        });
    }
    let least = property.get("minimum").and_then(Value::as_f64);
    if let (Some(least), Some(number)) = (least, value.as_f64())
        && number < least
    {
        return Err(Problem::wrong_value(
            name,
            format!("it is less than {least}"),
            format!("use {least} or more"),
        ));
    }
    Ok(())
}

fn a_value(kind: &str) -> String {
    match kind {
        "string" => "a string".to_owned(),
        "integer" => "an integer".to_owned(),
        "boolean" => "true or false".to_owned(),
        "array" => "a list".to_owned(),
        other => format!("a value of type {other}"),
    }
}

fn given(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
