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
    /// Its key in gongfu's lock: the name of its folder among the installed skills, or a path.
    pub folder: String,
    /// The folder where it is staged.
    pub staged: PathBuf,
    /// Its entry in gongfu's lock.
    pub locked: LockedSkill,
    /// Its name and entry in the lock of `npx skills`.
    pub npx: Option<(String, NpxEntry)>,
    /// The permission to replace a folder that gongfu's lock doesn't have.
    pub before: Overwrite,
}

/// The permission to replace a folder that gongfu's lock doesn't have.
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
    /// Names that are removed from the lock of `npx skills`.
    pub removed_npx: Vec<String>,
    /// Folders of agents that get a link to each skill that is placed.
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
    let unwritable = |error: io::Error| {
        let message = format!("the skills can't be placed: {error}");
        let hint = "nothing was changed; check the permissions and the disk, then try again";
        ImportError::new(ImportCode::PlaceUnwritable, message, hint)
    };
    let mut transaction = Transaction::begin(home, scope.staging()).map_err(unwritable)?;
    // Read again: another process may have written them since.
    let mut lock = OwnLock::read(&scope.own_lock)?;
    let npx = match &scope.npx_lock {
        Some((kind, path)) => Some((*kind, kind.read(path)?)),
        None => None,
    };
    let mut outcome = Outcome::default();
    for placement in &changes.put {
        let key = &placement.folder;
        let locked = lock.skills.get(key);
        let folder = scope.folder(key);
        let clients = clients(scope, changes, locked);
        let links = clients.iter().filter_map(|client| link(scope, client, key));
        for place in std::iter::once(folder.clone()).chain(links) {
            let expected = match &placement.before {
                Overwrite::Files(files) => locked.or(Some(files)),
                _ => locked,
            };
            if is_replaceable(&place, expected) {
                continue;
            }
            let is_kept = locked.is_none() && matches!(placement.before, Overwrite::Kept);
            if !changes.replace && !is_kept {
                return Err(changed(&place, locked.is_some()));
            }
            let kept = keep(home, &place, key, now).map_err(unwritable)?;
            outcome.kept.push((place, kept));
        }
    }
    for key in &changes.removed {
        let folder = scope.folder(key);
        if !is_replaceable(&folder, lock.skills.get(key)) {
            if !changes.replace {
                return Err(changed(&folder, true));
            }
            let kept = keep(home, &folder, key, now).map_err(unwritable)?;
            outcome.kept.push((folder, kept));
        }
    }
    for placement in &changes.put {
        let mut placement = placement.clone();
        let before = lock.skills.get(&placement.folder);
        placement.locked.clients = clients(scope, changes, before);
        if let Some(before) = before {
            placement.locked.rest.clone_from(&before.rest);
        }
        put(&mut transaction, scope, &placement).map_err(unwritable)?;
        lock.skills.insert(placement.folder, placement.locked);
    }
    for key in &changes.removed {
        let folder = scope.folder(key);
        if is_there(&folder) {
            transaction.remove(&folder).map_err(unwritable)?;
        }
        let clients = lock.skills.remove(key).map(|locked| locked.clients);
        for client in clients.into_iter().flatten() {
            let place = scope.base.join(&client).join(key);
            if leads_to(&place, &folder) {
                transaction.remove(&place).map_err(unwritable)?;
            }
        }
    }
    let own = lock.bytes();
    transaction
        .put_file(&scope.own_lock, &own)
        .map_err(unwritable)?;
    if let Some((kind, document)) = npx {
        let entries: Vec<(String, NpxEntry)> = changes
            .put
            .iter()
            .filter_map(|placement| placement.npx.clone())
            .collect();
        write_npx(
            &mut transaction,
            kind,
            &document,
            &entries,
            &changes.removed_npx,
            now,
        )?;
    }
    transaction.commit().map_err(unwritable)?;
    Ok(outcome)
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

/// Stages a skill, and the links to it.
fn put(transaction: &mut Transaction, scope: &Scope, placement: &Placement) -> io::Result<()> {
    let folder = scope.folder(&placement.folder);
    transaction.move_folder(&folder, &placement.staged)?;
    for client in &placement.locked.clients {
        if let Some(place) = link(scope, client, &placement.folder) {
            let real = disk::real_outside(&scope.base.join(client));
            transaction.put_link(&place, &relative(&real, &folder))?;
        }
    }
    Ok(())
}

/// The place of a link to a skill in an agent's folder; none where the agent finds the skill already, or where the skill
/// is in a client's own folder.
fn link(scope: &Scope, client: &str, key: &str) -> Option<PathBuf> {
    let folder = scope.base.join(client);
    let place = folder.join(key);
    let is_shared = disk::real_outside(&folder) == disk::real_outside(&scope.skills);
    let is_needed = !key.contains('/') && !is_shared && !leads_to(&place, &scope.folder(key));
    is_needed.then_some(place)
}

/// The folders of agents that have a skill, as the lock has them.
fn clients(scope: &Scope, changes: &Changes, before: Option<&LockedSkill>) -> Vec<String> {
    let mut clients: Vec<String> = before
        .map(|locked| locked.clients.clone())
        .unwrap_or_default();
    for client in &changes.clients {
        let below = client.strip_prefix(&scope.base).unwrap_or(client);
        let below = below.to_string_lossy().into_owned();
        if client != &scope.skills && !clients.contains(&below) {
            clients.push(below);
        }
    }
    clients.sort();
    clients
}

/// Returns true for a place with nothing, or with a skill exactly as it is locked.
fn is_replaceable(folder: &Path, locked: Option<&LockedSkill>) -> bool {
    match locked {
        // A link that leads nowhere is nothing, either.
        _ if disk::kind_outside(folder).is_none() => true,
        Some(locked) => verify(folder, locked).is_empty(),
        None => false,
    }
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
    let free = (1..).map(|number| match number {
        1 => name.clone(),
        _ => format!("{name}-{number}"),
    });
    let mut free = free.filter(|name| kept.dir().symlink_metadata(name).is_err());
    let name = free.next().unwrap_or(name.clone());
    kept.dir().create_dir(&name)?;
    let path = kept.path().join(&name);
    copy_tree(&Root::open(folder)?, &Root::open(&path)?)?;
    Ok(path)
}

/// Returns true if anything is at a path, a link that leads nowhere as well.
fn is_there(path: &Path) -> bool {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return true;
    };
    Root::open(parent).is_ok_and(|root| root.dir().symlink_metadata(name).is_ok())
}

/// Returns true if a link, or a folder above it, makes a path the same folder as another one.
fn leads_to(place: &Path, folder: &Path) -> bool {
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
