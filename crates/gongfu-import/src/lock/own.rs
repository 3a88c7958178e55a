//! `gongfu.lock`: where each skill came from, and every file of it.
//!
//! Members that this version doesn't know are kept.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gongfu_core::skill::{Digest, SkillPath};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::document::{LockDocument, unreadable};
use crate::error::ImportError;

/// The version that is written.
const VERSION: u64 = 1;
/// The name of the file.
pub const OWN_LOCK: &str = "gongfu.lock";

/// The manager of a skill in a working tree of git.
pub const GIT: &str = "git";

/// The skills of a folder.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OwnLock {
    /// The path of the file.
    pub path: PathBuf,
    /// The skills, by their folders: a name in the folder of installed skills, else a path below the project or the
    /// home, or an absolute one.
    pub skills: BTreeMap<String, LockedSkill>,
    rest: Map<String, Value>,
}

/// Returns true for the key of a skill: a name, or a path with a slash.
pub(crate) fn is_folder(key: &str) -> bool {
    let path = key.strip_prefix('/').unwrap_or(key);
    let is_exact = SkillPath::is_exact(path) && !path.is_empty();
    is_exact && (key.contains('/') || !key.starts_with('.'))
}

/// A skill that is locked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LockedSkill {
    /// The name that it declares, where that isn't its folder's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its source: an address, `npm:PACKAGE`, or a folder, relative to the lock where it is below the same project.
    pub source: String,
    /// The kind of its source.
    pub kind: SourceKind,
    /// The branch, tag or version that a person named.
    #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The id of the folder's tree in git.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// The version of a package.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The digest of what was downloaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<String>,
    /// The folder of the skill in its source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<SkillPath>,
    /// True if the folder is a link to its source.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub linked: bool,
    /// The program that updates it, where that isn't gongfu: `git` (a clone), `gh`, or `plugin` (of a client).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manager: Option<String>,
    /// The digest of all files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// The files.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<SkillPath, LockedFile>,
    /// The codes of what the check found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
    /// The folders of clients that have the skill, too, below the project or the home.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<String>,
    /// Members that this version doesn't know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// The kind of a source.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SourceKind {
    /// A git repository.
    #[default]
    Git,
    /// A folder of this machine.
    Folder,
    /// An archive or a SKILL.md of this machine.
    File,
    /// An archive or a SKILL.md on the web.
    Download,
    /// A site with an index.
    WellKnown,
    /// A package of npm.
    Npm,
    /// Nobody knows: it was there when gongfu came.
    Unknown,
}

/// A file of a skill that is locked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockedFile {
    /// The digest of its content.
    pub digest: Digest,
    /// Its length in bytes.
    pub size: u64,
    /// True if it is a program.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub executable: bool,
}

impl OwnLock {
    /// Reads a lock; an empty one where there is no file.
    ///
    /// # Errors
    /// It can't be read, is of a newer version, or has a member of another form.
    pub fn read(path: &Path) -> Result<Self, ImportError> {
        let lock = LockDocument::read(path)?;
        lock.version(VERSION)?;
        let entries = lock.skills()?;
        let mut skills = BTreeMap::new();
        for (name, entry) in entries {
            if !is_folder(&name) {
                let message = format!("{}: `{name}` can't be a skill's folder", path.display());
                return Err(unreadable(
                    message,
                    "remove this entry; nothing was changed",
                ));
            }
            let skill: LockedSkill = serde_path_to_error::deserialize(entry).map_err(|why| {
                let (field, why) = (why.path().to_string(), why.into_inner());
                let message = format!("{}, skill `{name}`, `{field}`: {why}", path.display());
                unreadable(
                    message,
                    "restore the file from your repository, or fix this member",
                )
            })?;
            skills.insert(name, skill);
        }
        let mut rest = lock.members.unwrap_or_default();
        rest.retain(|key, _| key != "version" && key != "skills");
        Ok(Self {
            path: path.to_owned(),
            skills,
            rest,
        })
    }

    /// Returns true if it has no skill, and nothing that this version doesn't know.
    pub fn is_empty(&self) -> bool {
        self.skills.is_empty() && self.rest.is_empty()
    }

    /// The bytes of the file.
    pub fn bytes(&self) -> Vec<u8> {
        let mut members = Map::new();
        members.insert("version".to_owned(), VERSION.into());
        let skills = serde_json::to_value(&self.skills).unwrap_or_default();
        members.insert("skills".to_owned(), skills);
        members.extend(self.rest.clone());
        let mut text = serde_json::to_string_pretty(&members).unwrap_or_default();
        text.push('\n');
        text.into_bytes()
    }
}

#[cfg(test)]
mod tests;
