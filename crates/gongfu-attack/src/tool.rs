//! What probes have in common: calls of the system, and words for what came of them.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

use crate::bait::Bait;

/// Makes a call of the system: its number, then its arguments.
macro_rules! call {
    ($number:expr $(, $argument:expr)* $(,)?) => {
        gongfu_sandbox::syscall::call(
            $number,
            &mut [$(gongfu_sandbox::syscall::Argument::from($argument)),*],
        )
    };
}
pub(crate) use call;

/// How coarse the clock of files may be.
const TICK: Duration = Duration::from_millis(20);
/// The bit of the capability to administer a machine.
const ADMINISTER: u64 = 1 << 21;

/// Whether this is root of the whole machine, and not of a container.
pub(crate) fn is_root() -> bool {
    let maps = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let is_whole = maps.split_whitespace().eq(["0", "0", "4294967295"]);
    is_whole && rustix::process::geteuid().is_root() && capabilities() & ADMINISTER != 0
}

/// The capabilities that this process could use.
pub(crate) fn capabilities() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    effective(&status)
}

/// The capabilities that a process could use, by what the system tells of it.
pub(crate) fn effective(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    line.and_then(|line| u64::from_str_radix(line.trim(), 16).ok())
        .unwrap_or_default()
}

/// It is reached when this holds.
pub(crate) fn reached_if(holds: bool) -> io::Result<()> {
    if holds {
        Ok(())
    } else {
        Err(io::Error::other("nothing of it is there"))
    }
}

/// It is reached when the answer is one that only comes past whatever refuses it: the call itself
/// asks for nothing that could be done.
pub(crate) fn looked_at(answer: io::Result<i64>, errors: &[i32]) -> io::Result<()> {
    match answer {
        Err(error)
            if error
                .raw_os_error()
                .is_some_and(|number| errors.contains(&number)) =>
        {
            Ok(())
        }
        answer => answer.map(drop),
    }
}

/// A path as the system takes it.
pub(crate) fn text(path: impl AsRef<Path>) -> io::Result<CString> {
    Ok(CString::new(path.as_ref().as_os_str().as_bytes())?)
}

/// It is reached when the file can be read and holds what only the server knows.
pub(crate) fn holds(bait: &Bait, path: impl AsRef<Path>) -> io::Result<()> {
    let read = fs::read(path)?;
    reached_if(contains(&read, bait.token.as_bytes()))
}

/// Whether something stands in a text.
pub(crate) fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// It is reached when the file can be opened for writing; nothing is written.
pub(crate) fn can_be_written(path: impl AsRef<Path>) -> io::Result<()> {
    fs::OpenOptions::new().write(true).open(path).map(drop)
}

/// It is reached when a file can be made in the folder; it is removed again.
pub(crate) fn can_be_made_in(bait: &Bait, folder: impl AsRef<Path>) -> io::Result<()> {
    let path = folder.as_ref().join(format!("planted-{}", bait.token));
    fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&path)?;
    fs::remove_file(path)
}

/// It is reached when the system has noted that something of a file was changed: what is only said to
/// be done doesn't count.
pub(crate) fn is_touched(
    path: &Path,
    touch: impl FnOnce(&Path) -> io::Result<()>,
) -> io::Result<()> {
    let noted = || fs::metadata(path).map(|found| (found.ctime(), found.ctime_nsec()));
    let before = noted()?;
    std::thread::sleep(TICK);
    touch(path)?;
    reached_if(noted()? != before)
}

/// It is reached when the times of the file can be set; they are set to what they are.
pub(crate) fn times_can_be_set(path: impl AsRef<Path>) -> io::Result<()> {
    is_touched(path.as_ref(), set_times)
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

/// Sees to it that nothing that is mounted from now on is mounted on the machine.
///
/// # Errors
/// It would be.
pub(crate) fn own_mounts(bait: &Bait) -> io::Result<()> {
    let alone = call!(libc::SYS_unshare, libc::CLONE_NEWNS);
    if bait.shares_mounts {
        alone?;
        let private = libc::MS_REC | libc::MS_PRIVATE;
        call!(libc::SYS_mount, c"none", c"/", 0, private, 0)?;
    }
    Ok(())
}

/// Bytes as digits.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut digits = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

/// The processes that can be seen.
pub(crate) fn processes() -> io::Result<Vec<u32>> {
    let entries = fs::read_dir("/proc")?.flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    Ok(numbers.collect())
}
