//! The folder of the race: things that are exchanged for links, and the files outside.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// The start of every file outside.
pub(super) const CANARY: &[u8] = b"canary outside";
/// The paths that are read; one that ends with `/` is a folder, of which the names are read.
pub(super) const READ: [&str; 7] = [
    "dir/",
    "dir/file",
    "file",
    "a/deep/file",
    "away/file",
    "link",
    "a/gone/file",
];
/// The paths that are written; `{}` is one of 50 numbers.
pub(super) const WRITTEN: [&str; 7] = [
    "dir/file",
    "dir/new-{}",
    "dir/made/below/new-{}",
    "file",
    "link",
    "a/deep/new-{}",
    "away/new-{}",
];

/// The place.
pub(super) struct Fixture {
    folder: TempDir,
    pairs: Vec<(PathBuf, PathBuf)>,
}

impl Fixture {
    /// Makes the place: twice the same, as a workspace and as a skill.
    pub(super) fn new() -> io::Result<Self> {
        let folder = TempDir::new()?;
        let base = folder.path().canonicalize()?;
        let outside = base.join("outside");
        let mut pairs = Vec::new();
        for inside in [base.join("work"), base.join("skills/alpha")] {
            for place in [&inside, &outside] {
                for name in ["dir", "a/deep"] {
                    std::fs::create_dir_all(place.join(name))?;
                }
            }
            for name in ["file", "dir/file", "a/deep/file"] {
                std::fs::write(inside.join(name), "inside")?;
                std::fs::write(outside.join(name), CANARY)?;
            }
            // Sorted, this name comes first: who lists the folder outside reads the canary.
            std::fs::write(outside.join("dir/canary outside"), CANARY)?;
            let links = [("dir", "away"), ("file", "link"), ("a/deep", "a/gone")];
            for (name, link) in links {
                link_to(&outside.join(name), &inside.join(link))?;
                pairs.push((inside.join(name), inside.join(link)));
            }
        }
        let document = "---\nname: alpha\ndescription: For a race.\n---\n\nRun.\n";
        std::fs::write(base.join("skills/alpha/SKILL.md"), document)?;
        Ok(Self { folder, pairs })
    }

    /// The workspace.
    pub(super) fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// The folder of skills.
    pub(super) fn skills(&self) -> PathBuf {
        self.folder.path().join("skills")
    }

    /// A home for the store.
    pub(super) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// The exchanged pairs: a name and its link.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (&Path, &Path)> {
        self.pairs
            .iter()
            .map(|(one, other)| (one.as_path(), other.as_path()))
    }

    /// Every file outside with what it holds.
    pub(super) fn outside(&self) -> io::Result<BTreeMap<PathBuf, Vec<u8>>> {
        let mut files = BTreeMap::new();
        let mut open = vec![self.folder.path().join("outside")];
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(folder)? {
                let path = entry?.path();
                if path.is_dir() {
                    files.insert(path.clone(), Vec::new());
                    open.push(path);
                } else {
                    let bytes = std::fs::read(&path)?;
                    files.insert(path, bytes);
                }
            }
        }
        Ok(files)
    }
}

#[cfg(unix)]
fn link_to(target: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

#[cfg(not(unix))]
fn link_to(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Exchanges two names in one step: there is no moment in which one of them is missing.
#[cfg(target_os = "linux")]
pub(super) fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).map_err(io::Error::from)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn exchange(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
