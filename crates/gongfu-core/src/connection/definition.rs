//! The definition of a tool, as its server offers it.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::capability::Safety;
use crate::skill::Digest;
use crate::text::{clipped, visible};

/// The longest definition, in bytes of JSON.
pub const MAX_DEFINITION: usize = 256 * 1024;
/// The extension by which a client says that it shows user interfaces of tools (MCP Apps, SEP-1865).
pub const UI_EXTENSION: &str = "io.modelcontextprotocol/ui";
/// The longest description that a model is told, in characters.
const MAX_DESCRIPTION: usize = 8_192;
/// The longest title, in characters.
const MAX_TITLE: usize = 120;

/// A tool of another server, in its server's words: they are data, and not instructions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// Its name there.
    pub name: String,
    /// Its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its purpose.
    #[serde(default)]
    pub description: String,
    /// The schema of its arguments.
    pub input_schema: Map<String, Value>,
    /// The schema of its structured answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Map<String, Value>>,
    /// True if the server says that it only reads.
    #[serde(default)]
    pub is_read_only: bool,
    /// True if the server says that it may destroy something.
    #[serde(default)]
    pub is_destructive: bool,
    /// The members of its `_meta` that name its user interface (MCP Apps, SEP-1865).
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub ui: Map<String, Value>,
}

/// Two definitions of one tool or skill, for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// The name of the tool, or the URI of the skill.
    pub name: String,
    /// The definition that a person approved; `None` for a new one.
    pub before: Option<String>,
    /// The one that the server offers; `None` for one that is gone.
    pub now: Option<String>,
}

impl Definition {
    /// The digest of all that it says, independent of the order of fields in its schemas.
    pub fn digest(&self) -> Digest {
        let value = serde_json::to_value(self).unwrap_or_default();
        Digest::of(canonical(&value).to_string().as_bytes())
    }

    /// The definition as lines of text, in which a person sees every character.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n", self.description.trim_end());
        if let Some(title) = &self.title {
            let _ = writeln!(text, "title: {title}");
        }
        if self.is_read_only {
            text.push_str("says that it only reads\n");
        }
        if self.is_destructive {
            text.push_str("says that it may destroy something\n");
        }
        for (name, value) in &self.ui {
            let _ = writeln!(text, "{name}: {}", canonical(value));
        }
        let schemas = [
            ("arguments", Some(&self.input_schema)),
            ("answer", self.output_schema.as_ref()),
        ];
        for (name, schema) in schemas {
            if let Some(schema) = schema {
                let schema = canonical(&Value::Object(schema.clone()));
                let _ = writeln!(text, "{name}: {schema:#}");
            }
        }
        visible(&text).into_owned()
    }

    /// The arguments in one line: those that it needs, then the others in brackets.
    pub fn arguments(&self) -> String {
        let properties = self
            .input_schema
            .get("properties")
            .and_then(Value::as_object);
        let required = self.input_schema.get("required").and_then(Value::as_array);
        let is_required = |name: &str| {
            required.is_some_and(|names| names.iter().any(|known| known.as_str() == Some(name)))
        };
        let names = || {
            properties
                .into_iter()
                .flat_map(|properties| properties.keys())
        };
        let needed = names().filter(|name| is_required(name)).cloned();
        let others = names().filter(|name| !is_required(name));
        let all: Vec<String> = needed
            .chain(others.map(|name| format!("[{name}]")))
            .collect();
        visible(&all.join(" ")).replace('\n', " ")
    }

    /// The description for models: hidden characters are visible, and a very long one is cut.
    pub fn description(&self) -> String {
        let text = visible(&self.description);
        match text.char_indices().nth(MAX_DESCRIPTION) {
            Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
            None => text.into_owned(),
        }
    }

    /// The words about its arguments, by the argument and the place in it.
    pub fn argument_words(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        let schema = Value::Object(self.input_schema.clone());
        collect_words(&schema, "", &mut found);
        found
    }

    /// The title for people, or the name of a tool without one.
    pub fn title(&self) -> String {
        let title = self
            .title
            .as_deref()
            .filter(|title| !title.trim().is_empty());
        let title = visible(title.unwrap_or(&self.name)).replace('\n', " ");
        clipped(&title, MAX_TITLE, '…')
    }

    /// Returns true if a text of it has characters that a screen hides: they may speak to the model alone.
    pub fn has_hidden_characters(&self) -> bool {
        let value = serde_json::to_value(self).unwrap_or_default();
        let text = value.to_string();
        // JSON escapes control characters, so only hidden ones are left.
        visible(&text) != text
    }

    /// The harm that it can do: what the person says, raised and never lowered by the server's own words.
    pub fn safety(&self, declared: Safety) -> Safety {
        if self.is_destructive && !self.is_read_only {
            declared.max(Safety::High)
        } else {
            declared
        }
    }
}

/// Returns true if a tool is for its user interface, and no model calls it: by the members of its `_meta` that name one.
pub fn is_for_ui_alone(ui: &Map<String, Value>) -> bool {
    let visibility = ui.get("ui").and_then(|ui| ui.get("visibility"));
    let visibility = visibility.and_then(Value::as_array);
    visibility.is_some_and(|all| all.iter().all(|who| who.as_str() != Some("model")))
}

/// The same value with the fields of every object by name.
pub(super) fn canonical(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut sorted: Vec<(&String, &Value)> = fields.iter().collect();
            sorted.sort_unstable_by_key(|(name, _)| *name);
            let sorted = sorted.into_iter();
            Value::Object(
                sorted
                    .map(|(name, value)| (name.clone(), canonical(value)))
                    .collect(),
            )
        }
        Value::Array(items) => Value::Array(items.iter().map(canonical).collect()),
        plain => plain.clone(),
    }
}

/// Collects the descriptions in a schema below its own.
fn collect_words(schema: &Value, place: &str, found: &mut Vec<(String, String)>) {
    let members = match schema {
        Value::Object(members) => members,
        Value::Array(all) => return all.iter().for_each(|one| collect_words(one, place, found)),
        _ => return,
    };
    for (name, value) in members {
        match (name.as_str(), value) {
            ("description", Value::String(words)) if !place.is_empty() => {
                found.push((place.to_owned(), visible(words).replace('\n', " ")));
            }
            ("properties", Value::Object(properties)) => {
                for (name, property) in properties {
                    let dot = if place.is_empty() { "" } else { "." };
                    let place = format!("{place}{dot}{}", visible(name));
                    collect_words(property, &place, found);
                }
            }
            _ => collect_words(value, place, found),
        }
    }
}
