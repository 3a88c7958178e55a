//! The files of one download or one local file: those of an archive, or a SKILL.md.
//!
//! Its bytes say what it is, never its name. Fetches nothing.

use std::collections::BTreeMap;

use gongfu_archive::read as read_archive;
use gongfu_core::archive::{ArchiveError, ArchiveFile, ArchiveLimits, without_top_folder};
use gongfu_core::skill::{SKILL_FILE, SkillPath};

use crate::content::{Content, ContentFile};
use crate::error::{ImportCode, ImportError};

/// Files in memory, each with its permissions.
pub type Files = BTreeMap<SkillPath, (Vec<u8>, u32)>;

/// The folder that macOS puts beside the files of a zip archive.
const MACOS_FOLDER: &str = "__MACOSX/";

/// The content of an archive of skills, or of one document; the name is for messages.
///
/// # Errors
/// It is neither, or an archive that isn't taken.
pub fn read(bytes: Vec<u8>, name: &str) -> Result<Content, ImportError> {
    if let Some(files) = archive(&bytes, ArchiveLimits::COLLECTION, name)? {
        return Ok(Content::in_memory(files));
    }
    if is_document(&bytes) {
        return Ok(Content::in_memory(document(bytes)?));
    }
    let message = format!("{name} is neither an archive nor a SKILL.md");
    let hint =
        "name a zip or tar archive, or a text that begins with `---`, `name:` and `description:`";
    Err(ImportError::new(ImportCode::SourceInvalid, message, hint))
}

/// The files of an archive without the folder around them; `None` for what is no archive.
///
/// # Errors
/// The archive isn't taken.
pub(super) fn archive(
    bytes: &[u8],
    limits: ArchiveLimits,
    name: &str,
) -> Result<Option<Files>, ImportError> {
    let files = read_archive(bytes, limits).map_err(|error| {
        let message = format!("{name}: {error}");
        match error {
            ArchiveError::Entries(_) | ArchiveError::FileLength(..) | ArchiveError::Total(_) => {
                ImportError::too_large(message)
            }
            _ => ImportError::refused(message),
        }
    })?;
    let Some(mut files) = files else {
        return Ok(None);
    };
    files.retain(|file| !file.path.as_str().starts_with(MACOS_FOLDER));
    let files = without_top_folder(files).into_iter();
    Ok(Some(files.map(with_mode).collect()))
}

/// The files of a skill that has only its document.
///
/// # Errors
/// Never: the name is a path.
pub(super) fn document(bytes: Vec<u8>) -> Result<Files, ImportError> {
    let path = SkillPath::new(SKILL_FILE).map_err(|why| ImportError::refused(why.to_string()))?;
    Ok(BTreeMap::from([(path, (bytes, ContentFile::PLAIN))]))
}

fn with_mode(file: ArchiveFile) -> (SkillPath, (Vec<u8>, u32)) {
    let mode = if file.is_executable == Some(true) {
        ContentFile::PROGRAM
    } else {
        ContentFile::PLAIN
    };
    (file.path, (file.bytes, mode))
}

/// Returns true for a text with frontmatter.
fn is_document(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return false;
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.lines().map(str::trim_end);
    lines.next() == Some("---") && lines.any(|line| line == "---")
}

#[cfg(test)]
mod tests;
