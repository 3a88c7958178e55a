//! Tar archives of skills, with gzip or without, read within the limits of [`gongfu_core::archive`].
//!
//! Stricter than `tar`: what two programs could read differently is refused. Knows no other format.

mod pax;

use std::io::{Read as _, copy};

use flate2::bufread::MultiGzDecoder;
use gongfu_core::archive::{
    ArchiveCheck, ArchiveError, ArchiveFile, ArchiveLimits, EntryHead, unpacked,
};
use tar::{EntryType, Header};

use pax::PaxRecords;

/// The bytes of a block: a head is one, and content is filled up to the next.
const BLOCK: usize = 512;
/// The bytes that an entry may have besides its content: its head, its long name, and what fills them up.
const MAX_OVERHEAD: u64 = 3 * 1024;
/// The bits of a mode that say that an entry is a file or a folder, and the permissions.
const FILE: u32 = 0o100_000;
const FOLDER: u32 = 0o040_000;
const PERMISSIONS: u32 = 0o7_777;

/// Returns true for bytes that begin like a gzip file.
pub(super) fn is_gzip(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1f, 0x8b])
}

/// Returns true for bytes that begin like a tar archive.
pub(super) fn is_tar(bytes: &[u8]) -> bool {
    bytes.get(257..262) == Some(b"ustar")
}

/// The content of a gzip file that holds a tar archive.
///
/// # Errors
/// It is damaged, packed too well, or longer than the files of an archive may be.
pub(super) fn unpack(bytes: &[u8], limits: ArchiveLimits) -> Result<Vec<u8>, ArchiveError> {
    let entries = u64::try_from(limits.entries).unwrap_or(u64::MAX);
    let by_total = limits
        .total
        .saturating_add(entries.saturating_mul(MAX_OVERHEAD));
    let by_ratio = unpacked(bytes.len() as u64);
    let limit = by_total.min(by_ratio);
    let mut content = Vec::new();
    // As `tar` reads it: several gzip files one after another are one.
    let mut reader = MultiGzDecoder::new(bytes).take(limit.saturating_add(1));
    let read = copy(&mut reader, &mut content);
    let read = read.map_err(|error| ArchiveError::Unreadable(error.to_string()))?;
    if read > limit {
        return Err(if by_ratio < by_total {
            ArchiveError::Ratio("the archive".to_owned())
        } else {
            ArchiveError::Total(limits.total)
        });
    }
    if !is_tar(&content) {
        return Err(unreadable("it is a gzip file that holds no tar archive"));
    }
    Ok(content)
}

/// The files of a tar archive.
///
/// # Errors
/// It isn't taken, or isn't an archive.
pub(super) fn files(bytes: &[u8], limits: ArchiveLimits) -> Result<Vec<ArchiveFile>, ArchiveError> {
    let (mut check, mut files) = (ArchiveCheck::new(limits), Vec::new());
    let mut long = LongName::default();
    let mut rest = bytes;
    loop {
        let (block, after) = rest.split_first_chunk::<BLOCK>().ok_or_else(cut_off)?;
        if block.iter().all(|byte| *byte == 0) {
            if long.is_set() {
                return Err(unreadable("a long name has no entry"));
            }
            if after.iter().any(|byte| *byte != 0) {
                return Err(unreadable("something comes after its end"));
            }
            return Ok(files);
        }
        let header = header(block)?;
        let size = header.entry_size().map_err(|error| unread(&error))?;
        let length = usize::try_from(size).map_err(|_| cut_off())?;
        let (content, after) = after.split_at_checked(length).ok_or_else(cut_off)?;
        let filled = length.next_multiple_of(BLOCK) - length;
        (_, rest) = after.split_at_checked(filled).ok_or_else(cut_off)?;
        if let Some(file) = entry(&mut check, header, content, &mut long)? {
            files.push(file);
        }
    }
}

/// The head in a block.
fn header(block: &[u8; BLOCK]) -> Result<&Header, ArchiveError> {
    let header = Header::from_byte_slice(block);
    // The sum is that of a head whose own field is of spaces.
    let sum = block.iter().enumerate().map(|(at, byte)| match at {
        148..156 => u32::from(b' '),
        _ => u32::from(*byte),
    });
    let expected = header.cksum().map_err(|error| unread(&error))?;
    if sum.sum::<u32>() != expected {
        return Err(unreadable("the checksum of an entry is wrong"));
    }
    Ok(header)
}

