//! The locks of `npx skills`: `skills-lock.json` of a project, version 1, and `.skill-lock.json` of a person, version 3.
//!
//! Written byte for byte as that program writes them. Members that it doesn't know are kept. It reads a lock of a lower
//! version as empty, and loses all at the next write; so none is ever written.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::digest::key_order;
use super::document::LockDocument;
use crate::error::ImportError;

/// The two kinds of locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NpxLock {
    /// Those of a project.
    Project,
    /// Those of a person.
    User,
}

/// The name of a person's lock.
const USER_LOCK: &str = ".skill-lock.json";

/// An entry of a lock.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NpxEntry {
    /// `OWNER/REPO`, an address, a host, or a folder.
    pub source: String,
    /// `github`, `gitlab`, `git`, `well-known`, `local` or `node_modules`.
    pub source_type: String,
    /// The address, where the source doesn't say it.
    pub source_url: Option<String>,
    /// The branch, tag or commit that a person named.
    pub reference: Option<String>,
    /// The path of the document in the source.
    pub skill_path: Option<String>,
    /// The digest of the folder: `computedHash` of a project, `skillFolderHash` of a person.
    pub hash: String,
    /// The site of a well-known index, in the lock of a person.
    pub base_url: Option<String>,
    /// The digest of a skill of a well-known index.
    pub well_known_digest: Option<String>,
    /// The plugin of the skill, in the lock of a person.
    pub plugin: Option<String>,
}

impl NpxLock {
    /// The version that is written.
    pub fn version(self) -> u64 {
        match self {
            Self::Project => 1,
            Self::User => 3,
        }
    }

    /// The path of a project's lock.
    pub fn of_project(root: &Path) -> PathBuf {
        root.join("skills-lock.json")
    }

    /// The path of a person's lock, below `XDG_STATE_HOME` where that is set.
    pub fn of_user(home: &Path, state: Option<&Path>) -> PathBuf {
        match state {
            Some(state) => state.join("skills").join(USER_LOCK),
            None => home.join(".agents").join(USER_LOCK),
        }
    }

    /// Reads a lock; one of an older version, too, whose entries are kept.
    ///
    /// # Errors
    /// It can't be read, or is of a newer version.
    pub fn read(self, path: &Path) -> Result<LockDocument, ImportError> {
        let lock = LockDocument::read(path)?;
        lock.version(self.version())?;
        lock.skills()?;
        Ok(lock)
    }

    /// The entries of a lock, by the names of the skills.
    ///
    /// # Errors
    /// An entry is no object.
    pub fn entries(self, lock: &LockDocument) -> Result<Vec<(String, NpxEntry)>, ImportError> {
        let skills = lock.skills()?;
        let entries = skills.into_iter().map(|(name, entry)| {
            let entry = entry.as_object().map(|entry| self.entry(entry));
            (name, entry.unwrap_or_default())
        });
        Ok(entries.collect())
    }

    fn entry(self, entry: &Map<String, Value>) -> NpxEntry {
        let text = |key: &str| entry.get(key).and_then(Value::as_str).map(str::to_owned);
        NpxEntry {
            source: text("source").unwrap_or_default(),
            source_type: text("sourceType").unwrap_or_default(),
            source_url: text("sourceUrl"),
            reference: text("ref"),
            skill_path: text("skillPath"),
            hash: text(self.hash_key()).unwrap_or_default(),
            base_url: text("sourceBaseUrl"),
            well_known_digest: text("wellKnownDigest"),
            plugin: text("pluginName"),
        }
    }

