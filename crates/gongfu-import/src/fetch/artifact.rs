//! The files of one download or one local file: those of an archive, or a SKILL.md.
//!
//! Its bytes say what it is, never its name. Fetches nothing.

use std::collections::BTreeMap;

use gongfu_archive::read as read_archive;
use gongfu_core::archive::{ArchiveError, ArchiveFile, ArchiveLimits, below_top, top_folder};
use gongfu_core::skill::{SKILL_FILE, SkillPath};

use super::links::{Link, Targets, follow};
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
    if let Some((files, linked)) = unpacked(&bytes, ArchiveLimits::COLLECTION, name)? {
        drop(bytes);
        return Ok(Content::in_memory(files).with_links(linked.files, linked.refused));
    }
    if is_document(&bytes) {
        return Ok(Content::in_memory(document(bytes)?));
    }
    let message = format!("{name} is neither an archive nor a SKILL.md");
    let hint =
        "name a zip or tar archive, or a text that begins with `---`, `name:` and `description:`";
    Err(ImportError::new(ImportCode::SourceInvalid, message, hint))
}

/// The files of the archive of one skill, without the folder around them; `None` for what is no archive.
///
/// # Errors
/// The archive isn't taken.
pub(super) fn archive(
    bytes: &[u8],
    limits: ArchiveLimits,
    name: &str,
) -> Result<Option<Files>, ImportError> {
    let Some((mut files, linked)) = unpacked(bytes, limits, name)? else {
        return Ok(None);
    };
    if let Some((path, why)) = linked.refused.first() {
        let message = format!("{name} has `{path}`: {why}");
        return Err(ImportError::refused(message));
    }
    let mut total: u64 = files.values().map(|(bytes, _)| bytes.len() as u64).sum();
    for (place, target) in linked.files {
        let Some(file) = files.get(&target).cloned() else {
            continue;
        };
        total = total.saturating_add(file.0.len() as u64);
        if total > limits.total || files.len() >= limits.entries {
            let message = format!("the links of {name} stand for too many files, or too long ones");
            return Err(ImportError::too_large(message));
        }
        files.insert(place, file);
    }
    Ok(Some(files))
}

/// The files of an archive and what its links stand for, without the folder around them.
fn unpacked(
    bytes: &[u8],
    limits: ArchiveLimits,
    name: &str,
) -> Result<Option<(Files, Targets)>, ImportError> {
    let archive = read_archive(bytes, limits).map_err(|error| {
        let message = format!("{name}: {error}");
        match error {
            ArchiveError::Entries(_) | ArchiveError::FileLength(..) | ArchiveError::Total(_) => {
                ImportError::too_large(message)
            }
            _ => ImportError::refused(message),
        }
    })?;
    let Some(mut archive) = archive else {
        return Ok(None);
    };
    let is_of_macos = |path: &SkillPath| path.as_str().starts_with(MACOS_FOLDER);
    archive.files.retain(|file| !is_of_macos(&file.path));
    archive.links.retain(|link| !is_of_macos(&link.path));
    let files: Files = archive.files.into_iter().map(with_mode).collect();
    let links = archive.links.into_iter().map(|link| {
        let mut found = Link::new(link.path, link.target);
        if link.is_hard {
            found.from = SkillPath::root();
        }
        found
    });
    let links: Vec<Link> = links.collect();
    let mut linked = follow(&links, &files)?;
    let paths = files.keys().chain(links.iter().map(|link| &link.path));
    let Some(top) = top_folder(paths) else {
        return Ok(Some((files, linked)));
    };
    let below = |path: &SkillPath| below_top(path, &top);
    for (place, target) in &mut linked.files {
        (*place, *target) = (below(place), below(target));
    }
    for (path, _) in &mut linked.refused {
        if let Ok(whole) = SkillPath::new(path) {
            *path = below(&whole).to_string();
        }
    }
    let files = files.into_iter();
    let files = files.map(|(path, file)| (below(&path), file)).collect();
    Ok(Some((files, linked)))
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
    let mode = ContentFile::mode(file.is_executable == Some(true));
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
