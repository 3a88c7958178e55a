//! The tools that a client has had to do with.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

/// The most tools that are known; then the one that was noted longest ago is forgotten.
const MAX_TOOLS: usize = 64;

/// The tools of other servers that one connection called or described, or that a skill names which it loaded: they
/// are listed by name for it, however many others there are.
#[derive(Debug)]
pub struct KnownTools {
    names: Mutex<VecDeque<Arc<str>>>,
    version: watch::Sender<u64>,
}

impl Default for KnownTools {
    fn default() -> Self {
        Self {
            names: Mutex::default(),
            version: watch::Sender::new(0),
        }
    }
}

impl KnownTools {
    /// Counts the changes.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    /// Returns true if a tool is one of them.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.lock().iter().any(|known| **known == *name)
    }

    /// Adds tools; that is a change only where others are left out of the list.
    pub(super) fn add<'a>(&self, names: impl Iterator<Item = &'a Arc<str>>, is_short: bool) {
        let mut known = self.lock();
        let mut is_changed = false;
        for name in names {
            if !known.contains(name) {
                known.push_back(Arc::clone(name));
                is_changed = true;
            }
        }
        while known.len() > MAX_TOOLS {
            known.pop_front();
        }
        drop(known);
        if is_changed && is_short {
            self.version.send_modify(|version| *version += 1);
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<str>>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{KnownTools, MAX_TOOLS};

    #[test]
    fn oldest_names_are_forgotten_and_only_changes_are_counted() {
        let known = KnownTools::default();
        let names: Vec<Arc<str>> = (0..=MAX_TOOLS).map(|n| format!("a__{n}").into()).collect();
        known.add(names.iter(), true);
        assert!(!known.has("a__0"));
        assert!(known.has("a__1") && known.has(&format!("a__{MAX_TOOLS}")));
        let changes = known.changes();
        known.add(names.iter().skip(1), true);
        assert!(!changes.has_changed().unwrap());
        known.add(names.iter().take(1), true);
        assert!(changes.has_changed().unwrap());
    }
}
