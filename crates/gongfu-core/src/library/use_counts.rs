//! The number of times that each skill was used.

use std::collections::HashMap;

/// The number of uses of each skill, by its [identity](super::Library::identity).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UseCounts(HashMap<String, usize>);

impl UseCounts {
    /// The number of uses of a skill.
    pub fn of(&self, skill: &str) -> usize {
        self.0.get(skill).copied().unwrap_or_default()
    }
}

impl<S: Into<String>> FromIterator<S> for UseCounts {
    /// Counts uses.
    fn from_iter<I: IntoIterator<Item = S>>(uses: I) -> Self {
        let mut counts = HashMap::new();
        for skill in uses {
            *counts.entry(skill.into()).or_default() += 1;
        }
        Self(counts)
    }
}
