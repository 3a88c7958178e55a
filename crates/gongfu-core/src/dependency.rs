//! The packages that a skill's scripts need: where the skill declares them, and what to install.
//!
//! Only reads texts. Nothing that a skill says reaches an installer except names and versions of packages:
//! where packages come from is for the operator to decide.

mod command;
mod completed;
mod failure;
mod left_out;
mod npm;
mod pyproject;
mod record;
mod requirement;
mod script;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::Serialize;

pub use crate::import::{Guess, Imports, Language, guesses, is_known_package, missing_modules};
pub use command::{added_packages, languages, named_scripts};
pub use failure::{Failure, FailureKind};
pub use left_out::{left_out_entry, shortened};
pub use record::{PackageVersion, Record, locked_packages};
pub use requirement::{is_digest, requirement_problem};

use crate::skill::{Digest, FileEntry, SkillPath};

/// The folders of a skill that may hold a manifest, the most important first.
const FOLDERS: [&str; 2] = ["scripts/", ""];
const PYPROJECT: &str = "pyproject.toml";
const UV_LOCK: &str = "uv.lock";
const REQUIREMENTS: &str = "requirements.txt";
const PACKAGE_JSON: &str = "package.json";
const NPM_LOCKS: [&str; 2] = ["npm-shrinkwrap.json", "package-lock.json"];
/// Locks of other installers, which aren't read.
const FOREIGN_LOCKS: [(&str, Language); 8] = [
    ("pnpm-lock.yaml", Language::Node),
    ("yarn.lock", Language::Node),
    ("bun.lock", Language::Node),
    ("bun.lockb", Language::Node),
    ("poetry.lock", Language::Python),
    ("pdm.lock", Language::Python),
    ("Pipfile.lock", Language::Python),
    ("pylock.toml", Language::Python),
];
/// The largest file that is read, in bytes: locks are long.
pub const MAX_FILE: u64 = 8 * 1024 * 1024;
/// The longest error message, in characters: it repeats text of the skill.
const MAX_MESSAGE: usize = 500;
/// The limit of packages in a manifest.
const MAX_PACKAGES: usize = 5_000;
/// Raised whenever the same texts come to mean something else.
const EDITION: u32 = 4;

/// The packages that are installed without a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Installs {
    /// Packages that a skill declares.
    pub declared: bool,
    /// Packages inferred from imports, where a skill declares none.
    pub inferred: bool,
}

impl Default for Installs {
    fn default() -> Self {
        Self {
            declared: true,
            inferred: false,
        }
    }
}

/// The packages to install for the scripts of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// The language of the scripts.
    pub language: Language,
    /// The files that declare the packages, or the scripts that import them.
    pub files: Vec<SkillPath>,
    /// The packages.
    pub packages: PackageSpec,
    /// Parts of the files that are left out, and why, for people.
    pub warnings: Vec<String>,
    /// Packages that a person has allowed to be installed, though they are guessed and not in the table.
    pub allowed: Vec<String>,
}

/// The packages to install, in the form in which they are declared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PackageSpec {
    /// Requirements of Python.
    Requirements(Requirements),
    /// A Python project with its `uv.lock`.
    Project {
        /// The text of `pyproject.toml`.
        project: String,
        /// The text of `uv.lock`.
        lock: String,
        /// The requirements of the project, where the lock doesn't fit it.
        requirements: Requirements,
    },
    /// Packages of Node.js.
    Package {
        /// A `package.json` that holds only the dependencies.
        package: String,
        /// The lock, without the URLs of its packages.
        lock: Option<String>,
    },
    /// The imports of scripts: the skill declares nothing.
    Imports {
        /// All scripts of the skill: they may import each other.
        scripts: BTreeMap<SkillPath, Digest>,
        /// The scripts that are started; all of them if nobody named one.
        started: Vec<SkillPath>,
    },
}

/// Requirements of Python.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Requirements {
    /// One requirement each (PEP 508), possibly with digests (`--hash`).
    pub lines: Vec<String>,
    /// Versions that a package must have if it is installed at all.
    pub constraints: Vec<String>,
    /// The version of Python (PEP 440).
    pub python: Option<String>,
    /// True if the lines have digests, so that there is nothing to resolve.
    pub is_lock: bool,
}

