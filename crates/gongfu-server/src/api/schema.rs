//! JSON schemas of inputs and replies, and the check of an input against its schema.

use gongfu_hub::schema as hub;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use crate::problem::FieldError;

/// The schema of a type, with its doc comment.
#[derive(Debug, Clone)]
pub(super) struct TypeSchema {
    /// The doc comment.
    pub(super) description: String,
    /// The schema (JSON Schema 2020-12).
    pub(super) schema: Map<String, Value>,
}

/// The schema of what is read, complete in itself.
pub(super) fn of<T: JsonSchema>() -> TypeSchema {
    with::<T>(SchemaSettings::draft2020_12().for_deserialize())
}

/// The schema of what is written.
pub(super) fn of_reply<T: JsonSchema>() -> TypeSchema {
    with::<T>(SchemaSettings::draft2020_12().for_serialize())
}

fn with<T: JsonSchema>(settings: SchemaSettings) -> TypeSchema {
    let settings = settings.with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let root = settings.into_generator().into_root_schema_for::<T>();
    let mut schema = match root.to_value() {
        Value::Object(schema) => schema,
        _ => Map::new(),
    };
    schema.remove("title");
    schema.values_mut().for_each(clean);
    let description = schema.remove("description");
    let description = description
        .as_ref()
        .and_then(Value::as_str)
        .unwrap_or_default();
    TypeSchema {
        description: hub::unwrapped(description),
        schema,
    }
}

/// Joins the lines of descriptions, and drops what only Rust knows.
fn clean(value: &mut Value) {
    match value {
        Value::Object(object) => {
            let is_rust = |format: &str| {
                ["uint", "int", "float", "double"]
                    .iter()
                    .any(|of_rust| format.starts_with(of_rust))
            };
            let format = object.get("format").and_then(Value::as_str);
            if format.is_some_and(is_rust) {
                object.remove("format");
            }
            if object.get("default").is_some_and(Value::is_null) {
                object.remove("default");
            }
            if let Some(Value::String(text)) = object.get_mut("description") {
                *text = hub::unwrapped(&*text);
            }
            object.values_mut().for_each(clean);
        }
        Value::Array(items) => items.iter_mut().for_each(clean),
        _ => {}
    }
}

/// The properties of a schema.
pub(super) fn properties(schema: &Map<String, Value>) -> impl Iterator<Item = (&str, &Value)> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let properties = properties.into_iter().flatten();
    properties.map(|(name, schema)| (name.as_str(), schema))
}

/// The names of the properties that must be there.
pub(super) fn required(schema: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let required = schema.get("required").and_then(Value::as_array);
    required.into_iter().flatten().filter_map(Value::as_str)
}

/// Everything in an input that its schema doesn't allow.
pub(super) fn check(schema: &Map<String, Value>, input: &Map<String, Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    check_object(schema, input, "", &mut errors);
    errors
}

fn check_object(
    schema: &Map<String, Value>,
    object: &Map<String, Value>,
    at: &str,
    errors: &mut Vec<FieldError>,
) {
    let path = |name: &str| match at {
        "" => name.to_owned(),
        at => format!("{at}.{name}"),
    };
    for name in required(schema).filter(|name| !object.contains_key(*name)) {
        errors.push(FieldError::new(path(name), "it is missing"));
    }
    let is_closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    for (name, value) in object {
        match properties(schema).find(|(known, _)| known == name) {
            Some((_, Value::Object(property))) => {
                check_value(property, value, &path(name), errors);
            }
            None if is_closed => {
                let known: Vec<&str> = properties(schema).map(|(name, _)| name).collect();
                let shown = gongfu_core::text::clipped(name, 64, char::REPLACEMENT_CHARACTER);
                let why = format!(
                    "there is no such field; the fields are: {}",
                    known.join(", ")
                );
                errors.push(FieldError::new(path(&shown), why));
            }
            _ => {}
        }
    }
}

fn check_value(schema: &Map<String, Value>, value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let number = |key: &str| schema.get(key).and_then(Value::as_f64);
    let length = |key: &str| {
        let length = schema.get(key).and_then(Value::as_u64);
        length.and_then(|length| usize::try_from(length).ok())
    };
    let mut refuse = |why: String| errors.push(FieldError::new(at, why));
    if !has_type(schema, value) {
        refuse(format!(
            "it isn't of the type {}",
            types(schema).join(" or ")
        ));
        return;
    }
    if let Some(Value::Array(choices)) = schema.get("enum")
        && !choices.contains(value)
    {
        let names: Vec<String> = choices.iter().map(ToString::to_string).collect();
        refuse(format!("it isn't one of: {}", names.join(", ")));
        return;
    }
    match value {
        Value::String(text) => {
            let count = text.chars().count();
            if length("minLength").is_some_and(|least| count < least)
                || length("maxLength").is_some_and(|most| count > most)
            {
                let (least, most) = (length("minLength"), length("maxLength"));
                let most = most.map_or_else(|| "any number of".to_owned(), |most| most.to_string());
                refuse(format!(
                    "it has {} to {most} characters",
                    least.unwrap_or(0)
                ));
            }
        }
        Value::Number(given) => {
            let given = given.as_f64().unwrap_or(f64::NAN);
            if let Some(least) = number("minimum").filter(|least| given < *least) {
                refuse(format!("it is less than {least}"));
            }
            if let Some(most) = number("maximum").filter(|most| given > *most) {
                refuse(format!("it is more than {most}"));
            }
        }
        Value::Array(items) => {
            if length("maxItems").is_some_and(|most| items.len() > most)
                || length("minItems").is_some_and(|least| items.len() < least)
            {
                refuse("it has too many or too few entries".to_owned());
            }
            if let Some(Value::Object(item)) = schema.get("items") {
                for (index, value) in items.iter().enumerate() {
                    check_value(item, value, &format!("{at}[{index}]"), errors);
                }
            }
        }
        Value::Object(object) => check_object(schema, object, at, errors),
        Value::Null | Value::Bool(_) => {}
    }
}

/// The types that a schema allows; none for any.
pub(super) fn types(schema: &Map<String, Value>) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(only)) => vec![only],
        Some(Value::Array(types)) => types.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn has_type(schema: &Map<String, Value>, value: &Value) -> bool {
    let types = types(schema);
    types.is_empty()
        || types.into_iter().any(|name| match name {
            "null" => value.is_null(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            _ => true,
        })
}
