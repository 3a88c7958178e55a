//! The files in the folder of a skill that a library doesn't list: in hidden folders, among installed packages,
//! and those that are too large to be read.
//!
//! A run sees them, so what a person allows a skill holds for these as they are, too.

use std::io;
use std::sync::Arc;

use gongfu_core::library::Skill;
use gongfu_core::skill::{Digest, FileEntry, FileKind, SkillPath};
use gongfu_files::disk::{EntryKind, Root, Stamp};

use crate::walk::is_ignored;

/// The most entries of a folder that are looked at.
const MAX_ENTRIES: usize = 1_000_000;
/// The repository that a skill's folder is: it changes with every command of git.
const REPOSITORY: &str = ".git";

/// Finds these files, by path; the digest of each is that of its stamp, or of where a link leads.
///
/// # Errors
/// A folder can't be read, or there are too many entries.
pub(super) fn unlisted(root: &Root, skill: &Skill) -> io::Result<Arc<[FileEntry]>> {
    let mut found = Vec::new();
    for file in skill.files.iter().filter(|file| file.digest.is_none()) {
        let stamp = root.stat(&file.path).map(|(_, stamp)| stamp);
        found.push(entry(file.path.clone(), stamp.unwrap_or_default()));
    }
    let mut entries = 0;
    let mut folders = vec![(SkillPath::root(), false)];
    while let Some((folder, is_unlisted)) = folders.pop() {
        let listed = match root.list(&folder) {
            Ok(listed) => listed,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            // A run can't read it either.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && is_unlisted => {
                found.push(entry(folder, Stamp::default()));
                continue;
            }
            Err(error) => return Err(error),
        };
        for one in listed {
            entries += 1;
            if entries > MAX_ENTRIES {
                let why = format!("the folder of the skill has more than {MAX_ENTRIES} entries");
                return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
            }
            let Ok(path) = folder.join(&one.name) else {
                continue;
            };
            match one.kind {
                EntryKind::Folder if folder.is_root() && one.name == REPOSITORY => {}
                EntryKind::Folder => folders.push((path, is_unlisted || is_ignored(&one.name))),
                EntryKind::File if is_unlisted => found.push(entry(path, one.stamp)),
                EntryKind::Link if is_unlisted => {
                    let target = root.dir().read_link_contents(path.as_str());
                    let target = target.unwrap_or_default();
                    found.push(FileEntry {
                        digest: Some(Digest::of(target.as_os_str().as_encoded_bytes())),
                        ..entry(path, one.stamp)
                    });
                }
                _ => {}
            }
        }
    }
    found.sort_unstable_by(|one, other| one.path.cmp(&other.path));
    Ok(found.into())
}

fn entry(path: SkillPath, stamp: Stamp) -> FileEntry {
    let Stamp {
        size,
        modified,
        changed,
        inode,
    } = stamp;
    let stamp = format!("{size} {modified} {changed} {inode}");
    FileEntry {
        path,
        size,
        digest: Some(Digest::of(stamp.as_bytes())),
        kind: FileKind::Binary,
    }
}
