//! Updates: the installed skills of a scope, where their sources are, and what a newer version would change.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use gongfu_core::skill::SkillPath;
use gongfu_files::disk::Root;
use serde::Serialize;

use crate::discover::{Discovery, FoundSkill};
use crate::error::ImportError;
use crate::inventory::{LockAgreement, UnlockedSkill, unlocked};
use crate::lock::own::{LockedFile, LockedSkill, OwnLock, SourceKind};
use crate::scope::Scope;
use crate::source::{Source, WebSource};
use crate::survey::Survey;
use crate::verify::{Difference, DifferenceKind, verify};

/// A skill that a lock has: gongfu's, or that of `npx skills`.
#[derive(Debug, Clone)]
pub struct InstalledSkill {
    /// Its key in gongfu's lock.
    pub key: String,
    /// The name that it declared when it was installed.
    pub name: String,
    /// Its entry. Where gongfu's lock has none: its source by the other lock, and its files as they are.
    pub locked: LockedSkill,
    /// True if gongfu's lock has it.
    pub is_locked: bool,
    /// The state of its files.
    pub state: FileState,
}

impl InstalledSkill {
    /// Returns true if a person changed it, so that nothing replaces it by itself.
    pub fn is_changed(&self) -> bool {
        matches!(self.state, FileState::Changed(_))
    }
}

/// The state of an installed skill's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileState {
    /// They are as they were installed.
    AsInstalled,
    /// `npx skills` replaced them since, as its lock says; the entry has them as they are.
    ByNpx,
    /// A person changed them; the differences are empty where only a digest is known.
    Changed(Vec<Difference>),
    /// Nothing says how they were.
    Unknown,
    /// The folder isn't there.
    Missing,
}

/// Lists the skills that the locks of a scope have.
///
/// # Errors
/// A lock can't be read.
pub fn installed(scope: &Scope) -> Result<Vec<InstalledSkill>, ImportError> {
    let lock = OwnLock::read(&scope.own_lock)?;
    let skills = lock.skills.iter();
    let states: BTreeMap<&String, FileState> = skills
        .map(|(key, locked)| (key, state(&verify(&scope.folder(key), locked))))
        .collect();
    let is_changed = |state: &FileState| matches!(state, FileState::Changed(_));
    let changed = states.iter().filter(|(_, state)| is_changed(state));
    let changed: BTreeSet<&String> = changed.map(|(key, _)| *key).collect();
    let mut by_npx: BTreeMap<String, UnlockedSkill> = unlocked(scope, &lock, &changed)?
        .into_iter()
        .map(|skill| (skill.key.clone(), skill))
        .collect();
    let mut found = Vec::new();
    for (key, state) in states {
        let Some(mut locked) = lock.skills.get(key).cloned() else {
            continue;
        };
        let other = by_npx.remove(key);
        let other = other.filter(|other| other.agreement == Some(LockAgreement::Same));
        let state = match other {
            Some(other) => {
                locked.digest = other.entry.digest;
                locked.files = other.entry.files;
                FileState::ByNpx
            }
            None => state,
        };
        let last = key.rsplit('/').next().unwrap_or(key);
        found.push(InstalledSkill {
            name: locked.name.clone().unwrap_or_else(|| last.to_owned()),
            is_locked: true,
            state,
            locked,
            key: key.clone(),
        });
    }
    found.extend(by_npx.into_values().map(|other| InstalledSkill {
        key: other.key,
        name: other.name,
        locked: other.entry,
        is_locked: false,
        state: match other.agreement {
            None => FileState::Missing,
            Some(LockAgreement::Same) => FileState::AsInstalled,
            Some(LockAgreement::Differs) => FileState::Changed(Vec::new()),
            Some(LockAgreement::Unknown) => FileState::Unknown,
        },
    }));
    found.sort_by(|left, right| left.key.cmp(&right.key));
    Ok(found)
}

fn state(differences: &[Difference]) -> FileState {
    let is_gone = |one: &Difference| one.path.is_empty() && one.kind == DifferenceKind::Missing;
    if differences.is_empty() {
        FileState::AsInstalled
    } else if differences.iter().any(is_gone) {
        FileState::Missing
    } else {
        FileState::Changed(differences.to_vec())
    }
}

