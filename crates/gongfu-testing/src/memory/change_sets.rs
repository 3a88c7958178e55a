//! Change sets in memory: each is applied by being taken away.

use std::sync::Mutex;

use gongfu_core::change::{ApplyReport, Artifact, Change, ChangeSet, Difference};
use gongfu_core::port::{ChangeSets, Pending, PortError, ready};

/// The change sets of one owner.
#[derive(Debug, Default)]
pub struct MemoryChangeSets(Mutex<Vec<(ChangeSet, Vec<Difference>)>>);

impl MemoryChangeSets {
    /// Adds a set with the differences of its changes.
    pub fn add(&self, set: ChangeSet, differences: Vec<Difference>) {
        self.0.lock().unwrap().push((set, differences));
    }

    fn take(&self, id: &str) -> Result<ChangeSet, PortError> {
        let mut sets = self.0.lock().unwrap();
        let found = sets.iter().position(|(set, _)| set.id == id);
        Ok(sets.remove(found.ok_or(PortError::NotFound)?).0)
    }
}

impl ChangeSets for MemoryChangeSets {
    fn list(&self) -> Pending<'_, Vec<ChangeSet>> {
        let sets = self.0.lock().unwrap();
        ready(Ok(sets.iter().map(|(set, _)| set.clone()).collect()))
    }

    fn show<'a>(&'a self, id: &'a str, _limit: u64) -> Pending<'a, (ChangeSet, Vec<Difference>)> {
        let sets = self.0.lock().unwrap();
        let found = sets.iter().find(|(set, _)| set.id == id);
        ready(found.cloned().ok_or(PortError::NotFound))
    }

    fn apply<'a>(&'a self, id: &'a str) -> Pending<'a, ApplyReport> {
        ready(self.take(id).map(|set| {
            ApplyReport {
                total: set.changes.len(),
                artifacts: set
                    .changes
                    .into_iter()
                    .map(|change| Artifact {
                        path: change.path,
                        change: Change::Written(0),
                    })
                    .collect(),
                is_partial: false,
            }
        }))
    }

    fn drop_set<'a>(&'a self, id: &'a str) -> Pending<'a, ()> {
        ready(self.take(id).map(drop))
    }
}
