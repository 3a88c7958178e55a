//! Each module starts by saying what it is.

use super::{Check, Finding};
use crate::tree::Tree;

pub(super) const CHECK: Check = Check {
    name: "headers",
    about: "each source file starts with `//!`: what it is, and what it must not know",
    run,
};

fn run(tree: &Tree) -> Vec<Finding> {
    let is_source = |path: &str| {
        path.starts_with("xtask/src/")
            || (path.starts_with("crates/") && path.split('/').nth(2) == Some("src"))
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
