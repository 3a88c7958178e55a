//! Which crate may depend on which, and which crate alone may name a library.
//!
//! The table below is the floor plan of ARCHITECTURE.md, as data.

use super::{Check, Finding};
use crate::tree::{Dependency, Package, Tree};

pub(super) const CHECK: Check = Check {
    name: "edges",
    about: "crates depend on each other, and on fenced libraries, only as the floor plan says",
    run,
};

/// Each package and the packages of this workspace that it may depend on.
const EDGES: &[(&str, &[&str])] = &[
    (
        "gongfu",
        &[
            "gongfu-core",
            "gongfu-hub",
            "gongfu-llm",
            "gongfu-mcp",
            "gongfu-sandbox",
            "gongfu-server",
            "gongfu-store",
        ],
    ),
    ("gongfu-core", &[]),
    ("gongfu-hub", &["gongfu-core"]),
    ("gongfu-llm", &["gongfu-core"]),
    ("gongfu-mcp", &["gongfu-core", "gongfu-hub"]),
    ("gongfu-sandbox", &["gongfu-core"]),
    ("gongfu-server", &["gongfu-core", "gongfu-hub"]),
    ("gongfu-store", &["gongfu-core"]),
    (
        "xtask",
        &[
            "gongfu-core",
            "gongfu-hub",
            "gongfu-sandbox",
            "gongfu-store",
        ],
    ),
];

/// Each fenced library and the one package that may name it.
const FENCED: &[(&str, &str)] = &[
    ("axum", "gongfu-server"),
    ("bollard", "gongfu-sandbox"),
    ("genai", "gongfu-llm"),
    ("rmcp", "gongfu-mcp"),
    ("sqlx", "gongfu-store"),
];

/// What the core, which does no IO, must not name, in its tests either.
const NOT_IN_CORE: &[&str] = &[
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
        // The tests of the binary look at every part from outside.
        if package.name == "gongfu" && dependency.only_tests {
            return None;
        }
        if names.contains(&name) && name != package.name && !allowed.contains(&name) {
            let allowed = if allowed.is_empty() {
                "none".to_owned()
            } else {
                allowed.join(", ")
            };
            return Some((
                format!("`{}` must not depend on `{name}`", package.name),
                format!(
                    "of this workspace it may name: {allowed}; let a port of gongfu-core stand between the two"
                ),
            ));
        }
        if package.name == "gongfu-core" && NOT_IN_CORE.contains(&name) {
            return Some((
                format!("gongfu-core must not depend on `{name}`"),
                "the core does no IO: put a trait into its port module, and implement it in an outer crate".to_owned(),
            ));
        }
        let (_, owner) = FENCED
            .iter()
            .find(|(library, owner)| *library == name && *owner != package.name)?;
        Some((
            format!("`{}` must not depend on `{name}`", package.name),
            format!("only {owner} names it: move the code there"),
        ))
    };
    let found = package.dependencies.iter().filter_map(|dependency| {
        let (what, mend) = wrong(dependency)?;
        let line = tree.line_where(&manifest, |line| names_dependency(line, &dependency.name));
        Some(Finding::new(&manifest, line, what, mend))
    });
    found.collect()
}

/// Whether a line of a manifest, such as `tokio.workspace = true`, is about this dependency.
fn names_dependency(line: &str, name: &str) -> bool {
    line.trim_start()
        .strip_prefix(name)
        .is_some_and(|rest| rest.trim_start().starts_with(['.', '=']))
        || line.contains(&format!("package = \"{name}\""))
        || line.trim_end().ends_with(&format!("dependencies.{name}]"))
}
