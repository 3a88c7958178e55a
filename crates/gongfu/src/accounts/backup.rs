//! Copies of a server's accounts: the database as it is at one moment, then the content that its skills consist of, and the
//! workspaces. A server may run meanwhile: until the end, no content is removed.
//!
//! ```text
//! backup.json      what is in it, written last: without it the copy isn't complete
//! server.db        the database
//! users/ID/blobs/  content
//! workspaces/      the workspaces of users
//! ```
//!
//! The key of the server isn't copied, since who has both could sign as the server.

use std::io::{self, Read as _};
use std::path::Path;

use anyhow::Context as _;
use gongfu_core::account::{Owner, TeamId, UserId};
use gongfu_core::audit;
use gongfu_core::port::{Blobs as _, Clock as _};
use gongfu_core::skill::digest::Hasher;
use gongfu_core::skill::{Digest, SkillPath};
use gongfu_files::Home;
use gongfu_files::disk::{self, EntryKind, Root};
use gongfu_library::contents_of;
use gongfu_records::{Database, FileBlobs, open_database};
use serde::{Deserialize, Serialize};

use super::ServerAccounts;
use crate::clock::SystemClock;
use crate::failure::Failure;

const LIST: &str = "backup.json";
const DATABASE: &str = "server.db";
/// The form of a backup that this version makes and restores.
const FORMAT: u32 = 1;
/// The number of users that are read at once.
const PAGE: usize = 500;
/// The longest list, in bytes.
const MAX_LIST: u64 = 64 * 1024;

/// The content of a backup.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BackupList {
    /// The form of the backup.
    format: u32,
    /// The time at which it was complete.
    created: String,
    /// The digest of the database.
    database: String,
    pub(crate) users: usize,
    #[serde(default)]
    pub(crate) teams: usize,
    /// The contents of skills.
    pub(crate) blobs: usize,
    /// Their bytes.
    pub(crate) bytes: u64,
    /// The files of workspaces.
    pub(crate) files: usize,
}

/// Copies the accounts of a home to a new folder.
///
/// # Errors
/// The folder isn't empty, something can't be copied, or what was copied isn't what it should be.
pub(crate) async fn save(
    open: &ServerAccounts,
    home: &Home,
    to: &Path,
) -> anyhow::Result<BackupList> {
    let to = std::path::absolute(to)?;
    let target = empty_folder(&to)?;
    let root = home.open()?;
    let _lock = disk::lock(&root, "backup.lock")?;
    open.database.backup(&to.join(DATABASE)).await?;
    let copy = open_copy(&to.join(DATABASE)).await?;
    let copied = copy_owners(&*copy, home, &Home::at(&to)).await;
    copy.close().await?;
    let mut list = copied?;
    list.database = digest_of(&target, DATABASE)?.to_string();
    list.created = SystemClock.now().to_seconds();
    let text = serde_json::to_vec_pretty(&list)?;
    target.replace(LIST, &text, true)?;
    Ok(list)
}

/// Copies a backup into a home that has no accounts yet.
///
/// # Errors
/// The backup isn't complete or was changed, or the home has accounts.
pub(crate) async fn restore(from: &Path, home: &Home) -> anyhow::Result<BackupList> {
    let source = Root::open(from).map_err(|error| unusable(from, &disk::reason(&error)))?;
    let list = source
        .read(&SkillPath::new(LIST)?, MAX_LIST)
        .map_err(|_| unusable(from, "it has no backup.json, so it isn't complete"))?;
    let list: BackupList = serde_json::from_slice(&list.bytes)
        .map_err(|error| unusable(from, &format!("backup.json can't be read: {error}")))?;
    if list.format != FORMAT {
        return Err(unusable(from, "it was made by a newer gongfu").into());
    }
    if digest_of(&source, DATABASE)?.to_string() != list.database {
        return Err(unusable(from, "its database was changed").into());
    }
    let root = home.open()?;
    if root.dir().symlink_metadata(DATABASE).is_ok() {
        let message = format!("{} has accounts already", home.path().display());
        let hint = "set GONGFU_HOME to an empty folder";
        return Err(Failure::new("HOME_IN_USE", message, hint).into());
    }
    // Opened where it lies on: a copy of a copy changes nothing of the backup.
    let copy = home.path().join(DATABASE);
    let database = open_copy(&source.path().join(DATABASE)).await?;
    let restored = async {
        let copied = copy_owners(&*database, &Home::at(from), home).await?;
        // The database last: without it, the home has no accounts.
        database.backup(&copy).await?;
        anyhow::Ok(copied)
    };
    let restored = restored.await;
    database.close().await?;
    let copied = restored?;
    let count = |list: &BackupList| (list.users, list.teams, list.blobs, list.bytes);
    if count(&copied) != count(&list) {
        return Err(unusable(from, "it holds another number of users, teams or contents").into());
    }
    Ok(list)
}

