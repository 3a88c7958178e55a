//! A workspace in memory.

use std::collections::BTreeMap;
use std::sync::Mutex;

use gongfu_core::place::Location;
use gongfu_core::port::{
    Change, FileContent, Files, FolderEntry, FolderEntryKind, Pending, PortError, ready,
};
use gongfu_core::skill::SkillPath;

use super::file_tree::FileTree;

/// The workspace of one space; nothing is mounted beside it. Long answers are kept in it.
#[derive(Debug, Default)]
pub struct MemoryFiles(Mutex<FileTree>);

impl Files for MemoryFiles {
    fn list<'a>(&'a self, place: &'a Location) -> Pending<'a, Vec<FolderEntry>> {
        ready(workspace(place).and_then(|folder| entries(&self.0.lock().unwrap(), folder)))
    }

    fn read<'a>(&'a self, place: &'a Location, limit: u64) -> Pending<'a, FileContent> {
        ready(workspace(place).and_then(|path| self.0.lock().unwrap().read(path, limit)))
    }

    fn write<'a>(&'a self, place: &'a Location, change: Change<'a>) -> Pending<'a, bool> {
        ready(workspace(place).and_then(|path| self.0.lock().unwrap().write(path, change)))
    }

    fn keep<'a>(&'a self, folder: &'a str, name: &'a str, bytes: &'a [u8]) -> Pending<'a, String> {
        let path = SkillPath::new(&format!("runs/{folder}/{name}")).unwrap();
        let change = Change {
            bytes,
            expected: None,
        };
        let kept = self.0.lock().unwrap().write(&path, change);
        ready(kept.map(|_| path.to_string()))
    }
}

fn workspace(place: &Location) -> Result<&SkillPath, PortError> {
    match place {
        Location::Workspace(path) => Ok(path),
        Location::Absolute(_) => Err(PortError::Denied(
            "it isn't in a mounted folder (none is declared)".to_owned(),
        )),
    }
}

fn entries(tree: &FileTree, folder: &SkillPath) -> Result<Vec<FolderEntry>, PortError> {
    if tree.0.contains_key(folder.as_str()) {
        return Err(PortError::NotAFolder);
    }
    if !tree.is_folder(folder) {
        return Err(PortError::NotFound);
    }
    let mut entries = BTreeMap::new();
    for (path, bytes) in &tree.0 {
        let below = if folder.is_root() {
            Some(path.as_str())
        } else {
            path.strip_prefix(folder.as_str())
                .and_then(|below| below.strip_prefix('/'))
        };
        match below.and_then(|below| below.split_once('/').or(Some((below, "")))) {
            Some((name, "")) => {
                entries.insert(name.to_owned(), FolderEntryKind::File(bytes.len() as u64))
            }
            Some((name, _)) => entries.insert(name.to_owned(), FolderEntryKind::Folder),
            None => None,
        };
    }
    let entries = entries.into_iter();
    Ok(entries
        .map(|(name, kind)| FolderEntry { name, kind })
        .collect())
}
