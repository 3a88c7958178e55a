//! What an installation did to a file, kept in gongfu's home until it is undone, and the backups.
//!
//! An uninstallation works without it, too; with it, what was made around the entry goes as well.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use gongfu_core::skill::{Digest, SkillPath};
use gongfu_store::Home;
use gongfu_store::disk::Root;
use serde::{Deserialize, Serialize};

use super::format::Added;
use super::server::Server;
use super::splice::part;

/// The folder of the home that it is kept in.
const FOLDER: &str = "clients";
/// How many backups of a file are kept.
const BACKUPS: usize = 5;
const LIMIT: u64 = 64 * 1024 * 1024;

/// What is known of an entry that gongfu made.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Record {
    /// The file, for people who look here.
    pub(super) file: PathBuf,
    /// How the client reaches gongfu by it.
    pub(super) server: Server,
    /// The file wasn't there before.
    pub(super) new_file: bool,
    /// Folders that were made for it, outermost first.
    pub(super) folders: Vec<PathBuf>,
    /// What was made around the entry.
    pub(super) added: Added,
    /// The way back for a file that nobody changed since.
    pub(super) undo: Option<Undo>,
    /// Somebody else's entry that stood there before.
    #[serde(default)]
    pub(super) replaced: Option<serde_json::Value>,
}

/// The part of a file that was another before.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Undo {
    /// The digest of the whole file after the change.
    after: String,
    /// How much at its beginning and end is as it was, in bytes.
    head: usize,
    tail: usize,
    /// What stood in between.
    before: String,
}

impl Undo {
    /// The way from `after` to `before`.
    pub(super) fn between(before: &str, after: &str) -> Self {
        let same = |left: &mut dyn Iterator<Item = char>, right: &mut dyn Iterator<Item = char>| {
            left.zip(right)
                .take_while(|(left, right)| left == right)
                .map(|(character, _)| character.len_utf8())
                .sum::<usize>()
        };
        let head = same(&mut before.chars(), &mut after.chars());
        let (rest, new) = (
            part(before, head..before.len()),
            part(after, head..after.len()),
        );
        let tail = same(&mut rest.chars().rev(), &mut new.chars().rev());
        Self {
            after: Digest::of(after.as_bytes()).to_string(),
            head,
            tail,
            before: part(rest, 0..rest.len() - tail).to_owned(),
        }
    }

    /// The file as it was before, when it is still as it was left.
    pub(super) fn undone(&self, text: &str) -> Option<String> {
        if Digest::of(text.as_bytes()).to_string() != self.after {
            return None;
        }
        let tail = text.len().checked_sub(self.tail)?;
        let (head, tail) = (text.get(..self.head)?, text.get(tail..)?);
        Some(format!("{head}{}{tail}", self.before))
    }
}

/// The records and backups of one file of one client.
pub(super) struct Records<'h> {
    home: &'h Home,
    stem: String,
}

impl<'h> Records<'h> {
    /// Those of a file.
    pub(super) fn of(home: &'h Home, client: &str, file: &Path) -> Self {
        let digest = Digest::of(file.as_os_str().as_encoded_bytes()).to_string();
        let digest: String = digest.chars().skip("sha256:".len()).take(12).collect();
        Self {
            home,
            stem: format!("{client}-{digest}"),
        }
    }

    /// What is known; nothing when it can't be read, because it isn't needed.
    pub(super) fn read(&self) -> Option<Record> {
        let root = Root::open(&self.home.path().join(FOLDER)).ok()?;
        let name = SkillPath::new(&format!("{}.json", self.stem)).ok()?;
        let content = root.read(&name, LIMIT).ok()?;
        serde_json::from_slice(&content.bytes).ok()
    }

    /// Keeps a record, before the file is written.
    pub(super) fn keep(&self, record: &Record) -> io::Result<()> {
        let mut bytes = serde_json::to_vec_pretty(record).map_err(io::Error::other)?;
        bytes.push(b'\n');
        self.write(&format!("{}.json", self.stem), &bytes)
    }

    /// Lets no other gongfu change a configuration or its record, until the answer is dropped.
    pub(super) fn locked(&self) -> io::Result<Option<File>> {
        // A system where a folder can't be opened has no such right.
        let Ok(folder) = self.folder()?.dir().open(".") else {
            return Ok(None);
        };
        let folder = folder.into_std();
        folder.lock()?;
        Ok(Some(folder))
    }

    /// Writes a file that only its owner may read.
    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let root = self.folder()?;
        root.replace(name, bytes, true)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let own = std::fs::Permissions::from_mode(0o600);
            root.dir().open(name)?.into_std().set_permissions(own)?;
        }
        Ok(())
    }

    /// Forgets the record.
    pub(super) fn forget(&self) {
        if let Ok(root) = Root::open(&self.home.path().join(FOLDER)) {
            let _ = root.dir().remove_file(format!("{}.json", self.stem));
        }
    }

    /// Keeps a copy of a file, and the latest few of earlier ones; answers where.
    pub(super) fn back_up(&self, text: &str, now: i64) -> io::Result<PathBuf> {
        let root = self.folder()?;
        // As many digits every time, so that the order of names is that of time.
        let name = format!("{}-{now:014}.bak", self.stem);
        self.write(&name, text.as_bytes())?;
        let mut all: Vec<String> = root
            .list(&SkillPath::new("").map_err(io::Error::other)?)?
            .into_iter()
            .map(|entry| entry.name)
            .filter(|name| name.starts_with(&self.stem) && !name.ends_with("json"))
            .collect();
        all.sort_unstable();
        let surplus = all.len().saturating_sub(BACKUPS);
        for old in all.iter().take(surplus) {
            let _ = root.dir().remove_file(old);
        }
        Ok(root.path().join(name))
    }

    /// The folder; nobody else may look into it, because configurations hold secrets.
    fn folder(&self) -> io::Result<Root> {
        let root = self.home.folder(FOLDER)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            std::fs::set_permissions(root.path(), std::fs::Permissions::from_mode(0o700))?;
        }
        Ok(root)
    }
}
