//! The record of an environment that was built.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Language;

/// A package of an environment.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PackageVersion {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// The record of an environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Its name: a digest of everything that it was built from.
    pub key: String,
    /// Its language.
    pub language: Language,
    /// The full name of the skill that it was first built for.
    pub skill: String,
    /// The files that declare its packages.
    pub from: Vec<String>,
    /// True if the packages were guessed from the imports of scripts.
    pub inferred: bool,
    /// Packages that weren't installed, and why; and whatever else differs from what was asked for.
    pub left_out: Vec<String>,
    /// Its packages.
    pub packages: Vec<PackageVersion>,
    /// The file in it that lists the packages with their digests.
    pub lock: String,
    /// The interpreter, where the language has one for each environment.
    pub interpreter: Option<String>,
    /// The index that the packages came from, without any secret.
    pub index: String,
    /// The time when it was built (RFC 3339).
    pub made: String,
    /// The duration of the build, in milliseconds.
    pub took_ms: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// The number of its files.
    pub files: u64,
    /// The digest of all files, by which a change is seen.
    pub digest: String,
    /// True once its modules are compiled, which goes on behind the first run. Until then the digest is without them.
    #[serde(default)]
    pub compiled: bool,
}

/// The packages of a lock: lines for pip, or a lock of npm.
pub fn locked_packages(language: Language, lock: &str) -> Vec<PackageVersion> {
    let mut found = match language {
        Language::Python => lock.lines().filter_map(pinned).collect(),
        Language::Node => npm_packages(lock),
    };
    found.sort();
    found.dedup();
    found
}

fn pinned(line: &str) -> Option<PackageVersion> {
    let (name, rest) = line.split_once("==")?;
    let name = name.split('[').next().unwrap_or(name).trim();
    let version = rest.split([' ', ';', '\\']).next()?;
    let is_name = !name.is_empty() && !name.starts_with(['-', '#']) && !name.contains(' ');
    is_name.then(|| PackageVersion {
        name: name.to_owned(),
        version: version.to_owned(),
    })
}

fn npm_packages(lock: &str) -> Vec<PackageVersion> {
    let lock: Value = serde_json::from_str(lock).unwrap_or_default();
    let package = |(path, entry): (&String, &Value)| {
        let is_dev = entry.get("dev").and_then(Value::as_bool) == Some(true);
        let version = entry.get("version")?.as_str()?;
        let (_, folder) = path.rsplit_once("node_modules/").filter(|_| !is_dev)?;
        // An alias has the name of its package.
        let name = entry.get("name").and_then(Value::as_str);
        let name = name.unwrap_or(folder);
        Some(PackageVersion {
            name: name.to_owned(),
            version: version.to_owned(),
        })
    };
    let packages = lock.get("packages").and_then(Value::as_object);
    packages.into_iter().flatten().filter_map(package).collect()
}
