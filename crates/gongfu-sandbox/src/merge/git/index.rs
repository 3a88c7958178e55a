//! The index of git: the list of tracked files.

use std::collections::BTreeSet;

/// The length of an entry of an index before the object's name.
const STAMPS: usize = 40;
/// The place of the mode in it.
const MODE: std::ops::Range<usize> = 24..28;
/// The flag of an entry with two more bytes of flags.
const IS_EXTENDED: u16 = 0x4000;
/// The part of the flags that is the length of the name.
const NAME_LENGTH: u16 = 0x0fff;
/// The longest name, in bytes: no longer path can be opened.
const MAX_NAME: usize = 4096;
/// The most bytes of all names together: names that share their beginnings need far less room in an index.
const MAX_NAMES: usize = 64 * 1024 * 1024;

/// An entry of an index without what only speeds git up: times, inode, owner and length.
#[derive(Debug, PartialEq, Eq)]
struct Entry<'a> {
    mode: &'a [u8],
    object: &'a [u8],
    flags: &'a [u8],
    name: Vec<u8>,
}

/// Returns whether two indexes say the same about every file; their extensions, which git makes anew, may differ.
pub(in crate::merge) fn is_same_index(one: &[u8], other: &[u8]) -> bool {
    let both = |length| Some((entries(one, length)?, entries(other, length)?));
    // A repository's objects have names of 20 or of 32 bytes, and an index doesn't say which.
    let parsed = both(20).or_else(|| both(32));
    parsed.is_some_and(|(one, other)| one == other)
}

/// The names of the files in an index; `None` if not all of them can be known.
pub(super) fn names(index: &[u8]) -> Option<BTreeSet<Vec<u8>>> {
    let parsed = |length| Some((parse(index, length)?, length));
    let ((entries, rest), length) = parsed(20).or_else(|| parsed(32))?;
    // Parts that a reader must understand have a name in lower case: most files are in another index then, or stand
    // for folders.
    let mut rest = rest.get(..rest.len().checked_sub(length)?)?;
    while !rest.is_empty() {
        let is_needed = take(&mut rest, 4)?.first()?.is_ascii_lowercase();
        let length = number(take(&mut rest, 4)?)?;
        take(&mut rest, usize::try_from(length).ok()?)?;
        if is_needed {
            return None;
        }
    }
    Some(entries.into_iter().map(|entry| entry.name).collect())
}

/// The entries of an index whose objects have names of this length; `None` for what is no such index.
fn entries(index: &[u8], object_length: usize) -> Option<Vec<Entry<'_>>> {
    Some(parse(index, object_length)?.0)
}

/// The same with what follows the entries: extensions and the checksum.
fn parse(index: &[u8], object_length: usize) -> Option<(Vec<Entry<'_>>, &[u8])> {
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
    let mut names_left = MAX_NAMES;
    for _ in 0..count {
        let before = rest.len();
        let stamps = take(&mut rest, STAMPS)?;
        let object = take(&mut rest, object_length)?;
        let bits = u16::from_be_bytes([*rest.first()?, *rest.get(1)?]);
        let is_extended = bits & IS_EXTENDED != 0;
        let flags = take(&mut rest, if is_extended { 4 } else { 2 })?;
        let name = if version == 4 {
            let previous = entries.last().map_or(&[][..], |entry| &entry.name);
            let kept = previous.len().checked_sub(offset(&mut rest)?)?;
            [previous.get(..kept)?, until_zero(&mut rest)?].concat()
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
        if name.len() > MAX_NAME {
            return None;
        }
        names_left = names_left.checked_sub(name.len())?;
        entries.push(Entry {
            mode: stamps.get(MODE)?,
            object,
            flags,
            name,
        });
    }
    (rest.len() >= object_length).then_some((entries, rest))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// An index of version 4 whose entries, after the first, keep the whole name before them.
    fn repeated(name: usize, entries: u32) -> Vec<u8> {
        let mut index = b"DIRC\0\0\0\x04".to_vec();
        index.extend(entries.to_be_bytes());
        for entry in 0..entries {
            index.extend([0; STAMPS + 20 + 2 + 1]);
            if entry == 0 {
                index.extend(vec![b'n'; name]);
            }
            index.push(0);
        }
        index.extend([0; 20]);
        index
    }

    #[test]
    fn index_with_a_name_that_is_no_path_is_none() {
        assert!(names(&repeated(MAX_NAME, 3)).is_some());
        assert!(names(&repeated(MAX_NAME + 1, 3)).is_none());
        let index = repeated(1024 * 1024, 3);
        assert!(!is_same_index(&index, &index));
        // In earlier versions as well, in which each name is whole.
        let index = |name: usize| {
            let mut index = b"DIRC\0\0\0\x02\0\0\0\x01".to_vec();
            index.extend([0; STAMPS + 20]);
            index.extend(NAME_LENGTH.to_be_bytes());
            index.extend(vec![b'n'; name]);
            let length = index.len() - 12;
            index.extend(vec![0; (length + 1).next_multiple_of(8) - length + 20]);
            index
        };
        assert!(names(&index(MAX_NAME)).is_some());
        assert!(names(&index(MAX_NAME + 1)).is_none());
    }

    #[test]
    fn names_of_an_index_are_limited_together() {
        let most = u32::try_from(MAX_NAMES / MAX_NAME).unwrap();
        assert!(entries(&repeated(MAX_NAME, most), 20).is_some());
        assert!(entries(&repeated(MAX_NAME, most + 1), 20).is_none());
    }
}
