//! The packages behind the modules that scripts import, where a skill declares none: a proposal, unless the
//! operator has it installed.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::Language;

/// Modules of Python whose package has another name.
const PYTHON_PACKAGES: &str = include_str!("python_packages.txt");

/// The modules that scripts import and that belong neither to the language nor to the skill.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Imports {
    /// The modules, each with the scripts that import it.
    pub modules: BTreeMap<String, Vec<String>>,
    /// Scripts that couldn't be parsed, and why.
    pub unread: Vec<String>,
}

/// The packages that provide these modules, as far as their names tell.
pub fn package_names<'a>(
    language: Language,
    modules: impl IntoIterator<Item = &'a str>,
) -> Vec<String> {
    let is_plain = |module: &&str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-@/".contains(c);
        module.chars().all(is_plain)
            && module.starts_with(|c: char| c.is_alphanumeric() || "@_".contains(c))
    };
    let package = |module: &str| match language {
        Language::Node => module.to_owned(),
        Language::Python => {
            let mut rows = PYTHON_PACKAGES.lines().map(str::split_whitespace);
            let package =
                rows.find_map(|mut row| (row.next() == Some(module)).then(|| row.next())?);
            package.map_or_else(|| module.replace('_', "-"), str::to_owned)
        }
    };
    let names: BTreeSet<String> = modules.into_iter().filter(is_plain).map(package).collect();
    names.into_iter().collect()
}

/// The modules that a program didn't find, by the error messages of Python and Node.js.
pub fn missing_modules(output: &str) -> Vec<(Language, String)> {
    let mut found = Vec::new();
    for line in output.lines() {
        let quoted = |message: &str| {
            let (_, rest) = line.split_once(message)?;
            let name = rest.strip_prefix('\'')?.split('\'').next()?;
            (!name.is_empty()).then_some(name)
        };
        let python = quoted("ModuleNotFoundError: No module named ");
        let node = quoted("Cannot find module ").or_else(|| quoted("Cannot find package "));
        let node = node.filter(|module| !module.starts_with(['.', '/']) && !module.contains(':'));
        let missing = match (python, node) {
            (Some(module), _) => {
                let top = module.split('.').next().unwrap_or(module);
                (Language::Python, top.to_owned())
            }
            (None, Some(module)) => {
                // `@scope/name/part`, `name/part`
                let parts = if module.starts_with('@') { 2 } else { 1 };
                let package: Vec<&str> = module.split('/').take(parts).collect();
                (Language::Node, package.join("/"))
            }
            (None, None) => continue,
        };
        if !found.contains(&missing) {
            found.push(missing);
        }
    }
    found
}
