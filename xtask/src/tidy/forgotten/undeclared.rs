//! Finds the source files that no module declares.
//!
//! A file of a tool that is not in the catalog's list is a tool that nobody can call.

use std::collections::BTreeSet;

use crate::modules::{LISTS, listed, modules};
use crate::tidy::Finding;
use crate::tree::Tree;

/// The files that no module declares.
pub(super) fn undeclared(tree: &Tree) -> Vec<Finding> {
    let modules = modules(tree);
    let reached: BTreeSet<&str> = modules.iter().map(|module| module.file.as_str()).collect();
    tree.rust()
        .filter(|(path, _)| is_module(tree, path) && !reached.contains(path))
        .map(|(path, _)| finding(tree, path))
        .collect()
}

/// True for a file that is a module rather than data for a test.
pub(super) fn is_module(tree: &Tree, path: &str) -> bool {
    let Some((_, rest)) = tree.home(path) else {
        return false;
    };
    let mut parts = rest.split('/');
    matches!(parts.next(), Some("src" | "tests" | "benches"))
        && !parts.any(|part| part == "testdata")
}

/// Names the place that should declare a file.
fn finding(tree: &Tree, path: &str) -> Finding {
    let own = path
        .strip_suffix("/mod.rs")
        .unwrap_or(path.trim_end_matches(".rs"));
    let (parent, name) = own.rsplit_once('/').unwrap_or(("", own));
    let list = LISTS
        .iter()
        .find(|list| list.folder.trim_end_matches('/') == parent);
    if let Some(list) = list {
        let listed = listed(tree.text(list.file), list.name);
        let entry = if list.typed {
            format!("{name}::{},", type_name(name))
        } else {
            format!("{name},")
        };
        let later = listed.iter().find(|(other, _)| other.as_str() > name);
        let line = match (later, listed.last()) {
            (Some((_, line)), _) => *line,
            (None, Some((_, line))) => line + 1,
            (None, None) => {
                let starts = format!("{}!", list.name);
                tree.line_where(list.file, |line| line.trim_start().starts_with(&starts)) + 1
            }
        };
        return Finding::new(
            list.file,
            line,
            format!("the {} in {path} is not in the list", list.what),
            format!("add the line `{entry}` here"),
        );
    }
    let parents = ["/main.rs", "/lib.rs", "/mod.rs", ".rs"].map(|end| format!("{parent}{end}"));
    let parent = parents
        .iter()
        .find(|file| tree.files.contains_key(*file))
        .unwrap_or(&parents[3]);
    Finding::new(
        path,
        1,
        "no module declares this file, so it is never compiled",
        format!("add `mod {name};` to {parent}, or delete the file"),
    )
}

/// The name of the type in a tool's file: `skill_list` holds `SkillList`.
fn type_name(module: &str) -> String {
    let words = module.split('_').map(|word| {
        let (first, rest) = word.split_at(word.chars().next().map_or(0, char::len_utf8));
        format!("{}{rest}", first.to_uppercase())
    });
    words.collect()
}
