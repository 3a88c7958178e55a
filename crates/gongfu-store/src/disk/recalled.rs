//! Folders that were listed before: one whose own stamp is as it was holds the same names still.
//!
//! A system changes the times of a folder whenever an entry comes, goes or is renamed, so its names
//! need not be listed again. What the files hold shows in their own stamps, which are always asked
//! for. Only on Linux, and only on file systems that are known to keep the times of folders.

use std::collections::HashMap;

use gongfu_core::skill::SkillPath;
use serde::{Deserialize, Serialize};

use super::{Entry, EntryKind, Root};

/// What tells a folder whose entries changed from one whose didn't.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FolderStamp {
    /// Last change of the entries, in nanoseconds since 1970.
    modified: i64,
    /// Last change of entries or attributes, in nanoseconds since 1970.
    pub changed: i64,
    /// The folder's number on its file system.
    inode: u64,
    /// The file system. The next start of the machine may give it another number, which only means
    /// that everything is listed once more.
    device: u64,
}

/// A folder as it was listed once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listing {
    /// Its stamp from then.
    pub stamp: FolderStamp,
    /// The entries in order, each a letter for its kind, its name, and a `/`, which no name holds.
    entries: Box<str>,
}

/// What was listed of a root, by folder.
#[derive(Debug, Default)]
pub struct Listings(HashMap<SkillPath, Listing>);

impl Listings {
    /// What a folder held.
    pub fn get(&self, folder: &SkillPath) -> Option<&Listing> {
        self.0.get(folder)
    }

    /// How many folders these are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether nothing is known.
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
const KINDS: [(char, EntryKind); 8] = [
    ('f', EntryKind::File),
    ('d', EntryKind::Folder),
    ('l', EntryKind::Link),
    ('u', EntryKind::Unnameable),
    ('p', EntryKind::Special("a named pipe")),
    ('s', EntryKind::Special("a socket")),
    ('v', EntryKind::Special("a device")),
    ('x', EntryKind::Special("a special file")),
];

impl Listing {
    /// Keeps what was found in a folder; nothing when it can't be written down.
    pub fn of(stamp: FolderStamp, entries: &[Entry]) -> Option<Self> {
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

    /// The kinds and names; `None` stands for what can't be read.
    fn entries(&self) -> impl Iterator<Item = Option<(EntryKind, &str)>> {
        self.entries.split_terminator('/').map(|entry| {
            let mut rest = entry.chars();
            let letter = rest.next()?;
            let (_, kind) = KINDS.iter().find(|(own, _)| *own == letter)?;
            Some((*kind, rest.as_str()))
        })
    }
}

#[cfg(target_os = "linux")]
impl FolderStamp {
    #[allow(
        clippy::unnecessary_cast,
        reason = "the type of the field differs between architectures, and none loses anything"
    )]
    pub(super) fn of(stat: &rustix::fs::Stat) -> Self {
        let own = super::listing::stamp_of(stat);
        Self {
            modified: own.modified,
            changed: own.changed,
            inode: own.inode,
            device: stat.st_dev as u64,
        }
    }
}

/// File systems of this machine that change the times of a folder with every change of its entries,
/// by the numbers that the kernel gives them. Not FAT: the times of its root never change.
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
    /// The stamp of this folder, where those of folders tell what happened in them.
    ///
    /// Another file system may be mounted somewhere below: a stamp of another device is not
    /// trusted.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the type of the field differs between architectures; the numbers have 32 bits"
    )]
    pub fn trusted(&self) -> Option<FolderStamp> {
        let system = rustix::fs::fstatfs(self.dir()).ok()?;
        if !TRUSTED.contains(&(system.f_type as u32)) {
            return None;
        }
        let stat = rustix::fs::fstat(self.dir()).ok()?;
        Some(FolderStamp::of(&stat))
    }

    /// What lies in a folder below, sorted by name, when it holds the same names as it did once.
    ///
    /// Asks by whole paths and opens nothing. Where a link is swapped in above, a stamp may be
    /// that of another file: it is only ever compared, and what differs from what is known is
    /// opened beneath this folder.
    pub fn recall(&self, path: &SkillPath, known: &Listing) -> Option<Vec<Entry>> {
        use rustix::fs::{AtFlags, FileType, fstat, statat};

        let own = if path.is_root() {
            fstat(self.dir()).ok()?
        } else {
            statat(self.dir(), path.as_str(), AtFlags::SYMLINK_NOFOLLOW).ok()?
        };
        let is_folder = FileType::from_raw_mode(own.st_mode) == FileType::Directory;
        if !is_folder || FolderStamp::of(&own) != known.stamp {
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
            let mut stamp = super::Stamp::default();
            if kind == EntryKind::File {
                place.truncate(above);
                place.push_str(name);
                // Whatever is another thing by now is listed as any new folder is.
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
    /// The stamp of this folder, where those of folders tell what happened in them: not known here.
    pub fn trusted(&self) -> Option<FolderStamp> {
        None
    }

    /// What lies in a folder below, when it holds the same names as it did once: not told here.
    pub fn recall(&self, _path: &SkillPath, _known: &Listing) -> Option<Vec<Entry>> {
        None
    }
}

impl FolderStamp {
    /// Whether both are of one file system.
    pub fn is_beside(&self, other: &Self) -> bool {
        self.device == other.device
    }
}

#[cfg(test)]
mod tests {
    use super::super::Stamp;
    use super::{Entry, FolderStamp, KINDS, Listing};

    #[test]
    fn every_kind_comes_back_with_any_name() {
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
        let listing = Listing::of(stamp, &entries).unwrap();
        let back: Vec<_> = listing.entries().map(Option::unwrap).collect();
        let wanted: Vec<_> = entries
            .iter()
            .map(|entry| (entry.kind, entry.name.as_str()))
            .collect();
        assert_eq!(back, wanted);
        assert_eq!(Listing::of(stamp, &[]).unwrap().entries().count(), 0);
        let odd = Listing {
            stamp,
            entries: "?x/".into(),
        };
        assert!(odd.entries().any(|entry| entry.is_none()));
    }
}
