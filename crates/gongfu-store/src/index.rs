//! The index: what was read of a root, kept across starts.
//!
//! Derived from the skills folders alone: deleting it loses nothing, a damaged one is made anew.
//! Two files a root, each replaced as a whole, so that any number of processes can share a home: one
//! tells what skills say, the other what folders hold. Each is true by itself, whatever the other
//! says: the stamps in it tell of what.

use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::sync::Arc;

use gongfu_core::library::{FindingCount, Skill};
use gongfu_core::skill::path::PathError;
use gongfu_core::skill::{Digest, FileEntry, FileKind, SkillPath};
use serde::{Deserialize, Serialize};

use crate::disk::{Listing, Root, Stamp};
use crate::home::Home;

mod records;

use records::{Reader, Writer, damaged};

/// Raise it when the layout below changes; a new version of gongfu reads everything anew as well,
/// because its checks may differ.
const SCHEMA: &str = concat!("4/", env!("CARGO_PKG_VERSION"));
const FOLDER: &str = "index";

/// What is kept of a skill.
#[derive(Clone, Copy)]
pub struct Keeping<'a> {
    /// Its folder below the root.
    pub below: &'a SkillPath,
    /// What was read of it.
    pub skill: &'a Skill,
    /// The stamps of its files, in the same order.
    pub stamps: &'a [Stamp],
    /// How many things in it can't be served.
    pub odd: usize,
    /// Whether it was read long enough after its last change to trust the stamps.
    pub settled: bool,
}

/// What was kept of a skill.
#[derive(Debug)]
pub struct Stored {
    /// Its folder below the root.
    pub below: SkillPath,
    /// What it goes by.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Its frontmatter as JSON text.
    pub frontmatter: Box<str>,
    /// Its findings.
    pub findings: FindingCount,
    /// Its files.
    pub files: Arc<[FileEntry]>,
    /// The stamps of its files, in the same order.
    pub stamps: Box<[Stamp]>,
    /// How many things in it can't be served.
    pub odd: usize,
    /// Whether it was read long enough after its last change to trust the stamps.
    pub settled: bool,
}

/// The same as it lies in the file.
#[derive(Serialize, Deserialize)]
struct Kept<'a> {
    below: &'a str,
    name: &'a str,
    description: &'a str,
    frontmatter: &'a str,
    findings: FindingCount,
    #[serde(borrow)]
    files: Vec<KeptFile<'a>>,
    odd: usize,
    settled: bool,
}

#[derive(Serialize, Deserialize)]
struct KeptFile<'a> {
    path: &'a str,
    size: u64,
    /// Empty when there is none.
    digest: &'a [u8],
    kind: FileKind,
    stamp: Stamp,
}

impl<'a> Kept<'a> {
    fn of(keeping: Keeping<'a>) -> Self {
        let skill = keeping.skill;
        let files = skill.files.iter().zip(keeping.stamps);
        let file = |(file, stamp): (&'a FileEntry, &Stamp)| KeptFile {
            path: file.path.as_str(),
            size: file.size,
            digest: file.digest.as_ref().map_or(&[], |digest| digest.as_bytes()),
            kind: file.kind,
            stamp: *stamp,
        };
        Self {
            below: keeping.below.as_str(),
            name: skill.name.as_str(),
            description: &skill.description,
            frontmatter: &skill.frontmatter,
            findings: skill.findings,
            files: files.map(file).collect(),
            odd: keeping.odd,
            settled: keeping.settled,
        }
    }

