//! The folder of a skill as plain data: the files in it, as their reader saw them.

use super::digest::Digest;
use super::path::SkillPath;

/// The files of a skill.
#[derive(Debug, Clone, Default)]
pub struct Folder {
    /// The folder's own name.
    pub name: String,
    /// The files in it, by path.
    pub files: Vec<FileEntry>,
}

/// A file of a skill.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct FileEntry {
    /// Its path.
    pub path: SkillPath,
    /// Its length in bytes.
    pub size: u64,
    /// Its content's digest; `None` when it was too large to read while indexing.
    pub digest: Option<Digest>,
    /// Its kind, by its content.
    pub kind: FileKind,
}

/// The kind of a file, by its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    /// UTF-8 without NUL.
    Text,
    /// Anything else.
    Binary,
}

impl FileKind {
    /// Tells text from binary: text is UTF-8 that holds no NUL.
    pub fn of(bytes: &[u8]) -> Self {
        if !bytes.contains(&0) && std::str::from_utf8(bytes).is_ok() {
            Self::Text
        } else {
            Self::Binary
        }
    }
}

impl Folder {
    /// Returns true if a file of that path is there.
    pub fn has_file(&self, path: &SkillPath) -> bool {
        self.files
            .binary_search_by(|file| file.path.cmp(path))
            .is_ok()
    }

    /// Returns true if a file of that path is there, or a folder that holds one.
    pub fn has(&self, path: &SkillPath) -> bool {
        let after = self.files.partition_point(|file| file.path < *path);
        self.has_file(path)
            || path.is_root()
            || self
                .files
                .iter()
                .skip(after)
                .take_while(|file| file.path.as_str().starts_with(path.as_str()))
                .any(|file| file.path.is_within(path))
    }

    /// The length of all files in bytes.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.size).sum()
    }
}
