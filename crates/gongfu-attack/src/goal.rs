//! Goals that many probes share: an attempt is `Ok` when the probe reached its goal.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

use crate::bait::Bait;
use crate::system::{call, contains};

/// The coarsest clock that file times are taken from.
const TICK: Duration = Duration::from_millis(20);

/// Reached when this holds.
pub(crate) fn reached_if(holds: bool) -> io::Result<()> {
    if holds { Ok(()) } else { Err(nothing_there()) }
}

/// The error of an attempt that was allowed, but found nothing.
pub(crate) fn nothing_there() -> io::Error {
    io::Error::other("nothing of it is there")
}

/// Reached when the answer is a success or one of these errors, which the kernel only gives after
/// every filter let the call pass: the call itself asks for nothing that could be done.
pub(crate) fn looked_at(answer: io::Result<i64>, errors: &[i32]) -> io::Result<()> {
    let is_expected = |error: &io::Error| {
        let number = error.raw_os_error();
        number.is_some_and(|number| errors.contains(&number))
    };
    match answer {
        Err(error) if is_expected(&error) => Ok(()),
        answer => answer.map(drop),
    }
}

/// Reached when the file can be read and holds the secret.
pub(crate) fn holds(bait: &Bait, path: impl AsRef<Path>) -> io::Result<()> {
    let read = fs::read(path)?;
    reached_if(contains(&read, bait.token.as_bytes()))
}

/// Reached when the file can be opened for writing; nothing is written.
pub(crate) fn can_be_written(path: impl AsRef<Path>) -> io::Result<()> {
    fs::OpenOptions::new().write(true).open(path).map(drop)
}

/// Reached when a file can be made in the folder; it is removed again.
pub(crate) fn can_be_made_in(bait: &Bait, folder: impl AsRef<Path>) -> io::Result<()> {
    let path = folder.as_ref().join(format!("planted-{}", bait.token));
    fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&path)?;
    fs::remove_file(path)
}

/// Reached when the time of the file's last change moves: a call that only pretends to succeed doesn't
/// count.
pub(crate) fn is_changed(
    path: &Path,
    change: impl FnOnce(&Path) -> io::Result<()>,
) -> io::Result<()> {
    let change_time = || fs::metadata(path).map(|found| (found.ctime(), found.ctime_nsec()));
    let before = change_time()?;
    std::thread::sleep(TICK);
    change(path)?;
    reached_if(change_time()? != before)
}

/// Reached when the times of the file can be set; they are set to what they are.
pub(crate) fn times_can_be_set(path: impl AsRef<Path>) -> io::Result<()> {
    is_changed(path.as_ref(), set_times)
}

fn set_times(path: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, statat, utimensat};
    let found = statat(CWD, path, AtFlags::empty())?;
    let time = |seconds, nanoseconds| Timespec {
        tv_sec: seconds,
        tv_nsec: i64::try_from(nanoseconds).unwrap_or_default(),
    };
    let times = Timestamps {
        last_access: time(found.st_atime, found.st_atime_nsec),
        last_modification: time(found.st_mtime, found.st_mtime_nsec),
    };
    Ok(utimensat(CWD, path, &times, AtFlags::empty())?)
}

/// Keeps later mounts of this process off the machine.
///
/// # Errors
/// They would appear there.
pub(crate) fn own_mounts(bait: &Bait) -> io::Result<()> {
    let separated = call!(libc::SYS_unshare, libc::CLONE_NEWNS);
    if bait.shares_mounts {
        separated?;
        let private = libc::MS_REC | libc::MS_PRIVATE;
        call!(libc::SYS_mount, c"none", c"/", 0, private, 0)?;
    }
    Ok(())
}
