//! Mending one file of a skill on disk.
//!
//! What is mended is found in the very bytes that are replaced, never in those of an earlier check:
//! somebody else may have changed the file meanwhile.

use std::io;
use std::path::Path;

use gongfu_core::skill::check::script;
use gongfu_core::skill::document::{self, MAX_SKILL_FILE};
use gongfu_core::skill::fix::{self, Mended};
use gongfu_core::skill::{Folder, SKILL_FILE, SKILL_FILE_LOWER, SkillPath};

use crate::disk::Root;

/// A file with what mending would make of it.
#[derive(Debug)]
pub struct Proposal {
    root: Root,
    path: SkillPath,
    /// The file as it is.
    pub before: Vec<u8>,
    /// The file as it would be.
    pub mended: Mended,
}

/// Looks at a file of the skill in the folder `skill`; `None` when nothing in it can be mended
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
        document::load(&before, &root.name(), &mut diagnostics);
        SKILL_FILE
    } else {
        script::check(&path, &before, &Folder::default(), &mut diagnostics);
        file
    };
    let mended = fix::apply(&before, name, &diagnostics);
    Ok(mended.map(|mended| Proposal {
        root,
        path,
        before,
        mended,
    }))
}

impl Proposal {
    /// Writes the mended file in place of the old one; its permissions stay.
    ///
    /// # Errors
    /// It changed since it was looked at, is a link, or can't be written; then it is as it was.
    pub fn write(&self) -> io::Result<()> {
        self.root
            .rewrite(&self.path, &self.before, &self.mended.bytes)
    }
}
