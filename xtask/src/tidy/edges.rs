//! The edges between crates, and the crates that alone may name a library.
//!
//! The table below is the floor plan of ARCHITECTURE.md, as data.

use super::{Check, Finding, Rule};
use crate::tree::{Dependency, Package, Tree};

pub(super) const CHECK: Check = Check {
    name: "edges",
    about: "crates depend on each other, and on fenced libraries, only as the floor plan says",
    rule: Rule::Strict(run),
};

/// Each package and the packages of this workspace that it may depend on. Some come later.
///
/// A crate that implements a port knows the core, and `gongfu-files` for storage. Two crates know the sandbox
/// too: attacks run in it and make their system calls by it, and the first process of a container is its child.
const EDGES: &[(&str, &[&str])] = &[
    ("gongfu", ALL),
    ("gongfu-agent", &["gongfu-core", "gongfu-hub"]),
    ("gongfu-archive", &["gongfu-core"]),
    ("gongfu-attack", &["gongfu-core", "gongfu-sandbox"]),
    ("gongfu-conformance", ALL),
    ("gongfu-core", &["gongfu-skills-ref"]),
    ("gongfu-credentials", &["gongfu-core", "gongfu-files"]),
    ("gongfu-docker", &["gongfu-core", "gongfu-sandbox"]),
    ("gongfu-environments", &["gongfu-core", "gongfu-files"]),
    ("gongfu-files", &["gongfu-core"]),
    ("gongfu-hub", &["gongfu-archive", "gongfu-core"]),
    (
        "gongfu-import",
        &["gongfu-archive", "gongfu-core", "gongfu-files"],
    ),
    ("gongfu-library", &["gongfu-core", "gongfu-files"]),
    ("gongfu-llm", &["gongfu-core"]),
    ("gongfu-mcp", &["gongfu-core", "gongfu-hub"]),
    ("gongfu-records", &["gongfu-core", "gongfu-files"]),
    ("gongfu-sandbox", &["gongfu-core"]),
    ("gongfu-search", &["gongfu-core", "gongfu-files"]),
    ("gongfu-server", &["gongfu-core", "gongfu-hub"]),
    ("gongfu-skills-ref", &[]),
    (TESTING, &["gongfu-core"]),
    ("gongfu-upstream", &["gongfu-core"]),
    ("lab", ALL),
    ("xtask", &[]),
];

/// Stands for every package of the workspace.
const ALL: &[&str] = &["*"];

/// The fixtures and fakes: any package may have them for its tests, none of the product otherwise.
const TESTING: &str = "gongfu-testing";

/// Each fenced library and the packages that may name it.
const FENCED: &[(&str, &[&str])] = &[
    ("axum", &["gongfu-server"]),
    ("bollard", &["gongfu-docker"]),
    ("genai", &["gongfu-llm"]),
    (
        "rmcp",
        &["gongfu-mcp", "gongfu-upstream", "gongfu-conformance"],
    ),
    ("sqlx", &["gongfu-records"]),
];

/// The crates that do no IO.
const NO_IO: &[&str] = &["gongfu-archive", "gongfu-core", "gongfu-skills-ref"];

/// Libraries for IO, which those crates must not name, in their tests either.
const IO_LIBRARIES: &[&str] = &[
    "axum", "cap-std", "reqwest", "rmcp", "rustix", "sqlx", "tempfile", "tokio",
];

fn run(tree: &Tree) -> Vec<Finding> {
    let names: Vec<&str> = tree
        .packages
        .iter()
        .map(|package| package.name.as_str())
        .collect();
    tree.packages
        .iter()
        .flat_map(|package| edges_of(tree, package, &names))
        .collect()
}

fn edges_of(tree: &Tree, package: &Package, names: &[&str]) -> Vec<Finding> {
    let manifest = format!("{}/Cargo.toml", package.folder);
    let Some((_, allowed)) = EDGES.iter().find(|(name, _)| *name == package.name) else {
        return vec![Finding::new(
            &manifest,
            1,
            format!("`{}` is not on the floor plan", package.name),
            "add it to `EDGES` in xtask/src/tidy/edges.rs, and to ARCHITECTURE.md",
        )];
    };
    let wrong = |dependency: &Dependency| -> Option<(String, String)> {
        let name = dependency.name.as_str();
        let refused = |fix: &str| {
            let what = format!("`{}` must not depend on `{name}`", package.name);
            Some((what, fix.to_owned()))
        };
        // The tests of the binary look at every part from outside.
        if dependency.only_tests && (package.name == "gongfu" || name == TESTING) {
            return None;
        }
        if name == TESTING && package.is_product() {
            return refused("it is for tests alone: put it below `[dev-dependencies]`");
        }
        // Tests may try a part together with another one.
        let is_sibling = names.contains(&name) && name != package.name && !dependency.only_tests;
        if is_sibling && *allowed != ALL && !allowed.contains(&name) {
            let allowed = if allowed.is_empty() {
                "none".to_owned()
            } else {
                allowed.join(", ")
            };
            return refused(&format!(
                "of this workspace it may name: {allowed}; let a port of gongfu-core stand between the two"
            ));
        }
        if NO_IO.contains(&package.name.as_str()) && IO_LIBRARIES.contains(&name) {
            return refused(
                "it does no IO: put a trait into the core's port module, and implement it in an outer crate",
            );
        }
        let (_, owners) = FENCED.iter().find(|(library, _)| *library == name)?;
        if owners.contains(&package.name.as_str()) {
            return None;
        }
        refused(&format!(
            "only {} names it: move the code there",
            owners.join(", ")
        ))
    };
    let found = package.dependencies.iter().filter_map(|dependency| {
        let (what, fix) = wrong(dependency)?;
        let line = tree.line_where(&manifest, |line| names_dependency(line, &dependency.name));
        Some(Finding::new(&manifest, line, what, fix))
    });
    found.collect()
}

/// True when a line of a manifest, such as `tokio.workspace = true`, is about this dependency.
fn names_dependency(line: &str, name: &str) -> bool {
    line.trim_start()
        .strip_prefix(name)
        .is_some_and(|rest| rest.trim_start().starts_with(['.', '=']))
        || line.contains(&format!("package = \"{name}\""))
        || line.trim_end().ends_with(&format!("dependencies.{name}]"))
}
