//! Places staged skills and writes the locks, all in one transaction.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use gongfu_files::Home;
use gongfu_files::disk::{self, EntryKind, Root};
use gongfu_files::transaction::{Transaction, copy_tree};

use crate::error::{ImportCode, ImportError};
use crate::lock::npx::{NpxEntry, NpxLock};
use crate::lock::own::{LockedSkill, OwnLock};
use crate::origin::relative;
use crate::scope::Scope;
use crate::verify::verify;

/// A skill that is to be placed.
#[derive(Debug, Clone)]
pub struct Placement {
    /// Its key in gongfu's lock: the name of its folder among the installed skills, else the path of an agent's own copy.
    pub key: String,
    /// The folder where it is staged; several placements may have the same one. For an entry that is linked, the folder
    /// that the link leads to.
    pub staged: PathBuf,
    /// Its entry in gongfu's lock.
    pub locked: LockedSkill,
    /// Its name and entry in the lock of `npx skills`.
    pub npx: Option<(String, NpxEntry)>,
    /// The permission to replace a folder that gongfu's lock doesn't have, or not as it is.
    pub before: Overwrite,
}

/// The permission to replace a folder that gongfu's lock doesn't have, or not as it is.
#[derive(Debug, Clone, Default)]
pub enum Overwrite {
    /// Nothing, unless a person said so.
    #[default]
    Nothing,
    /// A folder with exactly these files.
    Files(Box<LockedSkill>),
    /// Anything; it is kept in gongfu's home.
    Kept,
}

/// The changes to make in a scope.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    /// Skills that are placed.
    pub put: Vec<Placement>,
    /// Skills that are removed, by their keys in gongfu's lock.
    pub removed: Vec<String>,
    /// Links that are removed: the key of the skill that they lead to, and the folder of an agent.
    pub unlinked: Vec<(String, PathBuf)>,
    /// Names that are removed from the lock of `npx skills`.
    pub removed_npx: Vec<String>,
    /// Folders of agents that get a link to each skill that is placed among the installed ones.
    pub clients: Vec<PathBuf>,
    /// True to replace skills that a person changed, or that no lock knows. They are kept in gongfu's home.
    pub replace: bool,
}

/// The results of changes, for people.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Folders that were replaced although a person had changed them, and where they are kept.
    pub kept: Vec<(PathBuf, PathBuf)>,
}

/// Makes the changes: all of them, or none.
///
/// # Errors
/// A lock can't be read, a skill was changed by a person, or a folder can't be written. Nothing is changed then.
pub fn place(
    home: &Home,
    scope: &Scope,
    changes: &Changes,
    now: &str,
) -> Result<Outcome, ImportError> {
    let staging = scope.staging();
    let is_new = disk::kind_outside(staging).is_none();
    let placed = change(home, scope, changes, now);
    if is_new && let (Some(above), Some(name)) = (staging.parent(), staging.file_name()) {
        // Without a skill in the shared folder, there is nothing in it, and this removes it.
        let _ = Root::open(above).and_then(|above| above.dir().remove_dir(name));
    }
    placed
}

fn change(
    home: &Home,
    scope: &Scope,
    changes: &Changes,
    now: &str,
) -> Result<Outcome, ImportError> {
    let mut transaction = Transaction::begin(home, scope.staging()).map_err(unwritable)?;
    // Read again: another process may have written them since.
    let mut lock = OwnLock::read(&scope.own_lock)?;
    let npx = match &scope.npx_lock {
        Some((kind, path)) => Some((*kind, kind.read(path)?)),
        None => None,
    };
    let mut outcome = Outcome::default();
    let links = links(scope, changes, &lock);
    let placed = changes.put.iter();
    let placed = placed.map(|placement| (&placement.key, &placement.before));
    let removed = changes.removed.iter();
    let others = removed.chain(links.iter().map(|link| &link.key));
    let others = others.map(|key| (key, &Overwrite::Nothing));
    for (key, before) in placed.chain(others) {
        let folder = scope.folder(key);
        if is_replaceable(scope, &lock, key, before) {
            continue;
        }
        let is_locked = lock.skills.contains_key(key);
        let is_kept = !is_locked && matches!(before, Overwrite::Kept);
        if !changes.replace && !is_kept {
            return Err(changed(&folder, is_locked));
        }
        let kept = keep(home, &folder, key, now).map_err(unwritable)?;
        outcome.kept.push((folder, kept));
    }
    for (at, placement) in changes.put.iter().enumerate() {
        let rest = changes.put.iter().skip(at + 1);
        let is_last = !rest.into_iter().any(|next| next.staged == placement.staged);
        put(&mut transaction, scope, &mut lock, placement, is_last).map_err(unwritable)?;
    }
    for link in &links {
        transaction
            .put_link(&scope.folder(&link.key), &link.target)
            .map_err(unwritable)?;
        // An agent's own copy was there.
        lock.skills.remove(&link.key);
    }
    note_clients(scope, changes, &mut lock);
    remove(&mut transaction, scope, changes, &mut lock).map_err(unwritable)?;
    transaction
        .put_file(&scope.own_lock, &lock.bytes())
        .map_err(unwritable)?;
    if let Some((kind, document)) = npx {
        let entries = changes.put.iter();
        let entries: Vec<(String, NpxEntry)> = entries
            .filter_map(|placement| placement.npx.clone())
            .collect();
        let removed = &changes.removed_npx;
        write_npx(&mut transaction, kind, &document, &entries, removed, now)?;
    }
    transaction.commit().map_err(unwritable)?;
    Ok(outcome)
}

