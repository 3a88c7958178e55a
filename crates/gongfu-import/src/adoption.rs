//! Adoption: the skills that are already on a machine come under gongfu's locks, and leave them again.
//!
//! Files of skills stay as they are. What was written is recorded in gongfu's home first, so that it can be taken back
//! after a crash, too. What somebody changed since is never taken back.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use gongfu_core::skill::{Digest, SkillPath};
use gongfu_files::Home;
use gongfu_files::disk::{self, Root};
use gongfu_files::transaction::{Transaction, recover};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{ImportCode, ImportError};
use crate::inventory::{CLONE, FoundCopy, Inventory, KnownOrigin, Territory};
use crate::lock::own::{GIT, LockedSkill, OwnLock, SourceKind, is_folder};
use crate::origin::portable;
use crate::scope::{Scope, ScopeKind};

/// The folder of gongfu's home with the records.
const RECORDS: &str = "adopted";
/// The version of a record.
const VERSION: u64 = 1;

/// An adoption that is recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Adoption {
    version: u64,
    /// The time, as ISO 8601.
    pub at: String,
    /// The locks that it writes.
    pub locks: Vec<LockChange>,
    /// The folders that it adds to the settings.
    pub folders: Vec<String>,
    /// The file of the settings, as it was.
    pub settings: Option<FileChange>,
    /// The connections that it adds, as gongfu's file has them.
    pub connections: BTreeMap<String, Value>,
    /// The file of the connections, as it was.
    pub connection_file: Option<FileChange>,
}

/// A file of gongfu's home before an adoption, and its digest after it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FileChange {
    /// Its text; none where there was no file.
    pub before: Option<String>,
    /// Its digest; none before it was written.
    pub after: Option<Digest>,
}

/// A change of a lock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LockChange {
    /// The lock.
    pub path: PathBuf,
    /// The folder where its changes are staged.
    staging: PathBuf,
    /// The file as it was; none where there was none.
    before: Option<String>,
    /// The digest of the file as it is written.
    after: Digest,
    /// The entries that are added.
    pub skills: BTreeMap<String, LockedSkill>,
    /// The entries of earlier adoptions whose folders are gone, such as those of a plugin's last version.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<String>,
    /// The folders that are created for it, outermost first.
    created: Vec<PathBuf>,
}

/// The end of an adoption, for people.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Return {
    /// Locks that are again as they were; true for one that is gone because there was none.
    pub restored: Vec<(PathBuf, bool)>,
    /// Locks that others changed since: entries were taken out, and the rest is kept.
    pub reduced: Vec<PathBuf>,
    /// Entries that are kept, and why.
    pub kept: Vec<String>,
}

/// The entries that an adoption adds to the locks of a machine and its project. Skills that a lock has are left alone;
/// entries of earlier adoptions go with their folders.
///
/// # Errors
/// A lock of gongfu can't be read.
pub fn plan(
    inventory: &Inventory,
    territory: Territory<'_>,
    earlier: &[Adoption],
) -> Result<Vec<LockChange>, ImportError> {
    let project = territory.project.map(|_| ScopeKind::Project);
    let mut changes = Vec::new();
    for kind in [Some(ScopeKind::User), project].into_iter().flatten() {
        let scope = territory.scope(kind);
        // A link to the lock, as in a repository of settings, stays.
        let path = disk::real_outside(&scope.own_lock);
        let mut lock = OwnLock::read(&path)?;
        let copies = inventory.skills.iter().filter(|copy| copy.scope == kind);
        let mut skills = BTreeMap::new();
        for copy in copies.filter(|copy| copy.is_in_use() && is_folder(&copy.key)) {
            if let Some(entry) = entry(copy, &scope)
                && !lock.skills.contains_key(&copy.key)
            {
                skills.insert(copy.key.clone(), entry);
            }
        }
        let adopted = earlier.iter().flat_map(|adoption| &adoption.locks);
        let adopted = adopted.filter(|change| change.path == path);
        let mut gone: Vec<String> = adopted
            .flat_map(|change| &change.skills)
            .filter(|(key, entry)| lock.skills.get(*key) == Some(*entry))
            .map(|(key, _)| key.clone())
            .filter(|key| disk::kind_outside(&scope.folder(key)).is_none())
            .collect();
        gone.sort();
        gone.dedup();
        if skills.is_empty() && gone.is_empty() {
            continue;
        }
        let before = text(&path).map_err(|error| unreadable(&path, &error))?;
        lock.skills.retain(|key, _| !gone.contains(key));
        lock.skills.extend(skills.clone());
        let mut created = missing(scope.staging());
        created.extend(path.parent().map(missing).unwrap_or_default());
        created.sort();
        created.dedup();
        changes.push(LockChange {
            staging: scope.staging().to_owned(),
            before,
            after: Digest::of(&lock.bytes()),
            skills,
            gone,
            created,
            path,
        });
    }
    Ok(changes)
}

