//! What is known of an environment that was made.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Language;

/// A package that is installed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Installed {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// What is known of an environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// What it is called by: a digest of all that it was made of.
    pub key: String,
    /// For what.
    pub language: Language,
    /// The skill that it was made for first, by its full name.
    pub skill: String,
    /// The files that said what it needs.
    pub from: Vec<String>,
    /// Whether nobody said it, so that it was taken from what scripts import.
    pub inferred: bool,
    /// What was left out of what scripts import, and why.
    pub left_out: Vec<String>,
    /// What is installed.
    pub packages: Vec<Installed>,
    /// The file of it that says which packages are wanted, with their digests: what was given, or what it
    /// was resolved to.
    pub lock: String,
    /// The interpreter, where the language has one environment each.
    pub interpreter: Option<String>,
    /// The index that it is from, without anything secret.
    pub index: String,
    /// When, as RFC 3339.
    pub made: String,
    /// How long that took, in milliseconds.
    pub took_ms: u64,
    /// Its length in bytes, and how many files it has.
    pub bytes: u64,
    /// How many files it has.
    pub files: u64,
    /// A digest of all of them, by which a change is seen.
    pub digest: String,
}

/// The packages that a lock has: lines as `pip` reads them, or a lock of npm.
pub fn packages(language: Language, lock: &str) -> Vec<Installed> {
    let mut found = match language {
        Language::Python => lock.lines().filter_map(pinned).collect(),
        Language::Node => locked(lock),
    };
    found.sort();
    found.dedup();
    found
}

fn pinned(line: &str) -> Option<Installed> {
    let (name, rest) = line.split_once("==")?;
    let end = rest.find([' ', ';', '\\']).unwrap_or(rest.len());
    let name = name.split('[').next().unwrap_or(name).trim();
    let version = rest.get(..end)?.trim();
    let is_name = !name.is_empty() && !name.starts_with(['-', '#']) && !name.contains(' ');
    is_name.then(|| Installed {
        name: name.to_owned(),
        version: version.to_owned(),
    })
}

fn locked(lock: &str) -> Vec<Installed> {
    let lock: Value = serde_json::from_str(lock).unwrap_or_default();
    let one = |(at, one): (&String, &Value)| {
        let is_needed = one.get("dev").and_then(Value::as_bool) != Some(true);
        let name = at.rsplit("node_modules/").next()?;
        let version = one.get("version")?.as_str()?;
        (is_needed && !at.is_empty()).then(|| Installed {
            name: name.to_owned(),
            version: version.to_owned(),
        })
    };
    let all = lock.get("packages").or_else(|| lock.get("dependencies"));
    let all = all.and_then(Value::as_object);
    all.into_iter().flatten().filter_map(one).collect()
}