/// The file of an entry; `None` for a folder, or for an entry that describes another one.
fn entry(
    check: &mut ArchiveCheck,
    header: &Header,
    content: &[u8],
    long: &mut LongName,
) -> Result<Option<ArchiveFile>, ArchiveError> {
    let kind = header.entry_type();
    match kind {
        EntryType::GNULongName => return long.set_gnu(content).map(|()| None),
        // Only a link has one, and links are refused.
        EntryType::GNULongLink => return Ok(None),
        EntryType::XHeader => return long.set_pax(PaxRecords::read(content)?).map(|()| None),
        EntryType::XGlobalHeader => {
            return PaxRecords::read(content)?.check_global().map(|()| None);
        }
        _ => {}
    }
    let stored = header.path_bytes();
    let (name, pax) = long.take()?;
    let name = name.as_deref().unwrap_or(&stored);
    let shown = || -> String { String::from_utf8_lossy(name).chars().take(200).collect() };
    let is_folder = match kind {
        EntryType::Regular if !pax.is_sparse => false,
        EntryType::Directory => true,
        _ => return Err(ArchiveError::Kind(shown())),
    };
    if pax.size.is_some_and(|size| size != content.len() as u64) {
        let why = format!("`{}` has two lengths", shown());
        return Err(ArchiveError::Unreadable(why));
    }
    let mode = header.mode().map_err(|error| unread(&error))? & PERMISSIONS;
    let admitted = check.admit(EntryHead {
        name,
        is_folder,
        mode: Some(if is_folder || name.ends_with(b"/") {
            FOLDER | mode
        } else {
            FILE | mode
        }),
        is_encrypted: false,
        packed: content.len() as u64,
    })?;
    let Some(admitted) = admitted else {
        if content.is_empty() {
            return Ok(None);
        }
        return Err(ArchiveError::Unreadable(format!(
            "the folder `{}` has content",
            shown()
        )));
    };
    let length = content.len() as u64;
    if length > admitted.limit {
        return Err(admitted.over);
    }
    check.count(length);
    Ok(Some(ArchiveFile {
        path: admitted.path,
        is_executable: admitted.is_executable,
        bytes: content.to_vec(),
    }))
}

/// The name and the records that entries before an entry give it.
#[derive(Default)]
struct LongName {
    gnu: Option<Vec<u8>>,
    pax: Option<PaxRecords>,
}

impl LongName {
    fn is_set(&self) -> bool {
        self.gnu.is_some() || self.pax.is_some()
    }

    fn set_gnu(&mut self, content: &[u8]) -> Result<(), ArchiveError> {
        // It ends like a text of C.
        let name = content.strip_suffix(b"\0").unwrap_or(content);
        if self.gnu.replace(name.to_vec()).is_some() {
            return Err(unreadable("an entry has two long names"));
        }
        Ok(())
    }

    fn set_pax(&mut self, records: PaxRecords) -> Result<(), ArchiveError> {
        if self.pax.replace(records).is_some() {
            return Err(unreadable("an entry has two lists of records"));
        }
        Ok(())
    }

    /// The name of the entry, if it isn't in its head, and the records about it.
    fn take(&mut self) -> Result<(Option<Vec<u8>>, PaxRecords), ArchiveError> {
        let mut pax = self.pax.take().unwrap_or_default();
        match (self.gnu.take(), pax.path.take()) {
            (Some(_), Some(_)) => Err(unreadable("an entry has two long names")),
            (gnu, path) => Ok((gnu.or(path), pax)),
        }
    }
}

fn cut_off() -> ArchiveError {
    unreadable("it is cut off")
}

fn unread(error: &std::io::Error) -> ArchiveError {
    ArchiveError::Unreadable(error.to_string())
}

fn unreadable(why: &str) -> ArchiveError {
    ArchiveError::Unreadable(why.to_owned())
}

#[cfg(test)]
mod tests;
