//! The index: what was read of a root, kept across starts.
//!
//! Derived from the skills folders alone: deleting it loses nothing, a damaged one is made anew.
//! Two files a root, each replaced as a whole, so that any number of processes can share a home: one
//! tells what skills say, the other what folders hold. Each is true by itself, whatever the other
//! says: the stamps in it tell of what.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use gongfu_core::library::FindingCount;
use gongfu_core::skill::path::PathError;
use gongfu_core::skill::{Digest, FileEntry, FileKind, SkillPath};
use serde::{Deserialize, Serialize};

use crate::disk::{Listing, Listings, Root, Stamp};
use crate::home::Home;

/// Raise it when the layout below changes; a new version of gongfu reads everything anew as well,
/// because its checks may differ.
const SCHEMA: &str = concat!("3/", env!("CARGO_PKG_VERSION"));
const FOLDER: &str = "index";
const LIMIT: u64 = 1024 * 1024 * 1024;
const DIGEST_BYTES: usize = 32;

/// What is kept of a skill.
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

/// The same as it lies in the file: what is read borrows from it, so that a name that many skills
/// have a file of is put into memory once.
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
    fn of(stored: &'a Stored) -> Self {
        let files = stored.files.iter().zip(&stored.stamps);
        let file = |(file, stamp): (&'a FileEntry, &Stamp)| KeptFile {
            path: file.path.as_str(),
            size: file.size,
            digest: file.digest.as_ref().map_or(&[], |digest| digest.as_bytes()),
            kind: file.kind,
            stamp: *stamp,
        };
        Self {
            below: stored.below.as_str(),
            name: &stored.name,
            description: &stored.description,
            frontmatter: &stored.frontmatter,
            findings: stored.findings,
            files: files.map(file).collect(),
            odd: stored.odd,
            settled: stored.settled,
        }
    }

    fn stored(self, names: &mut HashMap<&'a str, SkillPath>) -> Result<Stored, PathError> {
        let stamps = self.files.iter().map(|file| file.stamp).collect();
        let mut path = |path: &'a str| match names.get(path) {
            Some(known) => Ok(known.clone()),
            None => SkillPath::new(path).inspect(|new| drop(names.insert(path, new.clone()))),
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

#[derive(Serialize, Deserialize)]
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

/// Reads what was kept of the skills of a root; nothing when there is no index, an old one or a
/// damaged one.
pub fn load(home: &Home, root: &Path) -> Vec<Stored> {
    load_part(home, root, Part::Skills, |kept| {
        let kept: Vec<Kept<'_>> = postcard::from_bytes(kept).map_err(io::Error::other)?;
        let mut names = HashMap::new();
        let stored = kept.into_iter().map(|kept| kept.stored(&mut names));
        stored
            .collect::<Result<_, PathError>>()
            .map_err(io::Error::other)
    })
    .unwrap_or_default()
}

/// Keeps what was read of the skills of a root.
///
/// # Errors
/// The home can't be written; the library works all the same, only the next start is slower.
pub fn save(home: &Home, root: &Path, stored: &[Stored]) -> io::Result<()> {
    let kept: Vec<Kept<'_>> = stored.iter().map(Kept::of).collect();
    save_part(home, root, Part::Skills, &kept)
}

/// Reads what the folders of a root held; nothing as with [`load`].
pub fn load_folders(home: &Home, root: &Path) -> Listings {
    load_part(home, root, Part::Folders, |kept| {
        let kept: Vec<(&str, Listing)> = postcard::from_bytes(kept).map_err(io::Error::other)?;
        let folder = |(path, listing)| Ok((SkillPath::new(path)?, listing));
        let folders = kept.into_iter().map(folder);
        folders
            .collect::<Result<_, PathError>>()
            .map_err(io::Error::other)
    })
    .unwrap_or_default()
}

/// Keeps what the folders of a root hold.
///
/// # Errors
/// As [`save`].
pub fn save_folders(home: &Home, root: &Path, folders: &[(SkillPath, Listing)]) -> io::Result<()> {
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

fn load_part<T>(
    home: &Home,
    root: &Path,
    part: Part,
    decode: impl FnOnce(&[u8]) -> io::Result<T>,
) -> Option<T> {
    match try_load(home, root, part, decode) {
        Ok(loaded) => Some(loaded),
        Err(error) => {
            tracing::debug!(root = %root.display(), %error, "the index is made anew");
            None
        }
    }
}

fn try_load<T>(
    home: &Home,
    root: &Path,
    part: Part,
    decode: impl FnOnce(&[u8]) -> io::Result<T>,
) -> io::Result<T> {
    let folder = Root::open(&home.path().join(FOLDER))?;
    let name = SkillPath::new(&file_name(root, part)).map_err(io::Error::other)?;
    let content = folder.read(&name, LIMIT)?.bytes;
    let damaged = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let (kept, digest) = content
        .split_last_chunk::<DIGEST_BYTES>()
        .ok_or_else(|| damaged("too short"))?;
    if digest_bytes(kept) != *digest {
        return Err(damaged("the digest differs"));
    }
    let (header, rest) = postcard::take_from_bytes::<Header>(kept).map_err(io::Error::other)?;
    let wanted = Header::of(root, part);
    if header.schema != wanted.schema || header.root != wanted.root || header.part != wanted.part {
        return Err(damaged("of another version"));
    }
    decode(rest)
}

fn save_part<T: Serialize + ?Sized>(
    home: &Home,
    root: &Path,
    part: Part,
    content: &T,
) -> io::Result<()> {
    let kept = postcard::to_stdvec(&Header::of(root, part)).map_err(io::Error::other)?;
    let mut kept = postcard::to_extend(content, kept).map_err(io::Error::other)?;
    let digest = digest_bytes(&kept);
    kept.extend_from_slice(&digest);
    home.folder(FOLDER)?
        .replace(&file_name(root, part), &kept, false)
}

fn digest_bytes(bytes: &[u8]) -> [u8; DIGEST_BYTES] {
    Digest::of(bytes).to_bytes()
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

    use super::{Stored, load, save};
    use crate::home::Home;

    fn stored() -> Stored {
        Stored {
            below: gongfu_core::skill::SkillPath::new("a/b").unwrap(),
            name: "b".to_owned(),
            description: "d".to_owned(),
            frontmatter: "{}".into(),
            findings: gongfu_core::library::FindingCount::default(),
            files: std::sync::Arc::from([]),
            stamps: Box::default(),
            odd: 0,
            settled: true,
        }
    }

    #[test]
    fn a_damaged_index_is_no_index() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path());
        let root = Path::new("/r");
        assert!(load(&home, root).is_empty());
        save(&home, root, &[stored(), stored()]).unwrap();
        assert_eq!(load(&home, root).len(), 2);
        assert!(load(&home, Path::new("/other")).is_empty());
        let file = std::fs::read_dir(folder.path().join("index"))
            .unwrap()
            .next()
            .unwrap()
            .unwrap()
            .path();
        let good = std::fs::read(&file).unwrap();
        for at in [0, good.len() / 2, good.len() - 1] {
            let mut bad = good.clone();
            bad[at] ^= 1;
            std::fs::write(&file, &bad).unwrap();
            assert!(load(&home, root).is_empty(), "byte {at}");
        }
        for length in [0, 10, good.len() - 1] {
            std::fs::write(&file, &good[..length]).unwrap();
            assert!(load(&home, root).is_empty(), "cut at {length}");
        }
    }
}
