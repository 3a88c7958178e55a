//! A thread pool for one large piece of work, which ends with it.
//!
//! An idle thread keeps the memory that it freed. The first look at ten thousand skills takes much
//! of it, and is made once.

/// The urgency of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Somebody waits: every core helps.
    Foreground,
    /// Nobody waits: other requests come first.
    Background,
}

/// Runs work on a pool of its own: a thread a core, or one for two cores in the background.
pub(crate) fn run<T: Send>(pace: Pace, work: impl FnOnce() -> T + Send) -> T {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let count = match pace {
        Pace::Foreground => cores,
        // A lower priority alone isn't enough: a request would still wait for a core.
        Pace::Background => (cores / 2).max(1),
    };
    let threads = rayon::ThreadPoolBuilder::new().num_threads(count);
    let threads = threads.start_handler(move |_| {
        if pace == Pace::Background {
            lower_priority();
        }
    });
    match threads.build() {
        Ok(threads) => threads.install(work),
        Err(error) => {
            tracing::debug!(%error, "can't create a thread pool; using the shared one");
            work()
        }
    }
}

/// Lowers the priority of this thread alone, which only Linux can.
#[cfg(target_os = "linux")]
fn lower_priority() {
    // Without it the work is done all the same.
    let _ = rustix::process::setpriority_process(None, 10);
}

#[cfg(not(target_os = "linux"))]
fn lower_priority() {}
