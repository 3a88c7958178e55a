//! The limits on the length of a file and on the share of the source in one crate.

use super::{Check, Finding, Rule};
use crate::tree::Tree;

pub(super) const CHECK: Check = Check {
    name: "sizes",
    about: "no source file over 800 lines, a short main.rs, no crate that holds everything",
    rule: Rule::Strict(run),
};

/// A source file of more lines is refused.
const LONGEST: usize = 800;
/// A source file of more lines gets a note.
const LONG: usize = 500;
/// The files with a limit of their own.
const OWN_LIMITS: &[(&str, usize, &str)] = &[(
    "crates/gongfu/src/main.rs",
    99,
    "main only starts the command line: move the rest into a module",
)];
/// From this many crates on, the share of one is limited.
const CRATES_TO_COMPARE: usize = 7;
/// The largest share of the source lines that one crate may hold, in percent.
const LARGEST_SHARE: usize = 35;

fn run(tree: &Tree) -> Vec<Finding> {
    let mut found: Vec<Finding> = tree
        .rust()
        .filter_map(|(path, text)| too_long(path, text))
        .collect();
    for (path, limit, fix) in OWN_LIMITS {
        let lines = tree.text(path).lines().count();
        if lines > *limit {
            found.push(Finding::new(
                path,
                limit + 1,
                format!("{lines} lines, at most {limit}"),
                *fix,
            ));
        }
    }
    found.extend(too_large(tree));
    found
}

fn too_long(path: &str, text: &str) -> Option<Finding> {
    let lines = text.lines().count();
    if lines <= LONG || is_test(path) || is_generated(text) {
        return None;
    }
    let fix = "split it along its nouns; tests go to a tests.rs beside it";
    Some(if lines > LONGEST {
        Finding::new(
            path,
            LONGEST + 1,
            format!("{lines} lines, at most {LONGEST}"),
            fix,
        )
    } else {
        Finding::note(
            path,
            LONG + 1,
            format!("{lines} lines, more than {LONG}"),
            fix,
        )
    })
}

fn too_large(tree: &Tree) -> Vec<Finding> {
    let shares: Vec<(&str, usize)> = tree
        .crates()
        .map(|package| {
            let source = format!("{}/src/", package.folder);
            let counted = |(path, text): &(&str, &str)| {
                path.starts_with(&source) && !is_test(path) && !is_generated(text)
            };
            let lines = tree
                .rust()
                .filter(counted)
                .map(|(_, text)| text.lines().count())
                .sum();
            (package.folder.as_str(), lines)
        })
        .collect();
    let all: usize = shares.iter().map(|(_, lines)| lines).sum();
    if shares.len() < CRATES_TO_COMPARE || all == 0 {
        return Vec::new();
    }
    let too_large = shares
        .iter()
        .filter(|(_, lines)| lines * 100 > all * LARGEST_SHARE);
    too_large
        .map(|(folder, lines)| {
            Finding::new(
                &format!("{folder}/Cargo.toml"),
                1,
                format!(
                    "the crate holds {} % of the source, at most {LARGEST_SHARE} %",
                    lines * 100 / all
                ),
                "give a part of it a crate of its own, or move rules to the crate they belong to",
            )
        })
        .collect()
}

/// True for a file that holds tests alone.
fn is_test(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs")
}

/// True for a file that says in its first lines that a program wrote it.
fn is_generated(text: &str) -> bool {
    text.lines().take(5).any(|line| line.contains("@generated"))
}
