//! Copies of a server's accounts: the database as it is at one moment, then the content that its skills consist of, and the
//! workspaces. A server may run meanwhile: until the end, no content is removed.
//!
//! ```text
//! backup.json      what is in it, written last: without it the copy isn't complete
//! server.db        the database
//! users/ID/blobs/  content
//! workspaces/      the workspaces of users
//! files.jsonl      the names, digests and permissions of what is in the workspaces
//! grants.json      the hosts that skills which all share may reach
//! switches.json    those of them that are disabled
//! ```
//!
//! The key of the server isn't copied, since who has both could sign as the server. Changes that wait and the layers of
//! skills aren't either: they belong to the folders of one home, and would fit no other.

mod failure;
mod restore;
mod tree;

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use gongfu_core::account::{Owner, TeamId, UserId};
use gongfu_core::audit;
use gongfu_core::port::{Blobs as _, Clock as _};
use gongfu_core::skill::digest::Hasher;
use gongfu_core::skill::{Digest, SkillPath};
use gongfu_files::Home;
use gongfu_files::disk::{self, Root};
use gongfu_library::contents_of;
use gongfu_records::{Database, FileBlobs, open_database};
use serde::{Deserialize, Serialize};

use self::failure::{failed, shown, uncopied, unusable_folder};
pub(crate) use self::restore::restore;
use self::tree::Trees;
use super::ServerAccounts;
use crate::clock::SystemClock;
use crate::failure::Failure;

const LIST: &str = "backup.json";
const DATABASE: &str = "server.db";
const FILES: &str = "files.jsonl";
const WORKSPACES: &str = "workspaces";
/// The records of the operator that count for the skills which all share.
const RECORDS: [&str; 2] = ["grants.json", "switches.json"];
/// The form of a backup that this version makes and restores.
const FORMAT: u32 = 2;
/// The number of users that are read at once.
const PAGE: usize = 500;
/// The longest list, in bytes.
const MAX_LIST: u64 = 8 * 1024 * 1024;

/// The content of a backup.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BackupList {
    /// The form of the backup.
    format: u32,
    /// The time at which it was complete.
    created: String,
    /// The digest of the database.
    database: String,
    /// The digest of the list of what is in the workspaces.
    file_list: String,
    /// The digests of the operator's records.
    records: BTreeMap<String, String>,
    pub(crate) users: usize,
    pub(crate) teams: usize,
    /// The contents of skills.
    pub(crate) blobs: usize,
    /// Their bytes.
    pub(crate) bytes: u64,
    /// The files of workspaces.
    pub(crate) files: usize,
    /// The links in workspaces.
    pub(crate) links: usize,
    /// The entries of workspaces that can't be copied, such as sockets.
    pub(crate) left_out: usize,
    /// The first of them.
    pub(crate) left_out_paths: Vec<LeftOut>,
}

/// An entry of a workspace that can't be copied.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LeftOut {
    /// Its path, below that of the backup.
    pub(crate) path: String,
    pub(crate) why: String,
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
    let to = std::path::absolute(to).map_err(|error| unusable_folder(to, &error))?;
    let target = empty_folder(&to)?;
    let root = home.open()?;
    let _lock = disk::lock(&root, "backup.lock").map_err(|error| failed(&error.to_string()))?;
    let copied = open.database.backup(&to.join(DATABASE)).await;
    copied.map_err(|error| failed(&error.to_string()))?;
    let copy = open_copy(&to.join(DATABASE)).await?;
    let mut list = BackupList {
        format: FORMAT,
        ..BackupList::default()
    };
    let saved = async {
        let owners = copy_owners(&*copy, home, &Home::at(&to), failure::content, &mut list).await?;
        save_workspaces(&owners, home, &target, &mut list)
    };
    let saved = saved.await;
    copy.close().await?;
    saved?;
    for name in RECORDS {
        if let Some(digest) = copy_named(&root, &target, name)? {
            list.records.insert(name.to_owned(), digest.to_string());
        }
    }
    for (name, digest) in [(DATABASE, &mut list.database), (FILES, &mut list.file_list)] {
        let found = digest_of(&target, name);
        *digest = found
            .map_err(|error| uncopied(Path::new(name), &error))?
            .to_string();
    }
    list.created = SystemClock.now().to_seconds();
    let text = serde_json::to_vec_pretty(&list)?;
    let written = target.replace(LIST, &text, true);
    written.map_err(|error| uncopied(Path::new(LIST), &error))?;
    Ok(list)
}

