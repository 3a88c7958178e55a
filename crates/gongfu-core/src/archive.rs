//! Archives of skills: the entries that are taken from one, before and while they are read.
//!
//! Knows no format: a reader of one asks [`ArchiveCheck`] about each entry.

use std::collections::HashMap;

use unicode_normalization::UnicodeNormalization as _;

use crate::skill::SkillPath;
use crate::skill::path::PathError;

/// The most bytes that one byte of the archive may become.
const MAX_RATIO: u64 = 100;
/// The length up to which a file may be packed as well as it can be.
pub const SMALL: u64 = 1024 * 1024;
/// The bytes of a mebibyte, in which limits are shown.
const MEBIBYTE: u64 = 1024 * 1024;

/// The limits of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArchiveLimits {
    /// The most entries, folders included.
    pub entries: usize,
    /// The most bytes of a file.
    pub file: u64,
    /// The most bytes of all files.
    pub total: u64,
    /// The most names in a path.
    pub depth: usize,
}

impl ArchiveLimits {
    /// The limits of an archive of one skill.
    pub const SKILL: Self = Self {
        entries: 2_000,
        file: 32 * MEBIBYTE,
        total: 64 * MEBIBYTE,
        depth: 12,
    };
    /// The limits of an archive of many skills, such as that of a repository.
    pub const COLLECTION: Self = Self {
        entries: 20_000,
        file: 32 * MEBIBYTE,
        total: 256 * MEBIBYTE,
        depth: 24,
    };
}

/// The bits of a Unix mode that say what something is, and their values.
const KIND: u32 = 0o170_000;
const FILE: u32 = 0o100_000;
const FOLDER: u32 = 0o040_000;
/// The bits that give a program the rights of its file's owner or group.
const SETUID: u32 = 0o6_000;
/// The bits of a program.
const EXECUTE: u32 = 0o111;

/// The names that mean devices on Windows, with any ending.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];

/// Why an archive isn't taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArchiveError {
    /// There are too many entries.
    #[error("the archive has more than {0} entries")]
    Entries(usize),
    /// A file is too long.
    #[error("`{0}` is longer than {limit} MiB", limit = .1 / MEBIBYTE)]
    FileLength(String, u64),
    /// All files together are too long.
    #[error("the files are longer than {limit} MiB together", limit = .0 / MEBIBYTE)]
    Total(u64),
    /// A file was packed suspiciously well.
    #[error("`{0}` is packed more than {MAX_RATIO} times")]
    Ratio(String),
    /// A path is too deep.
    #[error("`{0}` is deeper than {1} folders")]
    Depth(String, usize),
    /// A name isn't UTF-8.
    #[error("the name of an entry isn't UTF-8")]
    Encoding,
    /// A path leads elsewhere.
    #[error("`{0}` can't be a path of a skill: {1}")]
    Path(String, PathError),
    /// A name means something else on Windows.
    #[error("`{0}` can't be a file name on every system")]
    Name(String),
    /// Two paths are the same where letter case doesn't count, or one is a file and a folder.
    #[error("`{0}` is there twice, or as a file and a folder")]
    Duplicate(String),
    /// An entry is a link, a device or something else.
    #[error("`{0}` is neither a file nor a folder")]
    Kind(String),
    /// A file would run with the rights of its owner.
    #[error("`{0}` has setuid or setgid bits")]
    Setuid(String),
    /// A file is encrypted.
    #[error("`{0}` is encrypted")]
    Encrypted(String),
    /// The archive can't be read.
    #[error("the archive can't be read: {0}")]
    Unreadable(String),
}

/// An entry of an archive, as its head says.
#[derive(Debug, Clone, Copy)]
pub struct EntryHead<'a> {
    /// Its path as it was stored.
    pub name: &'a [u8],
    /// True if it says that it is a folder.
    pub is_folder: bool,
    /// Its Unix mode, if it has one.
    pub mode: Option<u32>,
    /// True if it is encrypted.
    pub is_encrypted: bool,
    /// Its length in the archive.
    pub packed: u64,
}