impl Manifest {
    /// The digest of what is to be installed, whichever files declare it.
    pub fn digest(&self) -> Digest {
        let all = serde_json::json!([EDITION, self.language, self.packages]);
        Digest::of(all.to_string().as_bytes())
    }

    /// True if the packages are guessed from the imports of scripts.
    pub fn is_inferred(&self) -> bool {
        matches!(self.packages, PackageSpec::Imports { .. })
    }

    /// The origin of the packages in one line, for people.
    pub fn origin(&self) -> String {
        if self.is_inferred() {
            return format!("what its {} scripts import", self.language.title());
        }
        if self.files.is_empty() {
            return "the command".to_owned();
        }
        let files: Vec<&str> = self.files.iter().map(SkillPath::as_str).collect();
        files.join(", ")
    }

    /// True if there is nothing to install.
    pub fn is_empty(&self) -> bool {
        match &self.packages {
            PackageSpec::Requirements(requirements) => requirements.lines.is_empty(),
            PackageSpec::Imports { scripts, .. } => scripts.is_empty(),
            PackageSpec::Project { .. } | PackageSpec::Package { .. } => false,
        }
    }
}

impl PackageSpec {
    /// The same packages without their lock; `None` if they have none, or nothing else.
    #[must_use]
    pub fn without_lock(&self) -> Option<Self> {
        match self {
            Self::Project { requirements, .. } => Some(Self::Requirements(requirements.clone())),
            Self::Package {
                package,
                lock: Some(_),
            } => Some(Self::Package {
                package: package.clone(),
                lock: None,
            }),
            _ => None,
        }
    }
}

/// The reason why a manifest can't be followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: {why}", line.map_or_else(String::new, |line| format!(":{line}")))]
pub struct ManifestError {
    /// The file.
    pub file: String,
    /// The line, where it is known; the first is 1.
    pub line: Option<usize>,
    /// The reason and the remedy, for people.
    pub why: String,
}

impl ManifestError {
    fn new(file: &SkillPath, line: Option<usize>, why: impl AsRef<str>) -> Self {
        Self {
            file: file.as_str().to_owned(),
            line,
            why: crate::text::clipped(why.as_ref(), MAX_MESSAGE, char::REPLACEMENT_CHARACTER),
        }
    }
}

/// The limit of warnings of a manifest.
const MAX_WARNINGS: usize = 20;

/// The parts of a manifest that are left out.
#[derive(Debug, Default)]
struct LeftOut {
    first: Option<ManifestError>,
    warnings: Vec<String>,
    /// The number of warnings above the limit.
    more: usize,
}

impl LeftOut {
    fn add(&mut self, error: ManifestError) {
        self.warn(format!("left out: {error}"));
        self.first.get_or_insert(error);
    }

    fn warn(&mut self, warning: String) {
        if self.warnings.len() < MAX_WARNINGS {
            self.warnings.push(left_out_entry(&warning));
        } else {
            self.more += 1;
        }
    }

    /// The warnings.
    ///
    /// # Errors
    /// The first thing that was left out, where all or nothing counts, or nothing is left.
    fn warnings(mut self, is_error: bool) -> Result<Vec<String>, ManifestError> {
        if self.more > 0 {
            self.warnings.push(format!("and {} more", self.more));
        }
        match self.first.filter(|_| is_error) {
            Some(error) => Err(error),
            None => Ok(self.warnings),
        }
    }
}

/// The texts of the manifests of a skill, by path.
pub type Texts = BTreeMap<SkillPath, String>;

/// Checks by the path of a file that it may declare packages.
pub fn is_manifest(path: &SkillPath) -> bool {
    let path = path.as_str();
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    let is_text = matches!(extension, Some("txt" | "in"));
    // One file of requirements may include another.
    let is_requirements = is_text && (name.contains("requirement") || name.contains("constraint"));
    let is_known = [PYPROJECT, UV_LOCK, PACKAGE_JSON].contains(&name) || NPM_LOCKS.contains(&name);
    let is_foreign = FOREIGN_LOCKS.iter().any(|(lock, _)| *lock == name);
    match folder {
        "" | "scripts" => is_known || is_foreign || is_requirements,
        "requirements" | "scripts/requirements" => is_text,
        _ => false,
    }
}