/// Copies the workspaces of users and teams, and writes the list of what is in them.
fn save_workspaces(
    owners: &[Owner],
    home: &Home,
    target: &Root,
    list: &mut BackupList,
) -> anyhow::Result<()> {
    let unlisted = |error: io::Error| uncopied(Path::new(FILES), &error);
    let file = target.create_exact(Path::new(FILES), 0o600);
    let mut trees = Trees::new(file.map_err(unlisted)?, list);
    for owner in owners {
        let workspace = home.workspace_of_owner(owner);
        if let (Ok(source), Some(name)) = (Root::open(&workspace), workspace.file_name()) {
            trees.save(&source, target, Path::new(name))?;
        }
    }
    trees.finish().map_err(unlisted)?;
    Ok(())
}

/// Copies what the users and teams of a database have beside it, and verifies each. Content that isn't what it should be
/// is a failure that `damaged` makes.
async fn copy_owners(
    database: &dyn Database,
    from: &Home,
    to: &Home,
    damaged: fn(&str) -> Failure,
    list: &mut BackupList,
) -> anyhow::Result<Vec<Owner>> {
    let log = audit::key()?;
    let server = database.server_records();
    verified(server.verify(&log).await?, "the server")?;
    let owners = owners(database).await?;
    for owner in &owners {
        let count = match owner {
            Owner::Team(_) => &mut list.teams,
            Owner::User(_) | Owner::Local => &mut list.users,
        };
        *count += 1;
        let (id, records) = (owner.id().unwrap_or_default(), database.records(owner));
        verified(records.verify(&log).await?, id)?;
        let source = FileBlobs::new(from.of_owner(owner));
        let target = FileBlobs::new(to.of_owner(owner));
        for digest in contents_of(&*records).await? {
            // Both compare the digest.
            let content = source.get(&digest, u64::MAX).await;
            let of = format!("the content {} of {id}", digest.hex(12));
            let content = content.map_err(|error| damaged(&format!("{of}: {error}")))?;
            let put = target.put(&content.bytes).await;
            put.map_err(|error| failed(&format!("{of}: {error}")))?;
            list.blobs += 1;
            list.bytes += content.size;
        }
    }
    Ok(owners)
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

/// Copies a file of this name, if there is one, and answers its digest.
fn copy_named(from: &Root, to: &Root, name: &str) -> Result<Option<Digest>, Failure> {
    let path = Path::new(name);
    let mut source = match from.open_exact(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        source => source.map_err(|error| uncopied(path, &error))?,
    };
    let copied = to
        .create_exact(path, 0o600)
        .and_then(|mut target| copy(&mut source, &mut target));
    copied.map(Some).map_err(|error| uncopied(path, &error))
}

/// Copies a file durably; answers the digest of what was copied.
fn copy(from: &mut std::fs::File, to: &mut std::fs::File) -> io::Result<Digest> {
    let digest = read(from, |piece| to.write_all(piece))?;
    to.sync_all()?;
    Ok(digest)
}

/// Reads a file piece by piece; answers its digest.
fn read(
    file: &mut std::fs::File,
    mut each: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<Digest> {
    let (mut hasher, mut piece) = (Hasher::default(), vec![0; 65_536]);
    loop {
        match file.read(&mut piece) {
            Ok(0) => return Ok(hasher.finish()),
            Ok(read) => {
                let piece = piece.get(..read).unwrap_or_default();
                hasher.update(piece);
                each(piece)?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn digest_of(folder: &Root, name: &str) -> io::Result<Digest> {
    read(&mut folder.open_exact(Path::new(name))?, |_| Ok(()))
}

async fn open_copy(path: &Path) -> anyhow::Result<std::sync::Arc<dyn Database>> {
    let url = format!("sqlite:{}", path.display());
    Ok(open_database(&url).await?)
}

/// A new folder, or one that is empty.
fn empty_folder(path: &Path) -> anyhow::Result<Root> {
    let root = Root::create_private(path).map_err(|error| unusable_folder(path, &error))?;
    let entries = root.list(&SkillPath::root());
    if entries
        .map_err(|error| unusable_folder(path, &error))?
        .is_empty()
    {
        return Ok(root);
    }
    let message = format!("{} isn't empty", shown(path));
    let hint = "name a new folder: a backup replaces nothing";
    Err(Failure::new("FOLDER_IN_USE", message, hint).into())
}
