//! The change sets that wait for a person, a folder each.
//!
//! ```text
//! 1a2b3c4d/           the id of a set
//!     set.json        what it is, and its changes
//!     0/, 1/          the files of them, for each folder that they are for
//! .new-…, .gone-…     sets that a process is making or dropping; without a lock they are left behind
//! ```
//!
//! A set never changes. Applying it is a merge like that at the end of its run, so whatever changed since the
//! run began stays beside it.

mod present;
mod stored;

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gongfu_core::change::{
    ApplyReport, ChangeSet, Difference, Going, HeldChange, HeldKind, Holding, MAX_BYTES, MAX_SETS,
    Present, Survivor,
};
use gongfu_core::port::{self, Pending, PortError};
use rustix::fs::{self, AtFlags, FileType, FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;

use self::present::{Finding, Look, MAX_COUNTED, excerpt};
use self::stored::{FORMAT, Head, Identity, Set, SetFolder};
use crate::file_time::Beginning;
use crate::folder::{names, open_file, open_folder};
use crate::locked_folder::{LockedFolder, clear, is_there, remove_left_behind};
use crate::merge::hold::ListEntry;
use crate::merge::{self, MAX_DEPTH, Merge, Node, Terms};
use crate::plan::UnixId;

/// The file that describes a set.
const DESCRIPTION: &CStr = c"set.json";
/// The start of the names of sets that are being made.
const NEW: &str = ".new-";
/// The start of the names of sets that are being dropped.
const GONE: &str = ".gone-";
/// The longest description, in bytes.
const MAX_DESCRIPTION: u64 = 256 * 1024 * 1024;
/// The bytes of files that are read to show a set.
const MAX_READ: u64 = 16 * 1024 * 1024;
/// The time that applying a set may take.
const APPLY_TIMEOUT: Duration = Duration::from_mins(10);

/// A change set that is being made.
pub(crate) struct NewSet {
    folder: LockedFolder,
    set: Set,
}

impl NewSet {
    /// Begins a set for a run.
    ///
    /// # Errors
    /// The folder of the sets can't be written, or it is too large.
    pub(crate) fn new(holding: &Holding, run: &str, began: Beginning) -> io::Result<Self> {
        std::fs::create_dir_all(&holding.folder)?;
        let store = OwnedFd::from(File::open(&holding.folder)?);
        for prefix in [NEW, GONE] {
            remove_left_behind(&store, prefix);
        }
        let (sets, bytes) = usage(&store)?;
        if sets >= MAX_SETS || bytes >= MAX_BYTES {
            let why = format!(
                "{sets} change sets ({bytes} bytes) already wait; apply or drop some (`gongfu changes list`)"
            );
            return Err(io::Error::other(why));
        }
        Ok(Self {
            folder: LockedFolder::new(store, NEW)?,
            set: Set {
                format: FORMAT,
                id: run.to_owned(),
                made: Beginning::now().milliseconds(),
                about: holding.about.clone(),
                bytes: 0,
                began,
                folders: Vec::new(),
            },
        })
    }

    /// Adds changes of a mount, which is named by its guest path and by the path of its folder on this machine.
    ///
    /// # Errors
    /// The disk is full.
    pub(crate) fn add(
        &mut self,
        merge: &Merge,
        nodes: &[Node],
        mount: (&str, &Path),
        unseen: Vec<PathBuf>,
    ) -> io::Result<()> {
        let name = self.set.folders.len().to_string();
        fs::mkdirat(&self.folder.handle, &*name, Mode::from_raw_mode(0o700))?;
        let to = open_folder(&self.folder.handle, &CString::new(name)?)?;
        merge.copy(nodes, &to)?;
        merge::hold::list(nodes, "", &mut |_, kind, _| {
            if let HeldKind::Written { bytes, .. } = kind {
                self.set.bytes += bytes;
            }
        });
        self.set.folders.push(SetFolder {
            target: mount.0.to_owned(),
            host: CString::new(mount.1.as_os_str().as_bytes())?,
            identity: Identity::of(merge.folder())?,
            unseen,
            nodes: nodes.to_vec(),
        });
        Ok(())
    }

    /// Lets the set appear; returns its id.
    ///
    /// # Errors
    /// The disk is full.
    pub(crate) fn publish(self) -> io::Result<String> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o600);
        let file = fs::openat(&self.folder.handle, DESCRIPTION, flags, mode)?;
        let mut file = io::BufWriter::new(File::from(file));
        serde_json::to_writer(&mut file, &self.set)?;
        file.flush()?;
        self.folder.rename(&CString::new(&*self.set.id)?)?;
        Ok(self.set.id)
    }
}

