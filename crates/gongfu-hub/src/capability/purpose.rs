//! The situations that something is for, in its author's words.

use gongfu_core::library::Skill;
use serde_json::Value;

use crate::shelf::one_line;

/// The fields of a frontmatter that say it.
const FIELDS: [&str; 3] = ["when-to-use", "when_to_use", "use-case"];
/// The starts of sentences that say it, and the words in the middle of others.
const STARTS: [&str; 2] = ["use ", "when "];
const WORDS: [&str; 3] = ["use when", "used when", "when the user"];

/// Those of a skill: of its frontmatter, else of its description.
pub(super) fn of_skill(skill: &Skill) -> Option<String> {
    let frontmatter: Value = serde_json::from_str(&skill.frontmatter).unwrap_or_default();
    let places = [Some(&frontmatter), frontmatter.get("metadata")];
    let mut places = places.into_iter().flatten();
    let declared = places.find_map(|place| {
        let mut fields = FIELDS.iter().filter_map(|field| place.get(field)?.as_str());
        fields.find(|text| !text.trim().is_empty()).map(one_line)
    });
    declared.or_else(|| of_description(&skill.description))
}

/// The sentences of a description that say it.
pub(super) fn of_description(description: &str) -> Option<String> {
    let line = one_line(description);
    let says = |sentence: &&str| {
        let folded = sentence.to_lowercase();
        STARTS.iter().any(|start| folded.starts_with(start))
            || WORDS.iter().any(|words| folded.contains(words))
    };
    let said: Vec<&str> = sentences(&line).into_iter().filter(says).collect();
    (!said.is_empty()).then(|| said.join(" "))
}

/// The sentences of a line: one ends with a full stop before a capital letter.
fn sentences(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = line;
    while let Some(end) = end_of_sentence(rest) {
        let (sentence, after) = rest.split_at(end);
        found.push(sentence.trim());
        rest = after;
    }
    found.push(rest.trim());
    found
}

fn end_of_sentence(text: &str) -> Option<usize> {
    let mut stops = text.match_indices(". ");
    let is_end = |at: &usize| {
        let after = text.get(at + 2..).unwrap_or_default();
        after.starts_with(char::is_uppercase)
    };
    stops.find(|(at, _)| is_end(at)).map(|(at, _)| at + 1)
}

#[cfg(test)]
mod tests {
    use super::of_description;

    #[test]
    fn sentences_about_the_use_are_taken() {
        for (description, expected) in [
            ("Reads PDF files.", None),
            (
                "Reads tables, e.g. wide ones. Use for reports, i.e. long ones.",
                Some("Use for reports, i.e. long ones."),
            ),
            (
                "Makes charts. Use when somebody asks, e.g. for bars. It is fast.",
                Some("Use when somebody asks, e.g. for bars."),
            ),
            (
                "This skill should be used when a table is too wide. Fast.",
                Some("This skill should be used when a table is too wide."),
            ),
        ] {
            assert_eq!(
                of_description(description).as_deref(),
                expected,
                "{description}"
            );
        }
    }
}