/// The entry of a copy; none where its files aren't known.
fn entry(copy: &FoundCopy, scope: &Scope) -> Option<LockedSkill> {
    let name = copy.folder.file_name()?.to_str()?;
    let declared = (copy.name != name).then(|| copy.name.clone());
    if let Some(target) = &copy.target {
        return Some(LockedSkill {
            name: declared,
            source: portable(target, &disk::real_outside(&scope.base)),
            kind: SourceKind::Folder,
            linked: true,
            ..LockedSkill::default()
        });
    }
    let content = copy.content.as_ref()?;
    let unknown = LockedSkill {
        kind: SourceKind::Unknown,
        ..LockedSkill::default()
    };
    let origin = copy.origin.as_ref();
    let links = copy.places.iter().skip(1).filter_map(|place| {
        let is_same = copy.key == name && place.file_name()? == name;
        let client = place.parent()?.strip_prefix(&scope.base).ok()?;
        is_same
            .then(|| client.to_str().map(str::to_owned))
            .flatten()
    });
    let mut clients: Vec<String> = links.collect();
    clients.sort();
    clients.dedup();
    let manager = match (&copy.plugin, origin.map(|origin| origin.by)) {
        (Some(_), _) => Some("plugin"),
        (None, Some(CLONE)) => Some(GIT),
        // It would not know the skill any more without its keys in the document.
        (None, Some("gh skill")) => Some("gh"),
        _ => None,
    };
    Some(LockedSkill {
        name: declared,
        manager: manager.map(str::to_owned),
        digest: Some(content.digest),
        files: content.files.clone(),
        clients,
        ..origin.map_or(unknown, KnownOrigin::locked_skill)
    })
}

/// The folders above a path, itself included, that aren't there; outermost first.
fn missing(folder: &Path) -> Vec<PathBuf> {
    let above = folder.ancestors();
    let absent = above.take_while(|folder| disk::kind_outside(folder).is_none());
    let mut absent: Vec<PathBuf> = absent.map(Path::to_owned).collect();
    absent.reverse();
    absent
}

impl LockChange {
    /// Writes the lock, unless somebody changed it meanwhile.
    ///
    /// # Errors
    /// It was changed, or can't be written. Nothing is changed then.
    pub fn apply(&self, home: &Home) -> Result<(), ImportError> {
        let mut transaction =
            Transaction::begin(home, &self.staging).map_err(|error| self.unwritable(&error))?;
        let current = text(&self.path).map_err(|error| unreadable(&self.path, &error))?;
        if current != self.before {
            let message = format!("{} was changed meanwhile", self.path.display());
            let hint = "nothing was changed; run it again";
            return Err(ImportError::new(ImportCode::LockMismatch, message, hint));
        }
        let mut lock = OwnLock::read(&self.path)?;
        lock.skills.retain(|key, _| !self.gone.contains(key));
        lock.skills.extend(self.skills.clone());
        let written = transaction.put_file(&self.path, &lock.bytes());
        written
            .and_then(|()| transaction.commit())
            .map_err(|error| self.unwritable(&error))
    }

    /// Takes the entries out of the lock again. Where nobody changed it, it is as it was, byte for byte.
    ///
    /// # Errors
    /// It can't be read or written.
    pub fn undo(&self, home: &Home, told: &mut Return) -> Result<(), ImportError> {
        let shown = self.path.display();
        // After a crash, the lock is first as it was meant to be, or as it was.
        recover(home, &self.staging).map_err(|error| self.unwritable(&error))?;
        let current = text(&self.path).map_err(|error| unreadable(&self.path, &error))?;
        let Some(current) = current else {
            if self.before.is_some() {
                told.kept.push(format!("{shown} is gone, and stays so"));
            }
            self.remove_created();
            return Ok(());
        };
        if self.before.as_ref() == Some(&current) {
            // It was recorded, and never written.
            self.remove_created();
            return Ok(());
        }
        let after = if Digest::of(current.as_bytes()) == self.after {
            told.restored
                .push((self.path.clone(), self.before.is_none()));
            self.before.clone().map(String::into_bytes)
        } else {
            self.reduced(told)?
        };
        let mut transaction =
            Transaction::begin(home, &self.staging).map_err(|error| self.unwritable(&error))?;
        let written = match after {
            Some(bytes) => transaction.put_file(&self.path, &bytes),
            None => transaction.remove(&self.path),
        };
        written
            .and_then(|()| transaction.commit())
            .map_err(|error| self.unwritable(&error))?;
        self.remove_created();
        Ok(())
    }

