//! The room that changes need, which is looked at before the first of them is applied.

use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{self, AtFlags, FileType};

use super::scan::{Kind, Node};
use crate::folder::open_folder_of_mount;

/// The unit in which files take room.
const PAGE: u64 = 4096;
/// The unit in which the system counts the room that a file takes.
const BLOCK: u64 = 512;

#[derive(Default)]
struct Need {
    /// The bytes besides those that replaced files give back.
    bytes: u64,
    /// The longest file that replaces another one: both are there for a moment.
    longest: u64,
    files: u64,
}

/// Says for people which room is missing; `None` where there is enough.
pub(super) fn lack(nodes: &[Node], target: &OwnedFd) -> io::Result<Option<String>> {
    let mut need = Need::default();
    need.add(nodes, Some(target));
    let space = fs::fstatvfs(target)?;
    let [blocks, files] = if rustix::process::geteuid().is_root() {
        [space.f_bfree, space.f_ffree]
    } else {
        [space.f_bavail, space.f_favail]
    };
    let (bytes, free) = (
        need.bytes.saturating_add(need.longest),
        blocks.saturating_mul(space.f_frsize),
    );
    if need.bytes > 0 && bytes > free {
        return Ok(Some(format!(
            "nothing was changed: the changes need {bytes} bytes, but only {free} are free on that disk"
        )));
    }
    // Some file systems make room for files as they are made, and count none.
    if space.f_files > 0 && need.files > files {
        let files_needed = need.files;
        return Ok(Some(format!(
            "nothing was changed: the changes need {files_needed} new files, but that disk has room for only {files}"
        )));
    }
    Ok(None)
}

impl Need {
    fn add(&mut self, nodes: &[Node], target: Option<&OwnedFd>) {
        for node in nodes {
            let found = target
                .and_then(|target| fs::statat(target, &*node.name, AtFlags::SYMLINK_NOFOLLOW).ok());
            match &node.kind {
                Kind::File { size, .. } => {
                    let size = size.next_multiple_of(PAGE);
                    let is_file = |mode| FileType::from_raw_mode(mode) == FileType::RegularFile;
                    let given_back = found.filter(|found| is_file(found.st_mode));
                    let given_back = given_back.map_or(0, |found| {
                        u64::try_from(found.st_blocks).unwrap_or_default() * BLOCK
                    });
                    self.bytes = self.bytes.saturating_add(size.saturating_sub(given_back));
                    if found.is_some() {
                        self.longest = self.longest.max(size);
                    }
                    self.files += u64::from(found.is_none());
                }
                Kind::Folder(folder) => {
                    let inside = target
                        .filter(|_| found.is_some())
                        .and_then(|target| open_folder_of_mount(target, &node.name).ok());
                    self.files += u64::from(found.is_none());
                    self.add(&folder.nodes, inside.as_ref());
                }
                Kind::Link(_) => self.files += u64::from(found.is_none()),
                Kind::Removal | Kind::Restored(_) | Kind::Refused(_) | Kind::Done => {}
            }
        }
    }
}
