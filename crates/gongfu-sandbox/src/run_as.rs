//! Files of another user: gives files to one, and accesses files as one.
//!
//! In a file system of another user namespace even root can't make files.

use std::io;
use std::path::Path;

use crate::plan::UnixId;
use crate::platform;

/// Does some work as another user; with `None`, as the user of this process.
///
/// It gets a thread of its own, because a thread might fail to become root again.
///
/// # Errors
/// The work fails, or this process can't be another user.
pub(crate) fn run_as<T: Send>(
    user: Option<UnixId>,
    work: impl FnOnce() -> io::Result<T> + Send,
) -> io::Result<T> {
    let Some(user) = user else {
        return work();
    };
    let done = std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            platform::become_file_owner(user)?;
            work()
        });
        thread.join()
    });
    done.unwrap_or_else(|_| Err(io::Error::other("work as another user panicked")))
}

/// Gives a file or folder to the tenant, if there is one.
///
/// # Errors
/// This process isn't root, or the file is missing.
pub fn give(path: &Path, tenant: Option<UnixId>) -> io::Result<()> {
    let Some(UnixId { user, group }) = tenant else {
        return Ok(());
    };
    std::os::unix::fs::chown(path, Some(user), Some(group))
}
