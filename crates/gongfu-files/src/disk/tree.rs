//! Trees of files exactly as they are: a name is any bytes, a link is a link, and nothing is followed.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use cap_fs_ext::{DirExt as _, FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::fs::{
    Dir, Metadata, MetadataExt as _, OpenOptions, OpenOptionsExt as _, Permissions,
    PermissionsExt as _,
};

use super::entry::{EntryKind, described, kind_of};
use super::error::reason;
use super::root::Root;

/// The permissions of an entry that count.
const MODE: u32 = 0o777;

/// An entry of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    /// Its path below the tree's folder.
    pub path: PathBuf,
    /// Its kind.
    pub kind: TreeKind,
    /// Its permissions.
    pub mode: u32,
}

/// The kind of an entry of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeKind {
    /// A folder. Its entries follow.
    Folder,
    /// A regular file.
    File,
    /// A symbolic link to this.
    Link(PathBuf),
    /// Anything else, such as a socket, or what can't be read; and why, for people.
    Other(String),
}

impl Root {
    /// Calls `visit` for everything below this folder: a folder before its entries, and those by name. What vanishes
    /// meanwhile is left out.
    ///
    /// # Errors
    /// Those of `visit`.
    pub fn walk<E>(&self, mut visit: impl FnMut(TreeEntry) -> Result<(), E>) -> Result<(), E> {
        let mut open = vec![(PathBuf::new(), MODE)];
        while let Some((folder, mode)) = open.pop() {
            let names = match names(self.dir(), &folder) {
                Ok(names) => names,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => {
                    let kind = TreeKind::Other(reason(&error));
                    let path = folder;
                    visit(TreeEntry { path, kind, mode })?;
                    continue;
                }
            };
            for name in names {
                let path = folder.join(name);
                let entry = match entry(self.dir(), path) {
                    Ok(entry) => entry,
                    Err((_, error)) if error.kind() == io::ErrorKind::NotFound => continue,
                    Err((path, error)) => TreeEntry {
                        path,
                        kind: TreeKind::Other(reason(&error)),
                        mode: 0,
                    },
                };
                if entry.kind == TreeKind::Folder {
                    open.push((entry.path.clone(), entry.mode));
                }
                visit(entry)?;
            }
        }
        Ok(())
    }

    /// Opens a regular file of a tree, whatever its name; never follows a link, nor waits for a pipe.
    ///
    /// # Errors
    /// It isn't there, or is no regular file.
    pub fn open_exact(&self, path: &Path) -> io::Result<std::fs::File> {
        let mut options = OpenOptions::new();
        options.read(true).nonblock(true);
        options.follow(FollowSymlinks::No);
        let file = self.dir().open_with(path, &options)?;
        let metadata = file.metadata()?;
        if metadata.is_file() {
            return Ok(file.into_std());
        }
        let what = described(kind_of(metadata.file_type()));
        Err(io::Error::other(format!("{what} is not a regular file")))
    }

    /// Creates a file of a tree with these permissions, to be written.
    ///
    /// # Errors
    /// Something of that name is there, or it can't be created.
    pub fn create_exact(&self, path: &Path, mode: u32) -> io::Result<std::fs::File> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let file = self.dir().open_with(path, &options)?;
        file.set_permissions(Permissions::from_mode(mode & MODE))?;
        Ok(file.into_std())
    }

    /// Creates a folder of a tree with these permissions; its owner may always use it.
    ///
    /// # Errors
    /// Something of that name is there, or it can't be created.
    pub fn create_folder_exact(&self, path: &Path, mode: u32) -> io::Result<()> {
        self.dir().create_dir(path)?;
        let mode = mode & MODE | 0o700;
        self.dir()
            .set_permissions(path, Permissions::from_mode(mode))
    }

    /// Creates a link of a tree, wherever it leads.
    ///
    /// # Errors
    /// Something of that name is there, or it can't be created.
    pub fn create_link_exact(&self, path: &Path, target: &Path) -> io::Result<()> {
        self.dir().symlink_contents(target, path)
    }
}

/// The names in a folder, sorted.
fn names(dir: &Dir, folder: &Path) -> io::Result<Vec<OsString>> {
    let entries = if folder.as_os_str().is_empty() {
        dir.entries()?
    } else {
        dir.open_dir_nofollow(folder)?.entries()?
    };
    let names = entries.map(|entry| Ok(entry?.file_name()));
    let mut names: Vec<OsString> = names.collect::<io::Result<_>>()?;
    names.sort_unstable();
    Ok(names)
}

fn entry(dir: &Dir, path: PathBuf) -> Result<TreeEntry, (PathBuf, io::Error)> {
    let found = dir
        .symlink_metadata(&path)
        .and_then(|metadata| Ok((kind(dir, &path, &metadata)?, metadata.mode() & MODE)));
    match found {
        Ok((kind, mode)) => Ok(TreeEntry { path, kind, mode }),
        Err(error) => Err((path, error)),
    }
}

fn kind(dir: &Dir, path: &Path, metadata: &Metadata) -> io::Result<TreeKind> {
    Ok(match kind_of(metadata.file_type()) {
        EntryKind::File => TreeKind::File,
        EntryKind::Folder => TreeKind::Folder,
        EntryKind::Link => TreeKind::Link(dir.read_link_contents(path)?),
        other => TreeKind::Other(format!("it is {}", described(other))),
    })
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::io::{Read as _, Write as _};
    use std::os::unix::ffi::OsStrExt as _;
    use std::path::{Path, PathBuf};

    use super::{Root, TreeKind};

    #[test]
    fn every_name_is_walked_and_no_link_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::open(folder.path()).unwrap();
        let below = Path::new("a\\b:c\nd");
        root.create_folder_exact(below, 0o750).unwrap();
        // Not every file system takes bytes.
        let odd = below.join(OsStr::from_bytes(b"\xff\t"));
        let odd = match root.create_exact(&odd, 0o640) {
            Ok(_) => odd,
            Err(_) => below.join("plain"),
        };
        let _ = root.dir().remove_file(&odd);
        let mut file = root.create_exact(&odd, 0o440).unwrap();
        file.write_all(b"x").unwrap();
        let outside = PathBuf::from("/etc/passwd");
        root.create_link_exact(Path::new("link"), &outside).unwrap();
        root.create_link_exact(Path::new("loop"), Path::new("."))
            .unwrap();
        let socket = folder.path().join("socket");
        let _socket = std::os::unix::net::UnixListener::bind(socket).unwrap();

        let mut found = Vec::new();
        let walked = root.walk(|entry| {
            found.push((entry.path, entry.kind, entry.mode));
            Ok::<_, ()>(())
        });
        walked.unwrap();
        let kinds: Vec<_> = found.iter().map(|(path, kind, _)| (path, kind)).collect();
        assert_eq!(
            kinds,
            [
                (&below.to_owned(), &TreeKind::Folder),
                (&PathBuf::from("link"), &TreeKind::Link(outside)),
                (&PathBuf::from("loop"), &TreeKind::Link(".".into())),
                (
                    &PathBuf::from("socket"),
                    &TreeKind::Other("it is a socket".to_owned())
                ),
                (&odd, &TreeKind::File),
            ]
        );
        assert_eq!((found[0].2, found[4].2), (0o750, 0o440));
        let mut text = String::new();
        let mut file = root.open_exact(&odd).unwrap();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "x");
        for other in ["link", "loop", "socket"] {
            root.open_exact(Path::new(other)).unwrap_err();
        }
        root.create_exact(Path::new("link"), 0o600).unwrap_err();
    }
}
