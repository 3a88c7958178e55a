//! The entries of folders, by handles that follow no link.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

#[cfg(target_os = "linux")]
use rustix::fs::ResolveFlags;
use rustix::fs::{self, CWD, Dir, Mode, OFlags};
use rustix::io::Errno;

/// Lists the names in a folder, which isn't kept open meanwhile.
pub(crate) fn names(folder: &OwnedFd) -> io::Result<Vec<CString>> {
    each_name(folder)?.collect()
}

/// Lists the names in a folder one after the other; it is kept open meanwhile.
pub(crate) fn each_name(
    folder: &OwnedFd,
) -> io::Result<impl Iterator<Item = io::Result<CString>> + use<>> {
    let names = Dir::read_from(folder)?.map(|entry| Ok(entry?.file_name().to_owned()));
    let is_entry = |name: &CStr| !matches!(name.to_bytes(), b"." | b"..");
    Ok(names.filter(move |name| name.as_ref().map_or(true, |name| is_entry(name))))
}

/// Opens a file or folder by its real path: none of it may be a link. A user who can write a folder above it could
/// have put one there since the path was checked.
///
/// # Errors
/// There is a link on the way, or it can't be opened.
pub(crate) fn open_real(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let flags = flags | OFlags::CLOEXEC;
    let is_link = || io::Error::other("it is now a link, or below one");
    #[cfg(target_os = "linux")]
    loop {
        match fs::openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(Errno::LOOP) => return Err(is_link()),
            // The system is too old, or a container's filter forbids it.
            Err(Errno::NOSYS | Errno::PERM) => break,
            opened => return Ok(opened?),
        }
    }
    if std::fs::canonicalize(path)? != path {
        return Err(is_link());
    }
    Ok(fs::openat(CWD, path, flags, Mode::empty())?)
}

/// Opens a folder, which must not be a link, and in which nothing else may be mounted.
pub(crate) fn open_folder_of_mount(parent: &OwnedFd, name: &CStr) -> rustix::io::Result<OwnedFd> {
    #[cfg(target_os = "linux")]
    {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_XDEV | ResolveFlags::NO_SYMLINKS;
        loop {
            match fs::openat2(parent, name, flags, Mode::empty(), resolve) {
                // Something was renamed meanwhile, or a signal arrived.
                Err(Errno::AGAIN | Errno::INTR) => {}
                // The system is too old, or a container's filter forbids it.
                Err(Errno::NOSYS | Errno::PERM) => break,
                opened => return opened,
            }
        }
    }
    let opened = open_folder(parent, name)?;
    if fs::fstat(&opened)?.st_dev == fs::fstat(parent)?.st_dev {
        Ok(opened)
    } else {
        Err(Errno::XDEV)
    }
}

/// Opens a folder, which must not be a link.
pub(crate) fn open_folder(parent: &OwnedFd, name: &CStr) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    fs::openat(parent, name, flags, Mode::empty())
}

/// Opens a file to be read, which must not be a link; never waits for a pipe.
pub(crate) fn open_file(parent: &OwnedFd, name: &CStr) -> rustix::io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(File::from(fs::openat(parent, name, flags, Mode::empty())?))
}
