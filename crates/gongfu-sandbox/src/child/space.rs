//! How much a run has written to its folder, where no file system of a fixed size holds it.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, statat};

/// How deep folders may lie in each other.
const DEEPEST: usize = 100;
/// The unit of what a file takes, whatever file system it is in.
const BLOCK: u64 = 512;

/// What is written.
#[derive(Debug, Default)]
pub(super) struct Space {
    /// How many bytes it takes.
    pub(super) bytes: u64,
    /// How many files and folders there are.
    pub(super) files: u64,
    #[cfg(target_os = "linux")]
    device: u64,
    /// Files that have more than one name.
    known: BTreeSet<u64>,
}

/// What is written to a folder, and to files without a name that these processes have; `None` where
/// nobody can know.
#[cfg(target_os = "linux")]
pub(super) fn written(folder: &str, processes: impl Iterator<Item = u32>) -> Option<Space> {
    let mut space = below(folder)?;
    for number in processes {
        space.nameless(number);
    }
    Some(space)
}

/// What is written to a folder; `None` where nobody can know.
pub(super) fn below(folder: &str) -> Option<Space> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = openat(CWD, folder, flags, Mode::empty()).ok()?;
    let mut space = Space {
        #[cfg(target_os = "linux")]
        device: rustix::fs::fstat(&folder).ok()?.st_dev,
        ..Space::default()
    };
    space.folder(&folder, 0)?;
    Some(space)
}

impl Space {
    fn folder(&mut self, folder: &OwnedFd, depth: usize) -> Option<()> {
        if depth > DEEPEST {
            return None;
        }
        let mut folders = Vec::new();
        for entry in Dir::read_from(folder).ok()? {
            let entry = entry.ok()?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            // It may have gone.
            let Ok(found) = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else {
                continue;
            };
            self.files += 1;
            if found.st_nlink < 2 || self.known.insert(found.st_ino) {
                let blocks = u64::try_from(found.st_blocks).unwrap_or_default();
                self.bytes = self.bytes.saturating_add(blocks.saturating_mul(BLOCK));
            }
            if FileType::from_raw_mode(found.st_mode) == FileType::Directory {
                folders.push(name.to_owned());
            }
        }
        for name in folders {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            match openat(folder, &*name, flags, Mode::empty()) {
                Ok(below) => self.folder(&below, depth + 1)?,
                Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => {}
                // What nobody can look into could hold anything.
                Err(_) => return None,
            }
        }
        Some(())
    }

    /// Adds the files of a process that have no name any more.
    #[cfg(target_os = "linux")]
    fn nameless(&mut self, number: u32) {
        use std::fs;
        use std::os::unix::fs::MetadataExt as _;

        let handles = fs::read_dir(format!("/proc/{number}/fd"));
        for handle in handles.into_iter().flatten().flatten() {
            let Ok(found) = fs::metadata(handle.path()) else {
                continue;
            };
            let is_ours = found.is_file() && found.nlink() == 0 && found.dev() == self.device;
            if is_ours && self.known.insert(found.ino()) {
                self.bytes = self
                    .bytes
                    .saturating_add(found.blocks().saturating_mul(BLOCK));
            }
        }
    }
}