/// Copies what the users and teams of a database have beside it, and verifies each.
async fn copy_owners(
    database: &dyn Database,
    from: &Home,
    to: &Home,
) -> anyhow::Result<BackupList> {
    let mut list = BackupList {
        format: FORMAT,
        created: String::new(),
        database: String::new(),
        users: 0,
        teams: 0,
        blobs: 0,
        bytes: 0,
        files: 0,
    };
    let log = audit::key()?;
    let server = database.server_records();
    verified(server.verify(&log).await?, "the server")?;
    for owner in owners(database).await? {
        let count = match owner {
            Owner::Team(_) => &mut list.teams,
            Owner::User(_) | Owner::Local => &mut list.users,
        };
        *count += 1;
        let (id, records) = (owner.id().unwrap_or_default(), database.records(&owner));
        verified(records.verify(&log).await?, id)?;
        let source = FileBlobs::new(from.of_owner(&owner));
        let target = FileBlobs::new(to.of_owner(&owner));
        for digest in contents_of(&*records).await? {
            // Both compare the digest.
            let content = source.get(&digest, u64::MAX).await;
            let content =
                content.with_context(|| format!("the content {} of {id}", digest.hex(12)))?;
            target.put(&content.bytes).await?;
            list.blobs += 1;
            list.bytes += content.size;
        }
        if let Ok(source) = Root::open(&from.workspace_of_owner(&owner)) {
            let target = Root::create_private(&to.workspace_of_owner(&owner))?;
            list.files += copy_files(&source, &target)?;
        }
    }
    Ok(list)
}

fn verified<T>(chain: Result<T, gongfu_core::port::ChainBreak>, of: &str) -> Result<T, Failure> {
    chain.map_err(|broken| {
        let message = format!("the audit of {of} isn't whole: {broken}");
        let hint = "restore the last backup that is";
        Failure::new("AUDIT_BROKEN", message, hint)
    })
}

/// All users and teams.
async fn owners(database: &dyn Database) -> anyhow::Result<Vec<Owner>> {
    let mut owners = Vec::new();
    for id in ids(database, "user").await? {
        owners.push(Owner::User(UserId::new(&id)?));
    }
    for id in ids(database, "team").await? {
        owners.push(Owner::Team(TeamId::new(&id)?));
    }
    Ok(owners)
}

/// The ids of all records of a kind.
async fn ids(database: &dyn Database, kind: &str) -> anyhow::Result<Vec<String>> {
    let records = database.server_records();
    let prefix = gongfu_core::port::RecordKey::new(kind)?;
    let mut last = None;
    let mut ids = Vec::new();
    loop {
        let page = records.page(&prefix, last.as_ref(), PAGE).await?;
        let Some((key, _)) = page.last() else {
            return Ok(ids);
        };
        last = Some(key.clone());
        let keys = page
            .iter()
            .filter_map(|(key, _)| key.as_str().split_once('/'));
        ids.extend(keys.map(|(_, id)| id.to_owned()));
    }
}

/// Copies the files below a folder; links stay out. Answers how many there were.
fn copy_files(from: &Root, to: &Root) -> anyhow::Result<usize> {
    let (mut copied, mut open) = (0, vec![SkillPath::root()]);
    while let Some(below) = open.pop() {
        for entry in from.list(&below)? {
            let Ok(path) = below.join(&entry.name) else {
                continue;
            };
            match entry.kind {
                EntryKind::Folder => {
                    to.dir().create_dir_all(path.as_str())?;
                    open.push(path);
                }
                EntryKind::File => {
                    let (file, _) = from.open_file(&path)?;
                    let mut file = file.into_std();
                    let folder = to.below(&path.parent())?;
                    folder.replace_by(path.file_name(), true, |target| {
                        io::copy(&mut file, target).map(drop)
                    })?;
                    copied += 1;
                }
                _ => {}
            }
        }
    }
    Ok(copied)
}

async fn open_copy(path: &Path) -> anyhow::Result<std::sync::Arc<dyn Database>> {
    let url = format!("sqlite:{}", path.display());
    Ok(open_database(&url).await?)
}

/// A new folder, or one that is empty.
fn empty_folder(path: &Path) -> anyhow::Result<Root> {
    let root = Root::create_private(path)
        .with_context(|| format!("{} can't be created", path.display()))?;
    if root.list(&SkillPath::root())?.is_empty() {
        return Ok(root);
    }
    let message = format!("{} isn't empty", path.display());
    let hint = "name a new folder: a backup replaces nothing";
    Err(Failure::new("FOLDER_IN_USE", message, hint).into())
}

fn digest_of(folder: &Root, name: &str) -> anyhow::Result<Digest> {
    let (file, _) = folder.open_file(&SkillPath::new(name)?)?;
    let (mut file, mut hasher, mut piece) = (file.into_std(), Hasher::default(), vec![0; 65_536]);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(hasher.finish()),
            read => hasher.update(piece.get(..read).unwrap_or_default()),
        }
    }
}

fn unusable(from: &Path, why: &str) -> Failure {
    let message = format!("{} is not a backup: {why}", from.display());
    let hint = "name a folder that `gongfu backup` wrote";
    Failure::new("BACKUP_UNUSABLE", message, hint)
}
