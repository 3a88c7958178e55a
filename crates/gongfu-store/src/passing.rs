//! Threads for one large work, which end with it.
//!
//! A thread keeps for itself what it has freed, for as long as it lives and waits: what the first
//! look at ten thousand skills takes, or the indexing of their texts, isn't needed again.

/// Whether somebody waits for a work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Somebody does.
    Prompt,
    /// Nobody does: those who ask for something else come first.
    Calm,
}

/// Does work on threads of its own: as many as there are cores, or half as many when nobody waits.
pub(crate) fn on_passing_threads<T: Send>(pace: Pace, work: impl FnOnce() -> T + Send) -> T {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let count = match pace {
        Pace::Prompt => cores,
        // A lower priority alone isn't enough: who comes would still wait for a core.
        Pace::Calm => (cores / 2).max(1),
    };
    let threads = rayon::ThreadPoolBuilder::new().num_threads(count);
    let threads = threads.start_handler(move |_| {
        if pace == Pace::Calm {
            step_back();
        }
    });
    match threads.build() {
        Ok(threads) => threads.install(work),
        Err(error) => {
            tracing::debug!(%error, "there are no threads for a large work: those there are do it");
            work()
        }
    }
}

/// Lets this thread run when others have nothing to do, or little.
#[cfg(target_os = "linux")]
fn step_back() {
    // On Linux that is a thread's own. Without it the work is done all the same.
    let _ = rustix::process::setpriority_process(None, 10);
}

/// Elsewhere a thread can't be told to.
#[cfg(not(target_os = "linux"))]
fn step_back() {}
