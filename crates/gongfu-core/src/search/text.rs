//! What of a SKILL.md can be found.

use serde_json::{Map, Value};

use super::query;
use super::word::composed;
use crate::skill::{Document, section};

/// How much of a body is indexed, in bytes; what lies behind is read and served, but not found.
pub const MAX_BODY: usize = 1024 * 1024;
/// Frontmatter fields whose text says when a skill is for.
const PURPOSE: [&str; 5] = ["use-case", "when-to-use", "triggers", "trigger", "aliases"];

/// The texts of a skill by how much they say about it; all [`composed`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchText {
    /// What it is called.
    pub name: String,
    /// What it is for: the description, tags and triggers.
    pub description: String,
    /// The headings of its body, one a line.
    pub headings: String,
    /// Its body.
    pub body: String,
}

impl SearchText {
    /// The texts of a document.
    pub fn of(document: &Document) -> Self {
        let body = document.body();
        let body = body
            .get(..body.floor_char_boundary(MAX_BODY))
            .unwrap_or_default();
        let mut headings = String::new();
        for heading in section::headings(body) {
            headings.push_str(&heading.text);
            headings.push('\n');
        }
        let mut description = document.description.clone();
        for text in purpose(&document.frontmatter) {
            description.push('\n');
            description.push_str(&text);
        }
        Self {
            name: composed(document.name.as_str()).into_owned(),
            description: composed(&description).into_owned(),
            headings: composed(&headings).into_owned(),
            body: composed(body).into_owned(),
        }
    }
}

/// Tags and triggers of a frontmatter.
fn purpose(frontmatter: &Map<String, Value>) -> Vec<String> {
    let whole = Value::Object(frontmatter.clone());
    let mut texts: Vec<String> = query::tags(&whole).map(str::to_owned).collect();
    for place in [Some(&whole), whole.get("metadata")].into_iter().flatten() {
        for field in PURPOSE.iter().filter_map(|field| place.get(field)) {
            match field {
                Value::String(text) => texts.push(text.clone()),
                Value::Array(list) => {
                    texts.extend(list.iter().filter_map(Value::as_str).map(str::to_owned));
                }
                _ => {}
            }
        }
    }
    texts
}
