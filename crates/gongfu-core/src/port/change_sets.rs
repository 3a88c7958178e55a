//! The changes of runs that wait for a person.

use super::Pending;
use crate::change::{ApplyReport, ChangeSet, Difference};

/// The change sets of one space.
pub trait ChangeSets: Send + Sync {
    /// The sets that wait, the oldest first.
    fn list(&self) -> Pending<'_, Vec<ChangeSet>>;

    /// A set, with what each change does; at most `limit` bytes of each file, and 16 MiB of all together.
    fn show<'a>(&'a self, id: &'a str, limit: u64) -> Pending<'a, (ChangeSet, Vec<Difference>)>;

    /// Applies a set. What can't be applied is in the answer, and the set waits on then.
    ///
    /// [`super::PortError::Conflict`] while another process applies it.
    fn apply<'a>(&'a self, id: &'a str) -> Pending<'a, ApplyReport>;

    /// Drops a set: nothing of it is applied.
    fn drop_set<'a>(&'a self, id: &'a str) -> Pending<'a, ()>;
}