/// The number of sets, and the bytes of their files.
fn usage(store: &OwnedFd) -> io::Result<(usize, u64)> {
    let (mut sets, mut bytes) = (0, 0_u64);
    for name in ids(store)? {
        sets += 1;
        if let Ok(folder) = open_folder(store, &name) {
            // One that can't be read takes room as well.
            bytes = bytes
                .saturating_add(read(&folder).map_or_else(|_| length(&folder, 0), |set| set.bytes));
        }
    }
    Ok((sets, bytes))
}

/// The length of all files in a folder together.
fn length(folder: &OwnedFd, depth: usize) -> u64 {
    let names = names(folder).unwrap_or_default();
    let lengths = names.iter().map(|name| {
        let Ok(found) = fs::statat(folder, &**name, AtFlags::SYMLINK_NOFOLLOW) else {
            return 0;
        };
        match FileType::from_raw_mode(found.st_mode) {
            // The files of a set lie in one more folder, which is named by a number.
            FileType::Directory if depth <= MAX_DEPTH + 1 => {
                open_folder(folder, name).map_or(0, |inside| length(&inside, depth + 1))
            }
            FileType::RegularFile => u64::try_from(found.st_size).unwrap_or_default(),
            _ => 0,
        }
    });
    lengths.fold(0, u64::saturating_add)
}

/// The ids of the sets.
fn ids(store: &OwnedFd) -> io::Result<Vec<CString>> {
    let mut names = names(store)?;
    names.retain(|name| !name.to_bytes().starts_with(b"."));
    names.sort_unstable();
    Ok(names)
}

/// Reads the description of a set.
fn read(folder: &OwnedFd) -> io::Result<Set> {
    let mut text = Vec::new();
    let file = open_file(folder, DESCRIPTION)?;
    file.take(MAX_DESCRIPTION).read_to_end(&mut text)?;
    let set = serde_json::from_slice::<Set>(&text);
    // Another format needn't have the parts of this one.
    let format = match &set {
        Ok(set) => Some(set.format),
        Err(_) => serde_json::from_slice::<Head>(&text)
            .ok()
            .map(|head| head.format),
    };
    if format.is_some_and(|format| format != FORMAT) {
        return Err(io::Error::other(
            "another version of gongfu created it; apply it with that version",
        ));
    }
    Ok(set?)
}

/// The change sets of one owner.
#[derive(Debug, Clone)]
pub struct ChangeSets {
    folder: PathBuf,
}

/// The handles of a set; only under its lock is it applied or dropped.
struct OpenSet {
    store: OwnedFd,
    name: CString,
    folder: OwnedFd,
}

impl ChangeSets {
    /// Those in a folder, which needn't exist.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The folder of the sets; `None` where there never was one.
    fn store(&self) -> Result<Option<OwnedFd>, PortError> {
        // A pipe in its place would be waited for.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match fs::open(&self.folder, flags, Mode::empty()) {
            Ok(store) => Ok(Some(store)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => {
                let why = format!("{}: {error}", self.folder.display());
                Err(PortError::Unavailable(why))
            }
        }
    }

    /// Opens a set.
    fn open(&self, id: &str) -> Result<OpenSet, PortError> {
        let is_id = id.len() == 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        let store = self.store()?.filter(|_| is_id).ok_or(PortError::NotFound)?;
        let name = CString::new(id).map_err(|_| PortError::NotFound)?;
        let folder = match open_folder(&store, &name) {
            Err(Errno::NOENT) => return Err(PortError::NotFound),
            folder => folder.map_err(|error| other(error.into()))?,
        };
        Ok(OpenSet {
            store,
            name,
            folder,
        })
    }

