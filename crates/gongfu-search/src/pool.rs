//! Readers of words that remember stems from one text to the next.

use std::sync::{Mutex, PoisonError};

use gongfu_core::search::word::Words;

/// Readers that nobody uses right now.
#[derive(Default)]
pub(super) struct Pool(Mutex<Vec<Words>>);

impl Pool {
    /// Lends a reader for as long as `work` takes.
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut Words) -> T) -> T {
        let waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut words = waiting.unwrap_or_default();
        let done = work(&mut words);
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.push(words);
        done
    }
}
