//! Restoring a backup: everything is copied and verified beside its place, then moved there. After a failure, the home is
//! as it was.

use std::io;
use std::path::{Path, PathBuf};

use gongfu_core::account::Owner;
use gongfu_core::skill::SkillPath;
use gongfu_files::Home;
use gongfu_files::disk::{self, Root};
use gongfu_records::Database;
use serde_json::Value;

use super::failure::{damaged, in_use, other_form, shown, uncopied, unusable};
use super::{
    BackupList, DATABASE, FILES, FORMAT, LIST, MAX_LIST, RECORDS, WORKSPACES, copy_named,
    copy_owners, digest_of, ids, open_copy, tree,
};
use crate::accounts::server;

/// The folder of the home in which a backup is put together.
const PART: &str = ".restore";
/// The folders with entries of users and teams.
const FOLDERS: [&str; 3] = ["users", "teams", WORKSPACES];

/// Copies a backup into a home that has no accounts yet.
///
/// # Errors
/// The backup isn't complete or was changed, or the home has accounts. Then the home is as it was.
pub(crate) async fn restore(from: &Path, home: &Home) -> anyhow::Result<BackupList> {
    let source = Root::open(from).map_err(|error| unusable(from, &disk::reason(&error)))?;
    let list = read_list(&source)?;
    for (name, digest) in [(DATABASE, &list.database), (FILES, &list.file_list)] {
        check(&source, name, digest)?;
    }
    let mut new = NewHome::begin(home)?;
    let restored = match new.fill(&source, &list).await {
        Ok(()) => new.place().await,
        failed => failed,
    };
    new.end(restored.is_ok());
    restored.map(|()| list)
}

/// The list of a backup in a form that this version restores.
fn read_list(source: &Root) -> anyhow::Result<BackupList> {
    let from = source.path();
    let text = source
        .read(&SkillPath::new(LIST)?, MAX_LIST)
        .map_err(|_| unusable(from, "it has no backup.json, so it isn't complete"))?;
    let unread =
        |error: serde_json::Error| unusable(from, &format!("backup.json can't be read: {error}"));
    let list: Value = serde_json::from_slice(&text.bytes).map_err(unread)?;
    match list.get("format").and_then(Value::as_u64) {
        Some(format) if format != u64::from(FORMAT) => {
            return Err(other_form(from, format > u64::from(FORMAT)).into());
        }
        _ => {}
    }
    Ok(serde_json::from_value(list).map_err(unread)?)
}

/// Checks that a file of a backup has the digest that its list says.
fn check(source: &Root, name: &str, digest: &str) -> anyhow::Result<()> {
    match digest_of(source, name) {
        Ok(found) if found.to_string() == digest => Ok(()),
        Ok(_) => Err(damaged(&format!("{name} was changed")).into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(damaged(&format!("{name} is missing")).into())
        }
        Err(error) => Err(damaged(&format!("{name}: {}", disk::reason(&error))).into()),
    }
}

/// A home while a backup is restored into it.
struct NewHome {
    root: Root,
    /// The folder in which the backup is put together.
    part: Root,
    /// The folders that weren't there, the home itself first.
    created: Vec<PathBuf>,
    /// The entries that were moved into place.
    placed: Vec<PathBuf>,
    had_lock: bool,
    /// No server serves the home.
    _lock: std::fs::File,
}

impl NewHome {
    fn begin(home: &Home) -> anyhow::Result<Self> {
        let is_missing = |path: &&Path| disk::kind_outside(path).is_none();
        let created = home.path().ancestors().take_while(is_missing);
        let created = created.map(Path::to_owned).collect();
        let root = home.open();
        let root = root.map_err(|error| crate::home::unusable(home, &error))?;
        let had_lock = root.dir().symlink_metadata(server::LOCK).is_ok();
        let lock = server::lock(&root)?;
        // One that was killed leaves it behind.
        remove(&root, PART).map_err(|error| uncopied(&root.path().join(PART), &error))?;
        let part = root.path().join(PART);
        let part = Root::create_private(&part).map_err(|error| uncopied(&part, &error))?;
        Ok(Self {
            root,
            part,
            created,
            placed: Vec::new(),
            had_lock,
            _lock: lock,
        })
    }

    /// Copies the backup beside its place, and verifies all of it.
    async fn fill(&self, source: &Root, list: &BackupList) -> anyhow::Result<()> {
        self.check_unused().await?;
        // A copy is opened: opening it writes, and a backup may be read-only.
        let copy = copy_named(source, &self.part, DATABASE)?;
        if copy.is_none_or(|copy| copy.to_string() != list.database) {
            return Err(damaged(&format!("{DATABASE} was changed")).into());
        }
        let opened = format!("{DATABASE}.opened");
        let renamed = self.part.rename_file(DATABASE, &opened);
        renamed.map_err(|error| uncopied(Path::new(DATABASE), &error))?;
        let database = open_copy(&self.part.path().join(&opened)).await?;
        let copied = self.copy_accounts(&*database, source, list).await;
        database.close().await?;
        copied?;
        for name in RECORDS {
            self.copy_record(source, list, name)?;
        }
        tree::restore(source, &self.part.path().join(WORKSPACES))?;
        Ok(())
    }

