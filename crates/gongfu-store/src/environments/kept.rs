//! Where environments lie, who uses them, and how a new one comes there: whole, or not at all.
//!
//! ```text
//! KEY/record.json   what it is
//! KEY/root/         what runs see of it
//! KEY/held          held by each run that uses it; its time says when that was last
//! making/KEY/       one that is being made; nobody's once its lock is free
//! making/KEY.lock   held by whoever makes it
//! ```

use std::fs::{File, TryLockError};
use std::io::{self, Read as _};
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use gongfu_core::dependency::Record;
use gongfu_core::port::Timestamp;
use gongfu_core::skill::digest::Hasher;
use gongfu_core::skill::{Digest, SkillPath};

use crate::disk::{EntryKind, Root, temporary_name};
use crate::home::Home;

const RECORD: &str = "record.json";
const ROOT: &str = "root";
const HELD: &str = "held";
const MAKING: &str = "making";
/// The longest record, in bytes.
const LONGEST: u64 = 4 * 1024 * 1024;
/// How much of a file is read at a time, in bytes.
const PIECE: usize = 256 * 1024;
/// How deep folders are looked into.
const DEEPEST: usize = 64;

/// Where the environments of a home lie.
#[derive(Debug, Clone)]
pub(super) struct Shelf {
    home: Home,
}

/// An environment that nobody takes away while this is there.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) record: Record,
    /// What runs see of it.
    pub(super) root: PathBuf,
    pub(super) held: File,
}

/// What is known of an environment and when it was used last; or why that can't be told.
type Read = io::Result<(Record, Timestamp)>;

/// An environment that is being made, by nobody else.
#[derive(Debug)]
pub(super) struct Making {
    key: String,
    folder: Root,
    _lock: File,
}

/// What is measured of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Measured {
    pub(super) bytes: u64,
    pub(super) files: u64,
    pub(super) digest: Digest,
}

impl Shelf {
    pub(super) fn new(home: Home) -> Self {
        Self { home }
    }

    fn folder(&self) -> PathBuf {
        self.home.environments()
    }

    /// One that is there whole, from now on held.
    pub(super) fn find(&self, key: &str, now: Timestamp) -> io::Result<Option<Kept>> {
        let folder = match Root::open(&self.folder().join(key)) {
            Ok(folder) => folder,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let held = match folder.dir().open(HELD) {
            Ok(held) => held.into_std(),
            // It is about to be taken away.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        if held.try_lock_shared().is_err() || !folder.is_linked() {
            return Ok(None);
        }
        let Ok(record) = record(&folder) else {
            // A damaged one is made again in its place.
            return Ok(None);
        };
        let at = Duration::from_millis(u64::try_from(now.0).unwrap_or_default());
        // Where it can't be written any more it can be used all the same.
        let _ = held.set_modified(UNIX_EPOCH + at);
        Ok(Some(Kept {
            record,
            root: folder.path().join(ROOT),
            held,
        }))
    }

    /// Begins to make it; `None` while somebody else does.
    pub(super) fn begin(&self, key: &str) -> io::Result<Option<Making>> {
        let making = Root::create(&self.folder().join(MAKING))?;
        let lock = making.dir().create(format!("{key}.lock"))?.into_std();
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        remove(&making, key)?;
        making.dir().create_dir(key)?;
        let folder = Root::open(&making.path().join(key))?;
        for name in [ROOT, "in"] {
            folder.dir().create_dir(name)?;
        }
        let begun = Making {
            key: key.to_owned(),
            folder,
            _lock: lock,
        };
        Ok(Some(begun))
    }

    /// Puts it where runs find it.
    pub(super) fn publish(&self, making: &Making, record: &Record) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(record)?;
        making.folder.replace(RECORD, &text, true)?;
        making.folder.dir().create(HELD)?;
        making.folder.dir().remove_dir_all("in")?;
        let all = Root::open(&self.folder())?;
        // What lies there can't be used, or it wouldn't have been made again.
        remove(&all, &making.key)?;
        let from = Root::open(&self.folder().join(MAKING))?;
        from.dir().rename(&making.key, all.dir(), &making.key)
    }

