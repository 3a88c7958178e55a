//! Each module starts by saying what it is.

use super::{Check, Finding, Rule};
use crate::tree::Tree;

pub(super) const CHECK: Check = Check {
    name: "headers",
    about: "each source file starts with `//!`: what it is, and what it must not know",
    rule: Rule::Strict(run),
};

fn run(tree: &Tree) -> Vec<Finding> {
    let is_source = |path| {
        tree.home(path)
            .is_some_and(|(_, rest)| rest.starts_with("src/"))
    };
    tree.rust()
        .filter(|(path, text)| is_source(path) && !text.starts_with("//!"))
        .map(|(path, _)| {
            Finding::new(
                path,
                1,
                "the file does not start with `//!`",
                "say in a first line what the module is, and what it must not know",
            )
        })
        .collect()
}
