//! Files by path.

use std::collections::BTreeMap;

use gongfu_core::port::{Change, FileContent, PortError};
use gongfu_core::skill::SkillPath;

/// The files of a folder, by path.
#[derive(Debug, Clone, Default)]
pub(crate) struct FileTree(pub(crate) BTreeMap<String, Vec<u8>>);

impl FileTree {
    /// A file, cut at the limit.
    pub(crate) fn read(&self, path: &SkillPath, limit: u64) -> Result<FileContent, PortError> {
        let Some(bytes) = self.0.get(path.as_str()) else {
            return Err(if self.is_folder(path) {
                PortError::IsAFolder
            } else {
                PortError::NotFound
            });
        };
        Ok(content(bytes, limit))
    }

    /// Writes a whole file; answers whether it is new.
    pub(crate) fn write(
        &mut self,
        path: &SkillPath,
        change: Change<'_>,
    ) -> Result<bool, PortError> {
        if path.is_root() || self.is_folder(path) {
            return Err(PortError::IsAFolder);
        }
        let mut above = path.parent();
        while !above.is_root() {
            if self.0.contains_key(above.as_str()) {
                return Err(PortError::NotAFolder);
            }
            above = above.parent();
        }
        let before = self.0.get(path.as_str());
        if change.expected.is_some() && before.map(Vec::as_slice) != change.expected {
            return Err(PortError::Conflict(
                "its content is not the one that was read".to_owned(),
            ));
        }
        let before = self
            .0
            .insert(path.as_str().to_owned(), change.bytes.to_vec());
        Ok(before.is_none())
    }

    /// True if files lie below a path.
    pub(crate) fn is_folder(&self, path: &SkillPath) -> bool {
        let below = format!("{path}/");
        path.is_root() || self.0.keys().any(|file| file.starts_with(&below))
    }
}

/// Bytes, cut at a limit.
pub(crate) fn content(bytes: &[u8], limit: u64) -> FileContent {
    let shown = usize::try_from(limit).map_or(bytes.len(), |limit| limit.min(bytes.len()));
    FileContent {
        bytes: bytes[..shown].to_vec(),
        size: bytes.len() as u64,
    }
}
