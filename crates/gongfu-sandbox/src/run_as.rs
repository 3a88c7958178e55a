//! Accesses files as another user, who then owns what is made.
//!
//! In a file system of another user namespace even root can't make files.

use std::io;

use crate::plan::UnixId;
use crate::platform;

/// Does some work as another user; with `None`, as the user of this process.
///
/// It gets a thread of its own, because nobody could rely on a thread to be root again.
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
