//! Inside a crate modules form no circle.
//!
//! The rule looks at the children of one module at a time. If anything in the subtree of `a` names
//! anything in the subtree of its sibling `b`, then `a` depends on `b`; these dependencies must form no
//! circle. A module and its own descendants may name each other: a list of plugins knows its plugins,
//! and they know the trait. A name that is re-exported counts as a dependency on the module that
//! defines it, so that a parent can't hide a circle. Tests are left out.
//!
//! Paths are read from `use` and from code. The check does not see calls of methods, nor paths inside of
//! a macro's expansion.

mod graph;

use std::collections::BTreeMap;

use super::{Check, Finding, Rule};
use crate::modules::{self, Module};
use crate::rust_text::paths;
use crate::tree::Tree;
use graph::Graph;

pub(super) const CHECK: Check = Check {
    name: "circles",
    about: "inside a crate modules form no circle",
    rule: Rule::Strict(run),
};

fn run(tree: &Tree) -> Vec<Finding> {
    let modules = modules::modules(tree);
    let mut findings = Vec::new();
    for package in &tree.packages {
        let source = format!("{}/src/", package.folder);
        let roots = package.roots.iter();
        for root in roots.filter(|root| root.starts_with(&source)) {
            let own = modules
                .iter()
                .filter(|module| module.root == *root && !module.only_tests);
            let graphs = Crate::new(tree, own).graph();
            findings.extend(graphs.values().flat_map(Graph::circles).map(finding));
        }
    }
    findings
}

fn finding(circle: Vec<graph::Edge>) -> Finding {
    let names: Vec<&str> = circle.iter().map(|edge| edge.from.as_str()).collect();
    let places: Vec<String> = circle
        .iter()
        .skip(1)
        .map(|edge| {
            format!(
                "{} -> {} at {}:{}",
                edge.from, edge.to, edge.file, edge.line
            )
        })
        .collect();
    let first = &circle[0];
    Finding::new(
        &first.file,
        first.line,
        format!(
            "circle {} -> {} ({})",
            names.join(" -> "),
            first.from,
            places.join(", ")
        ),
        "move the part that both need to a module below them",
    )
}

/// The modules of one crate with the paths in them.
struct Crate<'a> {
    files: BTreeMap<&'a [String], File<'a>>,
}

struct File<'a> {
    path: &'a str,
    /// The names that `use` declares, with the absolute paths behind them.
    imports: BTreeMap<String, Vec<String>>,
    /// Absolute paths with their lines.
    references: Vec<(Vec<String>, usize)>,
}

impl<'a> Crate<'a> {
    fn new(tree: &Tree, modules: impl Iterator<Item = &'a Module>) -> Self {
        let modules: Vec<&Module> = modules.collect();
        let is_module = |path: &[String]| modules.iter().any(|module| module.path == path);
        let files = modules.iter().map(|module| {
            let mut file = File {
                path: &module.file,
                imports: BTreeMap::new(),
                references: Vec::new(),
            };
            let paths = paths::paths(tree.text(&module.file));
            // Code may name an import that stands below it.
            let (declared, used): (Vec<_>, Vec<_>) =
                paths.iter().partition(|path| path.name.is_some());
            for path in declared.into_iter().chain(used) {
                let base = [module.path.as_slice(), &path.within].concat();
                let child = [base.as_slice(), &path.segments[..1]].concat();
                let first = path.segments[0].as_str();
                let absolute = if matches!(first, "crate" | "self" | "super") {
                    absolute(base, &path.segments)
                } else if is_module(&child) {
                    [base.as_slice(), &path.segments].concat()
                } else if let Some(import) = file.imports.get(first) {
                    [import.as_slice(), &path.segments[1..]].concat()
                } else {
                    continue;
                };
                if let Some(name) = &path.name {
                    file.imports.insert(name.clone(), absolute.clone());
                }
                file.references.push((absolute, path.line));
            }
            (module.path.as_slice(), file)
        });
        Self {
            files: files.collect(),
        }
    }

    /// The dependencies between siblings, below each module that has children.
    fn graph(&self) -> BTreeMap<Vec<String>, Graph> {
        let mut graphs: BTreeMap<Vec<String>, Graph> = BTreeMap::new();
        for (from, file) in &self.files {
            for (path, line) in &file.references {
                for to in self.targets(path) {
                    let shared = from.iter().zip(to).take_while(|(one, two)| one == two);
                    let shared = shared.count();
                    if shared == from.len() || shared == to.len() {
                        continue;
                    }
                    let graph = graphs.entry(from[..shared].to_vec()).or_default();
                    graph.add(graph::Edge {
                        from: from[..=shared].join("::"),
                        to: to[..=shared].join("::"),
                        file: file.path.to_owned(),
                        line: *line,
                    });
                }
            }
        }
        graphs
    }

    /// The modules that a path leads to: the one that it names, and those behind its re-exports.
    fn targets(&self, path: &[String]) -> Vec<&'a [String]> {
        const MAX_STEPS: usize = 8;
        let mut targets = Vec::new();
        let mut path = path.to_vec();
        for _ in 0..MAX_STEPS {
            let is_module = |end: &usize| self.files.contains_key(&path[..*end]);
            let end = (0..=path.len()).rev().find(is_module).unwrap_or_default();
            let Some((module, file)) = self.files.get_key_value(&path[..end]) else {
                break;
            };
            targets.push(*module);
            let behind = path.get(end).and_then(|name| file.imports.get(name));
            let Some(behind) = behind else {
                break;
            };
            path = [behind.as_slice(), &path[end + 1..]].concat();
        }
        targets
    }
}

/// A path from the root of the crate on.
fn absolute(mut base: Vec<String>, segments: &[String]) -> Vec<String> {
    let mut rest = segments;
    while let Some((first, behind)) = rest.split_first() {
        match first.as_str() {
            "crate" => base.clear(),
            "self" => {}
            "super" => {
                base.pop();
            }
            _ => break,
        }
        rest = behind;
    }
    base.extend_from_slice(rest);
    base
}
