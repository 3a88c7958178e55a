//! A sign of life on standard error for whatever takes more than half a second.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::mpsc;
use std::time::Duration;

const QUIET_TIME: Duration = Duration::from_millis(500);

/// Runs `work`; when it takes longer than half a second, `what` is said once on standard error.
pub(crate) fn during<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let (done, waiting) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let slow = waiting.recv_timeout(QUIET_TIME) == Err(mpsc::RecvTimeoutError::Timeout);
            if slow {
                let end = if io::stderr().is_terminal() {
                    "\r"
                } else {
                    "\n"
                };
                let _ = write!(io::stderr(), "{what} …{end}");
            }
        });
        let outcome = work();
        drop(done);
        outcome
    })
}