    /// All that are there, each with when it was used last; those that can't be read by their keys.
    pub(super) fn all(&self) -> io::Result<Vec<(String, Read)>> {
        let all = match Root::open(&self.folder()) {
            Ok(all) => all,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let entries = all.list(&SkillPath::root())?.into_iter();
        let folders =
            entries.filter(|entry| entry.kind == EntryKind::Folder && entry.name != MAKING);
        let found = folders.map(|entry| {
            let read = Root::open(&all.path().join(&entry.name)).and_then(|folder| {
                let used = folder.dir().metadata(HELD)?.modified()?.into_std();
                let used = used.duration_since(UNIX_EPOCH).unwrap_or_default();
                let used = Timestamp(i64::try_from(used.as_millis()).unwrap_or(i64::MAX));
                Ok((record(&folder)?, used))
            });
            (entry.name, read)
        });
        Ok(found.collect())
    }

    /// Where one lies.
    pub(super) fn root_of(&self, key: &str) -> PathBuf {
        self.folder().join(key).join(ROOT)
    }

    /// Takes one away, unless it is used right now; answers whether it did.
    pub(super) fn remove(&self, key: &str) -> io::Result<bool> {
        let all = Root::open(&self.folder())?;
        let folder = Root::open(&all.path().join(key))?;
        if let Ok(held) = folder.dir().open(HELD) {
            let held = held.into_std();
            if held.try_lock().is_err() {
                return Ok(false);
            }
            // Whoever comes now finds it no more, or half of it nowhere.
            let making = Root::create(&all.path().join(MAKING))?;
            let aside = temporary_name(key);
            all.dir().rename(key, making.dir(), &aside)?;
            remove(&making, &aside)?;
            return Ok(true);
        }
        remove(&all, key)?;
        Ok(true)
    }

    /// Takes away what was left by those who were interrupted.
    pub(super) fn sweep(&self) -> io::Result<()> {
        let making = match Root::open(&self.folder().join(MAKING)) {
            Ok(making) => making,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        for entry in making.list(&SkillPath::root())? {
            let Some(key) = entry.name.strip_suffix(".lock") else {
                // What was about to be removed.
                if entry.name.starts_with('.') {
                    remove(&making, &entry.name)?;
                }
                continue;
            };
            let lock = making.dir().open(&entry.name)?.into_std();
            if lock.try_lock().is_ok() {
                remove(&making, key)?;
            }
        }
        Ok(())
    }
}

impl Making {
    /// A file of what it is made of.
    pub(super) fn give(&self, name: &str, text: &str) -> io::Result<()> {
        self.folder.dir().write(format!("in/{name}"), text)
    }

    /// Begins it anew: nothing of what was tried stays.
    pub(super) fn empty(&self) -> io::Result<()> {
        remove(&self.folder, ROOT)?;
        self.folder.dir().create_dir(ROOT)
    }

    /// Where what it is made of lies.
    pub(super) fn inputs(&self) -> PathBuf {
        self.folder.path().join("in")
    }

    /// Where it lies.
    pub(super) fn root(&self) -> PathBuf {
        self.folder.path().join(ROOT)
    }

    /// A handle of where it lies.
    pub(super) fn open(&self) -> io::Result<Root> {
        Root::open(&self.root())
    }
}

fn record(folder: &Root) -> io::Result<Record> {
    let path = SkillPath::new(RECORD).map_err(io::Error::other)?;
    let content = folder.read(&path, LONGEST)?;
    Ok(serde_json::from_slice(&content.bytes)?)
}

/// Takes a folder away that may not be there.
fn remove(parent: &Root, name: &str) -> io::Result<()> {
    match parent.dir().remove_dir_all(name) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Measures all files below a folder: names, kinds, contents and who may run them are in the digest.
pub(super) fn measure(root: &Root) -> io::Result<Measured> {
    let mut measuring = Measuring {
        hasher: Hasher::default(),
        bytes: 0,
        files: 0,
    };
    measuring.folder(root, &SkillPath::root(), 0)?;
    Ok(Measured {
        bytes: measuring.bytes,
        files: measuring.files,
        digest: measuring.hasher.finish(),
    })
}

struct Measuring {
    hasher: Hasher,
    bytes: u64,
    files: u64,
}

impl Measuring {
    fn folder(&mut self, root: &Root, folder: &SkillPath, depth: usize) -> io::Result<()> {
        if depth > DEEPEST {
            return Err(io::Error::other(format!("`{folder}` lies too deep")));
        }
        let mut entries = root.list(folder)?;
        entries.sort_by(|one, other| one.name.cmp(&other.name));
        for entry in entries {
            let path = folder.join(&entry.name).map_err(io::Error::other)?;
            match entry.kind {
                EntryKind::Folder => {
                    self.entry(b'd', &path, &[]);
                    self.folder(root, &path, depth + 1)?;
                }
                EntryKind::File => self.file(root, &path)?,
                EntryKind::Link => {
                    let to = root.dir().read_link_contents(path.as_str())?;
                    self.entry(b'l', &path, to.as_os_str().as_encoded_bytes());
                    self.files += 1;
                }
                EntryKind::Special(_) | EntryKind::Unnameable => {
                    return Err(io::Error::other(format!(
                        "`{path}` is neither a file nor a folder"
                    )));
                }
            }
        }
        Ok(())
    }

    fn file(&mut self, root: &Root, path: &SkillPath) -> io::Result<()> {
        let (file, _) = root.open_file(path)?;
        let mut content = Hasher::default();
        let mut piece = vec![0; PIECE];
        let runs = may_be_run(&file)?;
        let mut file = file.into_std();
        loop {
            let read = file.read(&mut piece)?;
            if read == 0 {
                break;
            }
            content.update(piece.get(..read).unwrap_or_default());
            self.bytes += u64::try_from(read).unwrap_or_default();
        }
        self.files += 1;
        let kind = if runs { b'x' } else { b'f' };
        self.entry(kind, path, content.finish().as_bytes());
        Ok(())
    }

    fn entry(&mut self, kind: u8, path: &SkillPath, content: &[u8]) {
        self.hasher.update(&[kind]);
        for part in [path.as_str().as_bytes(), content] {
            self.hasher
                .update(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
            self.hasher.update(part);
        }
    }
}

#[cfg(unix)]
fn may_be_run(file: &cap_std::fs::File) -> io::Result<bool> {
    use cap_std::fs::PermissionsExt as _;
    Ok(file.metadata()?.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn may_be_run(_file: &cap_std::fs::File) -> io::Result<bool> {
    Ok(false)
}

#[cfg(test)]
mod tests {
    use gongfu_core::dependency::{Language, Record};
    use gongfu_core::port::Timestamp;

    use super::{Shelf, measure};
    use crate::home::Home;

    fn record(key: &str) -> Record {
        Record {
            key: key.to_owned(),
            language: Language::Python,
            skill: "a/b".to_owned(),
            from: Vec::new(),
            inferred: false,
            left_out: Vec::new(),
            packages: Vec::new(),
            lock: "requirements.lock".to_owned(),
            interpreter: None,
            index: String::new(),
            made: String::new(),
            took_ms: 1,
            bytes: 0,
            files: 0,
            digest: String::new(),
        }
    }

    const NOW: Timestamp = Timestamp(1_795_253_400_000);

    #[test]
    fn what_is_made_is_there_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = Shelf::new(Home::at(folder.path()));
        assert!(shelf.find("k", NOW).unwrap().is_none() && shelf.all().unwrap().is_empty());
        let making = shelf.begin("k").unwrap().unwrap();
        assert!(shelf.find("k", NOW).unwrap().is_none());
        // What is being made stays, and what was being made goes.
        shelf.sweep().unwrap();
        making.open().unwrap().replace("file", b"1", false).unwrap();
        drop(making);
        shelf.sweep().unwrap();
        let making = shelf.begin("k").unwrap().unwrap();
        assert!(
            making
                .open()
                .unwrap()
                .list(&gongfu_core::skill::SkillPath::root())
                .unwrap()
                .is_empty()
        );
        making.open().unwrap().replace("file", b"2", false).unwrap();
        shelf.publish(&making, &record("k")).unwrap();
        let kept = shelf.find("k", NOW).unwrap().unwrap();
        assert_eq!(kept.record, record("k"));
        let (_, found) = shelf.all().unwrap().pop().unwrap();
        assert_eq!(found.unwrap().1, NOW);
        // Nobody takes away what is used.
        assert!(!shelf.remove("k").unwrap());
        drop(kept);
        assert!(shelf.remove("k").unwrap());
        assert!(shelf.find("k", NOW).unwrap().is_none());
    }

    #[test]
    fn every_change_of_a_file_is_in_the_digest() {
        let folder = tempfile::tempdir().unwrap();
        let root = crate::disk::Root::open(folder.path()).unwrap();
        let mut seen = std::collections::BTreeSet::new();
        let mut changed = || assert!(seen.insert(measure(&root).unwrap().digest));
        changed();
        root.replace("a", b"1", false).unwrap();
        changed();
        root.replace("a", b"2", false).unwrap();
        changed();
        root.dir().create_dir("b").unwrap();
        changed();
        root.dir().rename("a", root.dir(), "b/a").unwrap();
        changed();
        root.dir().symlink_contents("/nowhere", "l").unwrap();
        changed();
        #[cfg(unix)]
        {
            use cap_std::fs::PermissionsExt as _;
            let mode = cap_std::fs::Permissions::from_mode(0o755);
            root.dir().set_permissions("b/a", mode).unwrap();
            changed();
        }
    }
}
