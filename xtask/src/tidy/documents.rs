//! Documents are short: few words, short paragraphs.
//!
//! A line counts nothing here: a limit on lines is met by not breaking them.

use super::ceilings::Group;
use super::{Check, Finding, Rule};
use crate::tree::{Tree, has_extension};

pub(super) const CHECK: Check = Check {
    name: "documents",
    about: "ARCHITECTURE.md has 2,500 words, a design page 400, a paragraph 80 at most",
    rule: Rule::Shrinking(run),
};

/// The longest paragraph, in words.
const MAX_PARAGRAPH: usize = 80;
/// The documents with a limit of words.
const LIMITS: &[(&str, usize)] = &[("ARCHITECTURE.md", 2_500), ("docs/design/", 400)];
/// Documents that a program writes, or that only grow.
const ASIDE: &[&str] = &["CHANGELOG.md", "docs/cli.md", "docs/tools.md"];

fn run(tree: &Tree) -> Vec<Group> {
    let is_checked = |path: &str| {
        let is_own = !path.contains('/') || path.starts_with("docs/");
        is_own && has_extension(path, "md") && !ASIDE.contains(&path)
    };
    tree.all()
        .filter(|(path, _)| is_checked(path))
        .flat_map(|(path, text)| [too_long(path, text), long_paragraphs(path, text)])
        .collect()
}

/// The words above the limit of a document.
fn too_long(path: &str, text: &str) -> Group {
    let limit = LIMITS
        .iter()
        .find(|(start, _)| path.starts_with(start))
        .map_or(usize::MAX, |(_, limit)| *limit);
    let words = text.split_whitespace().count();
    let count = words.saturating_sub(limit);
    let finding = || {
        Finding::new(
            path,
            1,
            format!("{words} words, at most {limit}"),
            "keep what a newcomer needs; a decision gets a page in docs/design",
        )
    };
    Group {
        table: "words-too-many",
        subject: path.to_owned(),
        count,
        findings: (count > 0).then(finding).into_iter().collect(),
    }
}

fn long_paragraphs(path: &str, text: &str) -> Group {
    let findings: Vec<Finding> = paragraphs(text)
        .into_iter()
        .filter(|(_, words)| *words > MAX_PARAGRAPH)
        .map(|(line, words)| {
            Finding::new(
                path,
                line,
                format!("a paragraph of {words} words, at most {MAX_PARAGRAPH}"),
                "one thought a paragraph: split it, or leave out half",
            )
        })
        .collect();
    Group {
        table: "long-paragraphs",
        subject: path.to_owned(),
        count: findings.len(),
        findings,
    }
}

/// The first line and the number of words of each paragraph; an item of a list is one of its own, and
/// so is a row of a table. Code is left out.
fn paragraphs(text: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut is_code = false;
    let mut goes_on = false;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.starts_with("```") {
            is_code = !is_code;
            goes_on = false;
            continue;
        }
        if is_code || line.is_empty() || line.starts_with('#') {
            goes_on = false;
            continue;
        }
        let words = line.split_whitespace().count();
        let is_item = line.starts_with(['|', '-', '*', '+'])
            || line.split_once(". ").is_some_and(|(number, _)| {
                !number.is_empty() && number.chars().all(|digit| digit.is_ascii_digit())
            });
        match found.last_mut() {
            Some((_, sum)) if goes_on && !is_item => *sum += words,
            _ => found.push((index + 1, words)),
        }
        goes_on = true;
    }
    found
}
