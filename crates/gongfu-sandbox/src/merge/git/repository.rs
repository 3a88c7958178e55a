//! Finds the parts of a repository, which need not lie in one folder.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{MAX_LENGTH, index, path_of, read_path};

/// The longest file that names another path, in bytes.
const MAX_POINTER: u64 = 16 * 1024;

/// A repository.
pub(super) struct Repository {
    /// The folder in which its programs are started: that of its files, or its own.
    pub(super) top: PathBuf,
    /// The folder with its `HEAD` and its index.
    pub(super) own: PathBuf,
    /// The folder with its settings and hooks; that of another repository for a worktree.
    pub(super) common: PathBuf,
}

impl Repository {
    /// The repository whose files begin in a folder, or that the folder itself is.
    pub(super) fn at(folder: &Path) -> Option<Self> {
        let dot = folder.join(".git");
        let own = match fs::metadata(&dot) {
            Ok(found) if found.is_file() => {
                let text = read_path(&dot, MAX_POINTER).unwrap_or_default();
                // Without one it is broken, and nothing is known of it.
                text.strip_prefix(b"gitdir:")
                    .map_or_else(|| dot.clone(), |path| folder.join(path_of(path)))
            }
            Ok(_) => dot,
            Err(_) if is_bare(folder) => folder.to_owned(),
            // A link that leads nowhere, too.
            Err(_) if fs::symlink_metadata(&dot).is_ok() => dot,
            Err(_) => return None,
        };
        let common = match read_path(&own.join("commondir"), MAX_POINTER) {
            Ok(path) => own.join(path_of(&path)),
            Err(_) => own.clone(),
        };
        Some(Self {
            top: folder.to_owned(),
            own,
            common,
        })
    }
}

/// Returns whether the files of a repository begin in a folder.
pub(in crate::merge) fn is_top(folder: &Path) -> bool {
    fs::symlink_metadata(folder.join(".git")).is_ok()
}

/// Returns whether a folder is a repository by its content.
pub(in crate::merge) fn is_bare(folder: &Path) -> bool {
    let has = |name: &str| fs::symlink_metadata(folder.join(name)).is_ok();
    has("HEAD") && (has("commondir") || has("objects") && has("refs"))
}

/// The files that git tracks in a folder.
pub(in crate::merge) enum TrackedFiles {
    /// It is no repository.
    Nothing,
    /// Their names, from the folder on.
    Files(BTreeSet<Vec<u8>>),
    /// Nobody can say: its index is split, too long, or can't be read.
    Unknown,
}

/// The files that the repository of a folder tracks, and the time at which that was written.
pub(in crate::merge) fn tracked(folder: &Path) -> (TrackedFiles, Option<FileChange>) {
    let Some(repository) = Repository::at(folder) else {
        return (TrackedFiles::Nothing, None);
    };
    let path = repository.own.join("index");
    let tracked = match read_path(&path, MAX_LENGTH) {
        Ok(bytes) => index::names(&bytes).map_or(TrackedFiles::Unknown, TrackedFiles::Files),
        Err(error) if error.kind() == io::ErrorKind::NotFound && repository.own.is_dir() => {
            TrackedFiles::Files(BTreeSet::new())
        }
        Err(_) => TrackedFiles::Unknown,
    };
    (tracked, changed(&path))
}

/// The time of the last change of a file as the system knows it, in seconds and nanoseconds; nobody can set it.
pub(in crate::merge) type FileChange = (i64, i64);

/// The time of the last change of a file.
pub(in crate::merge) fn changed(path: &Path) -> Option<FileChange> {
    use std::os::unix::fs::MetadataExt as _;
    let found = fs::metadata(path).ok()?;
    Some((found.ctime(), found.ctime_nsec()))
}
