//! Locks between the processes of one home: files of its folder `locks`.

use std::any::Any;
use std::io::ErrorKind;
use std::time::Duration;

use gongfu_core::port::{Locks, Pending, PortError};
use gongfu_files::Home;
use gongfu_files::disk::lock_at_once;
use tokio::time::{Instant, sleep};

/// The longest wait: a sign-in is refreshed while its lock is held.
const TIMEOUT: Duration = Duration::from_mins(1);
/// The pause between two tries.
const PAUSE: Duration = Duration::from_millis(20);

/// Locks as files of a home.
pub(crate) struct FileLocks(Home);

impl FileLocks {
    pub(crate) fn new(home: Home) -> Self {
        Self(home)
    }
}

impl Locks for FileLocks {
    fn lock<'a>(&'a self, name: &'a str) -> Pending<'a, Box<dyn Any + Send>> {
        Box::pin(async move {
            let unusable = |error: std::io::Error| PortError::Unavailable(error.to_string());
            let folder = self.0.folder("locks").map_err(unusable)?;
            let file = format!("{name}.lock");
            let deadline = Instant::now() + TIMEOUT;
            loop {
                match lock_at_once(&folder, &file) {
                    Ok(held) => return Ok(Box::new(held) as Box<dyn Any + Send>),
                    Err(error)
                        if error.kind() == ErrorKind::TimedOut && Instant::now() < deadline =>
                    {
                        sleep(PAUSE).await;
                    }
                    Err(error) => return Err(unusable(error)),
                }
            }
        })
    }
}
