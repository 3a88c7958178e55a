//! The records that the pax format of tar puts before an entry: `LENGTH KEY=VALUE` and a line feed each.
//!
//! A value may hold any bytes, so that only its length says where it ends.

use gongfu_core::archive::ArchiveError;

/// The records that matter.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PaxRecords {
    /// The path of the entry.
    pub(super) path: Option<Vec<u8>>,
    /// The path that the entry leads to, if it is a link.
    pub(super) link: Option<Vec<u8>>,
    /// The length of the entry.
    pub(super) size: Option<u64>,
    /// True if the entry leaves out parts of a file.
    pub(super) is_sparse: bool,
}

impl PaxRecords {
    /// Reads the content of an entry of records.
    ///
    /// # Errors
    /// A record is damaged, or is there twice.
    pub(super) fn read(mut content: &[u8]) -> Result<Self, ArchiveError> {
        let mut records = Self::default();
        while !content.is_empty() {
            let (record, rest) = split(content).ok_or_else(damaged)?;
            content = rest;
            let equals = record.iter().position(|byte| *byte == b'=');
            let (key, value) = equals
                .and_then(|at| record.split_at_checked(at))
                .ok_or_else(damaged)?;
            let value = value.strip_prefix(b"=").unwrap_or_default();
            let is_again = match key {
                b"path" => records.path.replace(value.to_vec()).is_some(),
                b"linkpath" => records.link.replace(value.to_vec()).is_some(),
                b"size" => {
                    let size = std::str::from_utf8(value).ok();
                    let size = size.and_then(|size| size.parse().ok());
                    records.size.replace(size.ok_or_else(damaged)?).is_some()
                }
                _ => {
                    records.is_sparse |= key.starts_with(b"GNU.sparse.");
                    false
                }
            };
            if is_again {
                return Err(damaged());
            }
        }
        Ok(records)
    }

    /// Refuses records about all entries that would change them: a commit or a comment is ordinary.
    pub(super) fn check_global(&self) -> Result<(), ArchiveError> {
        if *self == Self::default() {
            return Ok(());
        }
        let why = "a record gives all entries the same path or length";
        Err(ArchiveError::Unreadable(why.to_owned()))
    }
}

/// The first record, `KEY=VALUE`, and the rest.
fn split(content: &[u8]) -> Option<(&[u8], &[u8])> {
    let space = content.iter().take(20).position(|byte| *byte == b' ')?;
    let digits = std::str::from_utf8(content.get(..space)?).ok()?;
    if !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let (record, rest) = content.split_at_checked(digits.parse().ok()?)?;
    let record = record.get(space + 1..)?.strip_suffix(b"\n")?;
    Some((record, rest))
}

fn damaged() -> ArchiveError {
    ArchiveError::Unreadable("a record of an entry is damaged".to_owned())
}
