//! A sign of life on standard error for whatever takes more than half a second.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

const QUIET_TIME: Duration = Duration::from_millis(500);
/// The pause between two looks for other words.
const STEP: Duration = Duration::from_millis(100);

static IS_QUIET: AtomicBool = AtomicBool::new(false);

/// From now on nothing is said.
pub(crate) fn silence() {
    IS_QUIET.store(true, Ordering::Relaxed);
}

/// Runs `work`; when it takes longer than half a second, `what` is said on standard error, and a
/// terminal shows it only until the work is done.
pub(crate) fn during<T>(what: &str, work: impl FnOnce() -> T) -> T {
    during_steps(|| what.to_owned(), work)
}

/// The same with words that change: on a terminal in the same line, elsewhere the first ones are said.
pub(crate) fn during_steps<T>(what: impl Fn() -> String + Send, work: impl FnOnce() -> T) -> T {
    let (done, waiting) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || say(&what, &waiting));
        let outcome = work();
        drop(done);
        outcome
    })
}

/// Says what is done, until the work is done.
fn say(what: &impl Fn() -> String, waiting: &mpsc::Receiver<()>) {
    let is_slow = |time| waiting.recv_timeout(time) == Err(mpsc::RecvTimeoutError::Timeout);
    let is_terminal = io::stderr().is_terminal();
    let mut said = String::new();
    let mut pause = QUIET_TIME;
    while is_slow(pause) && !IS_QUIET.load(Ordering::Relaxed) {
        pause = STEP;
        let words = format!("{} …", what());
        if !is_terminal {
            if said.is_empty() {
                let _ = writeln!(io::stderr(), "{words}");
                said = words;
            }
            continue;
        }
        // Nothing of longer words is left.
        let width = said.chars().count();
        let _ = write!(io::stderr(), "{words:<width$}\r");
        said = words;
    }
    if is_terminal && !said.is_empty() {
        let _ = write!(io::stderr(), "{:1$}\r", "", said.chars().count());
    }
}
