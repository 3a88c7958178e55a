//! Fixes one file of a skill on disk.
//!
//! Faults are found in the very bytes that are replaced, never in those of an earlier check: the file
//! may have changed meanwhile.

use std::io;

use cap_std::fs::MetadataExt as _;
use gongfu_core::port::Change;
use gongfu_core::skill::check::script;
use gongfu_core::skill::diagnostic::Fix;
use gongfu_core::skill::document::MAX_SKILL_FILE;
use gongfu_core::skill::fix::{self, FixedFile};
use gongfu_core::skill::{self, Folder, SKILL_FILE, SKILL_FILE_LOWER, SkillPath};

use crate::check::Verdict;
use gongfu_files::disk::{PutError, Root};

/// The most rounds over a file: one fix can make room for another.
const MAX_ROUNDS: usize = 4;

/// A file and its fixed form.
#[derive(Debug)]
pub struct Proposal {
    root: Root,
    path: SkillPath,
    /// The file as it is.
    pub before: Vec<u8>,
    /// The file as it would be.
    pub fixed: FixedFile,
}

/// Looks at a file of a skill; `None` when nothing in it can be fixed without judgement.
///
/// # Errors
/// It can't be read, or is too large.
pub fn propose(skill: &Verdict, file: &str) -> io::Result<Option<Proposal>> {
    let root = Root::open(&skill.path)?;
    let path = SkillPath::new(file).map_err(io::Error::other)?;
    let content = root.read(&path, MAX_SKILL_FILE)?;
    if content.is_cut() {
        return Err(io::Error::other("it is too large"));
    }
    let before = content.bytes;
    let mut fixed: Option<FixedFile> = None;
    for _ in 0..MAX_ROUNDS {
        let bytes = fixed.as_ref().map_or(&before, |fixed| &fixed.bytes);
        let Some(next) = round(skill, &root, &path, bytes) else {
            break;
        };
        let applied = fixed.map_or(0, |fixed| fixed.applied) + next.applied;
        fixed = Some(FixedFile { applied, ..next });
    }
    Ok(fixed.map(|fixed| Proposal {
        root,
        path,
        before,
        fixed,
    }))
}

fn round(skill: &Verdict, root: &Root, path: &SkillPath, bytes: &[u8]) -> Option<FixedFile> {
    let mut diagnostics = Vec::new();
    if !matches!(path.as_str(), SKILL_FILE | SKILL_FILE_LOWER) {
        script::check(path, bytes, &Folder::default(), &mut diagnostics);
        return fix::apply(bytes, path.as_str(), &diagnostics);
    }
    skill::load(bytes, &root.name(), &mut diagnostics);
    diagnostics.retain(|found| !(skill.keeps_name && fix::writes_name(&found.finding)));
    fix::apply(bytes, SKILL_FILE, &diagnostics)
}

impl Proposal {
    /// Writes the fixed file in place of the old one; its permissions stay.
    ///
    /// # Errors
    /// It changed since it was looked at, is a link or has several names, or can't be written; then
    /// nothing changed.
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

/// A file of a skill that gets another name.
#[derive(Debug, Clone, Copy)]
pub struct Rename<'a> {
    skill: &'a Verdict,
    /// Its name.
    pub from: &'a str,
    /// The name that it gets.
    pub to: &'static str,
}

/// The rename that fixes a finding about a skill, if one does.
pub fn rename(skill: &Verdict) -> Option<Rename<'_>> {
    let mut found = skill.diagnostics.iter();
    found.find_map(|found| match &found.fix {
        Some(Fix::Rename(to)) => Some(Rename {
            skill,
            from: found.file.as_deref()?,
            to,
        }),
        _ => None,
    })
}

impl Rename<'_> {
    /// Renames the file.
    ///
    /// # Errors
    /// Both names are there, or it can't be renamed; then nothing changed.
    pub fn write(&self) -> io::Result<()> {
        let root = Root::open(&self.skill.path)?;
        let renamed = root.rename_file(self.from, self.to);
        renamed.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => io::Error::other(format!("{} exists as well", self.to)),
            _ => error,
        })
    }
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "tests make the folders that they look at"
)]
mod tests;
