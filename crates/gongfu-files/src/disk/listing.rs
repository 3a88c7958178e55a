//! Reads the entries of a folder with their stamps; never follows a link.
//!
//! On Linux by system calls, because a library of 10,000 skills has 20,000 folders and is looked at
//! often: the portable way opens each of them twice.

use std::io;

use cap_std::fs::Dir;
use gongfu_core::skill::SkillPath;

use super::entry::{Entry, EntryKind, FolderStamp, Stamp};

/// An entry whose name a path can't hold.
fn unnameable(name: String) -> Entry {
    Entry {
        name,
        kind: EntryKind::Unnameable,
        stamp: Stamp::default(),
    }
}

/// Returns whether a path can hold a name as it is.
fn is_nameable(name: &str) -> bool {
    !name.contains('/') && SkillPath::is_exact(name)
}

/// Lists the folder at `path` below `dir`, in no order, with the folder's own stamp from before: a
/// change meanwhile leaves another one.
#[cfg(target_os = "linux")]
pub(super) fn read(dir: &Dir, path: &SkillPath) -> io::Result<(Vec<Entry>, Option<FolderStamp>)> {
    use cap_std::fs::{OpenOptions, OpenOptionsExt as _};
    use rustix::fs::{AtFlags, FileType, OFlags, RawDir, statat};

    let mut options = OpenOptions::new();
    let flags = (OFlags::DIRECTORY | OFlags::NONBLOCK).bits();
    options.read(true).custom_flags(flags.cast_signed());
    let place = if path.is_root() { "." } else { path.as_str() };
    let folder = dir.open_with(place, &options)?;
    let own = rustix::fs::fstat(&folder).ok();
    let mut own = own.map(|stat| folder_stamp(&stat));
    let mut buffer = [const { std::mem::MaybeUninit::uninit() }; 16 * 1024];
    let mut listing = RawDir::new(&folder, &mut buffer);
    let mut entries = Vec::new();
    while let Some(entry) = listing.next() {
        let entry = entry?;
        let raw = entry.file_name();
        let name = match raw.to_str() {
            Ok("." | "..") => continue,
            Ok(name) if is_nameable(name) => name.to_owned(),
            _ => {
                entries.push(unnameable(raw.to_string_lossy().into_owned()));
                continue;
            }
        };
        let known = entry.file_type();
        if !matches!(known, FileType::RegularFile | FileType::Unknown) {
            entries.push(Entry {
                name,
                kind: kind_of(known),
                stamp: Stamp::default(),
            });
            continue;
        }
        // An entry vanished meanwhile: the stamp doesn't stand for this list.
        let Ok(stat) = statat(&folder, raw, AtFlags::SYMLINK_NOFOLLOW) else {
            own = None;
            continue;
        };
        let kind = kind_of(FileType::from_raw_mode(stat.st_mode));
        let stamp = if kind == EntryKind::File {
            stamp_of(&stat)
        } else {
            Stamp::default()
        };
        entries.push(Entry { name, kind, stamp });
    }
    Ok((entries, own))
}

#[cfg(target_os = "linux")]
fn kind_of(file_type: rustix::fs::FileType) -> EntryKind {
    use rustix::fs::FileType;
    match file_type {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Folder,
        FileType::Symlink => EntryKind::Link,
        FileType::Fifo => EntryKind::Special("a named pipe"),
        FileType::Socket => EntryKind::Special("a socket"),
        FileType::CharacterDevice | FileType::BlockDevice | FileType::Unknown => {
            EntryKind::Special("a device")
        }
    }
}

#[cfg(target_os = "linux")]
#[allow(
    clippy::unnecessary_cast,
    reason = "the type of the field differs between architectures, and none loses anything"
)]
pub(super) fn folder_stamp(stat: &rustix::fs::Stat) -> FolderStamp {
    let own = stamp_of(stat);
    FolderStamp {
        modified: own.modified,
        changed: own.changed,
        inode: own.inode,
        device: stat.st_dev as u64,
    }
}

#[cfg(target_os = "linux")]
#[allow(
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    clippy::unnecessary_cast,
    reason = "the types of the fields differ between architectures, and none loses anything"
)]
pub(super) fn stamp_of(stat: &rustix::fs::Stat) -> Stamp {
    use super::entry::nanoseconds;

    Stamp {
        size: stat.st_size as u64,
        modified: nanoseconds(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
        changed: nanoseconds(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
        inode: stat.st_ino,
    }
}

/// Lists the folder at `path` below `dir`, in no order; without a stamp of the folder.
#[cfg(not(target_os = "linux"))]
pub(super) fn read(dir: &Dir, path: &SkillPath) -> io::Result<(Vec<Entry>, Option<FolderStamp>)> {
    let folder = if path.is_root() {
        dir.try_clone()?
    } else {
        dir.open_dir(path.as_str())?
    };
    let mut entries = Vec::new();
    for entry in folder.entries()? {
        let entry = entry?;
        let raw = entry.file_name();
        let Some(name) = raw.to_str().filter(|name| is_nameable(name)) else {
            entries.push(unnameable(raw.to_string_lossy().into_owned()));
            continue;
        };
        let Ok(file_type) = entry.file_type() else {
            continue;
        };
        let kind = super::entry::kind_of(file_type);
        let stamp = match (kind, folder.symlink_metadata(name)) {
            (EntryKind::File, Ok(metadata)) => super::entry::stamp_of(&metadata),
            (EntryKind::File, Err(_)) => continue,
            _ => Stamp::default(),
        };
        entries.push(Entry {
            name: name.to_owned(),
            kind,
            stamp,
        });
    }
    Ok((entries, None))
}
