//! The folders that a run saw, as far as the inodes in its view tell.
//!
//! Times alone don't tell a folder that somebody moved into place from one in which somebody made a file. Through an
//! overlay, a folder has the inode of the topmost one that it shows.

use std::ffi::CStr;
use std::os::fd::OwnedFd;

use rustix::fs;

use crate::file_time::{FileTime, may_be_moved_since};
use crate::folder::{open_folder, open_folder_of_mount};

/// The bits of an inode that an overlay leaves as they are; those above tell where it is from.
const OWN_BITS: u32 = 48;

/// A folder in the view of a run, and the target's own at the same path.
pub(crate) struct Seen {
    view: OwnedFd,
    target: OwnedFd,
}

impl Seen {
    /// The root of a view, and the folder that it shows.
    pub(crate) fn new(view: OwnedFd, target: OwnedFd) -> Self {
        Self { view, target }
    }

    /// The folder of this name with its inode, if the run surely saw the one that the target has.
    pub(super) fn folder(&self, name: &CStr, began: FileTime) -> Option<(Self, u64)> {
        let view = open_folder(&self.view, name).ok()?;
        let parent = fs::fstat(&self.target).ok()?;
        let target = open_folder_of_mount(&self.target, name).ok()?;
        let found = fs::fstat(&target).ok()?;
        if !is_of(fs::fstat(&view).ok()?.st_ino, found.st_ino) {
            return None;
        }
        // The view may have shown another one before. A change in a folder sets both of its times, and a move only
        // one of them.
        let is_moved = may_be_moved_since(&found, FileTime::modified(&parent), began)
            && FileTime::changed(&found) != FileTime::modified(&found);
        (!is_moved).then_some((Self { view, target }, found.st_ino))
    }
}

/// Returns whether an inode in an overlay stands for this one of a lower folder. Without bits that tell where it is
/// from, it is a number of the overlay's own, or one of its upper folder.
fn is_of(shown: u64, own: u64) -> bool {
    let is_lower = shown >> OWN_BITS != 0;
    is_lower && own >> OWN_BITS == 0 && shown & ((1 << OWN_BITS) - 1) == own
}

#[cfg(test)]
mod tests {
    use super::is_of;

    #[test]
    fn only_the_inode_of_a_lower_folder_tells_it() {
        assert!(is_of(1 << 63 | 77, 77));
        assert!(!is_of(1 << 63 | 77, 78));
        assert!(!is_of(77, 77));
        assert!(!is_of(1 << 63 | 77, 1 << 63 | 77));
    }
}
