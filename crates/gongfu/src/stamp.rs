//! The state of a file, to notice that it changed.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::SystemTime;

/// The identity of a file, its length and its time: another one after each change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileStamp {
    inode: u64,
    length: u64,
    modified: SystemTime,
    /// The time of its last change of any kind, which no program can set.
    changed: (i64, i64),
}

impl FileStamp {
    /// The stamp of the file that a path leads to, where there is one.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let file = std::fs::metadata(path).ok()?;
        Some(Self {
            inode: file.ino(),
            length: file.len(),
            modified: file.modified().ok()?,
            changed: (file.ctime(), file.ctime_nsec()),
        })
    }
}
