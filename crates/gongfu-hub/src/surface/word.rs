//! The fields of a skill's frontmatter for the surfaces, whatever shape its author gave them.

use gongfu_core::library::Skill;
use serde_json::{Map, Value};

/// The fields of a skill's frontmatter.
pub(crate) fn fields(skill: &Skill) -> Map<String, Value> {
    serde_json::from_str(&skill.frontmatter).unwrap_or_default()
}

/// The title of a skill for people: its own, else its name in words.
pub(crate) fn title(skill: &Skill, fields: &Map<String, Value>) -> String {
    let metadata = fields.get("metadata").and_then(|data| data.get("title"));
    let own = [fields.get("title"), metadata].into_iter().flatten();
    let mut own = own.filter_map(Value::as_str).map(crate::shelf::one_line);
    own.find(|title| !title.is_empty())
        .unwrap_or_else(|| in_words(skill.name.as_str()))
}

fn in_words(name: &str) -> String {
    let words: Vec<&str> = name
        .split(['-', '_', ' '])
        .filter(|word| !word.is_empty())
        .collect();
    let text = words.join(" ");
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => name.to_owned(),
    }
}

/// The description as the file has it, else what stands in for it; never empty.
pub(crate) fn description(skill: &Skill, fields: &Map<String, Value>) -> String {
    let declared = fields.get("description").and_then(Value::as_str);
    let declared = declared.filter(|text| !text.trim().is_empty());
    match declared {
        Some(text) => text.to_owned(),
        None if skill.description.trim().is_empty() => title(skill, fields),
        None => skill.description.clone(),
    }
}

/// Returns true if a person may call it by its name (`user-invocable`).
pub(crate) fn is_invocable(fields: &Map<String, Value>) -> bool {
    match fields.get("user-invocable") {
        Some(Value::Bool(yes)) => *yes,
        Some(Value::String(text)) => !text.trim().eq_ignore_ascii_case("false"),
        _ => true,
    }
}

/// A field as text; a list is one that was meant as `[text]`, so it is put together again.
pub(crate) fn hint(fields: &Map<String, Value>) -> Option<String> {
    let text = match fields.get("argument-hint")? {
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(shown).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Null | Value::Object(_) => return None,
        other => other.to_string(),
    };
    Some(crate::shelf::one_line(&text)).filter(|text| !text.is_empty())
}

fn shown(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}