/// A file of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveFile {
    /// Its path.
    pub path: SkillPath,
    /// True if it is a program, as far as the archive says.
    pub is_executable: Option<bool>,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// A link of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveLink {
    /// Its path.
    pub path: SkillPath,
    /// The path that it leads to, as it was stored.
    pub target: Vec<u8>,
    /// True for a hard link, whose target is a path from the top. That of others is one from their folder.
    pub is_hard: bool,
}

/// The files and the links of an archive.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Archive {
    /// Its files.
    pub files: Vec<ArchiveFile>,
    /// Its links, which are still to be judged by where they lead.
    pub links: Vec<ArchiveLink>,
}

/// A file that may be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdmittedFile {
    /// Its path.
    pub path: SkillPath,
    /// True if it is a program, as far as the archive says.
    pub is_executable: Option<bool>,
    /// The most bytes that it may have; one more is too many.
    pub limit: u64,
    /// The refusal of one more byte.
    pub over: ArchiveError,
}

/// Decides about the entries of one archive, one after another.
#[derive(Debug)]
pub struct ArchiveCheck {
    limits: ArchiveLimits,
    entries: usize,
    total: u64,
    paths: PathSet,
}

impl ArchiveCheck {
    /// A check with these limits, before the first entry.
    pub fn new(limits: ArchiveLimits) -> Self {
        Self {
            limits,
            entries: 0,
            total: 0,
            paths: PathSet::default(),
        }
    }

    /// Decides about an entry before it is read; `None` for a folder.
    ///
    /// # Errors
    /// The archive isn't taken.
    pub fn admit(&mut self, head: EntryHead<'_>) -> Result<Option<AdmittedFile>, ArchiveError> {
        let limits = self.limits;
        let (name, path) = self.path(head.name)?;
        let shown = || shown(name);
        let kind = head.mode.map_or(0, |mode| mode & KIND);
        let is_folder = head.is_folder || name.ends_with('/') || kind == FOLDER;
        let is_plain = match kind {
            0 => true,
            FILE => !is_folder,
            FOLDER => is_folder,
            _ => false,
        };
        if !is_plain || (path.is_root() && !is_folder) {
            return Err(ArchiveError::Kind(shown()));
        }
        if head.mode.is_some_and(|mode| mode & SETUID != 0) {
            return Err(ArchiveError::Setuid(shown()));
        }
        if head.is_encrypted {
            return Err(ArchiveError::Encrypted(shown()));
        }
        self.claim(name, &path, !is_folder)?;
        if is_folder {
            return Ok(None);
        }
        let total = ArchiveError::Total(limits.total);
        let (limit, over) = [
            (unpacked(head.packed), ArchiveError::Ratio(shown())),
            (limits.file, ArchiveError::FileLength(shown(), limits.file)),
            (limits.total.saturating_sub(self.total), total.clone()),
        ]
        .into_iter()
        .min_by_key(|(limit, _)| *limit)
        .unwrap_or((0, total));
        Ok(Some(AdmittedFile {
            path,
            is_executable: head
                .mode
                .filter(|_| kind != 0)
                .map(|mode| mode & EXECUTE != 0),
            limit,
            over,
        }))
    }

    /// Decides about a link, of whose target so many bytes may be read. Where it leads to is for the caller.
    ///
    /// # Errors
    /// The archive isn't taken.
    pub fn admit_link(
        &mut self,
        head: EntryHead<'_>,
        limit: u64,
    ) -> Result<AdmittedFile, ArchiveError> {
        let (name, path) = self.path(head.name)?;
        let over = ArchiveError::Kind(shown(name));
        if path.is_root() || name.ends_with('/') {
            return Err(over);
        }
        if head.is_encrypted {
            return Err(ArchiveError::Encrypted(shown(name)));
        }
        self.claim(name, &path, true)?;
        Ok(AdmittedFile {
            path,
            is_executable: None,
            limit,
            over,
        })
    }