fn unwritable(error: io::Error) -> ImportError {
    let message = format!("the skills can't be placed: {error}");
    let hint = "nothing was changed; check the permissions and the disk, then try again";
    ImportError::new(ImportCode::PlaceUnwritable, message, hint)
}

fn write_npx(
    transaction: &mut Transaction,
    kind: NpxLock,
    document: &crate::lock::LockDocument,
    entries: &[(String, NpxEntry)],
    removed: &[String],
    now: &str,
) -> Result<(), ImportError> {
    if entries.is_empty() && (removed.is_empty() || document.members.is_none()) {
        return Ok(());
    }
    let bytes = kind.changed(document, entries, removed, now)?;
    transaction
        .put_file(&document.path, &bytes)
        .map_err(|error| {
            let message = format!("{} can't be written: {error}", document.path.display());
            ImportError::new(
                ImportCode::PlaceUnwritable,
                message,
                "check its permissions; nothing was changed",
            )
        })
}

/// A link that is made.
struct Link {
    /// The key that its place would have in the lock.
    key: String,
    /// The path that it leads to.
    target: PathBuf,
}

/// The links that are missing: those that are asked for, and those that the lock has.
fn links(scope: &Scope, changes: &Changes, lock: &OwnLock) -> Vec<Link> {
    let mut links = Vec::new();
    let skills = disk::real_outside(&scope.skills);
    let shared = changes.put.iter().map(|placement| &placement.key);
    for name in shared.filter(|key| !key.contains('/')) {
        let locked = lock.skills.get(name).into_iter();
        let locked = locked.flat_map(|locked| &locked.clients);
        let locked = locked.map(|client| scope.base.join(client));
        for client in changes.clients.iter().cloned().chain(locked) {
            let key = scope.key(&client, name);
            if links.iter().any(|link: &Link| link.key == key) {
                continue;
            }
            let (real, folder) = (disk::real_outside(&client), scope.folder(name));
            if real != skills && !leads_to(&client.join(name), &folder) {
                links.push(Link {
                    key,
                    target: relative(&real, &folder),
                });
            }
        }
    }
    links
}

/// Stages a skill, and locks it.
fn put(
    transaction: &mut Transaction,
    scope: &Scope,
    lock: &mut OwnLock,
    placement: &Placement,
    is_last: bool,
) -> io::Result<()> {
    let folder = scope.folder(&placement.key);
    if placement.locked.linked {
        let real = folder.parent().map(disk::real_outside).unwrap_or_default();
        transaction.put_link(&folder, &relative(&real, &placement.staged))?;
    } else if is_last {
        transaction.move_folder(&folder, &placement.staged)?;
    } else {
        transaction.copy_folder(&folder, &placement.staged)?;
    }
    let mut locked = placement.locked.clone();
    if let Some(before) = lock.skills.get(&placement.key) {
        locked.rest.clone_from(&before.rest);
        locked.clients.clone_from(&before.clients);
    }
    if let Some((client, name)) = placement.key.rsplit_once('/')
        && let Some(shared) = lock.skills.get_mut(name)
    {
        // The agent had a link, and has a copy now.
        shared.clients.retain(|one| one != client);
    }
    lock.skills.insert(placement.key.clone(), locked);
    Ok(())
}

