//! The folders that were there when a run began.
//!
//! Times alone don't tell a folder that somebody moved into place from one in which somebody made a file. So a
//! thread notes the inodes of folders beside the run, those near the root first. A note holds if the folder that the
//! noted one is in didn't change between the beginning of the run and the note. Folders without one go by their times.
//! A short run has no notes: hardly anybody works beside it.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::{CStr, CString};
use std::mem;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::fs::{self, AtFlags, Dir, FileType, Stat};

use super::apply::is_folder;
use crate::file_time::{FileTime, has_changed_since};
use crate::folder::open_folder_of_mount;
use crate::threads::lower_priority;

/// The most folders that are noted.
const MAX_FOLDERS: usize = 10_000;
/// The longest path to one, in bytes.
const MAX_PATH: usize = 2_048;

/// The folders in a folder.
#[derive(Debug)]
struct Listing {
    /// The state of the folder after they were noted.
    after: Stat,
    inodes: BTreeMap<CString, u64>,
}

/// The listings of folders by their paths below the root.
type Listings = BTreeMap<Vec<u8>, Listing>;

/// A thread that notes the folders below one.
#[derive(Debug)]
pub(crate) struct FolderNotes {
    state: Arc<State>,
    thread: JoinHandle<()>,
}

/// The notes so far.
#[derive(Debug, Default)]
struct State {
    is_over: AtomicBool,
    listings: Mutex<Listings>,
}

impl FolderNotes {
    /// Begins to note folders after a moment; `None` where there can be no more threads.
    pub(crate) fn begin(root: &OwnedFd, wait: Duration) -> Option<Self> {
        let root = root.try_clone().ok()?;
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        let thread = std::thread::Builder::new().name("folder notes".to_owned());
        let thread = thread.spawn(move || {
            let begin = Instant::now() + wait;
            while let Some(left) = begin.checked_duration_since(Instant::now())
                && !left.is_zero()
            {
                if shared.is_over.load(Ordering::Relaxed) {
                    return;
                }
                std::thread::park_timeout(left);
            }
            lower_priority();
            note(&root, &shared);
        });
        Some(Self {
            state,
            thread: thread.ok()?,
        })
    }

    /// Ends it; returns the folder with what was noted.
    pub(crate) fn end(self, target: &OwnedFd) -> Option<KnownFolder> {
        self.state.is_over.store(true, Ordering::Relaxed);
        let mut listings = self.state.listings.lock().ok()?;
        Some(KnownFolder {
            listings: Rc::new(mem::take(&mut *listings)),
            path: Vec::new(),
            target: target.try_clone().ok()?,
        })
    }
}

impl Drop for FolderNotes {
    fn drop(&mut self) {
        self.state.is_over.store(true, Ordering::Relaxed);
        self.thread.thread().unpark();
    }
}

fn note(root: &OwnedFd, state: &State) {
    let mut noted = 0;
    let mut waiting = VecDeque::from([(Vec::new(), None)]);
    while let Some((path, inode)) = waiting.pop_front() {
        if state.is_over.load(Ordering::Relaxed) || noted > MAX_FOLDERS {
            break;
        }
        let Some(listing) = list(root, &path, inode, &state.is_over) else {
            continue;
        };
        noted += listing.inodes.len();
        for (name, inode) in &listing.inodes {
            let inside = below(&path, name);
            if inside.len() <= MAX_PATH {
                waiting.push_back((inside, Some(*inode)));
            }
        }
        let Ok(mut listings) = state.listings.lock() else {
            return;
        };
        listings.insert(path, listing);
    }
}

/// Lists the folder at a path, if it has this inode and there is time for it.
fn list(root: &OwnedFd, path: &[u8], inode: Option<u64>, is_over: &AtomicBool) -> Option<Listing> {
    let path = if path.is_empty() { b"." } else { path };
    let folder = open_folder_of_mount(root, &CString::new(path).ok()?).ok()?;
    let mut inodes = BTreeMap::new();
    for entry in Dir::read_from(&folder).ok()? {
        if inodes.len() > MAX_FOLDERS || is_over.load(Ordering::Relaxed) {
            return None;
        }
        let entry = entry.ok()?;
        let name = entry.file_name();
        let may_be_folder = matches!(entry.file_type(), FileType::Directory | FileType::Unknown);
        if !may_be_folder || matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let found = fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        if is_folder(&found) {
            inodes.insert(name.to_owned(), found.st_ino);
        }
    }
    let after = fs::fstat(&folder).ok()?;
    let is_same = inode.is_none_or(|inode| inode == after.st_ino);
    is_same.then_some(Listing { after, inodes })
}

/// The path of an entry of a folder.
fn below(path: &[u8], name: &CStr) -> Vec<u8> {
    let separator: &[u8] = if path.is_empty() { b"" } else { b"/" };
    [path, separator, name.to_bytes()].concat()
}

/// A folder of the target that was there when the run began, with what was noted below it.
pub(crate) struct KnownFolder {
    listings: Rc<Listings>,
    path: Vec<u8>,
    target: OwnedFd,
}

impl KnownFolder {
    /// The folder of this name with its inode, if it surely is the one that was there.
    pub(super) fn folder(&self, name: &CStr, began: FileTime) -> Option<(Self, u64)> {
        let listing = self.listings.get(&self.path)?;
        let noted = *listing.inodes.get(name)?;
        if has_changed_since(&listing.after, began) {
            return None;
        }
        let target = open_folder_of_mount(&self.target, name).ok()?;
        let inode = fs::fstat(&target).ok()?.st_ino;
        let inside = Self {
            listings: Rc::clone(&self.listings),
            path: below(&self.path, name),
            target,
        };
        (inode == noted).then_some((inside, inode))
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::fd::OwnedFd;
    use std::time::Duration;

    use super::FolderNotes;
    use crate::file_time::{Beginning, note_change};

    #[test]
    fn only_folders_that_stayed_since_the_beginning_are_known() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        for folder in ["stays/inside", "swapped/inside", "late", "other/inside"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        note_change();
        let began = Beginning::now().time();
        fs::write(at("late/file"), "").unwrap();
        let target = OwnedFd::from(File::open(root.path()).unwrap());
        let notes = FolderNotes::begin(&target, Duration::ZERO).unwrap();
        while !notes.thread.is_finished() {
            std::thread::sleep(Duration::from_millis(1));
        }
        fs::write(at("stays/file"), "").unwrap();
        fs::rename(at("swapped"), at("former")).unwrap();
        fs::rename(at("other"), at("swapped")).unwrap();
        fs::write(at("swapped/file"), "").unwrap();
        let known = notes.end(&target).unwrap();
        let (stays, _) = known.folder(c"stays", began).unwrap();
        assert!(stays.folder(c"inside", began).is_some());
        assert!(known.folder(c"swapped", began).is_none());
        assert!(known.folder(c"former", began).is_none());
        // Somebody may have moved a folder into this one before it was noted.
        fs::create_dir(at("late/folder")).unwrap();
        let notes = FolderNotes::begin(&target, Duration::ZERO).unwrap();
        while !notes.thread.is_finished() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let known = notes.end(&target).unwrap();
        assert!(known.folder(c"late", began).is_none());
    }
}
