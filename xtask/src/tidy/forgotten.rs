//! No file is forgotten: what lies in the tree is declared somewhere, and has a name that says something.

mod undeclared;

use std::collections::BTreeSet;

use super::{Check, Finding, Rule};
use crate::rust_text;
use crate::tree::{Tree, has_extension};

pub(super) const CHECK: Check = Check {
    name: "forgotten",
    about: "each module, tool, test, snapshot and fuzz target is declared; none is called utils",
    rule: Rule::Strict(run),
};

/// Names that say nothing about what is inside.
const EMPTY_NAMES: &[&str] = &[
    "common", "helper", "helpers", "manager", "managers", "misc", "util", "utils",
];

fn run(tree: &Tree) -> Vec<Finding> {
    let mut found = undeclared::undeclared(tree);
    found.extend(empty_names(tree));
    found.extend(stale_snapshots(tree));
    found.extend(fuzz_targets(tree));
    found
}

/// Modules, in files or inline, whose name says nothing.
fn empty_names(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, text) in tree
        .rust()
        .filter(|(path, _)| undeclared::is_module(tree, path))
    {
        let named = |name: &str| {
            (
                format!("a module called `{name}` says nothing about what is inside"),
                "name it after the noun that it is about",
            )
        };
        for part in path.trim_end_matches(".rs").split('/') {
            if EMPTY_NAMES.contains(&part) {
                let (what, fix) = named(part);
                found.push(Finding::new(path, 1, what, fix));
            }
        }
        for module in rust_text::modules(text)
            .iter()
            .filter(|module| !module.in_file)
        {
            if EMPTY_NAMES.contains(&module.name.as_str()) {
                let (what, fix) = named(&module.name);
                found.push(Finding::new(path, module.line, what, fix));
            }
        }
    }
    found
}

/// Snapshots whose test file is gone.
fn stale_snapshots(tree: &Tree) -> Vec<Finding> {
    let snapshots = tree.all().filter(|(path, _)| has_extension(path, "snap"));
    snapshots
        .filter_map(|(path, text)| {
            let source = text
                .lines()
                .take(6)
                .find_map(|line| line.strip_prefix("source:"));
            let Some(source) = source else {
                return Some(Finding::new(
                    path,
                    1,
                    "the snapshot does not say which test it belongs to",
                    "write it anew with insta, which puts `source:` on top",
                ));
            };
            let source = source.trim().trim_matches('"').replace('\\', "/");
            (!tree.files.contains_key(&source)).then(|| {
                Finding::new(
                    path,
                    1,
                    format!("the snapshot belongs to `{source}`, which does not exist"),
                    "delete it, or put its test back",
                )
            })
        })
        .collect()
}

/// Fuzz targets without an entry in the manifest, and the other way round.
fn fuzz_targets(tree: &Tree) -> Vec<Finding> {
    const MANIFEST: &str = "fuzz/Cargo.toml";
    let table: toml::Table = tree.text(MANIFEST).parse().unwrap_or_default();
    let listed: BTreeSet<String> = table
        .get("bin")
        .and_then(toml::Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|target| Some(format!("fuzz/{}", target.get("path")?.as_str()?)))
        .collect();
    let present: BTreeSet<String> = tree
        .rust()
        .map(|(path, _)| path.to_owned())
        .filter(|path| path.starts_with("fuzz/fuzz_targets/"))
        .collect();
    let missing = present.difference(&listed).map(|path| {
        Finding::new(
            path,
            1,
            "the fuzz target is not in fuzz/Cargo.toml",
            "add a `[[bin]]` with its name and path there",
        )
    });
    let gone = listed.difference(&present).map(|path| {
        let file = path.trim_start_matches("fuzz/");
        Finding::new(
            MANIFEST,
            tree.line_where(MANIFEST, |line| line.contains(file)),
            format!("the fuzz target `{path}` does not exist"),
            "remove its `[[bin]]`, or put the file back",
        )
    });
    missing.chain(gone).collect()
}
