//! What the scripts of a skill need besides themselves: where that is said, and what is to be installed
//! for it (spec, "Dependency environments").
//!
//! Only reads texts. Nothing of what a skill says reaches an installer but names of packages and which
//! versions of them are wanted: where packages come from is for the operator alone to say.

mod failure;
mod import;
mod need;
mod package;
mod project;
mod record;
mod requirement;
mod script;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use failure::{Failure, Kind};
pub use import::{Imported, distributions, missing};
pub use need::{Needs, named, needs};
pub use record::{Installed, Record, packages};
pub use requirement::{is_digest, unfit};

use crate::skill::{Digest, FileEntry, SkillPath};

/// The folders of a skill in which it is said, the most important first.
const FOLDERS: [&str; 2] = ["scripts/", ""];
/// The files that say it, besides scripts themselves.
const PROJECT: &str = "pyproject.toml";
const PROJECT_LOCK: &str = "uv.lock";
const REQUIREMENTS: &str = "requirements.txt";
const PACKAGE: &str = "package.json";
const PACKAGE_LOCKS: [&str; 2] = ["npm-shrinkwrap.json", "package-lock.json"];
/// The longest file that is looked at, in bytes: locks are long.
pub const LONGEST: u64 = 8 * 1024 * 1024;
/// How much of what is wrong is said, in characters: a skill's text stands in it.
const REPEATED: usize = 500;
/// How many packages may be wanted.
const MOST: usize = 5_000;
/// Raised whenever the same texts come to mean something else.
const EDITION: u32 = 2;

/// In what scripts are written for which packages are installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    /// Python; its packages come from a package index.
    Python,
    /// JavaScript and what becomes of it; its packages come from an npm registry.
    Node,
}

impl Language {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Python, Self::Node];

    /// What it is called in answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Node => "node",
        }
    }

    /// What people call it.
    pub fn title(self) -> &'static str {
        match self {
            Self::Python => "Python",
            Self::Node => "Node.js",
        }
    }
}

/// What is to be installed for the scripts of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// For what.
    pub language: Language,
    /// The files that say it.
    pub files: Vec<SkillPath>,
    /// What.
    pub wanted: Wanted,
    /// What they say that isn't followed, and why, for people.
    pub passed_over: Vec<String>,
}

/// What is to be installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Wanted {
    /// Packages of Python.
    Requirements(Requirements),
    /// Those of a project of Python, as its `uv.lock` has them.
    Project {
        /// Its `pyproject.toml`.
        project: String,
        /// Its lock.
        lock: String,
    },
    /// Packages of Node.js.
    Package {
        /// What a `package.json` says of them, and nothing else.
        package: String,
        /// The lock, without the places that packages are said to be at.
        lock: Option<String>,
    },
    /// What these scripts import: nobody says it.
    Imports(BTreeMap<SkillPath, Digest>),
}

/// Packages of Python that are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Requirements {
    /// Each as PEP 508 writes it, perhaps with digests (`--hash`).
    pub lines: Vec<String>,
    /// Which versions are wanted if a package is installed at all.
    pub constraints: Vec<String>,
    /// Which Python, by PEP 440.
    pub python: Option<String>,
    /// Whether each names the one version and its digests: then nothing has to be resolved.
    pub is_lock: bool,
}

impl Manifest {
    /// What tells it from any other; where it lies and what it is called has no part in it.
    pub fn digest(&self) -> Digest {
        let all = serde_json::json!([EDITION, self.language, self.wanted]);
        Digest::of(all.to_string().as_bytes())
    }

    /// Whether nobody says what is needed, so that it is taken from what scripts import.
    pub fn is_inferred(&self) -> bool {
        matches!(self.wanted, Wanted::Imports(_))
    }

    /// The files that say it, in one line for people.
    pub fn from(&self) -> String {
        if self.is_inferred() {
            return format!("what its {} scripts import", self.language.title());
        }
        let files: Vec<&str> = self.files.iter().map(SkillPath::as_str).collect();
        files.join(", ")
    }

    /// Whether nothing is to be installed.
    pub fn is_empty(&self) -> bool {
        match &self.wanted {
            Wanted::Requirements(wanted) => wanted.lines.is_empty(),
            Wanted::Imports(scripts) => scripts.is_empty(),
            Wanted::Project { .. } | Wanted::Package { .. } => false,
        }
    }
}