    /// The bytes of a lock that others changed since, without the entries that are as they were written.
    fn reduced(&self, told: &mut Return) -> Result<Option<Vec<u8>>, ImportError> {
        let mut lock = OwnLock::read(&self.path)?;
        for (key, entry) in &self.skills {
            match lock.skills.get(key) {
                Some(current) if current == entry => {
                    lock.skills.remove(key);
                }
                Some(_) => {
                    let shown = self.path.display();
                    let what = format!("{shown}: the entry of `{key}`, which changed since");
                    told.kept.push(what);
                }
                None => {}
            }
        }
        if lock.is_empty() && self.before.is_none() {
            told.restored.push((self.path.clone(), true));
            return Ok(None);
        }
        told.reduced.push(self.path.clone());
        Ok(Some(lock.bytes()))
    }

    /// Removes the folders that were created, as far as nothing is in them.
    fn remove_created(&self) {
        for folder in self.created.iter().rev() {
            if let (Some(parent), Some(name)) = (folder.parent(), folder.file_name())
                && let Ok(parent) = Root::open(parent)
            {
                // One with files of somebody stays.
                let _ = parent.dir().remove_dir(name);
            }
        }
    }

    fn unwritable(&self, error: &io::Error) -> ImportError {
        let message = format!("{} can't be written: {error}", self.path.display());
        let hint = "check the permissions and the disk, then run it again";
        ImportError::new(ImportCode::PlaceUnwritable, message, hint)
    }
}

impl Adoption {
    /// An adoption that is about to be made.
    pub fn new(at: String, locks: Vec<LockChange>) -> Self {
        Self {
            version: VERSION,
            at,
            locks,
            folders: Vec::new(),
            settings: None,
            connections: BTreeMap::new(),
            connection_file: None,
        }
    }

    /// The names of the records in gongfu's home, the last one first.
    ///
    /// # Errors
    /// They can't be listed.
    pub fn names(home: &Home) -> io::Result<Vec<String>> {
        let folder = home.path().join(RECORDS);
        let entries = match Root::open(&folder) {
            Ok(root) => root.list(&SkillPath::root())?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        let names = entries.into_iter().map(|entry| entry.name);
        let mut names: Vec<String> = names.filter(|name| number(name).is_some()).collect();
        names.sort_by_key(|name| std::cmp::Reverse(number(name)));
        Ok(names)
    }

    /// All records, the last one first.
    ///
    /// # Errors
    /// They can't be listed, or one can't be read.
    pub fn all(home: &Home) -> Result<Vec<Self>, ImportError> {
        let folder = home.path().join(RECORDS);
        let names = Self::names(home).map_err(|error| unreadable(&folder, &error))?;
        names.iter().map(|name| Self::read(home, name)).collect()
    }

    /// Reads a record.
    ///
    /// # Errors
    /// It can't be read, or is of another version.
    pub fn read(home: &Home, name: &str) -> Result<Self, ImportError> {
        let path = home.path().join(RECORDS).join(name);
        let text = text(&path).map_err(|error| unreadable(&path, &error))?;
        let record: Self = serde_json::from_str(&text.unwrap_or_default()).map_err(|why| {
            let message = format!("{}, line {}: {why}", path.display(), why.line());
            let hint =
                "the record of an adoption is damaged; take the entries out of gongfu.lock by hand";
            ImportError::new(ImportCode::LockUnreadable, message, hint)
        })?;
        if record.version > VERSION {
            let message = format!("{} is of a newer version", path.display());
            return Err(ImportError::new(
                ImportCode::LockNewer,
                message,
                "update gongfu",
            ));
        }
        Ok(record)
    }

    /// Writes the record, under a new name where it has none.
    ///
    /// # Errors
    /// gongfu's home can't be written.
    pub fn write(&self, home: &Home, name: Option<&str>) -> io::Result<String> {
        let folder = home.folder(RECORDS)?;
        let last = Self::names(home)?.first().and_then(|name| number(name));
        let next = format!("{:04}.json", last.unwrap_or(0).saturating_add(1));
        let name = name.map_or(next, str::to_owned);
        folder.replace(&name, &serde_json::to_vec(self)?, true)?;
        Ok(name)
    }

    /// Removes a record.
    ///
    /// # Errors
    /// gongfu's home can't be written.
    pub fn remove(home: &Home, name: &str) -> io::Result<()> {
        home.folder(RECORDS)?.remove(name).map(drop)
    }
}

fn number(name: &str) -> Option<u64> {
    name.strip_suffix(".json")?.parse().ok()
}

/// The text of a file, where there is one. A lock is UTF-8, as it was parsed.
fn text(path: &Path) -> io::Result<Option<String>> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok(None);
    };
    let name = SkillPath::new(&name.to_string_lossy()).map_err(io::Error::other)?;
    let read = Root::open(folder).and_then(|root| root.read(&name, u64::MAX));
    match read {
        Ok(content) => String::from_utf8(content.bytes)
            .map(Some)
            .map_err(io::Error::other),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn unreadable(path: &Path, error: &io::Error) -> ImportError {
    let message = format!("{} can't be read: {}", path.display(), disk::reason(error));
    ImportError::new(ImportCode::LockUnreadable, message, "check its permissions")
}

#[cfg(test)]
mod tests;
