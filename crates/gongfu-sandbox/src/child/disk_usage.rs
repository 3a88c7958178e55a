//! The disk space of a run's folder, where no file system of a fixed size limits it.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, statat};

/// The deepest nesting of folders.
const MAX_DEPTH: usize = 100;
/// The unit of `st_blocks`, whatever the file system.
const BLOCK: u64 = 512;

/// The space that is taken.
#[derive(Debug, Default)]
pub(crate) struct DiskUsage {
    pub(crate) bytes: u64,
    /// The number of files and folders.
    pub(crate) files: u64,
    #[cfg(target_os = "linux")]
    device: u64,
    /// The inodes that have more than one name.
    linked: BTreeSet<u64>,
}

/// Measures a folder, and the unlinked files that these processes hold open; `None` where something can't be
/// read.
#[cfg(target_os = "linux")]
pub(super) fn with_open_files(
    folder: &str,
    processes: impl Iterator<Item = u32>,
) -> Option<DiskUsage> {
    let mut usage = of_folder(folder)?;
    for process in processes {
        usage.add_unlinked(process);
    }
    Some(usage)
}

/// Measures a folder; `None` where something can't be read.
pub(crate) fn of_folder(folder: &str) -> Option<DiskUsage> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = openat(CWD, folder, flags, Mode::empty()).ok()?;
    let mut usage = DiskUsage {
        #[cfg(target_os = "linux")]
        device: rustix::fs::fstat(&folder).ok()?.st_dev,
        ..DiskUsage::default()
    };
    usage.add_folder(&folder, 0)?;
    Some(usage)
}

impl DiskUsage {
    fn add_folder(&mut self, folder: &OwnedFd, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        let mut folders = Vec::new();
        for entry in Dir::read_from(folder).ok()? {
            let entry = entry.ok()?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            // The run may remove it meanwhile.
            let Ok(found) = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else {
                continue;
            };
            self.files += 1;
            if found.st_nlink < 2 || self.linked.insert(found.st_ino) {
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
                Ok(below) => self.add_folder(&below, depth + 1)?,
                Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => {}
                // A folder that can't be read could hold anything.
                Err(_) => return None,
            }
        }
        Some(())
    }

    #[cfg(target_os = "linux")]
    fn add_unlinked(&mut self, process: u32) {
        use std::os::unix::fs::MetadataExt as _;

        let handles = std::fs::read_dir(format!("/proc/{process}/fd"));
        for handle in handles.into_iter().flatten().flatten() {
            let Ok(found) = std::fs::metadata(handle.path()) else {
                continue;
            };
            let is_here = found.is_file() && found.nlink() == 0 && found.dev() == self.device;
            if is_here && self.linked.insert(found.ino()) {
                let bytes = found.blocks().saturating_mul(BLOCK);
                self.bytes = self.bytes.saturating_add(bytes);
            }
        }
    }
}
