//! Threads for one large work, which end with it.
//!
//! A thread keeps for itself what it has freed, for as long as it lives and waits: what the first
//! look at ten thousand skills takes, or the indexing of their texts, isn't needed again.

/// Does work on threads of its own, as many as there are cores.
pub(crate) fn on_passing_threads<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    match rayon::ThreadPoolBuilder::new().build() {
        Ok(threads) => threads.install(work),
        Err(error) => {
            tracing::debug!(%error, "there are no threads for a large work: those there are do it");
            work()
        }
    }
}
