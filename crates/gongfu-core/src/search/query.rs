//! A query, and its answer.

use std::sync::Arc;

use serde_json::Value;

use crate::library::Skill;

/// The limit of a query, in bytes; the rest is left out and the answer says so.
pub const MAX_QUERY: usize = 16 * 1024;

/// A search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// Words in any language; nothing in them is an operator.
    pub text: String,
    /// The limit of skills in the answer.
    pub limit: usize,
    /// The part of a skill that is searched.
    pub scope: Scope,
    /// The skills that count.
    pub filter: Filter,
    /// True if the best place of each skill is wanted; finding it takes time.
    pub snippets: bool,
}

impl Query {
    /// Looks everywhere for these words.
    pub fn new(text: impl Into<String>, limit: usize) -> Self {
        Self {
            text: text.into(),
            limit,
            scope: Scope::default(),
            filter: Filter::default(),
            snippets: true,
        }
    }

    /// The part of the text that is read.
    pub fn read(&self) -> &str {
        let end = self.text.floor_char_boundary(MAX_QUERY);
        self.text.get(..end).unwrap_or_default()
    }
}

/// The part of a skill that is searched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Scope {
    /// In names alone.
    Name,
    /// In names and descriptions.
    Description,
    /// In everything that a SKILL.md says.
    #[default]
    Everything,
}

/// The skills that count; an empty filter lets every skill pass.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only of the source with this id.
    pub source: Option<String>,
    /// Only with this tag.
    pub tag: Option<String>,
}

impl Filter {
    /// Returns true if a skill passes.
    pub fn admits(&self, skill: &Skill) -> bool {
        let source = self.source.as_deref();
        source.is_none_or(|source| *skill.source == *source)
            && self.tag.as_deref().is_none_or(|tag| has_tag(skill, tag))
    }
}

/// Returns true if a skill names a tag in its frontmatter, at the top or below `metadata`; letter case
/// doesn't count.
fn has_tag(skill: &Skill, wanted: &str) -> bool {
    let frontmatter = serde_json::from_str::<Value>(&skill.frontmatter).unwrap_or_default();
    let wanted = wanted.trim().to_lowercase();
    tags(&frontmatter).any(|tag| tag.to_lowercase() == wanted)
}

/// The fields that hold tags.
const TAGS: [&str; 4] = ["tags", "keywords", "category", "categories"];

/// The tags of a frontmatter: lists, or texts with commas or spaces between them.
pub fn tags(frontmatter: &Value) -> impl Iterator<Item = &str> {
    let places = [Some(frontmatter), frontmatter.get("metadata")];
    let fields = places
        .into_iter()
        .flatten()
        .flat_map(|place| TAGS.iter().filter_map(|field| place.get(field)));
    fields.flat_map(|field| match field {
        Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
        Value::String(text) => listed(text),
        _ => Vec::new(),
    })
}

fn listed(text: &str) -> Vec<&str> {
    let signs = |character: char| character == ',' || character == ';';
    let inner = text.trim().trim_start_matches('[').trim_end_matches(']');
    let parts: Vec<&str> = if inner.contains(signs) {
        inner.split(signs).collect()
    } else {
        inner.split_whitespace().collect()
    };
    let quotes = ['"', '\''];
    parts
        .into_iter()
        .map(|part| part.trim().trim_matches(quotes))
        .filter(|part| !part.is_empty())
        .collect()
}

/// A skill that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The skill.
    pub skill: Arc<Skill>,
    /// Its relevance; comparable within one answer only.
    pub score: f32,
    /// The place that fits best, in one line; empty when none was asked for or the text can't be
    /// read.
    pub snippet: String,
}

/// The answer to a query.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// The best skills, best first.
    pub hits: Vec<Hit>,
    /// The number of skills that have any of the words.
    pub total: usize,
    /// True if a part of the query was left out because it was too long.
    pub shortened: bool,
    /// True if there was any word in the query.
    pub words: bool,
}

/// The answer to a query over texts that are known by their numbers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TextAnswer {
    /// The numbers of the best texts, best first.
    pub hits: Vec<usize>,
    /// The number of texts that have any of the words.
    pub total: usize,
    /// True if there was any word in the query.
    pub words: bool,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Query, tags};

    #[test]
    fn filter_reads_tags_in_every_shape() {
        for frontmatter in [
            json!({ "tags": ["a b", "C"] }),
            json!({ "metadata": { "tags": "a b, C" } }),
            json!({ "keywords": "'a b'; C" }),
            json!({ "tags": "[a b, C]" }),
        ] {
            assert_eq!(tags(&frontmatter).collect::<Vec<_>>(), ["a b", "C"]);
        }
        assert_eq!(tags(&json!({ "tags": 7 })).count(), 0);
        assert_eq!(tags(&json!(null)).count(), 0);
    }

    #[test]
    fn a_long_query_is_cut_between_characters() {
        let query = Query::new("技".repeat(50_000), 10);
        assert_eq!(query.read().len() % 3, 0);
        assert!(query.read().len() <= super::MAX_QUERY);
    }
}
