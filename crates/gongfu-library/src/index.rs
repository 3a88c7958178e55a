//! The index: skills and folders as they were last read, for a fast start.
//!
//! Derived from the skills folders alone: deleting it loses nothing, and a damaged one is made again.
//! Two files a root, each replaced as a whole, so that any number of processes can share a home: one
//! holds skills, the other listings of folders. Each is valid by itself: it carries the stamps that
//! it was built from.

mod records;

use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::sync::Arc;

use gongfu_core::library::{FindingCount, Skill};
use gongfu_core::skill::path::PathError;
use gongfu_core::skill::{Digest, FileEntry, FileKind, SkillPath};
use gongfu_files::Home;
use gongfu_files::disk::{Listing, Root, Stamp};
use serde::{Deserialize, Serialize};

use records::{Reader, Writer, damaged};

/// Raise it when the layout below changes; a new version of gongfu reads everything again as well,
/// because its checks may differ.
const SCHEMA: &str = concat!("5/", env!("CARGO_PKG_VERSION"));
const FOLDER: &str = "index";

/// A skill in the index.
#[derive(Serialize, Deserialize)]
pub(crate) struct Row<'a> {
    /// Its folder below the root.
    pub(crate) folder: &'a str,
    pub(crate) name: &'a str,
    pub(crate) description: &'a str,
    /// Its frontmatter as JSON text.
    pub(crate) frontmatter: &'a str,
    pub(crate) findings: FindingCount,
    #[serde(borrow)]
    files: Vec<FileRow<'a>>,
    /// The number of entries that can't be served.
    pub(crate) odd: usize,
    /// True if it was read long enough after its last change to trust the stamps.
    pub(crate) settled: bool,
}

#[derive(Serialize, Deserialize)]
struct FileRow<'a> {
    path: &'a str,
    size: u64,
    /// Empty for a file without a digest.
    digest: &'a [u8],
    kind: FileKind,
    stamp: Stamp,
}

impl<'a> Row<'a> {
    /// The row of a skill; the stamps are those of its files, in the same order.
    pub(crate) fn new(skill: &'a Skill, stamps: &[Stamp], odd: usize, settled: bool) -> Self {
        let files = skill.files.iter().zip(stamps);
        let file = |(file, stamp): (&'a FileEntry, &Stamp)| FileRow {
            path: file.path.as_str(),
            size: file.size,
            digest: file.digest.as_ref().map_or(&[], |digest| digest.as_bytes()),
            kind: file.kind,
            stamp: *stamp,
        };
        Self {
            folder: skill.folder.as_str(),
            name: skill.name.as_str(),
            description: &skill.description,
            frontmatter: &skill.frontmatter,
            findings: skill.findings,
            files: files.map(file).collect(),
            odd,
            settled,
        }
    }

    /// The stamps of its files.
    pub(crate) fn stamps(&self) -> Box<[Stamp]> {
        self.files.iter().map(|file| file.stamp).collect()
    }

    /// Its files. A path that several skills have is in memory once: `paths` remembers it.
    fn files(&self, paths: &mut HashSet<SkillPath>) -> Result<Arc<[FileEntry]>, PathError> {
        let mut path = |path: &'a str| {
            if let Some(known) = paths.get(path) {
                return Ok(known.clone());
            }
            let new = SkillPath::new(path)?;
            paths.insert(new.clone());
            Ok(new)
        };
        let files = self.files.iter().map(|file| {
            Ok(FileEntry {
                path: path(file.path)?,
                size: file.size,
                digest: file.digest.try_into().ok().map(Digest::from_bytes),
                kind: file.kind,
            })
        });
        files.collect()
    }
}

#[derive(PartialEq, Serialize, Deserialize)]
struct Header {
    schema: String,
    root: String,
    part: String,
}

impl Header {
    fn of(root: &Path, part: Part) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            root: root.to_string_lossy().into_owned(),
            part: part.ending().to_owned(),
        }
    }
}

/// The size of the index of a root's skills, in bytes; 0 without an index.
pub(crate) fn size(home: &Home, root: &Path) -> u64 {
    let found = Root::open(&home.path().join(FOLDER)).and_then(|folder| {
        let name = SkillPath::new(&file_name(root, Part::Skills)).map_err(io::Error::other)?;
        folder.stat(&name)
    });
    found.map_or(0, |(_, stamp)| stamp.size)
}

/// Reads the skills of a root, each turned into a value by `revive`; nothing when the index is
/// missing, old or damaged.
pub(crate) fn load<T, C: FromIterator<T> + Default>(
    home: &Home,
    root: &Path,
    revive: impl Fn(&Row<'_>, Arc<[FileEntry]>) -> Result<T, PathError>,
) -> C {
    let mut paths = HashSet::new();
    load_part(home, root, Part::Skills, |record| {
        let row: Row<'_> = postcard::from_bytes(record).map_err(io::Error::other)?;
        let revived = row.files(&mut paths).and_then(|files| revive(&row, files));
        revived.map_err(io::Error::other)
    })
}

/// Writes the skills of a root.
///
/// # Errors
/// The home can't be written; the library works all the same, only the next start is slower.
pub(crate) fn save<'a>(
    home: &Home,
    root: &Path,
    skills: impl Iterator<Item = Row<'a>>,
) -> io::Result<()> {
    save_part(home, root, Part::Skills, skills)
}

/// Reads the listings of a root's folders; nothing as with [`load`].
pub(crate) fn load_listings<C>(home: &Home, root: &Path) -> C
where
    C: FromIterator<(SkillPath, Listing)> + Default,
{
    load_part(home, root, Part::Listings, |record| {
        let (path, listing) = postcard::from_bytes(record).map_err(io::Error::other)?;
        Ok((SkillPath::new(path).map_err(io::Error::other)?, listing))
    })
}

