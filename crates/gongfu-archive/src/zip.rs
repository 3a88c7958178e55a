//! Zip archives of skills: read within the limits of [`gongfu_core::archive`], and written.
//!
//! Knows no other format.

use std::io::{Cursor, Read as _, Write as _};

use gongfu_core::archive::{
    Archive, ArchiveCheck, ArchiveError, ArchiveFile, ArchiveLimits, ArchiveLink, EntryHead, SMALL,
    without_top_folder,
};
use zip::read::Config;
use zip::result::ZipError;
use zip::unstable::read::ZipIterable;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipReadOptions, ZipWriter};

use crate::MAX_TARGET;

/// The bits of a mode that say what something is, and those of a link.
const KIND: u32 = 0o170_000;
const LINK: u32 = 0o120_000;
/// The mode of a file, and of a program.
const FILE_MODE: u32 = 0o644;
const PROGRAM_MODE: u32 = 0o755;

/// Returns true for bytes that begin like a zip archive.
pub fn is_zip(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06")
}

/// The files of the zip archive of one skill, without the folder around all of them.
///
/// # Errors
/// It isn't taken, has a link, or isn't an archive.
pub fn read(bytes: &[u8]) -> Result<Vec<ArchiveFile>, ArchiveError> {
    let archive = content(bytes, ArchiveLimits::SKILL)?;
    match archive.links.first() {
        Some(link) => Err(ArchiveError::Kind(link.path.to_string())),
        None => Ok(without_top_folder(archive.files)),
    }
}

/// The content of a zip archive.
///
/// # Errors
/// It isn't taken, or isn't an archive.
pub(super) fn content(bytes: &[u8], limits: ArchiveLimits) -> Result<Archive, ArchiveError> {
    let mut archive = ZipIterable::try_new(Cursor::new(bytes), Config::default())
        .map_err(|error| unreadable(&error))?
        .enforce_header_consistency(true);
    if archive.len() > limits.entries {
        return Err(ArchiveError::Entries(limits.entries));
    }
    let (mut check, mut content) = (ArchiveCheck::new(limits), Archive::default());
    let mut packed = 0_u64;
    let entries = archive.files().map_err(|error| unreadable(&error))?;
    for entry in entries {
        let entry = entry.map_err(|error| unreadable(&error))?;
        // One that says it is longer than it is could be packed better than it may be.
        packed = packed.saturating_add(entry.compressed_size());
        if packed > bytes.len() as u64 {
            let why = "its entries are longer than itself".to_owned();
            return Err(ArchiveError::Unreadable(why));
        }
        let mode = mode(entry.external_attributes());
        let is_link = mode.is_some_and(|mode| mode & KIND == LINK) && !entry.is_dir();
        let head = EntryHead {
            name: entry.name_raw(),
            is_folder: entry.is_dir(),
            mode,
            is_encrypted: entry.encrypted(),
            packed: entry.compressed_size(),
        };
        let admitted = if is_link {
            Some(check.admit_link(head, MAX_TARGET)?)
        } else {
            check.admit(head)?
        };
        let Some(admitted) = admitted else { continue };
        let length = entry.size();
        let mut reader = Cursor::new(bytes);
        let opened = entry.with_reader(&mut reader, ZipReadOptions::new());
        let opened = opened.map_err(|error| unreadable(&error))?;
        let mut unpacked = Vec::new();
        let mut limited = opened.take(admitted.limit.saturating_add(1));
        let read = limited.read_to_end(&mut unpacked);
        let read = read.map_err(|error| ArchiveError::Unreadable(error.to_string()))? as u64;
        if read > admitted.limit {
            return Err(admitted.over);
        }
        if read != length {
            let why = format!("`{}` has another length than its entry says", admitted.path);
            return Err(ArchiveError::Unreadable(why));
        }
        if is_link {
            content.links.push(ArchiveLink {
                path: admitted.path,
                target: unpacked,
                is_hard: false,
            });
            continue;
        }
        check.count(read);
        content.files.push(ArchiveFile {
            path: admitted.path,
            is_executable: admitted.is_executable,
            bytes: unpacked,
        });
    }
    Ok(content)
}

/// A zip archive of files in a folder, or at its top where that has no name. The same files give the same bytes.
///
/// # Errors
/// It can't be written.
pub fn write(folder: &str, files: &[ArchiveFile]) -> Result<Vec<u8>, ArchiveError> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let written = files.iter().try_for_each(|file| {
        let mode = if file.is_executable == Some(true) {
            PROGRAM_MODE
        } else {
            FILE_MODE
        };
        // A long file that packs too well would be taken for a bomb when it comes back.
        let method = if file.bytes.len() as u64 > SMALL {
            CompressionMethod::Stored
        } else {
            CompressionMethod::Deflated
        };
        let options = SimpleFileOptions::default()
            .compression_method(method)
            .last_modified_time(zip::DateTime::default())
            .unix_permissions(mode);
        let path = &file.path;
        writer.start_file(
            if folder.is_empty() {
                path.to_string()
            } else {
                format!("{folder}/{path}")
            },
            options,
        )?;
        writer.write_all(&file.bytes)?;
        Ok::<_, ZipError>(())
    });
    let finished = written.and_then(|()| writer.finish());
    Ok(finished.map_err(|error| unreadable(&error))?.into_inner())
}

/// The Unix mode with all its bits; `None` on a system without modes.
fn mode(attributes: u32) -> Option<u32> {
    Some(attributes >> 16).filter(|mode| *mode != 0)
}

fn unreadable(error: &ZipError) -> ArchiveError {
    ArchiveError::Unreadable(error.to_string())
}

#[cfg(test)]
mod tests;