    fn list_now(&self) -> Result<Vec<ChangeSet>, PortError> {
        let Some(store) = self.store()? else {
            return Ok(Vec::new());
        };
        let ids = ids(&store).map_err(other)?;
        let sets = ids.iter().filter_map(|id| {
            let folder = open_folder(&store, id).map_err(io::Error::from);
            match folder.and_then(|folder| read(&folder)) {
                Ok(set) => Some(set.shown()),
                // Somebody applied it in between.
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(error) => Some(ChangeSet {
                    id: id.to_string_lossy().into_owned(),
                    made: 0,
                    about: format!("it can't be read: {error}"),
                    changes: Vec::new(),
                }),
            }
        });
        let mut sets: Vec<ChangeSet> = sets.collect();
        sets.sort_by(|one, other| (one.made, &one.id).cmp(&(other.made, &other.id)));
        Ok(sets)
    }

    fn show_now(&self, id: &str, limit: u64) -> Result<(ChangeSet, Vec<Difference>), PortError> {
        let held = self.open(id)?;
        let set = read(&held.folder).map_err(other)?;
        let mut differences = Vec::new();
        let mut left = MAX_COUNTED;
        let mut room = MAX_READ;
        for (number, folder) in set.folders.iter().enumerate() {
            let number = CString::new(number.to_string()).unwrap_or_default();
            let files = open_folder(&held.folder, &number).map_err(|error| other(error.into()))?;
            let target = folder.open();
            let mut look = target.as_ref().ok().map(|target| Look {
                target,
                began: set.began.time(),
                unseen: &folder.unseen,
                limit: 0,
                left: &mut left,
            });
            folder.each(&mut |listed, change| {
                let limit = limit.min(room);
                let look = look.as_mut();
                let found = look.map_or_else(
                    || Present::Unknown.into(),
                    |look| {
                        look.limit = limit;
                        look.at(listed)
                    },
                );
                let one = difference(&set.id, &files, limit, listed, change, found);
                room = room.saturating_sub(one.as_ref().map_or(0, bytes_read));
                differences.extend(one);
            });
        }
        let changes = differences.iter().map(|one| one.change.clone());
        let shown = ChangeSet {
            changes: changes.collect(),
            ..set.shown()
        };
        Ok((shown, differences))
    }

    fn apply_now(&self, id: &str) -> Result<ApplyReport, PortError> {
        let held = self.open(id)?.lock()?;
        let set = read(&held.folder).map_err(other)?;
        let (_never, cancel) = UnixStream::pair().map_err(other)?;
        let mut applied = ApplyReport {
            artifacts: Vec::new(),
            total: 0,
            is_partial: false,
        };
        let is_root = rustix::process::geteuid().is_root();
        let deadline = Instant::now() + APPLY_TIMEOUT;
        for (number, folder) in set.folders.iter().enumerate() {
            let one = || {
                let files = open_folder(&held.folder, &CString::new(number.to_string())?)?;
                let target = folder.open()?;
                let found = fs::fstat(&target)?;
                let terms = Terms {
                    began: set.began,
                    run: &set.id,
                    owner: is_root.then_some(UnixId {
                        user: found.st_uid,
                        group: found.st_gid,
                    }),
                    deadline,
                    cancel: cancel.as_fd(),
                    is_allowed: true,
                    unseen: &folder.unseen,
                };
                Merge::of(files, target, folder.nodes.clone()).apply(&terms)
            };
            let changes = one().unwrap_or_else(merge::Changes::failed);
            applied.total += changes.total;
            applied.is_partial |= changes.refused > 0;
            applied.artifacts.extend(changes.artifacts(&folder.target));
        }
        if !applied.is_partial {
            held.remove().map_err(other)?;
        }
        Ok(applied)
    }

    fn drop_now(&self, id: &str) -> Result<(), PortError> {
        self.open(id)?.lock()?.remove().map_err(other)
    }
}