    /// A name that many skills have a file of is put into memory once: `names` remembers it.
    fn stored(self, names: &mut HashSet<SkillPath>) -> Result<Stored, PathError> {
        let stamps = self.files.iter().map(|file| file.stamp).collect();
        let mut path = |path: &'a str| {
            if let Some(known) = names.get(path) {
                return Ok(known.clone());
            }
            let new = SkillPath::new(path)?;
            names.insert(new.clone());
            Ok(new)
        };
        let files: Arc<[FileEntry]> = self
            .files
            .iter()
            .map(|file| {
                Ok(FileEntry {
                    path: path(file.path)?,
                    size: file.size,
                    digest: file.digest.try_into().ok().map(Digest::from_bytes),
                    kind: file.kind,
                })
            })
            .collect::<Result<_, PathError>>()?;
        Ok(Stored {
            below: SkillPath::new(self.below)?,
            name: self.name.to_owned(),
            description: self.description.to_owned(),
            frontmatter: self.frontmatter.into(),
            findings: self.findings,
            files,
            stamps,
            odd: self.odd,
            settled: self.settled,
        })
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

/// How much was kept of the skills of a root, in bytes; nothing as with [`load`].
pub fn size(home: &Home, root: &Path) -> u64 {
    let kept = Root::open(&home.path().join(FOLDER)).and_then(|folder| {
        let name = SkillPath::new(&file_name(root, Part::Skills)).map_err(io::Error::other)?;
        folder.stat(&name)
    });
    kept.map_or(0, |(_, stamp)| stamp.size)
}

/// Reads what was kept of the skills of a root, and makes of each what `revive` does; nothing when
/// there is no index, an old one or a damaged one.
pub fn load<T, C: FromIterator<T> + Default>(
    home: &Home,
    root: &Path,
    revive: impl Fn(Stored) -> T,
) -> C {
    let mut names = HashSet::new();
    load_part(home, root, Part::Skills, |record| {
        let kept: Kept<'_> = postcard::from_bytes(record).map_err(io::Error::other)?;
        let stored = kept.stored(&mut names).map_err(io::Error::other)?;
        Ok(revive(stored))
    })
}

/// Keeps what was read of the skills of a root.
///
/// # Errors
/// The home can't be written; the library works all the same, only the next start is slower.
pub fn save<'a>(
    home: &Home,
    root: &Path,
    skills: impl Iterator<Item = Keeping<'a>>,
) -> io::Result<()> {
    save_part(home, root, Part::Skills, skills.map(Kept::of))
}

/// Reads what the folders of a root held; nothing as with [`load`].
pub fn load_folders<C>(home: &Home, root: &Path) -> C
where
    C: FromIterator<(SkillPath, Listing)> + Default,
{
    load_part(home, root, Part::Folders, |record| {
        let (path, listing) = postcard::from_bytes(record).map_err(io::Error::other)?;
        Ok((SkillPath::new(path).map_err(io::Error::other)?, listing))
    })
}

/// Keeps what the folders of a root hold.
///
/// # Errors
/// As [`save`].
pub fn save_folders<'a>(
    home: &Home,
    root: &Path,
    folders: impl Iterator<Item = (&'a SkillPath, Listing)>,
) -> io::Result<()> {
    let folders = folders.map(|(path, listing)| (path.as_str(), listing));
    save_part(home, root, Part::Folders, folders)
}

/// The two files of a root.
#[derive(Clone, Copy)]
enum Part {
    Skills,
    Folders,
}

impl Part {
    fn ending(self) -> &'static str {
        match self {
            Self::Skills => "index",
            Self::Folders => "folders",
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
            tracing::debug!(root = %root.display(), %error, "the index is made anew");
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
    // Nothing is left of what was made of the records when one of them, or the digest, is wrong.
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
    let digest = Digest::of(root.as_os_str().as_encoded_bytes()).to_string();
    let short: String = digest.chars().skip("sha256:".len()).take(32).collect();
    format!("{short}.{}", part.ending())
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

    use super::{Keeping, Stored, load, save};
    use crate::disk::Stamp;
    use crate::home::Home;

    fn skill(name: &str) -> Skill {
        Skill {
            name: SkillName::new(name).unwrap(),
            full_name: name.into(),
            description: "d".to_owned(),
            frontmatter: "{}".into(),
            source: "s".into(),
            path: name.to_owned(),
            files: [FileEntry {
                path: SkillPath::new("SKILL.md").unwrap(),
                size: 1,
                digest: None,
                kind: FileKind::Text,
            }]
            .into(),
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

    fn keep(home: &Home, root: &Path, skills: &[Skill]) {
        let paths = skills.iter().map(|skill| SkillPath::new(&skill.path));
        let paths: Vec<SkillPath> = paths.map(Result::unwrap).collect();
        let keeping = skills.iter().zip(&paths).map(|(skill, below)| Keeping {
            below,
            skill,
            stamps: &STAMPS,
            odd: 0,
            settled: true,
        });
        save(home, root, keeping).unwrap();
    }

    fn names(home: &Home, root: &Path) -> Vec<String> {
        let all: Vec<Stored> = load(home, root, |stored| stored);
        let name = |stored: Stored| {
            assert_eq!((stored.files.len(), &*stored.stamps), (1, &STAMPS[..]));
            stored.name
        };
        all.into_iter().map(name).collect()
    }

    #[test]
    fn a_damaged_index_is_no_index() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path());
        let root = Path::new("/r");
        assert!(names(&home, root).is_empty());
        keep(&home, root, &[skill("a"), skill("b")]);
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
        assert!(names(&home, root).is_empty(), "something behind it");
        std::fs::write(&file, good).unwrap();
        assert_eq!(names(&home, root), ["a", "b"]);
    }
}
