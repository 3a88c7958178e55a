//! Tar archives of skills, with gzip or without, read within the limits of [`gongfu_core::archive`].
//!
//! Stricter than `tar`: what two programs could read differently is refused. Knows no other format.

mod pax;

use std::io::{ErrorKind, Read};

use flate2::bufread::MultiGzDecoder;
use gongfu_core::archive::{
    Archive, ArchiveCheck, ArchiveError, ArchiveFile, ArchiveLimits, ArchiveLink, EntryHead,
    unpacked,
};
use tar::{EntryType, Header};

use crate::MAX_TARGET;
use pax::PaxRecords;

/// The bytes of a block: a head is one, and content is filled up to the next.
const BLOCK: usize = 512;
/// The bytes that an entry may have besides its content: its head, its long name, and what fills them up.
const MAX_OVERHEAD: u64 = 3 * 1024;
/// The most bytes of an entry that describes another one.
const MAX_RECORDS: u64 = 64 * 1024;
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

/// The content of a tar archive in a gzip file. It is unpacked while it is read.
///
/// # Errors
/// It is damaged, packed too well, or longer than the files of an archive may be.
pub(super) fn unpack(bytes: &[u8], limits: ArchiveLimits) -> Result<Archive, ArchiveError> {
    let entries = u64::try_from(limits.entries).unwrap_or(u64::MAX);
    let by_total = limits
        .total
        .saturating_add(entries.saturating_mul(MAX_OVERHEAD));
    let by_ratio = unpacked(bytes.len() as u64);
    let limit = by_total.min(by_ratio);
    // As `tar` reads it: several gzip files one after another are one.
    let mut reader = MultiGzDecoder::new(bytes).take(limit.saturating_add(1));
    let mut first = Vec::with_capacity(BLOCK);
    let read = (&mut reader).take(BLOCK as u64).read_to_end(&mut first);
    read.map_err(|error| unread(&error))?;
    if !is_tar(&first) {
        return Err(unreadable("it is a gzip file that holds no tar archive"));
    }
    let content = content(first.chain(&mut reader), limits);
    if reader.limit() > 0 {
        return content;
    }
    Err(if by_ratio < by_total {
        ArchiveError::Ratio("the archive".to_owned())
    } else {
        ArchiveError::Total(limits.total)
    })
}

/// The content of a tar archive.
///
/// # Errors
/// It isn't taken, or isn't an archive.
pub(super) fn content(
    mut reader: impl Read,
    limits: ArchiveLimits,
) -> Result<Archive, ArchiveError> {
    let (mut check, mut content) = (ArchiveCheck::new(limits), Archive::default());
    let mut long = LongName::default();
    let mut block = [0; BLOCK];
    loop {
        read_exact(&mut reader, &mut block)?;
        if block.iter().all(|byte| *byte == 0) {
            if long.is_set() {
                return Err(unreadable("a long name has no entry"));
            }
            check_end(&mut reader)?;
            return Ok(content);
        }
        let header = header(&block)?;
        let size = header.entry_size().map_err(|error| unread(&error))?;
        match header.entry_type() {
            EntryType::GNULongName => long.set_name(records(&mut reader, size)?)?,
            EntryType::GNULongLink => long.set_link(records(&mut reader, size)?)?,
            EntryType::XHeader => long.set_pax(&records(&mut reader, size)?)?,
            EntryType::XGlobalHeader => {
                PaxRecords::read(&records(&mut reader, size)?)?.check_global()?;
            }
            EntryType::Symlink | EntryType::Link => {
                content
                    .links
                    .push(link(&mut check, header, size, &mut long)?);
            }
            _ => content
                .files
                .extend(file(&mut check, header, &mut reader, size, &mut long)?),
        }
    }
}

/// Fills a buffer.
fn read_exact(reader: &mut impl Read, buffer: &mut [u8]) -> Result<(), ArchiveError> {
    reader
        .read_exact(buffer)
        .map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => cut_off(),
            _ => unread(&error),
        })
}

/// The content of an entry, which is filled up to the end of a block.
fn read_content(reader: &mut impl Read, size: u64) -> Result<Vec<u8>, ArchiveError> {
    let mut content = Vec::new();
    let read = reader.take(size).read_to_end(&mut content);
    if (read.map_err(|error| unread(&error))? as u64) < size {
        return Err(cut_off());
    }
    let mut filled = [0; BLOCK];
    let filled = filled.get_mut(..content.len().next_multiple_of(BLOCK) - content.len());
    read_exact(reader, filled.unwrap_or_default())?;
    Ok(content)
}

/// The content of an entry that describes another one.
fn records(reader: &mut impl Read, size: u64) -> Result<Vec<u8>, ArchiveError> {
    if size > MAX_RECORDS {
        return Err(unreadable("the description of an entry is too long"));
    }
    read_content(reader, size)
}