/// Writes the listings of a root's folders.
///
/// # Errors
/// As [`save`].
pub(crate) fn save_listings<'a>(
    home: &Home,
    root: &Path,
    listings: impl Iterator<Item = (&'a SkillPath, Listing)>,
) -> io::Result<()> {
    let listings = listings.map(|(path, listing)| (path.as_str(), listing));
    save_part(home, root, Part::Listings, listings)
}

/// The two files of a root.
#[derive(Clone, Copy)]
enum Part {
    Skills,
    Listings,
}

impl Part {
    fn ending(self) -> &'static str {
        match self {
            Self::Skills => "index",
            Self::Listings => "folders",
        }
    }
}

fn load_part<T, C: FromIterator<T> + Default>(
    home: &Home,
    root: &Path,
    part: Part,
    decode: impl FnMut(&[u8]) -> io::Result<T>,
) -> C {
    match try_load(home, root, part, decode) {
        Ok(loaded) => loaded,
        Err(error) => {
            tracing::debug!(root = %root.display(), %error, "rebuilding the index");
            C::default()
        }
    }
}

fn try_load<T, C: FromIterator<T>>(
    home: &Home,
    root: &Path,
    part: Part,
    mut decode: impl FnMut(&[u8]) -> io::Result<T>,
) -> io::Result<C> {
    let folder = Root::open(&home.path().join(FOLDER))?;
    let name = SkillPath::new(&file_name(root, part)).map_err(io::Error::other)?;
    let (file, length) = folder.open_file(&name)?;
    let mut records = Reader::new(file, length)?;
    let header = records.next()?.ok_or_else(|| damaged("it is empty"))?;
    if Header::of(root, part) != postcard::from_bytes(header).map_err(io::Error::other)? {
        return Err(damaged("of another version"));
    }
    // Everything read so far is dropped when a record or the digest is wrong.
    std::iter::from_fn(|| Some(records.next().transpose()?.and_then(&mut decode))).collect()
}

fn save_part<T: Serialize>(
    home: &Home,
    root: &Path,
    part: Part,
    records: impl Iterator<Item = T>,
) -> io::Result<()> {
    let folder = home.folder(FOLDER)?;
    folder.replace_by(&file_name(root, part), false, |file| {
        let mut writer = Writer::new(file);
        writer.put(&Header::of(root, part))?;
        for record in records {
            writer.put(&record)?;
        }
        writer.end()
    })
}

fn file_name(root: &Path, part: Part) -> String {
    let digest = Digest::of(root.as_os_str().as_encoded_bytes());
    format!("{}.{}", digest.hex(32), part.ending())
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "tests make the folders that they look at"
)]
mod tests {
    use std::path::Path;

    use gongfu_core::library::{FindingCount, Skill};
    use gongfu_core::skill::{FileEntry, FileKind, SkillName, SkillPath};

    use gongfu_files::Home;
    use gongfu_files::disk::Stamp;

    use super::{Row, load, save};

    fn skill(name: &str) -> Skill {
        Skill {
            name: SkillName::new(name).unwrap(),
            full_name: name.into(),
            description: "d".to_owned(),
            frontmatter: "{}".into(),
            source: "s".into(),
            folder: SkillPath::new(name).unwrap(),
            path: name.to_owned(),
            files: [FileEntry {
                path: SkillPath::new("SKILL.md").unwrap(),
                size: 1,
                digest: None,
                kind: FileKind::Text,
            }]
            .into(),
            unlisted: [].into(),
            findings: FindingCount::default(),
            enabled: true,
        }
    }

    const STAMPS: [Stamp; 1] = [Stamp {
        size: 1,
        modified: 2,
        changed: 3,
        inode: 4,
    }];

    fn save_all(home: &Home, root: &Path, skills: &[Skill]) {
        let rows = skills.iter().map(|skill| Row::new(skill, &STAMPS, 0, true));
        save(home, root, rows).unwrap();
    }

    fn names(home: &Home, root: &Path) -> Vec<String> {
        let all: Vec<_> = load(home, root, |row, files| {
            Ok((row.name.to_owned(), files.len(), row.stamps()))
        });
        let name = |(name, files, stamps): (String, usize, Box<[Stamp]>)| {
            assert_eq!((files, &*stamps), (1, &STAMPS[..]));
            name
        };
        all.into_iter().map(name).collect()
    }

    #[test]
    fn damaged_index_counts_as_missing() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path());
        let root = Path::new("/r");
        assert!(names(&home, root).is_empty());
        save_all(&home, root, &[skill("a"), skill("b")]);
        assert_eq!(names(&home, root), ["a", "b"]);
        assert!(names(&home, Path::new("/other")).is_empty());
        let file = std::fs::read_dir(folder.path().join("index"))
            .unwrap()
            .next()
            .unwrap()
            .unwrap()
            .path();
        let good = std::fs::read(&file).unwrap();
        for at in 0..good.len() {
            for bit in [1, 0x80] {
                let mut bad = good.clone();
                bad[at] ^= bit;
                std::fs::write(&file, &bad).unwrap();
                assert!(names(&home, root).is_empty(), "byte {at}");
            }
        }
        for length in 0..good.len() {
            std::fs::write(&file, &good[..length]).unwrap();
            assert!(names(&home, root).is_empty(), "cut at {length}");
        }
        std::fs::write(&file, [&good[..], b"x"].concat()).unwrap();
        assert!(names(&home, root).is_empty(), "trailing data");
        std::fs::write(&file, good).unwrap();
        assert_eq!(names(&home, root), ["a", "b"]);
    }
}
