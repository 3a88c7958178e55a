//! The progress of indexing, for a person who waits.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of texts that are being indexed, and how many are done.
#[derive(Debug, Default)]
pub(super) struct Progress {
    total: AtomicUsize,
    done: AtomicUsize,
}

impl Progress {
    /// Begins to index so many texts; the end comes with the drop of the guard.
    pub(super) fn begin(&self, total: usize) -> Running<'_> {
        self.done.store(0, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
        Running(self)
    }

    /// Counts texts that are done.
    pub(super) fn add(&self, count: usize) {
        self.done.fetch_add(count, Ordering::Relaxed);
    }

    /// The texts that are done, and all of them.
    pub(super) fn get(&self) -> Option<(usize, usize)> {
        let total = self.total.load(Ordering::Relaxed);
        let done = self.done.load(Ordering::Relaxed);
        (total > 0).then_some((done.min(total), total))
    }
}

/// Indexing that goes on.
pub(super) struct Running<'p>(&'p Progress);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.total.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::Progress;

    #[test]
    fn progress_is_shown_from_the_beginning_to_the_end() {
        let progress = Progress::default();
        assert_eq!(progress.get(), None);
        let running = progress.begin(3);
        progress.add(2);
        assert_eq!(progress.get(), Some((2, 3)));
        progress.add(2);
        assert_eq!(progress.get(), Some((3, 3)));
        drop(running);
        assert_eq!(progress.get(), None);
    }
}