    /// The bytes of a lock with other entries: some replaced or added, some removed. `now` is the time of a person's
    /// lock, as ISO 8601 with milliseconds.
    ///
    /// # Errors
    /// The lock's own entries can't be read.
    pub fn changed(
        self,
        lock: &LockDocument,
        put: &[(String, NpxEntry)],
        removed: &[String],
        now: &str,
    ) -> Result<Vec<u8>, ImportError> {
        let mut skills = lock.skills()?;
        for name in removed {
            skills.shift_remove(name);
        }
        for (name, entry) in put {
            let members = self.members(entry, skills.get(name), now);
            skills.insert(name.clone(), Value::Object(members));
        }
        let is_sorted = self == Self::Project;
        let mut sorted: Vec<(String, Value)> = skills.into_iter().collect();
        sorted.sort_by(|(left, _), (right, _)| key_order(left, right, is_sorted));
        let skills = Value::Object(sorted.into_iter().collect());
        let version = Value::from(self.version());
        let mut members = Map::new();
        let before = lock.members.clone();
        match (self, before) {
            (Self::User, Some(before)) => {
                members = before;
                members.insert("version".to_owned(), version);
                members.insert("skills".to_owned(), skills);
            }
            (_, before) => {
                let is_new = before.is_none();
                members.insert("version".to_owned(), version);
                members.insert("skills".to_owned(), skills);
                if self == Self::User && is_new {
                    members.insert("dismissed".to_owned(), Value::Object(Map::new()));
                }
                for (key, value) in before.into_iter().flatten() {
                    members.entry(key).or_insert(value);
                }
            }
        }
        let mut text = serde_json::to_string_pretty(&members).unwrap_or_default();
        if self == Self::Project {
            text.push('\n');
        }
        Ok(text.into_bytes())
    }

    fn hash_key(self) -> &'static str {
        match self {
            Self::Project => "computedHash",
            Self::User => "skillFolderHash",
        }
    }

    /// The members of an entry, in the order of the other program; its unknown members last.
    fn members(self, entry: &NpxEntry, before: Option<&Value>, now: &str) -> Map<String, Value> {
        let before = before.and_then(Value::as_object);
        let some = |text: &str| Some(Value::from(text));
        let optional = |text: &Option<String>| text.as_deref().map(Value::from);
        let is_site = entry.source_type == "well-known";
        let ordered = match self {
            Self::Project => vec![
                ("source", some(&entry.source)),
                ("sourceUrl", optional(&entry.source_url)),
                ("ref", optional(&entry.reference)),
                ("sourceType", some(&entry.source_type)),
                ("skillPath", optional(&entry.skill_path)),
                ("computedHash", some(&entry.hash)),
                ("wellKnownDigest", optional(&entry.well_known_digest)),
                ("version", None),
                ("via", None),
                ("subagents", None),
            ],
            Self::User => {
                let installed = before.and_then(|before| before.get("installedAt"));
                let installed = installed.cloned().unwrap_or_else(|| Value::from(now));
                let mut ordered = vec![
                    ("source", some(&entry.source)),
                    ("sourceType", some(&entry.source_type)),
                    ("sourceUrl", optional(&entry.source_url)),
                    ("ref", optional(&entry.reference)),
                    ("skillPath", optional(&entry.skill_path)),
                    ("skillFolderHash", some(&entry.hash)),
                    ("pluginName", optional(&entry.plugin)),
                ];
                if is_site {
                    ordered.push(("sourceBaseUrl", optional(&entry.base_url)));
                    ordered.push(("wellKnownDigest", optional(&entry.well_known_digest)));
                }
                ordered.push(("installedAt", Some(installed)));
                ordered.push(("updatedAt", some(now)));
                if !is_site {
                    ordered.push(("sourceBaseUrl", None));
                    ordered.push(("wellKnownDigest", None));
                }
                ordered
            }
        };
        let is_known = |key: &str| ordered.iter().any(|(known, _)| *known == key);
        let unknown = before.into_iter().flatten();
        let unknown = unknown.filter(|(key, _)| !is_known(key));
        let unknown: Vec<(String, Value)> = unknown
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        let known = ordered
            .into_iter()
            .filter_map(|(key, value)| Some((key.to_owned(), value?)));
        known.chain(unknown).collect()
    }
}

#[cfg(test)]
mod tests;
