//! Texts that say nothing: what a template left to fill in, and descriptions by which nobody finds a skill.

use std::collections::HashSet;

use crate::near;

/// Lines of templates: gongfu's own, that of the `skills` installer, and that of the skill creator.
const LINES: [&str; 8] = [
    "What this skill achieves, and when to use it.",
    "1. The first thing to do.",
    "- What a good result looks like.",
    "- What to take care of, and what never to do.",
    "Instructions for the agent to follow when this skill is activated.",
    "Describe when this skill should be used.",
    "[TODO: 1-2 sentences explaining what this skill enables]",
    "## [TODO: Replace with the first main section based on chosen structure]",
];
/// The starts of descriptions in templates.
const DESCRIPTIONS: [&str; 3] = [
    "TODO:",
    "[TODO",
    "A brief description of what this skill does",
];
/// The description of a new skill until somebody writes one.
pub const DESCRIPTION: &str = "TODO: what this skill does, and when to use it.";

/// Words that fit every skill.
const GENERIC: &str = "a an and any agent ai all are as assistant at be by can claude cool custom description do does \
    etc example files for foo from generic good great handles helper helpful helps help i in is it its me misc my new \
    nice of on or our simple skill skills some something stuff test that the thing things this to tool tools use used \
    useful user uses using utilities utility various very we when which will with work works you your bar xxx";

/// Finds the first line that a template left in a body, outside of code; its offset and the line.
pub fn in_body(body: &str) -> Option<(usize, &str)> {
    let mut offset = 0;
    let mut fence: Option<&str> = None;
    for line in body.split_inclusive('\n') {
        let start = offset;
        offset += line.len();
        let text = line.trim();
        let mark = ["```", "~~~"]
            .into_iter()
            .find(|mark| text.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, None) if LINES.contains(&text) => return Some((start, text)),
            _ => {}
        }
    }
    None
}

/// Returns true if a description is that of a template.
pub fn is_template(description: &str) -> bool {
    let mut starts = DESCRIPTIONS.iter();
    starts.any(|start| description.starts_with(start))
}

/// Returns true if a description has no word that tells the skill from any other: only words that fit every skill, and
/// those of its name.
pub fn is_vague(description: &str, name: &str) -> bool {
    let generic: HashSet<&str> = GENERIC.split_whitespace().collect();
    let parts = near::folded(name);
    let own: HashSet<&str> = parts.split(['-', ' ', '.']).collect();
    let text = description.to_lowercase();
    let mut words = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    words.all(|word| generic.contains(word) || own.contains(word))
}

#[cfg(test)]
mod tests {
    use super::{in_body, is_template, is_vague};
    use crate::skill::draft;

    #[test]
    fn descriptions_that_fit_every_skill_are_vague() {
        for (description, name) in [
            ("Does things.", "report"),
            ("A helpful skill", "report"),
            ("PDF tools", "pdf-tools"),
            ("My_Report skill.", "my-report"),
            ("…", "report"),
        ] {
            assert!(is_vague(description, name), "{description}");
        }
        for (description, name) in [
            ("Does good deeds.", "report"),
            ("Merge PDF files", "pdf"),
            ("处理文件", "pdf"),
            ("Reads PDFs.", "pdf"),
        ] {
            assert!(!is_vague(description, name), "{description}");
        }
    }

    #[test]
    fn only_lines_of_templates_outside_of_code_are_found() {
        let text = draft::document("report", "Writes reports.", "");
        assert!(in_body(&text).is_some());
        let shown = format!(
            "Write it like this:\n\n```markdown\n{text}\n```\n\nNot: The first thing to do.\n"
        );
        assert_eq!(in_body(&shown), None);
        let after = format!("{shown}1. The first thing to do.\n");
        assert_eq!(
            in_body(&after),
            Some((shown.len(), "1. The first thing to do."))
        );
        assert!(is_template("[TODO: Complete and informative explanation]"));
        assert!(!is_template("Lists TODO comments of a repository."));
    }
}
