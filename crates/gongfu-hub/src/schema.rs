//! JSON schemas of tools: made from the input types, cleaned so that every client takes them.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

/// A tool's schema with the description that stands on its input type.
#[derive(Debug, Clone)]
pub struct TypeSchema {
    /// The doc comment of the type.
    pub description: String,
    /// The schema, an object.
    pub schema: Map<String, Value>,
}

/// The schema of a type: no references, no `null` beside a type, no formats of Rust's integers.
pub fn of<T: JsonSchema>() -> TypeSchema {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = match settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value()
    {
        Value::Object(schema) => schema,
        _ => Map::new(),
    };
    let description = schema
        .remove("description")
        .and_then(|text| text.as_str().map(unwrapped::<&str>))
        .unwrap_or_default();
    schema.remove("title");
    schema.values_mut().for_each(clean);
    // Clients want an object with properties even where a tool takes no argument.
    schema
        .entry("properties")
        .or_insert_with(|| Value::Object(Map::new()));
    TypeSchema {
        description,
        schema,
    }
}

fn clean(value: &mut Value) {
    match value {
        Value::Object(object) => {
            if let Some(Value::Array(types)) = object.get_mut("type") {
                types.retain(|name| name != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    object.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(choices)) = object.get_mut("enum") {
                choices.retain(|choice| !choice.is_null());
            }
            if object
                .get("format")
                .and_then(Value::as_str)
                .is_some_and(|format| format.starts_with("uint") || format.starts_with("int"))
            {
                object.remove("format");
            }
            if object.get("default").is_some_and(Value::is_null) {
                object.remove("default");
            }
            if let Some(Value::String(text)) = object.get_mut("description") {
                *text = unwrapped(&*text);
            }
            flatten_single_choice(object);
            object.values_mut().for_each(clean);
        }
        Value::Array(items) => items.iter_mut().for_each(clean),
        _ => {}
    }
}

/// `anyOf: [X, null]` is X: whether an argument may be missing is told by `required`.
fn flatten_single_choice(object: &mut Map<String, Value>) {
    let Some(Value::Array(choices)) = object.get_mut("anyOf") else {
        return;
    };
    choices.retain(|choice| choice.get("type").and_then(Value::as_str) != Some("null"));
    if let [Value::Object(only)] = choices.as_slice() {
        let only = only.clone();
        object.remove("anyOf");
        for (key, value) in only {
            object.entry(key).or_insert(value);
        }
    }
}

/// Lines of one paragraph joined, paragraphs kept apart.
pub fn unwrapped<T: AsRef<str>>(text: T) -> String {
    let paragraphs: Vec<String> = text
        .as_ref()
        .split("\n\n")
        .map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    paragraphs.join("\n\n")
}
