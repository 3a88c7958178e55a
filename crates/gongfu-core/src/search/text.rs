//! The searchable text of a SKILL.md.

use serde_json::{Map, Value};

use super::query;
use super::word::composed;
use crate::library::Skill;
use crate::skill::{Document, section};

/// Frontmatter fields whose text says when a skill is for.
const PURPOSE: [&str; 5] = ["use-case", "when-to-use", "triggers", "trigger", "aliases"];

/// The texts of a skill, or of a tool, by how much they say about it; all [`composed`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchText {
    /// Its name.
    pub name: String,
    /// Its purpose: the description, tags and triggers.
    pub description: String,
    /// The headings of its body, one a line.
    pub headings: String,
    /// Its body without headings and code.
    pub prose: String,
    /// The code in its body.
    pub code: String,
}

impl SearchText {
    /// The texts of a document.
    pub fn of(document: &Document) -> Self {
        let body = document.body();
        let (mut headings, mut prose, mut code) = Default::default();
        split(body, &mut headings, &mut prose, &mut code);
        let name = document.name.as_str();
        Self {
            headings: composed(&headings).into_owned(),
            prose: composed(&prose).into_owned(),
            code: composed(&code).into_owned(),
            ..Self::of_fields(name, &document.description, &document.frontmatter)
        }
    }

    /// The texts of a skill whose body isn't known.
    pub fn of_skill(skill: &Skill) -> Self {
        let fields = serde_json::from_str(&skill.frontmatter).unwrap_or_default();
        Self::of_fields(skill.name.as_str(), &skill.description, &fields)
    }

    fn of_fields(name: &str, description: &str, frontmatter: &Map<String, Value>) -> Self {
        let mut description = description.to_owned();
        for text in purpose(frontmatter) {
            description.push('\n');
            description.push_str(&text);
        }
        Self {
            name: composed(name).into_owned(),
            description: composed(&description).into_owned(),
            ..Self::default()
        }
    }

    /// The texts in the order of [`FIELDS`](super::rank::FIELDS).
    pub fn parts(&self) -> [&str; super::rank::FIELDS.len()] {
        let Self {
            name,
            description,
            headings,
            prose,
            code,
        } = self;
        [name, description, headings, prose, code].map(String::as_str)
    }
}

/// Sorts a Markdown text into headings, prose and code.
fn split(body: &str, headings: &mut String, prose: &mut String, code: &mut String) {
    let listed = section::headings(body);
    let lines = listed.iter().map(|heading| {
        let rest = body.get(heading.start..).unwrap_or_default();
        let line = rest.find('\n').unwrap_or(rest.len());
        (heading.start..heading.start + line, true)
    });
    let blocks = section::code(body).into_iter().map(|range| (range, false));
    let mut apart: Vec<_> = lines.chain(blocks).collect();
    apart.sort_by_key(|(range, _)| range.start);
    let mut at = 0;
    for (range, is_heading) in apart {
        prose.push_str(body.get(at..range.start).unwrap_or_default());
        prose.push('\n');
        if !is_heading {
            code.push_str(body.get(range.clone()).unwrap_or_default());
            code.push('\n');
        }
        at = at.max(range.end);
    }
    prose.push_str(body.get(at..).unwrap_or_default());
    for heading in listed {
        headings.push_str(&heading.text);
        headings.push('\n');
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

#[cfg(test)]
mod tests {
    use super::SearchText;
    use crate::skill::document;

    #[test]
    fn parts_of_a_skill_go_to_their_fields() {
        let document = "---\nname: a\ndescription: d\ntags: [x, y]\nmetadata:\n  use-case: when z\n---\n\n# Head\n\nprose\n\n```sh\n# no head\ncode\n```\n\n- item\n\nUnder\n-----\nlast";
        let document = document::parse(document.as_bytes(), "a").unwrap();
        let text = SearchText::of(&document);
        assert_eq!((&*text.name, &*text.description), ("a", "d\nx\ny\nwhen z"));
        assert_eq!(text.headings, "Head\nUnder\n");
        assert_eq!(text.code, "```sh\n# no head\ncode\n```\n");
        let prose: Vec<&str> = text.prose.split_whitespace().collect();
        assert_eq!(prose, ["prose", "-", "item", "-----", "last"]);
    }
}