    /// The path of one more entry.
    fn path<'a>(&mut self, name: &'a [u8]) -> Result<(&'a str, SkillPath), ArchiveError> {
        self.entries += 1;
        if self.entries > self.limits.entries {
            return Err(ArchiveError::Entries(self.limits.entries));
        }
        let name = std::str::from_utf8(name).map_err(|_| ArchiveError::Encoding)?;
        let path = SkillPath::new(name).map_err(|why| ArchiveError::Path(shown(name), why))?;
        Ok((name, path))
    }

    /// Takes a path, which is possible on every system and wasn't there before.
    fn claim(&mut self, name: &str, path: &SkillPath, is_file: bool) -> Result<(), ArchiveError> {
        if path.as_str().split('/').count() > self.limits.depth {
            return Err(ArchiveError::Depth(shown(name), self.limits.depth));
        }
        if !path.is_root() && !path.as_str().split('/').all(is_portable) {
            return Err(ArchiveError::Name(shown(name)));
        }
        if !self.paths.claim(path, is_file) {
            return Err(ArchiveError::Duplicate(shown(name)));
        }
        Ok(())
    }

    /// Counts the bytes of a file that was read.
    pub fn count(&mut self, bytes: u64) {
        self.total = self.total.saturating_add(bytes);
    }
}

/// A name for a message.
fn shown(name: &str) -> String {
    crate::text::clipped(name, 200, char::REPLACEMENT_CHARACTER)
}

/// The most bytes that so many bytes of an archive may become.
pub fn unpacked(packed: u64) -> u64 {
    packed.saturating_mul(MAX_RATIO).max(SMALL)
}

/// The paths of the files and folders of one skill, which differ on every system.
#[derive(Debug, Default)]
pub struct PathSet {
    /// The paths so far, without letter case, and whether they are files.
    paths: HashMap<String, bool>,
}

impl PathSet {
    /// Takes the path of a file; false where another one is the same without letter case, is a folder there, or is a
    /// file above it.
    pub fn add_file(&mut self, path: &SkillPath) -> bool {
        self.claim(path, true)
    }

    /// Takes a path and the folders above it; false where another entry has one of them as something else.
    fn claim(&mut self, path: &SkillPath, is_file: bool) -> bool {
        if path.is_root() {
            return true;
        }
        let folded: String = path.as_str().nfc().collect::<String>().to_lowercase();
        for (at, _) in folded.match_indices('/') {
            let above = folded.get(..at).unwrap_or_default();
            if self.paths.insert(above.to_owned(), false) == Some(true) {
                return false;
            }
        }
        match self.paths.insert(folded, is_file) {
            None => true,
            // A folder may be named again.
            Some(was_file) => !was_file && !is_file,
        }
    }
}

/// Returns true for a name that means a file on every system.
fn is_portable(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end();
    let stem = stem.to_lowercase();
    let is_numbered = ["com", "lpt"].iter().any(|device| {
        let number = stem.strip_prefix(device).unwrap_or_default();
        let mut characters = number.chars();
        matches!(
            (characters.next(), characters.next()),
            (Some('0'..='9' | '¹' | '²' | '³'), None)
        )
    });
    !is_numbered
        && !DEVICES.contains(&stem.as_str())
        && !name.ends_with(['.', ' '])
        && !name.contains(['<', '>', ':', '"', '|', '?', '*'])
}

/// Removes the folder that holds all files, if one does and the skill's document isn't beside it.
#[must_use]
pub fn without_top_folder(mut files: Vec<ArchiveFile>) -> Vec<ArchiveFile> {
    let Some(top) = top_folder(files.iter().map(|file| &file.path)) else {
        return files;
    };
    for file in &mut files {
        file.path = below_top(&file.path, &top);
    }
    files
}

/// The one folder that holds all paths.
pub fn top_folder<'a>(mut paths: impl Iterator<Item = &'a SkillPath>) -> Option<SkillPath> {
    let top = |path: &'a SkillPath| Some(path.as_str().split_once('/')?.0);
    let first = top(paths.next()?)?;
    let is_of_all = paths.all(|path| top(path) == Some(first));
    SkillPath::new(first).ok().filter(|_| is_of_all)
}

/// A path in the folder at the top, seen from there.
pub fn below_top(path: &SkillPath, top: &SkillPath) -> SkillPath {
    let rest = path.as_str().strip_prefix(top.as_str());
    let rest = rest.and_then(|rest| rest.strip_prefix('/'));
    rest.and_then(|rest| SkillPath::new(rest).ok())
        .unwrap_or_else(|| path.clone())
}

#[cfg(test)]
mod tests;