impl LockedSkill {
    /// The source, to be fetched again: its newest version, or exactly the one that is locked.
    ///
    /// # Errors
    /// Says why it can't be fetched by gongfu: another program updates it, or nobody knows where it comes from.
    pub fn fetchable(&self, base: &Path, exact: bool) -> Result<Source, String> {
        if let Some(manager) = self.manager.as_deref() {
            return Err(match manager {
                "plugin" => "it belongs to a client's plugin, which the client updates".to_owned(),
                "git" => "it is a clone: `git pull` in its folder updates it".to_owned(),
                _ => format!("`{manager}` installed it, and updates it"),
            });
        }
        if self.linked {
            return Err("it is a link to its source, and always as new".to_owned());
        }
        let newest = self.reference.clone();
        let source = match self.kind {
            SourceKind::Unknown => return Err("nobody knows where it comes from".to_owned()),
            SourceKind::Folder | SourceKind::File => {
                Source::Local(base.join(&self.source).components().collect())
            }
            SourceKind::Npm => {
                let name = self.source.strip_prefix("npm:").unwrap_or(&self.source);
                let wanted = if exact { self.version.clone() } else { newest };
                let version = wanted.map_or_else(String::new, |version| format!("@{version}"));
                Source::parse(&format!("npm:{name}{version}"), base, None)
                    .map_err(|why| why.message)?
            }
            SourceKind::Git | SourceKind::Download | SourceKind::WellKnown => {
                match Source::parse(&self.source, base, None).map_err(|why| why.message)? {
                    Source::Git(mut git) => {
                        git.reference = if exact { self.commit.clone() } else { None }.or(newest);
                        Source::Git(git)
                    }
                    Source::Web(site) => Source::Web(WebSource {
                        is_file: site.is_file || self.kind == SourceKind::Download,
                        ..site
                    }),
                    other => other,
                }
            }
        };
        Ok(source)
    }
}

/// The skill of a source that an installed one is: by its folder there, else by its name.
pub fn counterpart<'a>(
    discovery: &'a Discovery,
    installed: &InstalledSkill,
) -> Option<&'a FoundSkill> {
    let folder = installed.locked.path.clone().unwrap_or(SkillPath::root());
    let skills = &discovery.skills;
    let is_named = |skill: &&FoundSkill| skill.name.eq_ignore_ascii_case(&installed.name);
    let by_folder = skills.iter().find(|skill| skill.folder == folder);
    // A path of a lock of another program may be missing, so that a name counts where only one of both agrees.
    by_folder
        .filter(|_| installed.is_locked || installed.locked.path.is_some())
        .or_else(|| skills.iter().find(is_named))
}

/// A file that differs between two versions of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileChange {
    /// Its path in the skill.
    pub path: String,
    /// The change at the source, if there is one.
    pub source: Option<FileChangeKind>,
    /// True if the person changed it, too.
    pub yours: bool,
}

/// The kind of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileChangeKind {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// Its content is another one.
    Content,
    /// Only the right to run it changed.
    Mode,
}

/// Compares three versions: as installed, as at the source now, and with what a person changed.
pub fn changes(
    before: &BTreeMap<SkillPath, LockedFile>,
    after: &BTreeMap<SkillPath, LockedFile>,
    state: &FileState,
) -> Vec<FileChange> {
    let yours: BTreeSet<&str> = match state {
        FileState::Changed(differences) => differences.iter().map(|one| &*one.path).collect(),
        _ => BTreeSet::new(),
    };
    let mut paths: BTreeSet<&str> = before.keys().map(SkillPath::as_str).collect();
    paths.extend(after.keys().map(SkillPath::as_str));
    paths.extend(&yours);
    let changed = paths.into_iter().filter_map(|path| {
        let file = |files: &BTreeMap<SkillPath, LockedFile>| {
            SkillPath::new(path)
                .ok()
                .and_then(|path| files.get(&path).cloned())
        };
        let source = match (file(before), file(after)) {
            (Some(before), Some(after)) if before == after => None,
            (Some(before), Some(after)) if before.digest == after.digest => {
                Some(FileChangeKind::Mode)
            }
            (Some(_), Some(_)) => Some(FileChangeKind::Content),
            (None, Some(_)) => Some(FileChangeKind::Added),
            (Some(_), None) => Some(FileChangeKind::Removed),
            (None, None) => None,
        };
        let yours = yours.contains(path);
        (source.is_some() || yours).then(|| FileChange {
            path: path.to_owned(),
            source,
            yours,
        })
    });
    changed.collect()
}

/// The scripts, packages, modules and hosts of a new version that the installed one doesn't have. A changed script isn't
/// among them.
pub fn newly(folder: &Path, survey: &Survey) -> Survey {
    match Root::open(folder) {
        Ok(root) => survey.without(&Survey::of_folder(&root)),
        Err(_) => survey.clone(),
    }
}

#[cfg(test)]
mod tests;