    async fn copy_accounts(
        &self,
        database: &dyn Database,
        source: &Root,
        list: &BackupList,
    ) -> anyhow::Result<()> {
        let (from, to) = (Home::at(source.path()), Home::at(self.part.path()));
        for owner in super::owners(database).await? {
            self.check_free(&owner)?;
        }
        let mut copied = BackupList::default();
        copy_owners(database, &from, &to, damaged, &mut copied).await?;
        let count = |list: &BackupList| (list.users, list.teams, list.blobs, list.bytes);
        if count(&copied) != count(list) {
            let why = "it holds another number of users, teams or contents";
            return Err(damaged(why).into());
        }
        let copied = database.backup(&to.database()).await;
        copied.map_err(|error| super::failed(&error.to_string()))?;
        Ok(())
    }

    fn copy_record(&self, source: &Root, list: &BackupList, name: &str) -> anyhow::Result<()> {
        let Some(digest) = list.records.get(name) else {
            return Ok(());
        };
        check(source, name, digest)?;
        copy_named(source, &self.part, name)?;
        match digest_of(&self.root, name) {
            Ok(own) if own.to_string() != *digest => {
                let path = shown(&self.root.path().join(name));
                Err(in_use(format!("{path} is there already, and differs")).into())
            }
            _ => Ok(()),
        }
    }

    /// Checks that the home has no accounts. A database without any may be left by a command that looked for them.
    async fn check_unused(&self) -> anyhow::Result<()> {
        if self.root.dir().symlink_metadata(DATABASE).is_err() {
            return Ok(());
        }
        let home = shown(self.root.path());
        let database = open_copy(&self.root.path().join(DATABASE)).await;
        let database = database.map_err(|error| {
            in_use(format!("{home} has a database that can't be read: {error}"))
        })?;
        let mut is_used = false;
        for kind in ["user", "team"] {
            is_used |= !ids(&*database, kind).await?.is_empty();
        }
        database.close().await?;
        if is_used {
            return Err(in_use(format!("{home} has accounts already")).into());
        }
        Ok(())
    }

    /// Checks that the home has no files of an owner.
    fn check_free(&self, owner: &Owner) -> anyhow::Result<()> {
        let home = Home::at(self.root.path());
        for folder in [
            home.of_owner(owner).path().to_owned(),
            home.workspace_of_owner(owner),
        ] {
            let is_free = match Root::open(&folder) {
                Ok(folder) => folder.list(&SkillPath::root())?.is_empty(),
                Err(error) => error.kind() == io::ErrorKind::NotFound,
            };
            if !is_free {
                let message = format!("{} is there already", shown(&folder));
                return Err(in_use(message).into());
            }
        }
        Ok(())
    }

    /// Moves everything into its place, the database last: without it, the home has no accounts.
    async fn place(&mut self) -> anyhow::Result<()> {
        for name in FOLDERS {
            let Ok(from) = Root::open(&self.part.path().join(name)) else {
                continue;
            };
            let folder = self.root.path().join(name);
            if disk::kind_outside(&folder).is_none() {
                self.created.push(folder.clone());
            }
            let to = Root::create_private(&folder).map_err(|error| uncopied(&folder, &error))?;
            for entry in from.list(&SkillPath::root())? {
                let place = folder.join(&entry.name);
                let moved = from.dir().rename(&entry.name, to.dir(), &entry.name);
                moved.map_err(|error| uncopied(&place, &error))?;
                self.placed.push(place);
            }
        }
        for name in RECORDS {
            if self.part.dir().symlink_metadata(name).is_ok() {
                let is_new = self.root.dir().symlink_metadata(name).is_err();
                self.rename(name)?;
                if is_new {
                    self.placed.push(self.root.path().join(name));
                }
            }
        }
        self.check_unused().await?;
        for suffix in ["", "-wal", "-shm"] {
            let name = format!("{DATABASE}{suffix}");
            let removed = self.root.remove(&name);
            removed.map_err(|error| uncopied(Path::new(&name), &error))?;
        }
        self.rename(DATABASE)?;
        Ok(())
    }

    fn rename(&self, name: &str) -> anyhow::Result<()> {
        let renamed = self.part.dir().rename(name, self.root.dir(), name);
        let synced = renamed.and_then(|()| self.root.dir().open(".")?.sync_all());
        Ok(synced.map_err(|error| uncopied(&self.root.path().join(name), &error))?)
    }

    /// Removes what is no longer needed; after a failure, everything that wasn't there before.
    fn end(self, is_good: bool) {
        let _ = remove(&self.root, PART);
        if is_good {
            return;
        }
        for path in self.placed.iter().rev() {
            let _ = with_parent(path, remove);
        }
        if !self.had_lock {
            let _ = remove(&self.root, server::LOCK);
        }
        // The folders in the home first, then the home and those above it. One with something in it stays.
        let (below, above): (Vec<_>, Vec<_>) = self
            .created
            .iter()
            .partition(|path| path.starts_with(self.root.path()) && **path != self.root.path());
        for path in below.iter().chain(&above) {
            let _ = with_parent(path, |parent, name| parent.dir().remove_dir(name));
        }
    }
}

/// Removes an entry, without following a link in its place.
fn remove(folder: &Root, name: &str) -> io::Result<()> {
    let removed = match folder.dir().symlink_metadata(name) {
        Ok(entry) if entry.is_dir() => folder.dir().remove_dir_all(name),
        Ok(_) => folder.dir().remove_file(name),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

fn with_parent(path: &Path, work: impl FnOnce(&Root, &str) -> io::Result<()>) -> io::Result<()> {
    match (
        path.parent(),
        path.file_name().and_then(|name| name.to_str()),
    ) {
        (Some(parent), Some(name)) => work(&Root::open(parent)?, name),
        _ => Ok(()),
    }
}
