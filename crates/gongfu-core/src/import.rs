//! The packages of the modules that scripts import, where a skill declares none: one table for checks and runs.
//!
//! Anybody can publish a package under a name that somebody imports. So only packages of a kept table are
//! installed by themselves; a name outside of it waits for a person.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

/// The table for Python: a module, and its package where that has another name.
const PYTHON_MODULES: &str = include_str!("import/python_modules.txt");
/// The table for Node.js: packages, which are imported by their own names.
const NODE_PACKAGES: &str = include_str!("import/node_packages.txt");

/// The longest module that may be a package, in bytes.
const MAX_MODULE: usize = 214;

/// A language whose packages can be installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    /// Python, with packages from a Python package index.
    Python,
    /// JavaScript or TypeScript on Node.js, with packages from an npm registry.
    Node,
}

impl Language {
    /// Every language.
    pub const ALL: [Self; 2] = [Self::Python, Self::Node];

    /// The name in answers and records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Node => "node",
        }
    }

    /// The name for people.
    pub fn title(self) -> &'static str {
        match self {
            Self::Python => "Python",
            Self::Node => "Node.js",
        }
    }

    /// Checks by the name of a file that it is a script of this language.
    pub(crate) fn owns(self, file: &str) -> bool {
        let extensions: &[&str] = match self {
            Self::Python => &["py", "pyw"],
            Self::Node => &["js", "mjs", "cjs", "ts", "mts", "jsx"],
        };
        let extension = file.rsplit_once('.').map(|(_, extension)| extension);
        extension.is_some_and(|extension| extensions.contains(&extension))
    }
}

/// The modules that scripts import and that belong neither to the language nor to the skill.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Imports {
    /// The modules, each with the scripts that import it.
    pub modules: BTreeMap<String, Vec<String>>,
    /// Those that may be modules of the skill: it has a file or folder of that name elsewhere.
    #[serde(default)]
    pub doubtful: BTreeMap<String, Vec<String>>,
    /// Those without which a script ends as soon as it starts.
    #[serde(default)]
    pub needed: BTreeSet<String>,
    /// Scripts that couldn't be parsed, and why.
    pub unread: Vec<String>,
}

/// A package that provides modules, as far as their names tell.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Guess {
    /// The package.
    pub package: String,
    /// True if it stands in the table.
    pub is_known: bool,
}

impl Imports {
    /// The same with each module by its shortest name that tells the package.
    #[must_use]
    pub fn shortened(self, language: Language) -> Self {
        let mut modules: BTreeMap<String, Vec<String>> = BTreeMap::new();
        // A module elsewhere in the skill is likely meant, unless everybody knows a package by that name.
        let doubtful = self.doubtful.into_iter();
        let doubtful = doubtful.filter(|(module, _)| known(language, module).is_some());
        for (module, scripts) in self.modules.into_iter().chain(doubtful) {
            let short = shortest(language, &module);
            let entry = modules.entry(short.to_owned()).or_default();
            entry.extend(scripts);
            entry.sort();
            entry.dedup();
        }
        let needed = self.needed.iter().map(|module| shortest(language, module));
        let needed = needed.filter(|module| modules.contains_key(*module));
        Self {
            needed: needed.map(str::to_owned).collect(),
            modules,
            doubtful: BTreeMap::new(),
            unread: self.unread,
        }
    }
}

/// The packages that provide these modules, sorted by name.
pub fn guesses<'a>(language: Language, modules: impl IntoIterator<Item = &'a str>) -> Vec<Guess> {
    let is_plain = |module: &&str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-@/".contains(c);
        module.len() <= MAX_MODULE
            && module.chars().all(is_plain)
            && module.starts_with(|c: char| c.is_alphanumeric() || "@_".contains(c))
    };
    let guess = |module: &str| match known(language, module) {
        Some((_, package)) => Guess {
            package,
            is_known: true,
        },
        None => Guess {
            package: match language {
                Language::Python => unknown(language, module).replace(['_', '.'], "-"),
                Language::Node => module.to_owned(),
            },
            is_known: false,
        },
    };
    let guesses: BTreeSet<Guess> = modules.into_iter().filter(is_plain).map(guess).collect();
    guesses.into_iter().collect()
}

/// True for a package of the table.
pub fn is_known_package(language: Language, package: &str) -> bool {
    let normal = normal(package);
    match language {
        Language::Python => PYTHON.values().any(|known| self::normal(known) == normal),
        Language::Node => NODE.contains(package),
    }
}

/// A name as indexes compare it (PEP 503).
pub(crate) fn normal(name: &str) -> String {
    name.to_ascii_lowercase().replace(['_', '.'], "-")
}

/// The package of each module of Python.
static PYTHON: LazyLock<HashMap<&str, String>> = LazyLock::new(|| {
    let rows = rows(PYTHON_MODULES).map(|row| match row.split_once(' ') {
        Some((module, package)) => (module, package.to_owned()),
        None => (row, row.replace(['_', '.'], "-")),
    });
    rows.collect()
});
/// The modules of Python that only hold others, such as `google`.
static NAMESPACES: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
    let tops = PYTHON.keys().filter_map(|module| module.split_once('.'));
    tops.map(|(top, _)| top)
        .filter(|top| !PYTHON.contains_key(top))
        .collect()
});
static NODE: LazyLock<BTreeSet<&str>> = LazyLock::new(|| rows(NODE_PACKAGES).collect());

fn rows(table: &'static str) -> impl Iterator<Item = &'static str> {
    table
        .lines()
        .filter(|row| !row.is_empty() && !row.starts_with('#'))
}

/// The longest part of a module that stands in the table, with its package.
fn known(language: Language, module: &str) -> Option<(&str, String)> {
    if language == Language::Node {
        return NODE.contains(module).then(|| (module, module.to_owned()));
    }
    let mut part = module;
    loop {
        if let Some(package) = PYTHON.get(part) {
            return Some((part, package.clone()));
        }
        part = part.rsplit_once('.')?.0;
    }
}

/// The shortest name of a module that tells its package.
pub fn shortest(language: Language, module: &str) -> &str {
    match known(language, module) {
        Some((known, _)) => known,
        None => unknown(language, module),
    }
}

/// The part of a module outside of the table that may be the name of a package.
fn unknown(language: Language, module: &str) -> &str {
    if language == Language::Node {
        return module;
    }
    let mut dots = module.match_indices('.').map(|(at, _)| at);
    let first = dots.next().unwrap_or(module.len());
    let top = module.get(..first).unwrap_or(module);
    if NAMESPACES.contains(top) {
        let second = dots.next().unwrap_or(module.len());
        return module.get(..second).unwrap_or(module);
    }
    top
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
                let short = shortest(Language::Python, module);
                (Language::Python, short.to_owned())
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

#[cfg(test)]
mod tests;