/// Why what a file says of dependencies can't be followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: {why}", line.map_or_else(String::new, |line| format!(":{line}")))]
pub struct Unfit {
    /// Which file.
    pub file: String,
    /// Which line of it, where that is known; the first is 1.
    pub line: Option<usize>,
    /// Why, and what to write instead, for people.
    pub why: String,
}

impl Unfit {
    fn new(file: &SkillPath, line: Option<usize>, why: impl Into<String>) -> Self {
        let why: String = why.into();
        Self {
            file: file.as_str().to_owned(),
            line,
            why: crate::text::clipped(&why, REPEATED, char::REPLACEMENT_CHARACTER),
        }
    }
}

/// What is read of a skill to know what it needs: texts of its files, by path.
pub type Texts = BTreeMap<SkillPath, String>;

/// Whether a file may say what a skill needs.
pub fn is_told_by(path: &SkillPath) -> bool {
    let path = path.as_str();
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let is_text = name
        .rsplit_once('.')
        .is_some_and(|(_, kind)| matches!(kind, "txt" | "in"));
    match folder {
        "" | "scripts" => {
            let whole = [PROJECT, PROJECT_LOCK, PACKAGE];
            whole.contains(&name)
                || PACKAGE_LOCKS.contains(&name)
                // Requirements name others by which they go on.
                || (is_text && (name.contains("requirement") || name.contains("constraint")))
        }
        "requirements" | "scripts/requirements" => is_text,
        _ => false,
    }
}

/// What the texts say of a language. `scripts` are those that are to be run.
///
/// In the order of the spec: a project, the header of a script (PEP 723), requirements; for Node.js a
/// package. `None` where nothing is said.
///
/// # Errors
/// It is said in a way that can't be followed.
pub fn declared(
    language: Language,
    texts: &Texts,
    scripts: &[SkillPath],
) -> Result<Option<Manifest>, Unfit> {
    match language {
        Language::Python => {
            let project = in_folders(PROJECT, texts, |file, text| {
                let lock = beside(file, PROJECT_LOCK).and_then(|lock| texts.get_key_value(&lock));
                project::read(file, text, lock)
            })?;
            if project.is_some() {
                return Ok(project);
            }
            let headers = script::read(texts, scripts)?;
            if headers.is_some() {
                return Ok(headers);
            }
            in_folders(REQUIREMENTS, texts, |file, _| {
                requirement::read(file, texts).map(Some)
            })
        }
        Language::Node => in_folders(PACKAGE, texts, |file, text| {
            let mut locks = PACKAGE_LOCKS.iter().filter_map(|name| beside(file, name));
            let lock = locks.find_map(|lock| texts.get_key_value(&lock));
            package::read(file, text, lock)
        }),
    }
}

/// What the scripts of a language import: taken together, whichever is run.
pub fn imported<'a>(
    language: Language,
    files: impl IntoIterator<Item = &'a FileEntry>,
) -> Manifest {
    let kinds: &[&str] = match language {
        Language::Python => &[".py"],
        Language::Node => &[".js", ".mjs", ".cjs"],
    };
    let is_script = |file: &&FileEntry| {
        let path = file.path.as_str();
        kinds.iter().any(|kind| path.ends_with(kind)) && file.size <= LONGEST
    };
    let scripts = files.into_iter().filter(is_script);
    // One that is too large to have a digest is as good as another of its length.
    let scripts: BTreeMap<SkillPath, Digest> = scripts
        .map(|file| {
            let digest = file
                .digest
                .unwrap_or_else(|| Digest::of(&file.size.to_le_bytes()));
            (file.path.clone(), digest)
        })
        .collect();
    Manifest {
        language,
        files: scripts.keys().cloned().collect(),
        wanted: Wanted::Imports(scripts),
        passed_over: Vec::new(),
    }
}

/// What the first file of this name says that says anything.
fn in_folders(
    name: &str,
    texts: &Texts,
    read: impl Fn(&SkillPath, &str) -> Result<Option<Manifest>, Unfit>,
) -> Result<Option<Manifest>, Unfit> {
    for folder in FOLDERS {
        let Ok(path) = SkillPath::new(&format!("{folder}{name}")) else {
            continue;
        };
        if let Some(text) = texts.get(&path)
            && let Some(found) = read(&path, text)?
        {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// A file of another name in the same folder.
fn beside(file: &SkillPath, name: &str) -> Option<SkillPath> {
    file.parent().join(name).ok()
}
