//! A sign of life on standard error for whatever takes more than half a second.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

const QUIET_TIME: Duration = Duration::from_millis(500);

static IS_QUIET: AtomicBool = AtomicBool::new(false);

/// From now on nothing is said.
pub(crate) fn silence() {
    IS_QUIET.store(true, Ordering::Relaxed);
}

/// Runs `work`; when it takes longer than half a second, `what` is said on standard error, and a
/// terminal shows it only until the work is done.
pub(crate) fn during<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let (done, waiting) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let slow = waiting.recv_timeout(QUIET_TIME) == Err(mpsc::RecvTimeoutError::Timeout);
            if slow && !IS_QUIET.load(Ordering::Relaxed) {
                if !io::stderr().is_terminal() {
                    let _ = writeln!(io::stderr(), "{what} …");
                    return;
                }
                let _ = write!(io::stderr(), "{what} …");
                let _ = waiting.recv();
                let blanks = " ".repeat(what.chars().count() + 2);
                let _ = write!(io::stderr(), "\r{blanks}\r");
            }
        });
        let outcome = work();
        drop(done);
        outcome
    })
}
