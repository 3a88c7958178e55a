//! Texts for people use the words of the trade.
//!
//! The phrases to avoid are a table of the glossary, so that writers and this check read the same list. Texts for
//! people are string literals of the product, the doc comments that become help or descriptions of tools, and
//! documents. No check knows good English; this one finds what reviewers stumbled over.

use super::ceilings::Group;
use super::{Check, Finding, Rule};
use crate::rust_text;
use crate::tree::{Tree, has_extension};

pub(super) const CHECK: Check = Check {
    name: "language",
    about: "texts for people have none of the phrases that the glossary lists",
    rule: Rule::Shrinking(run),
};

/// The file with the list.
pub(super) const GLOSSARY: &str = "docs/glossary.md";
/// The heading above the list.
const HEADING: &str = "## Phrases to avoid in texts for people";
/// Folders and files whose doc comments become help or descriptions of tools.
const DESCRIBED: &[&str] = &[
    "crates/gongfu/src/cli",
    "crates/gongfu-hub/src/tool/",
    "crates/gongfu-hub/src/dialect/",
    "crates/gongfu-core/src/config",
];
/// Documents that are written by a program, or that only grow.
const GENERATED: &[&str] = &["CHANGELOG.md", "docs/cli.md", "docs/tools.md"];

/// A phrase to avoid and what to say instead.
struct Phrase<'a> {
    avoid: &'a str,
    say: &'a str,
}

fn run(tree: &Tree) -> Vec<Group> {
    let phrases = phrases(tree.text(GLOSSARY));
    if phrases.is_empty() {
        let finding = Finding::new(
            GLOSSARY,
            1,
            format!("there is no list of phrases below `{HEADING}`"),
            "write a table of two columns there: avoid, say",
        );
        return vec![Group {
            table: "language",
            subject: GLOSSARY.to_owned(),
            count: 1,
            findings: vec![finding],
        }];
    }
    let packages = tree.crates().map(|package| {
        let files = tree.rust().filter(|(path, _)| {
            !is_test(path)
                && tree
                    .home(path)
                    .is_some_and(|(home, _)| home.name == package.name)
        });
        let findings = files.flat_map(|(path, text)| in_source(path, text, &phrases));
        group(&package.name, findings.collect())
    });
    let documents = tree.all().filter(|(path, _)| {
        let is_own = !path.contains('/') || path.starts_with("docs/");
        is_own && has_extension(path, "md") && !GENERATED.contains(path) && *path != GLOSSARY
    });
    let findings = documents.flat_map(|(path, text)| {
        let lines = text.lines().enumerate();
        lines.flat_map(|(index, line)| found(path, index + 1, line, &phrases))
    });
    packages
        .chain([group("documents", findings.collect())])
        .collect()
}

fn group(subject: &str, findings: Vec<Finding>) -> Group {
    Group {
        table: "language",
        subject: subject.to_owned(),
        count: findings.len(),
        findings,
    }
}

fn is_test(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs")
}

/// The rows of the table below the heading; a first cell may hold several phrases, separated by commas.
fn phrases(glossary: &str) -> Vec<Phrase<'_>> {
    let section = glossary.split_once(HEADING).map_or("", |(_, rest)| rest);
    let section = section.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter_map(|line| {
        let (avoid, say) = line
            .strip_prefix("| ")?
            .strip_suffix(" |")?
            .split_once(" | ")?;
        Some((avoid, say))
    });
    // The first row names the columns.
    rows.skip(1)
        .flat_map(|(avoid, say)| avoid.split(", ").map(move |avoid| Phrase { avoid, say }))
        .collect()
}

/// The phrases in the literals of a source file, and in its doc comments where those become texts.
fn in_source(path: &str, text: &str, phrases: &[Phrase<'_>]) -> Vec<Finding> {
    let literals = rust_text::strings(text).into_iter();
    let mut findings: Vec<Finding> = literals
        .flat_map(|(line, literal)| found(path, line, literal, phrases))
        .collect();
    if DESCRIBED.iter().any(|start| path.starts_with(start)) {
        for (line, comment) in rust_text::comments(text) {
            if comment.starts_with("///") {
                findings.extend(found(path, line, comment, phrases));
            }
        }
    }
    findings
}

fn found(path: &str, line: usize, text: &str, phrases: &[Phrase<'_>]) -> Vec<Finding> {
    let text = text.to_lowercase();
    // A literal goes on in the next line after a backslash.
    let words: Vec<&str> = text
        .split_whitespace()
        .filter(|word| *word != "\\")
        .collect();
    let text = words.join(" ");
    let hits = phrases
        .iter()
        .filter(|phrase| contains(&text, phrase.avoid));
    hits.map(|phrase| {
        let what = format!("`{}` in a text for people", phrase.avoid);
        Finding::new(path, line, what, format!("say `{}`", phrase.say))
    })
    .collect()
}

/// Finds a phrase between letters that don't belong to it.
fn contains(text: &str, phrase: &str) -> bool {
    text.match_indices(phrase).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + phrase.len()..].chars().next();
        let is_letter = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
        let inside = phrase.starts_with(char::is_alphanumeric) && is_letter(before);
        let goes_on = phrase.ends_with(char::is_alphanumeric) && is_letter(after);
        // "There is no" is plain; "is no" for "is not a" isn't.
        let is_plain = phrase.ends_with(" no") && text[..at].ends_with("there ");
        !inside && !goes_on && !is_plain
    })
}
