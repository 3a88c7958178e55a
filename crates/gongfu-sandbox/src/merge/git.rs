//! Reads the folder of git: the list of tracked files, and the files of a project that its settings name.

use std::collections::BTreeSet;
use std::ffi::CStr;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;

use crate::folder::{open_file, open_folder};

/// The longest file that is read, in bytes.
const MAX_LENGTH: u64 = 64 * 1024 * 1024;
/// The length of an entry of an index before the object's name.
const STAMPS: usize = 40;
/// The place of the mode in it.
const MODE: std::ops::Range<usize> = 24..28;
/// The flag of an entry with two more bytes of flags.
const IS_EXTENDED: u16 = 0x4000;
/// The part of the flags that is the length of the name.
const NAME_LENGTH: u16 = 0x0fff;

/// An entry of an index without what only speeds git up: times, inode, owner and length.
#[derive(Debug, PartialEq, Eq)]
struct Entry<'a> {
    mode: &'a [u8],
    object: &'a [u8],
    flags: Vec<u8>,
    name: Vec<u8>,
}

/// Returns whether two indexes say the same about every file; their extensions, which git makes anew, may differ.
pub(super) fn is_same_index(one: &[u8], other: &[u8]) -> bool {
    let both = |length| Some((entries(one, length)?, entries(other, length)?));
    // A repository's objects have names of 20 or of 32 bytes, and an index doesn't say which.
    let parsed = both(20).or_else(|| both(32));
    parsed.is_some_and(|(one, other)| one == other)
}

/// The names of the files that are tracked in the repository of a folder; none where it is no repository.
pub(super) fn tracked(folder: &OwnedFd) -> BTreeSet<Vec<u8>> {
    let index = open_folder(folder, c".git").map_err(io::Error::from);
    let Ok(index) = index.and_then(|git| read(&git, c"index")) else {
        return BTreeSet::new();
    };
    let entries = entries(&index, 20).or_else(|| entries(&index, 32));
    let names = entries.into_iter().flatten().map(|entry| entry.name);
    names.collect()
}

/// The paths in the settings of the repository of a folder: hooks, programs, further settings.
pub(super) fn named_in_settings(folder: &OwnedFd) -> Vec<String> {
    let settings = open_folder(folder, c".git").map_err(io::Error::from);
    let Ok(settings) = settings.and_then(|git| read(&git, c"config")) else {
        return Vec::new();
    };
    let settings = String::from_utf8_lossy(&settings);
    let values = settings
        .lines()
        .filter_map(|line| Some(line.split_once('=')?.1));
    let words = values.flat_map(str::split_whitespace);
    let paths = words.filter_map(|word| {
        let path = word.trim_matches(['"', '\'', '!', ';']);
        // Settings beside `.git/config` are named from there.
        let path = path.strip_prefix("../").unwrap_or(path);
        let path = path.trim_start_matches("./").trim_end_matches('/');
        let is_inside = !path.is_empty() && path != "." && !path.starts_with('/');
        (is_inside && !path.split('/').any(|name| name == "..")).then(|| path.to_owned())
    });
    paths.collect()
}

/// Reads a file of a folder.
///
/// # Errors
/// It isn't there, is no file, or is too long.
pub(super) fn read(folder: &OwnedFd, name: &CStr) -> io::Result<Vec<u8>> {
    let file = open_file(folder, name)?;
    let mut bytes = Vec::new();
    file.take(MAX_LENGTH + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_LENGTH {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(bytes)
}

/// The entries of an index whose objects have names of this length; `None` for what is no such index.
fn entries(index: &[u8], object_length: usize) -> Option<Vec<Entry<'_>>> {
    let mut rest = index;
    if take(&mut rest, 4)? != b"DIRC" {
        return None;
    }
    let version = number(take(&mut rest, 4)?)?;
    let count = usize::try_from(number(take(&mut rest, 4)?)?).ok()?;
    if !(2..=4).contains(&version) {
        return None;
    }
    let mut entries: Vec<Entry<'_>> = Vec::new();
    for _ in 0..count {
        let before = rest.len();
        let stamps = take(&mut rest, STAMPS)?;
        let object = take(&mut rest, object_length)?;
        let mut flags = take(&mut rest, 2)?.to_vec();
        let bits = u16::from_be_bytes([*flags.first()?, *flags.get(1)?]);
        if bits & IS_EXTENDED != 0 {
            flags.extend(take(&mut rest, 2)?);
        }
        let name = if version == 4 {
            let previous = entries.last().map_or(&[][..], |entry| &entry.name);
            let kept = previous.len().checked_sub(offset(&mut rest)?)?;
            let mut name = previous.get(..kept)?.to_vec();
            name.extend(until_zero(&mut rest)?);
            name
        } else {
            let name = until_zero(&mut rest)?.to_vec();
            let is_whole = name.len() >= usize::from(NAME_LENGTH);
            if !is_whole && name.len() != usize::from(bits & NAME_LENGTH) {
                return None;
            }
            // One zero was taken; up to seven more fill the entry up to a multiple of eight.
            let length = before - rest.len();
            take(&mut rest, length.next_multiple_of(8) - length)?;
            name
        };
        entries.push(Entry {
            mode: stamps.get(MODE)?,
            object,
            flags,
            name,
        });
    }
    // Extensions and the checksum follow.
    (rest.len() >= object_length).then_some(entries)
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(length)?;
    *rest = left;
    Some(taken)
}

fn until_zero<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let end = rest.iter().position(|byte| *byte == 0)?;
    let text = take(rest, end)?;
    take(rest, 1)?;
    Some(text)
}

fn number(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.try_into().ok()?))
}

/// A number of variable length: seven bits a byte, each further byte counts one more.
fn offset(rest: &mut &[u8]) -> Option<usize> {
    let mut byte = *take(rest, 1)?.first()?;
    let mut value = usize::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        byte = *take(rest, 1)?.first()?;
        value = value.checked_add(1)?.checked_mul(0x80)? + usize::from(byte & 0x7f);
    }
    Some(value)
}
