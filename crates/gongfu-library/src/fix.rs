//! Repairs one file of a skill on disk.
//!
//! Faults are found in the very bytes that are replaced, never in those of an earlier check: the file
//! may have changed meanwhile.

use std::io;
use std::path::Path;

use cap_std::fs::MetadataExt as _;
use gongfu_core::port::Change;
use gongfu_core::skill::check::script;
use gongfu_core::skill::document::MAX_SKILL_FILE;
use gongfu_core::skill::fix::{self, FixedFile};
use gongfu_core::skill::{self, Folder, SKILL_FILE, SKILL_FILE_LOWER, SkillPath};

use gongfu_files::disk::{PutError, Root};

/// A file and its repaired form.
#[derive(Debug)]
pub struct Proposal {
    root: Root,
    path: SkillPath,
    /// The file as it is.
    pub before: Vec<u8>,
    /// The file as it would be.
    pub fixed: FixedFile,
}

/// Looks at a file of the skill in the folder `skill`; `None` when nothing in it can be repaired
/// without judgement.
///
/// # Errors
/// It can't be read, or is too large.
pub fn propose(skill: &Path, file: &str) -> io::Result<Option<Proposal>> {
    let root = Root::open(skill)?;
    let path = SkillPath::new(file).map_err(io::Error::other)?;
    let content = root.read(&path, MAX_SKILL_FILE)?;
    if content.is_cut() {
        return Err(io::Error::other("it is too large"));
    }
    let before = content.bytes;
    let mut diagnostics = Vec::new();
    let name = if matches!(file, SKILL_FILE | SKILL_FILE_LOWER) {
        skill::load(&before, &root.name(), &mut diagnostics);
        SKILL_FILE
    } else {
        script::check(&path, &before, &Folder::default(), &mut diagnostics);
        file
    };
    let fixed = fix::apply(&before, name, &diagnostics);
    Ok(fixed.map(|fixed| Proposal {
        root,
        path,
        before,
        fixed,
    }))
}

impl Proposal {
    /// Writes the repaired file in place of the old one; its permissions stay.
    ///
    /// # Errors
    /// It changed since it was looked at, is a link or has several names, or can't be written; then
    /// it is as it was.
    pub fn write(&self) -> io::Result<()> {
        let metadata = self.root.dir().symlink_metadata(self.path.as_str())?;
        if metadata.is_file() && metadata.nlink() > 1 {
            return Err(io::Error::other(
                "it has hard links, which would keep the old content",
            ));
        }
        let change = Change {
            bytes: &self.fixed.bytes,
            expected: Some(&self.before),
        };
        match self.root.put(&self.path, change) {
            Ok(_) => Ok(()),
            Err(PutError::Conflict(why)) => Err(io::Error::other(why)),
            Err(PutError::IsAFolder) => Err(io::Error::other("it is a folder")),
            Err(PutError::ReadOnly) => Err(io::Error::other("it is read-only")),
            Err(PutError::Io(error)) => Err(error),
        }
    }
}
