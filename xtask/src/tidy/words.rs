//! Names and comments are plain English.
//!
//! A type is a noun: `RunReport`, not `Ran`. A doc comment begins with a sentence, not with a relative
//! clause. A few words are refused because this code base used them as riddles. No check knows good
//! English; these find what went wrong here before.

use super::ceilings::Group;
use super::{Check, Finding, Rule};
use crate::rust_text::{self, Token};
use crate::tree::{Package, Tree};

pub(super) const CHECK: Check = Check {
    name: "words",
    about: "types are nouns, doc comments begin with a plain sentence, no riddles",
    rule: Rule::Shrinking(run),
};

/// Participles and past tenses that don't end in `ed`.
const PARTICIPLES: &[&str] = &[
    "Begun", "Broken", "Brought", "Built", "Came", "Done", "Found", "Given", "Gone", "Heard",
    "Held", "Hidden", "Kept", "Known", "Laid", "Left", "Lost", "Made", "Meant", "Ran", "Said",
    "Seen", "Sent", "Shown", "Spoken", "Stood", "Taken", "Told", "Unread", "Unsent", "Written",
];
/// Nouns that end in `ed`.
const NOUNS: &[&str] = &["Embed", "Feed", "Need", "Red", "Seed", "Speed"];
/// Parts of a constant's name that don't say what is limited.
const VAGUE: &[&str] = &["MOST", "PATIENCE"];
/// The words that a doc comment must not begin with.
const OPENINGS: &[&str] = &[
    "How", "What", "Whatever", "Where", "Whether", "Which", "Who", "Whoever", "Whom", "Whose",
];
/// Phrases that have to be decoded.
const PHRASES: &[&str] = &[
    "is none",
    "otherwise than",
    "whoever",
    "whomever",
    "begun anew",
];

fn run(tree: &Tree) -> Vec<Group> {
    tree.packages
        .iter()
        .flat_map(|package| groups(tree, package))
        .collect()
}

fn groups(tree: &Tree, package: &Package) -> [Group; 4] {
    let files = || {
        tree.rust().filter(|(path, _)| {
            tree.home(path)
                .is_some_and(|(home, _)| home.name == package.name)
        })
    };
    let group = |table, find: fn(&str, &str) -> Vec<Finding>| {
        let findings: Vec<Finding> = files().flat_map(|(path, text)| find(path, text)).collect();
        Group {
            table,
            subject: package.name.clone(),
            count: findings.len(),
            findings,
        }
    };
    [
        group("participles", participles),
        group("constants", constants),
        group("openings", openings),
        group("phrases", phrases),
    ]
}

/// Types that are named with a participle.
fn participles(path: &str, text: &str) -> Vec<Finding> {
    let is_participle = |name: &str| {
        let is_one_word = name.chars().filter(|letter| letter.is_uppercase()).count() == 1;
        is_one_word
            && (PARTICIPLES.contains(&name) || name.ends_with("ed") && !NOUNS.contains(&name))
    };
    named(text, &["struct", "enum", "trait", "type", "union"])
        .into_iter()
        .filter(|(name, _)| is_participle(name))
        .map(|(name, line)| {
            Finding::new(
                path,
                line,
                format!("the type `{name}` is named with a participle"),
                "name it with a noun: the report, the lease, the record",
            )
        })
        .collect()
}

/// Constants with a vague name.
fn constants(path: &str, text: &str) -> Vec<Finding> {
    named(text, &["const", "static"])
        .into_iter()
        .filter(|(name, _)| name.split('_').any(|word| VAGUE.contains(&word)))
        .map(|(name, line)| {
            Finding::new(
                path,
                line,
                format!("`{name}` doesn't say what is limited"),
                "say it: `ELICIT_TIMEOUT`, `MAX_ENTRIES`",
            )
        })
        .collect()
}

/// The names behind these keywords, with their lines.
fn named(text: &str, keywords: &[&str]) -> Vec<(String, usize)> {
    let code = rust_text::code_only(text);
    let tokens = rust_text::tokens(&code);
    let name = |two: &[Token<'_>]| {
        let is_name = two[1].text.starts_with(char::is_alphabetic);
        (keywords.contains(&two[0].text) && is_name)
            .then(|| (two[1].text.to_owned(), rust_text::line_at(text, two[1].at)))
    };
    tokens.windows(2).filter_map(name).collect()
}

/// Doc comments that begin with a relative clause.
fn openings(path: &str, text: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut before = (0, "");
    for (line, comment) in rust_text::comments(text) {
        let Some(mark) = ["///", "//!"]
            .into_iter()
            .find(|mark| comment.starts_with(mark))
        else {
            continue;
        };
        let goes_on = before == (line - 1, mark);
        before = (line, mark);
        let words = comment[mark.len()..].trim_start();
        let word = words.split(|letter: char| !letter.is_alphabetic()).next();
        if let Some(word) = word.filter(|word| !goes_on && OPENINGS.contains(word)) {
            found.push(Finding::new(
                path,
                line,
                format!("the comment begins with `{word}`"),
                "begin with a plain sentence or a noun: \"Kills all descendants …\", \"The limit of …\"",
            ));
        }
    }
    found
}

/// Comments with a phrase that has to be decoded.
fn phrases(path: &str, text: &str) -> Vec<Finding> {
    let comments = rust_text::comments(text).into_iter();
    comments
        .filter_map(|(line, comment)| {
            let comment = comment.to_lowercase();
            let phrase = PHRASES.iter().find(|phrase| comment.contains(**phrase))?;
            let what = format!("`{phrase}` in a comment");
            Some(Finding::new(path, line, what, "say it plainly"))
        })
        .collect()
}