impl OpenSet {
    /// Locks it.
    fn lock(self) -> Result<Self, PortError> {
        if flock(&self.folder, FlockOperation::NonBlockingLockExclusive).is_err() {
            let why = "another process is applying or dropping it";
            return Err(PortError::Conflict(why.to_owned()));
        }
        match is_there(&self.store, &self.name, &self.folder) {
            Ok(true) => Ok(self),
            Ok(false) => Err(PortError::NotFound),
            Err(error) => Err(other(error)),
        }
    }

    /// Removes it. From the first step on nobody else sees it.
    fn remove(self) -> io::Result<()> {
        let gone = CString::new([GONE.as_bytes(), self.name.to_bytes()].concat())?;
        fs::renameat(&self.store, &*self.name, &self.store, &*gone)?;
        clear(&self.folder)?;
        fs::unlinkat(&self.store, &*gone, AtFlags::REMOVEDIR)?;
        Ok(())
    }
}

/// The bytes that were read for a difference.
fn bytes_read(difference: &Difference) -> u64 {
    let before = match &difference.before {
        Present::File { excerpt, .. } => excerpt.bytes.len(),
        _ => 0,
    };
    let after = difference.after.as_ref();
    (before + after.map_or(0, |after| after.bytes.len())) as u64
}

/// The effect of a change; `None` for a folder on the way to others that changes nothing by itself.
fn difference(
    run: &str,
    files: &OwnedFd,
    limit: u64,
    listed: &ListEntry<'_>,
    change: HeldChange,
    found: Finding,
) -> Option<Difference> {
    let Finding { present, stays } = found;
    let changes_nothing = match &present {
        Present::Nothing | Present::Unknown => true,
        Present::Folder(going) => *going == Going::default() && !stays,
        Present::File { .. } | Present::Link { .. } | Present::Other => false,
    };
    if listed.is_way() && changes_nothing {
        return None;
    }
    let after = match change.kind {
        HeldKind::Written { .. } => excerpt(files, listed.path, limit),
        _ => None,
    };
    let lies_beside = match (&change.kind, &present) {
        (HeldKind::Removed, _) | (HeldKind::Folder, Present::Folder(_)) => false,
        (HeldKind::Linked { to }, Present::Link { to: old }) => to != old,
        (_, Present::File { excerpt, .. }) => {
            let is_whole = excerpt.bytes.len() as u64 == excerpt.size;
            !is_whole || after.as_ref() != Some(excerpt)
        }
        _ => true,
    };
    let beside = || {
        let name = merge::beside(listed.name(), run);
        let above = change.path.rsplit_once('/').map_or("", |(above, _)| above);
        format!("{above}/{}", name.to_string_lossy())
    };
    Some(Difference {
        kept: stays.then(|| Survivor {
            beside: lies_beside.then(beside),
        }),
        before: present,
        after,
        mode: listed.mode(),
        change,
    })
}

fn other(error: io::Error) -> PortError {
    PortError::Other(Box::new(error))
}

/// Does something on a thread that may block.
fn blocking<T: Send + 'static>(
    sets: &ChangeSets,
    work: impl FnOnce(&ChangeSets) -> Result<T, PortError> + Send + 'static,
) -> Pending<'static, T> {
    let sets = sets.clone();
    Box::pin(async move {
        let done = tokio::task::spawn_blocking(move || work(&sets)).await;
        done.unwrap_or_else(|error| Err(PortError::Other(Box::new(error))))
    })
}

impl port::ChangeSets for ChangeSets {
    fn list(&self) -> Pending<'_, Vec<ChangeSet>> {
        blocking(self, Self::list_now)
    }

    fn show<'a>(&'a self, id: &'a str, limit: u64) -> Pending<'a, (ChangeSet, Vec<Difference>)> {
        let id = id.to_owned();
        blocking(self, move |sets| sets.show_now(&id, limit))
    }

    fn apply<'a>(&'a self, id: &'a str) -> Pending<'a, ApplyReport> {
        let id = id.to_owned();
        blocking(self, move |sets| sets.apply_now(&id))
    }

    fn drop_set<'a>(&'a self, id: &'a str) -> Pending<'a, ()> {
        let id = id.to_owned();
        blocking(self, move |sets| sets.drop_now(&id))
    }
}
