//! Files and folders below a root, as the ports show them.

use std::io;

use gongfu_core::port::{FileContent, FolderEntry, FolderEntryKind, PortError};
use gongfu_core::skill::SkillPath;

use crate::disk::{self, EntryKind, Root};

/// Reads a file, at most `limit` bytes of it.
pub(crate) fn read_file(
    root: &Root,
    path: &SkillPath,
    limit: u64,
) -> Result<FileContent, PortError> {
    if path.is_root() {
        return Err(PortError::IsAFolder);
    }
    root.read(path, limit).map_err(|error| {
        let is_folder = matches!(root.stat(path), Ok((EntryKind::Folder, _)));
        if is_folder {
            PortError::IsAFolder
        } else {
            disk::port_error(error)
        }
    })
}

/// Lists a folder, by name.
pub(crate) fn list_folder(root: &Root, path: &SkillPath) -> Result<Vec<FolderEntry>, PortError> {
    let entries = root.list(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotADirectory => match root.stat(path) {
            Ok(_) => PortError::NotAFolder,
            Err(_) => PortError::NotFound,
        },
        _ => disk::port_error(error),
    })?;
    let entries = entries.into_iter().map(|entry| {
        let kind = match entry.kind {
            EntryKind::Link => target_of(root, path, &entry.name),
            EntryKind::File => FolderEntryKind::File(entry.stamp.size),
            EntryKind::Folder => FolderEntryKind::Folder,
            other => FolderEntryKind::Other(disk::described(other).to_owned()),
        };
        FolderEntry {
            name: entry.name,
            kind,
        }
    });
    Ok(entries.collect())
}

/// The kind of a link's target, if that is inside.
fn target_of(root: &Root, folder: &SkillPath, name: &str) -> FolderEntryKind {
    let target = folder
        .join(name)
        .map_err(io::Error::other)
        .and_then(|link| root.stat(&link));
    match target {
        Ok((EntryKind::File, stamp)) => FolderEntryKind::File(stamp.size),
        Ok((EntryKind::Folder, _)) => FolderEntryKind::Folder,
        Ok((other, _)) => FolderEntryKind::Other(disk::described(other).to_owned()),
        Err(error) => FolderEntryKind::Other(format!("a link: {}", disk::reason(&error))),
    }
}
