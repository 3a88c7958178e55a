//! The report of a merge, in which a long list hides nothing that somebody has to know about.

use std::io;

use gongfu_core::change::{Artifact, Change};

/// The most changes that are listed; those beyond it are merged all the same.
const MAX_LISTED: usize = 10_000;
/// The most bytes of all listed paths together.
const MAX_LISTED_BYTES: usize = 1024 * 1024;

/// The changes of a run.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// Those that are listed, by their rank.
    ranks: [Vec<(String, Change)>; 3],
    /// The number of all of them.
    pub(crate) total: usize,
    /// The number of those that were refused, listed or not.
    pub(crate) refused: usize,
    /// The length of all listed paths together.
    bytes: usize,
}

impl Changes {
    /// The report of a merge that couldn't begin.
    pub(crate) fn failed(error: io::Error) -> Self {
        let mut changes = Self::default();
        changes.add("", Change::Refused(error.to_string()));
        changes
    }

    /// The listed changes, by path.
    pub(crate) fn listed(self) -> Vec<(String, Change)> {
        let mut listed = self.ranks.concat();
        listed.sort_by(|one, other| one.0.cmp(&other.0));
        listed
    }

    /// The changes below a guest path, as the run saw them.
    pub(crate) fn artifacts(self, target: &str) -> impl Iterator<Item = Artifact> {
        let seen = move |path: String| {
            let seen = format!("{target}/{path}");
            seen.trim_end_matches('/').to_owned()
        };
        self.listed()
            .into_iter()
            .map(move |(path, change)| Artifact {
                path: seen(path),
                change: match change {
                    Change::Conflict(beside) => Change::Conflict(beside.map(&seen)),
                    change => change,
                },
            })
    }

    /// Adds a change. Where there is no more room, those of a later rank make some.
    pub(super) fn add(&mut self, path: &str, change: Change) {
        self.total += 1;
        if matches!(change, Change::Refused(_)) {
            self.refused += 1;
        }
        let rank = change.rank();
        while !self.has_room(path) {
            let mut later = self.ranks.iter_mut().skip(rank + 1).rev();
            let Some((dropped, _)) = later.find_map(Vec::pop) else {
                return;
            };
            self.bytes -= dropped.len();
        }
        if let Some(listed) = self.ranks.get_mut(rank) {
            listed.push((path.to_owned(), change));
            self.bytes += path.len();
        }
    }

    /// Returns whether one more path may be listed.
    fn has_room(&self, path: &str) -> bool {
        let listed: usize = self.ranks.iter().map(Vec::len).sum();
        listed < MAX_LISTED && self.bytes + path.len() <= MAX_LISTED_BYTES
    }
}

#[cfg(test)]
mod tests {
    use gongfu_core::change::Change;

    use super::{Changes, MAX_LISTED};

    #[test]
    fn long_list_keeps_what_somebody_has_to_know() {
        let mut changes = Changes::default();
        for number in 0..MAX_LISTED + 10 {
            changes.add(&format!("file {number}"), Change::Written(1));
        }
        changes.add("beside", Change::Conflict(None));
        changes.add("late", Change::Refused("no time".to_owned()));
        assert_eq!(
            (changes.total, changes.refused),
            (MAX_LISTED + 12, 1),
            "each is counted"
        );
        let listed = changes.listed();
        assert_eq!(listed.len(), MAX_LISTED);
        for path in ["beside", "late", "file 0"] {
            assert!(listed.iter().any(|one| one.0 == path), "{path}");
        }
    }

    #[test]
    fn refusals_are_counted_beyond_the_limit_of_bytes() {
        let mut changes = Changes::default();
        let long = "x".repeat(4_000);
        for number in 0..400 {
            changes.add(&format!("{number}{long}"), Change::Refused("no".to_owned()));
        }
        assert_eq!(changes.refused, 400);
        let listed = changes.listed().len();
        assert!((200..400).contains(&listed), "{listed}");
    }
}