/// Notes the folders of agents that have a link.
fn note_clients(scope: &Scope, changes: &Changes, lock: &mut OwnLock) {
    for placement in &changes.put {
        let Some(locked) = lock.skills.get_mut(&placement.key) else {
            continue;
        };
        for client in changes
            .clients
            .iter()
            .filter(|_| !placement.key.contains('/'))
        {
            let below = scope.shown(client);
            if client != &scope.skills && !locked.clients.contains(&below) {
                locked.clients.push(below);
            }
        }
        locked.clients.sort();
    }
}

fn remove(
    transaction: &mut Transaction,
    scope: &Scope,
    changes: &Changes,
    lock: &mut OwnLock,
) -> io::Result<()> {
    for (key, client) in &changes.unlinked {
        transaction.remove(&client.join(key))?;
        if let Some(locked) = lock.skills.get_mut(key) {
            let below = scope.shown(client);
            locked.clients.retain(|one| *one != below);
        }
    }
    for key in &changes.removed {
        let folder = scope.folder(key);
        if is_there(&folder) {
            transaction.remove(&folder)?;
        }
        let clients = lock.skills.remove(key).map(|locked| locked.clients);
        for client in clients.into_iter().flatten() {
            let place = scope.base.join(&client).join(key);
            if leads_to(&place, &folder) {
                transaction.remove(&place)?;
            }
        }
    }
    Ok(())
}

/// Returns true for a place with nothing, with a skill exactly as it is locked or expected, or with a link to one that is
/// locked.
fn is_replaceable(scope: &Scope, lock: &OwnLock, key: &str, before: &Overwrite) -> bool {
    let folder = scope.folder(key);
    // A link that leads nowhere is nothing, too.
    if disk::kind_outside(&folder).is_none() {
        return true;
    }
    if let Overwrite::Files(files) = before
        && verify(&folder, files).is_empty()
    {
        return true;
    }
    if let Some(locked) = lock.skills.get(key) {
        return verify(&folder, locked).is_empty();
    }
    let (_, name) = key.rsplit_once('/').unwrap_or_default();
    lock.skills.contains_key(name) && leads_to(&folder, &scope.folder(name))
}

fn changed(folder: &Path, is_locked: bool) -> ImportError {
    let shown = folder.display();
    let (message, hint) = if is_locked {
        (
            format!("{shown} was changed since it was installed"),
            "`gongfu skill verify` names the files; --replace installs the new version, and keeps yours in gongfu's home",
        )
    } else {
        (
            format!("{shown} is there, and no lock of gongfu knows it"),
            "--replace installs the new version, and keeps this one in gongfu's home; `gongfu adopt` takes it over as it is",
        )
    };
    ImportError::new(ImportCode::SkillChanged, message, hint)
}

/// Copies what is replaced into gongfu's home.
fn keep(home: &Home, folder: &Path, key: &str, now: &str) -> io::Result<PathBuf> {
    let kept = home.folder("kept")?;
    let time: String = now.chars().filter(char::is_ascii_alphanumeric).collect();
    let name = format!("{}-{time}", gongfu_files::slug(key));
    // Several places may have one.
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let mut names = std::iter::once(name.clone()).chain(numbered);
    let name = names.find(|name| kept.dir().symlink_metadata(name).is_err());
    let name = name.unwrap_or_default();
    kept.dir().create_dir(&name)?;
    let path = kept.path().join(&name);
    copy_tree(&Root::open(folder)?, &Root::open(&path)?)?;
    Ok(path)
}

/// Returns true if anything is at a path, a link that leads nowhere as well.
pub(crate) fn is_there(path: &Path) -> bool {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return true;
    };
    Root::open(parent).is_ok_and(|root| root.dir().symlink_metadata(name).is_ok())
}

/// Returns true if a link, or a folder above it, makes a path the same folder as another one.
pub(crate) fn leads_to(place: &Path, folder: &Path) -> bool {
    is_there(place) && disk::real_outside(place) == disk::real_outside(folder)
        || disk::kind_outside(place) == Some(EntryKind::Folder)
            && disk::id_outside(place) == disk::id_outside(folder)
}

/// The skills of a scope that differ from their lock, by key.
///
/// # Errors
/// The lock can't be read.
pub fn verify_all(
    scope: &Scope,
) -> Result<BTreeMap<String, Vec<crate::verify::Difference>>, ImportError> {
    let lock = OwnLock::read(&scope.own_lock)?;
    let skills = lock.skills.iter();
    Ok(skills
        .map(|(key, locked)| (key.clone(), verify(&scope.folder(key), locked)))
        .collect())
}

#[cfg(test)]
mod tests;
