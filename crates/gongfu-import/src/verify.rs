//! Compares what is installed with what is locked, file by file.

use std::collections::BTreeMap;
use std::path::Path;

use gongfu_core::skill::{Digest, SkillPath};
use gongfu_files::disk::{self, EntryKind, Root, TreeKind};
use serde::Serialize;

use crate::lock::own::{GIT, LockedFile, LockedSkill};

/// The longest file that is compared, in bytes; a longer one differs by its length.
const MAX_FILE: u64 = 128 * 1024 * 1024;

/// A difference between a file and its lock.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Difference {
    /// The path of the file in the skill; empty for the skill's folder itself.
    pub path: String,
    /// The kind.
    pub kind: DifferenceKind,
}

/// The kind of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DifferenceKind {
    /// It is locked, and isn't there.
    Missing,
    /// It is there, and isn't locked.
    Added,
    /// Its content is another one.
    Content,
    /// Its lines end otherwise, and are the same.
    LineEndings,
    /// It can be run, and is locked as one that can't.
    Executable,
    /// It can't be run, and is locked as one that can.
    NotExecutable,
    /// It is a link, or something else that is no file.
    Kind,
    /// It can't be read.
    Unreadable,
}

impl DifferenceKind {
    /// Words for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "is missing",
            Self::Added => "was added",
            Self::Content => "has other content",
            Self::LineEndings => "has other line endings",
            Self::Executable => "can be run now",
            Self::NotExecutable => "can't be run any more",
            Self::Kind => "is not a regular file",
            Self::Unreadable => "can't be read",
        }
    }
}

/// The differences of an installed skill, sorted by path; none where it is as it was locked.
pub fn verify(folder: &Path, locked: &LockedSkill) -> Vec<Difference> {
    let whole = |kind| {
        vec![Difference {
            path: String::new(),
            kind,
        }]
    };
    if locked.linked {
        let is_there = disk::kind_outside(folder) == Some(EntryKind::Folder);
        return if is_there {
            Vec::new()
        } else {
            whole(DifferenceKind::Missing)
        };
    }
    let root = match Root::open(folder) {
        Ok(root) => root,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return whole(DifferenceKind::Missing);
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => {
            return whole(DifferenceKind::Kind);
        }
        Err(_) => return whole(DifferenceKind::Unreadable),
    };
    let mut missing: BTreeMap<&SkillPath, &LockedFile> = locked.files.iter().collect();
    let mut differences = Vec::new();
    // The files of git in a clone aren't part of the skill.
    let is_clone = locked.manager.as_deref() == Some(GIT);
    let _ = root.walk(|entry| {
        if is_clone && entry.path.starts_with(".git") {
            return Ok(());
        }
        let shown = entry.path.to_string_lossy().into_owned();
        let path = entry
            .path
            .to_str()
            .and_then(|path| SkillPath::new(path).ok());
        let known = path.as_ref().and_then(|path| missing.remove(path));
        let kinds = match (&entry.kind, known, &path) {
            // A folder alone is nothing.
            (TreeKind::Folder, None, _) => Vec::new(),
            (TreeKind::File, None, _) => vec![DifferenceKind::Added],
            (TreeKind::File, Some(known), Some(path)) => {
                compared(&root, path, entry.mode & 0o111 != 0, known)
            }
            (TreeKind::Other(_), Some(_), _) => vec![DifferenceKind::Unreadable],
            _ => vec![DifferenceKind::Kind],
        };
        differences.extend(kinds.into_iter().map(|kind| Difference {
            path: shown.clone(),
            kind,
        }));
        Ok::<_, ()>(())
    });
    differences.extend(missing.into_keys().map(|path| Difference {
        path: path.to_string(),
        kind: DifferenceKind::Missing,
    }));
    differences.sort();
    differences
}

fn compared(
    root: &Root,
    path: &SkillPath,
    executable: bool,
    locked: &LockedFile,
) -> Vec<DifferenceKind> {
    let mut kinds = Vec::new();
    match root.read(path, MAX_FILE) {
        Err(_) => kinds.push(DifferenceKind::Unreadable),
        Ok(content) if content.is_cut() => kinds.push(DifferenceKind::Content),
        Ok(content) if Digest::of(&content.bytes) == locked.digest => {}
        Ok(content) if has_other_lines(&content.bytes, locked.digest) => {
            kinds.push(DifferenceKind::LineEndings);
        }
        Ok(_) => kinds.push(DifferenceKind::Content),
    }
    match (executable, locked.executable) {
        (true, false) => kinds.push(DifferenceKind::Executable),
        (false, true) => kinds.push(DifferenceKind::NotExecutable),
        _ => {}
    }
    kinds
}

/// Returns true if a text has the locked digest with all its lines ended in another way.
fn has_other_lines(bytes: &[u8], locked: Digest) -> bool {
    if bytes.contains(&0) {
        return false;
    }
    let unix = unix_lines(bytes);
    if Digest::of(&unix) == locked {
        return true;
    }
    let mut windows = Vec::with_capacity(unix.len() + unix.len() / 16);
    for byte in unix {
        if byte == b'\n' {
            windows.push(b'\r');
        }
        windows.push(byte);
    }
    Digest::of(&windows) == locked
}

fn unix_lines(bytes: &[u8]) -> Vec<u8> {
    let mut lines = Vec::with_capacity(bytes.len());
    let mut rest = bytes.iter().peekable();
    while let Some(byte) = rest.next() {
        if *byte != b'\r' || rest.peek() != Some(&&b'\n') {
            lines.push(*byte);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use gongfu_core::skill::{Digest, SkillPath};

    use super::{DifferenceKind, verify};
    use crate::lock::own::{LockedFile, LockedSkill};

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "tests make the folders that they verify"
    )]
    fn each_kind_of_difference_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let mut locked = LockedSkill::default();
        for name in [
            "same",
            "text",
            "lines",
            "back",
            "mode",
            "run",
            "gone",
            "link",
            "deep/file",
        ] {
            let text = if name == "back" {
                "a\r\nb\r\n"
            } else {
                "a\nb\n"
            };
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
            let file = LockedFile {
                digest: Digest::of(text.as_bytes()),
                size: text.len() as u64,
                executable: name == "run",
            };
            locked.files.insert(SkillPath::new(name).unwrap(), file);
        }
        let path = |name: &str| folder.path().join(name);
        let write = |name: &str, text: &str| std::fs::write(path(name), text).unwrap();
        write("text", "a\nc\n");
        write("lines", "a\r\nb\r\n");
        write("back", "a\nb\n");
        write("new", "x");
        std::fs::set_permissions(path("mode"), std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::remove_file(path("gone")).unwrap();
        std::fs::remove_file(path("link")).unwrap();
        symlink("same", path("link")).unwrap();
        let found = verify(folder.path(), &locked);
        let found: Vec<_> = found
            .iter()
            .map(|found| (found.path.as_str(), found.kind))
            .collect();
        assert_eq!(
            found,
            [
                ("back", DifferenceKind::LineEndings),
                ("gone", DifferenceKind::Missing),
                ("lines", DifferenceKind::LineEndings),
                ("link", DifferenceKind::Kind),
                ("mode", DifferenceKind::Executable),
                ("new", DifferenceKind::Added),
                ("run", DifferenceKind::NotExecutable),
                ("text", DifferenceKind::Content),
            ]
        );
        let none = verify(&path("nowhere"), &locked);
        assert_eq!(none.len(), 1);
        assert_eq!(none[0].kind, DifferenceKind::Missing);
    }
}
