//! Reads what git keeps: the list of tracked files, and the files that its settings name.

mod index;
mod named;
mod repository;

use std::ffi::{CStr, OsStr};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{self, CWD, FileType, Mode, OFlags};

pub(super) use index::is_same_index;
pub(super) use named::NamedFiles;
pub(super) use repository::{FileChange, TrackedFiles, changed, is_bare, is_top, tracked};

use crate::folder::open_file;

/// The longest file that is read, in bytes.
const MAX_LENGTH: u64 = 64 * 1024 * 1024;
/// The most folders above the workspace in which a repository is looked for.
pub(super) const MAX_ABOVE: usize = 16;

/// Reads a file of a folder.
///
/// # Errors
/// It isn't there, is no file, or is too long.
pub(super) fn read(folder: &OwnedFd, name: &CStr) -> io::Result<Vec<u8>> {
    read_at_most(folder, name, MAX_LENGTH)
}

/// Reads a file of a folder, up to a length of its own.
///
/// # Errors
/// It isn't there, is no file, or is too long.
pub(super) fn read_at_most(folder: &OwnedFd, name: &CStr, most: u64) -> io::Result<Vec<u8>> {
    all_of(open_file(folder, name)?, most)
}

/// Reads a file by its path, as git does: links are followed.
///
/// # Errors
/// It isn't there, is no file, or is too long.
fn read_path(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    // Never waits for a pipe.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = fs::openat(CWD, path, flags, Mode::empty())?;
    if FileType::from_raw_mode(fs::fstat(&file)?.st_mode) != FileType::RegularFile {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    all_of(File::from(file), most)
}

fn all_of(file: File, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(bytes)
}

/// A path in bytes, without white space around it.
fn path_of(text: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(text.trim_ascii()))
}

/// A path without `.` and `..`, as far as names alone tell.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            _ => plain.push(part),
        }
    }
    plain
}
