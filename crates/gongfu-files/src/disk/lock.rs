//! Locks among processes, each a file in a folder.

use std::fs::TryLockError;
use std::io;
use std::time::{Duration, Instant};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::fs::OpenOptions;

use super::Root;

/// The longest wait: a process holds a lock for a few milliseconds.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The longest pause between two tries.
const MAX_PAUSE: Duration = Duration::from_millis(20);

/// Takes the lock of this name in a folder; it ends with the handle.
///
/// # Errors
/// Another process holds it for ten seconds, or its file can't be opened. The error names the file.
pub fn lock(folder: &Root, name: &str) -> io::Result<std::fs::File> {
    lock_within(folder, name, TIMEOUT)
}

/// The same for a lock that another process holds as long as it runs.
///
/// # Errors
/// Another process holds it, or its file can't be opened. The error names the file.
pub fn lock_at_once(folder: &Root, name: &str) -> io::Result<std::fs::File> {
    lock_within(folder, name, Duration::ZERO)
}

fn lock_within(folder: &Root, name: &str, timeout: Duration) -> io::Result<std::fs::File> {
    let failed = |error: io::Error| {
        let path = folder.path().join(name);
        io::Error::new(error.kind(), format!("{}: {error}", path.display()))
    };
    let mut options = OpenOptions::new();
    // Neither a link nor a pipe is followed or waited for.
    options.create(true).truncate(false).write(true);
    options.nonblock(true).follow(FollowSymlinks::No);
    let file = folder.dir().open_with(name, &options).map_err(failed)?;
    let file = file.into_std();
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(failed(io::Error::other("it is not a regular file")));
    }
    let deadline = Instant::now() + timeout;
    let mut pause = Duration::from_micros(100);
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
            Err(TryLockError::WouldBlock) if Instant::now() > deadline => {
                let why = "another process holds this lock; stop it if it hangs";
                return Err(failed(io::Error::new(io::ErrorKind::TimedOut, why)));
            }
            Err(TryLockError::WouldBlock) => {
                std::thread::sleep(pause);
                pause = (pause * 2).min(MAX_PAUSE);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Root, lock};

    #[test]
    fn lock_empties_no_file_and_follows_no_link() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::open(folder.path()).unwrap();
        root.dir().write("records.json", "{}").unwrap();
        root.dir().symlink("records.json", "linked.lock").unwrap();
        let error = lock(&root, "linked.lock").unwrap_err();
        assert!(error.to_string().contains("linked.lock"), "{error}");
        let held = lock(&root, "records.json").unwrap();
        assert_eq!(root.dir().read_to_string("records.json").unwrap(), "{}");
        drop(held);
        drop(lock(&root, "new.lock").unwrap());
    }
}