/// Reads what a skill declares for a language; `scripts` are those that are to run.
///
/// A `pyproject.toml` goes before the header of a script (PEP 723), and that before `requirements.txt`. What is no
/// package of an index is left out with a warning, for the sake of the others.
/// Answers `None` if the skill declares nothing.
///
/// # Errors
/// The first manifest that declares packages can't be followed, or nothing of it.
pub fn parse(
    language: Language,
    texts: &Texts,
    scripts: &[SkillPath],
) -> Result<Option<Manifest>, ManifestError> {
    let mut manifest = match language {
        Language::Python => python(texts, scripts)?,
        Language::Node => node(texts)?,
    };
    if let Some(manifest) = &mut manifest {
        let beside = manifest.files.iter().map(SkillPath::parent);
        let beside: Vec<SkillPath> = beside.collect();
        for (name, of) in FOREIGN_LOCKS {
            let paths = beside.iter().filter_map(|folder| folder.join(name).ok());
            let lock = paths.into_iter().find(|path| texts.contains_key(path));
            if let Some(lock) = lock.filter(|_| of == language) {
                let own = match language {
                    Language::Python => UV_LOCK,
                    Language::Node => "package-lock.json",
                };
                manifest.warnings.push(format!(
                    "{lock}: this lock format isn't supported, so the newest matching versions are installed; add a {own}"
                ));
            }
        }
    }
    Ok(manifest)
}

/// The manifests of this name, the most important first.
fn find<'a>(texts: &'a Texts, name: &str) -> Vec<(&'a SkillPath, &'a String)> {
    let paths = FOLDERS.map(|folder| SkillPath::new(&format!("{folder}{name}")));
    let paths = paths.into_iter().flatten();
    paths
        .filter_map(|path| texts.get_key_value(&path))
        .collect()
}

fn beside<'a>(
    texts: &'a Texts,
    file: &SkillPath,
    name: &str,
) -> Option<(&'a SkillPath, &'a String)> {
    let path = file.parent().join(name).ok()?;
    texts.get_key_value(&path)
}

fn node(texts: &Texts) -> Result<Option<Manifest>, ManifestError> {
    for (file, text) in find(texts, PACKAGE_JSON) {
        let lock = NPM_LOCKS.iter().find_map(|name| beside(texts, file, name));
        if let Some(manifest) = npm::parse(file, text, lock)? {
            return Ok(Some(manifest));
        }
    }
    Ok(None)
}

fn python(texts: &Texts, scripts: &[SkillPath]) -> Result<Option<Manifest>, ManifestError> {
    for (file, text) in find(texts, PYPROJECT) {
        if let Some(manifest) = pyproject::parse(file, text, beside(texts, file, UV_LOCK))? {
            return Ok(Some(manifest));
        }
    }
    if let Some(manifest) = script::parse(texts, scripts)? {
        return Ok(Some(manifest));
    }
    let requirements = find(texts, REQUIREMENTS).into_iter().next();
    requirements
        .map(|(file, _)| requirement::parse(file, texts))
        .transpose()
}

/// A manifest of whatever these scripts of a skill import, and those that they import; without any, all scripts.
pub fn inferred<'a>(
    language: Language,
    files: impl IntoIterator<Item = &'a FileEntry>,
    started: &[SkillPath],
) -> Manifest {
    let mut scripts = BTreeMap::new();
    let mut left_out = LeftOut::default();
    for file in files {
        if language.owns(file.path.as_str()) && file.size > MAX_FILE {
            left_out.warn(format!(
                "{}: longer than {} MiB, so its imports weren't scanned",
                file.path,
                MAX_FILE >> 20
            ));
        } else if language.owns(file.path.as_str()) {
            // A file without a digest was too large to read: its length has to do.
            let digest = file.digest;
            let digest = digest.unwrap_or_else(|| Digest::of(&file.size.to_le_bytes()));
            scripts.insert(file.path.clone(), digest);
        }
    }
    Manifest {
        language,
        files: scripts.keys().cloned().collect(),
        packages: PackageSpec::Imports {
            started: started
                .iter()
                .filter(|path| scripts.contains_key(*path))
                .cloned()
                .collect(),
            scripts,
        },
        warnings: left_out.warnings,
        allowed: Vec::new(),
    }
}