/// Refuses more than zeros up to the end.
fn check_end(reader: &mut impl Read) -> Result<(), ArchiveError> {
    let mut chunk = [0; 16 * BLOCK];
    loop {
        let read = match reader.read(&mut chunk) {
            Ok(0) => return Ok(()),
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(unread(&error)),
        };
        if chunk.iter().take(read).any(|byte| *byte != 0) {
            return Err(unreadable("something comes after its end"));
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

/// The file of an entry; `None` for a folder.
fn file(
    check: &mut ArchiveCheck,
    header: &Header,
    reader: &mut impl Read,
    length: u64,
    long: &mut LongName,
) -> Result<Option<ArchiveFile>, ArchiveError> {
    let stored = header.path_bytes();
    let (name, pax) = long.take()?;
    let name = name.as_deref().unwrap_or(&stored);
    let is_folder = match header.entry_type() {
        EntryType::Regular if !pax.is_sparse => false,
        EntryType::Directory => true,
        _ => return Err(ArchiveError::Kind(shown(name))),
    };
    if pax.link.is_some() {
        return Err(unreadable("an entry leads somewhere, and is not a link"));
    }
    if pax.size.is_some_and(|size| size != length) {
        let why = format!("`{}` has two lengths", shown(name));
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
        packed: length,
    })?;
    let Some(admitted) = admitted else {
        if length == 0 {
            return Ok(None);
        }
        return Err(ArchiveError::Unreadable(format!(
            "the folder `{}` has content",
            shown(name)
        )));
    };
    if length > admitted.limit {
        return Err(admitted.over);
    }
    check.count(length);
    Ok(Some(ArchiveFile {
        path: admitted.path,
        is_executable: admitted.is_executable,
        bytes: read_content(reader, length)?,
    }))
}

/// The link of an entry.
fn link(
    check: &mut ArchiveCheck,
    header: &Header,
    length: u64,
    long: &mut LongName,
) -> Result<ArchiveLink, ArchiveError> {
    let (stored, leads) = (header.path_bytes(), header.link_name_bytes());
    let target = long.take_link(leads.as_deref())?;
    let (name, pax) = long.take()?;
    let name = name.as_deref().unwrap_or(&stored);
    if length != 0 || pax.size.is_some_and(|size| size != 0) || pax.is_sparse {
        let why = format!("the link `{}` has content", shown(name));
        return Err(ArchiveError::Unreadable(why));
    }
    let head = EntryHead {
        name,
        is_folder: false,
        mode: None,
        is_encrypted: false,
        packed: 0,
    };
    let admitted = check.admit_link(head, MAX_TARGET)?;
    if target.len() as u64 > admitted.limit {
        return Err(admitted.over);
    }
    Ok(ArchiveLink {
        path: admitted.path,
        target,
        is_hard: header.entry_type() == EntryType::Link,
    })
}

/// The name, the target and the records that entries before an entry give it.
#[derive(Default)]
struct LongName {
    name: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
    pax: Option<PaxRecords>,
}

impl LongName {
    fn is_set(&self) -> bool {
        self.name.is_some() || self.link.is_some() || self.pax.is_some()
    }

    fn set_name(&mut self, content: Vec<u8>) -> Result<(), ArchiveError> {
        set(&mut self.name, content)
    }

    fn set_link(&mut self, content: Vec<u8>) -> Result<(), ArchiveError> {
        set(&mut self.link, content)
    }

    fn set_pax(&mut self, content: &[u8]) -> Result<(), ArchiveError> {
        if self.pax.replace(PaxRecords::read(content)?).is_some() {
            return Err(unreadable("an entry has two lists of records"));
        }
        Ok(())
    }

    /// The name of the entry, if it isn't in its head, and the records about it.
    fn take(&mut self) -> Result<(Option<Vec<u8>>, PaxRecords), ArchiveError> {
        if self.link.is_some() {
            return Err(unreadable("an entry leads somewhere, and is not a link"));
        }
        let mut pax = self.pax.take().unwrap_or_default();
        match (self.name.take(), pax.path.take()) {
            (Some(_), Some(_)) => Err(unreadable("an entry has two long names")),
            (name, path) => Ok((name.or(path), pax)),
        }
    }

    /// The target of the entry, which is a link; before its name.
    fn take_link(&mut self, stored: Option<&[u8]>) -> Result<Vec<u8>, ArchiveError> {
        let pax = self.pax.as_mut().and_then(|pax| pax.link.take());
        match (self.link.take(), pax) {
            (Some(_), Some(_)) => Err(unreadable("a link leads to two places")),
            (link, pax) => Ok(link
                .or(pax)
                .unwrap_or_else(|| stored.unwrap_or_default().to_vec())),
        }
    }
}

/// Sets a long name, which ends like a text of C.
fn set(place: &mut Option<Vec<u8>>, content: Vec<u8>) -> Result<(), ArchiveError> {
    let name = content.strip_suffix(b"\0").map(<[u8]>::to_vec);
    if place.replace(name.unwrap_or(content)).is_some() {
        return Err(unreadable("an entry has two long names"));
    }
    Ok(())
}

fn shown(name: &[u8]) -> String {
    String::from_utf8_lossy(name).chars().take(200).collect()
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
