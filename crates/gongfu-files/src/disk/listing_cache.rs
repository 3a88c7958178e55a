//! A cache of folder listings: while the stamp of a folder is the same, its names are.
//!
//! The system changes the times of a folder whenever an entry comes, goes or is renamed. A change in a
//! file shows in the file's own stamp, which is always read. Only on Linux, and only on file systems
//! that are known to keep the times of folders.

use std::collections::HashMap;

use gongfu_core::skill::SkillPath;
use serde::{Deserialize, Serialize};

use super::entry::{Entry, EntryKind, FolderStamp};
use super::root::Root;

/// The listing of a folder, with the stamp that it is valid for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listing {
    /// The folder's stamp when it was listed.
    pub stamp: FolderStamp,
    /// The entries in order, each a letter for its kind, its name, and a `/`, which no name holds.
    entries: Box<str>,
}

/// The listings of a root, by folder.
#[derive(Debug, Default)]
pub struct Listings(HashMap<SkillPath, Listing>);

impl Listings {
    /// The listing of a folder.
    pub fn get(&self, folder: &SkillPath) -> Option<&Listing> {
        self.0.get(folder)
    }

    /// The number of folders.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether it has no listing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(SkillPath, Listing)> for Listings {
    fn from_iter<I: IntoIterator<Item = (SkillPath, Listing)>>(listings: I) -> Self {
        Self(listings.into_iter().collect())
    }
}

/// The letters of the kinds.
const KINDS: [(char, EntryKind); 7] = [
    ('f', EntryKind::File),
    ('d', EntryKind::Folder),
    ('l', EntryKind::Link),
    ('u', EntryKind::Unnameable),
    ('p', EntryKind::Special("a named pipe")),
    ('s', EntryKind::Special("a socket")),
    ('v', EntryKind::Special("a device")),
];

impl Listing {
    /// The listing of these entries; `None` for names that it can't hold.
    pub fn new(stamp: FolderStamp, entries: &[Entry]) -> Option<Self> {
        let mut all = String::new();
        for entry in entries {
            let (letter, _) = KINDS.iter().find(|(_, kind)| *kind == entry.kind)?;
            if entry.name.contains('/') {
                return None;
            }
            all.push(*letter);
            all.push_str(&entry.name);
            all.push('/');
        }
        Some(Self {
            stamp,
            entries: all.into(),
        })
    }

    /// The kinds and names; `None` for an entry that is damaged.
    fn entries(&self) -> impl Iterator<Item = Option<(EntryKind, &str)>> {
        self.entries.split_terminator('/').map(|entry| {
            let mut rest = entry.chars();
            let letter = rest.next()?;
            let (_, kind) = KINDS.iter().find(|(own, _)| *own == letter)?;
            Some((*kind, rest.as_str()))
        })
    }
}

/// File systems that change the times of a folder with every change of its entries, by their magic
/// numbers. Not FAT: the times of its root never change.
#[cfg(target_os = "linux")]
const TRUSTED: [u32; 8] = [
    0xEF53,      // ext2, ext3, ext4
    0x5846_5342, // XFS
    0x9123_683E, // Btrfs
    0x0102_1994, // tmpfs
    0x794C_7630, // overlayfs
    0xF2F5_2010, // F2FS
    0x2FC1_2FC1, // ZFS
    0xCA45_1A4E, // bcachefs
];

#[cfg(target_os = "linux")]
impl Root {
    /// The stamp of this folder, if the file system keeps the times of folders.
    ///
    /// Another file system may be mounted somewhere below: a stamp of another device is not
    /// trusted.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the type of the field differs between architectures; the numbers have 32 bits"
    )]
    pub fn trusted_stamp(&self) -> Option<FolderStamp> {
        let system = rustix::fs::fstatfs(self.dir()).ok()?;
        if !TRUSTED.contains(&(system.f_type as u32)) {
            return None;
        }
        let stat = rustix::fs::fstat(self.dir()).ok()?;
        Some(super::listing::folder_stamp(&stat))
    }

    /// Lists a folder below, by name, if a listing of it is still valid.
    ///
    /// Stats whole paths and opens nothing. Where a link is swapped in above, a stamp may be that of
    /// another file: it is only ever compared, and a file that differs is opened beneath this folder.
    pub fn list_cached(&self, path: &SkillPath, known: &Listing) -> Option<Vec<Entry>> {
        use rustix::fs::{AtFlags, FileType, fstat, statat};

        let own = if path.is_root() {
            fstat(self.dir()).ok()?
        } else {
            statat(self.dir(), path.as_str(), AtFlags::SYMLINK_NOFOLLOW).ok()?
        };
        let is_folder = FileType::from_raw_mode(own.st_mode) == FileType::Directory;
        if !is_folder || super::listing::folder_stamp(&own) != known.stamp {
            return None;
        }
        let mut place = String::with_capacity(path.as_str().len() + 64);
        if !path.is_root() {
            place.push_str(path.as_str());
            place.push('/');
        }
        let above = place.len();
        let mut entries = Vec::with_capacity(known.entries.matches('/').count());
        for entry in known.entries() {
            let (kind, name) = entry?;
            let mut stamp = super::entry::Stamp::default();
            if kind == EntryKind::File {
                place.truncate(above);
                place.push_str(name);
                let stat = statat(self.dir(), &*place, AtFlags::SYMLINK_NOFOLLOW).ok()?;
                if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
                    return None;
                }
                stamp = super::listing::stamp_of(&stat);
            }
            let name = name.to_owned();
            entries.push(Entry { name, kind, stamp });
        }
        Some(entries)
    }
}

#[cfg(not(target_os = "linux"))]
impl Root {
    /// The stamp of this folder: this system's are not trusted.
    pub fn trusted_stamp(&self) -> Option<FolderStamp> {
        None
    }

    /// Lists a folder below, if a listing of it is still valid: never, on this system.
    pub fn list_cached(&self, _path: &SkillPath, _known: &Listing) -> Option<Vec<Entry>> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::entry::Stamp;
    use super::{Entry, FolderStamp, KINDS, Listing};

    #[test]
    fn every_kind_is_read_back_with_any_name() {
        let stamp = FolderStamp {
            modified: 1,
            changed: 2,
            inode: 3,
            device: 4,
        };
        let names = ["a", "f", "", "é.md", "x y", "\u{fffd}", "..."];
        let entries: Vec<Entry> = KINDS
            .iter()
            .flat_map(|(_, kind)| {
                names.map(|name| Entry {
                    name: name.to_owned(),
                    kind: *kind,
                    stamp: Stamp::default(),
                })
            })
            .collect();
        let listing = Listing::new(stamp, &entries).unwrap();
        let back: Vec<_> = listing.entries().map(Option::unwrap).collect();
        let wanted: Vec<_> = entries
            .iter()
            .map(|entry| (entry.kind, entry.name.as_str()))
            .collect();
        assert_eq!(back, wanted);
        assert_eq!(Listing::new(stamp, &[]).unwrap().entries().count(), 0);
        let odd = Listing {
            stamp,
            entries: "?x/".into(),
        };
        assert!(odd.entries().any(|entry| entry.is_none()));
    }
}
