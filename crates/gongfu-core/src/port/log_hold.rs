//! Holds of logs within one process, for storage that only one process writes.

use std::any::Any;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

/// The hold of a log's only writer.
pub type LogHold = Box<dyn Any + Send + Sync>;

/// The logs that have a writer, by scope and key.
#[derive(Debug, Clone, Default)]
pub struct LogHolds(Arc<Mutex<HashSet<HeldLog>>>);

type HeldLog = (String, String);

/// A hold, which ends when it is dropped.
struct Hold {
    holds: LogHolds,
    held: HeldLog,
}

impl LogHolds {
    /// Takes a log, unless it is taken.
    pub fn take(&self, scope: &str, log: &str) -> Option<LogHold> {
        let held = (scope.to_owned(), log.to_owned());
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(held.clone()).then(|| {
            let holds = self.clone();
            Box::new(Hold { holds, held }) as LogHold
        })
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let all = self.holds.0.lock();
        all.unwrap_or_else(PoisonError::into_inner)
            .remove(&self.held);
    }
}
