//! `cargo xtask tidy`: the house rules that a compiler does not know.
//!
//! Each check is a pure function over a [`Tree`], in a file of its own and one line in [`CHECKS`].
//! No check reads a file, runs a program or knows another check.

mod ceilings;
mod circles;
mod documents;
mod edges;
mod fences;
mod forgotten;
mod headers;
mod language;
mod links;
mod model;
mod private;
mod sizes;
#[cfg(test)]
mod tests;
mod words;

use std::fmt;
use std::process::ExitCode;

use anyhow::{Result, anyhow};

use crate::tree::{self, Tree};
use ceilings::{Ceilings, Group};

/// All checks, in the order in which they are described in CONTRIBUTING.md.
const CHECKS: &[Check] = &[
    edges::CHECK,
    sizes::CHECK,
    forgotten::CHECK,
    headers::CHECK,
    fences::CHECK,
    private::CHECK,
    model::CHECK,
    circles::CHECK,
    words::CHECK,
    language::CHECK,
    links::CHECK,
    documents::CHECK,
];

/// A house rule.
struct Check {
    /// The name, one word.
    name: &'static str,
    /// The state of a tidy tree.
    about: &'static str,
    /// Finds the places that break the rule.
    rule: Rule,
}

/// The way in which a check judges.
enum Rule {
    /// Every finding is an error.
    Strict(fn(&Tree) -> Vec<Finding>),
    /// Each group of findings has a ceiling, which may only shrink.
    Shrinking(fn(&Tree) -> Vec<Group>),
}

/// A place that breaks a rule, or deserves a look.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    file: String,
    line: usize,
    what: String,
    fix: String,
    /// A note is printed, and fails nothing.
    is_note: bool,
}

impl Finding {
    fn new(file: &str, line: usize, what: impl Into<String>, fix: impl Into<String>) -> Finding {
        Finding {
            file: file.to_owned(),
            line,
            what: what.into(),
            fix: fix.into(),
            is_note: false,
        }
    }

    fn note(file: &str, line: usize, what: impl Into<String>, fix: impl Into<String>) -> Finding {
        Finding {
            is_note: true,
            ..Finding::new(file, line, what, fix)
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let note = if self.is_note { "note: " } else { "" };
        write!(
            f,
            "{}:{}: {note}{} — {}",
            self.file, self.line, self.what, self.fix
        )
    }
}

/// The options of `cargo xtask tidy`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// List the checks, and run none
    #[arg(long)]
    list: bool,
    /// Show the places that the ceilings allow as well
    #[arg(long)]
    all: bool,
    /// Lower the ceilings to what is there
    #[arg(long, conflicts_with = "all")]
    lower: bool,
}

/// Runs every check and prints what they find.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    if arguments.list {
        for check in CHECKS {
            println!("{:10} {}", check.name, check.about);
        }
        return Ok(ExitCode::SUCCESS);
    }
    let root = tree::root()?;
    let mut tree = Tree::load(&root)?;
    if arguments.lower {
        let lowered = Ceilings::read(&tree)
            .map_err(|finding| anyhow!("{finding}"))?
            .lowered(&groups(&tree));
        std::fs::write(root.join(ceilings::FILE), &lowered)?;
        tree.files.insert(ceilings::FILE.to_owned(), lowered);
    }
    if arguments.all {
        tree.files.remove(ceilings::FILE);
    }
    let findings = findings(&tree);
    for finding in &findings {
        println!("{finding}");
    }
    let broken = findings.iter().filter(|finding| !finding.is_note).count();
    if broken == 0 {
        println!("tidy: {} checks, {} files", CHECKS.len(), tree.files.len());
        return Ok(ExitCode::SUCCESS);
    }
    println!("tidy: {broken} to fix in {} files", tree.files.len());
    Ok(ExitCode::FAILURE)
}

/// The findings of all checks; a tree with nothing to check is a finding too.
fn findings(tree: &Tree) -> Vec<Finding> {
    let crates = tree.crates().count();
    let rust = tree
        .rust()
        .filter(|(path, _)| path.starts_with("crates/"))
        .count();
    if crates == 0 || rust == 0 {
        return vec![Finding::new(
            "Cargo.toml",
            1,
            format!(
                "found {crates} crates and {rust} Rust files below crates/, so nothing was checked"
            ),
            "run this inside the repository, with its files visible to git",
        )];
    }
    let strict = CHECKS.iter().flat_map(|check| match check.rule {
        Rule::Strict(run) => run(tree),
        Rule::Shrinking(_) => Vec::new(),
    });
    let mut found: Vec<Finding> = strict.collect();
    match Ceilings::read(tree) {
        Ok(ceilings) => {
            let groups = groups(tree).into_iter();
            found.extend(groups.flat_map(|group| ceilings.judge(tree, group)));
        }
        Err(finding) => found.push(finding),
    }
    found
}

/// The groups of all checks with ceilings.
fn groups(tree: &Tree) -> Vec<Group> {
    let groups = CHECKS.iter().flat_map(|check| match check.rule {
        Rule::Strict(_) => Vec::new(),
        Rule::Shrinking(run) => run(tree),
    });
    groups.collect()
}
