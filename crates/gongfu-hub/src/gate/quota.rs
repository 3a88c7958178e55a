//! Quota: how many calls of one space run something at once, and in an hour.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use gongfu_core::account::Owner;
use gongfu_core::capability::Access;
use gongfu_core::port::Timestamp;

use super::{Answer, Passage, Stage};
use crate::problem::Problem;

/// Runs at once in one space, unless the operator says otherwise.
const DEFAULT_LIMIT: usize = 1_024;
/// The spaces whose runs are counted before those of old hours are forgotten.
const MAX_COUNTED: usize = 10_000;

/// The length of an hour, in milliseconds.
const HOUR: i64 = 60 * 60 * 1_000;

/// Limits the calls of a space that run something.
#[derive(Debug, Clone)]
pub struct Quota {
    limit: usize,
    /// The most runs of an hour; `None` for any number.
    per_hour: Option<u32>,
    running: Arc<Mutex<HashMap<Owner, usize>>>,
    /// The runs of the last hours.
    begun: Arc<Mutex<HashMap<Owner, RunCount>>>,
}

/// The runs of a space in this hour and in the one before.
#[derive(Debug, Clone, Copy, Default)]
struct RunCount {
    /// The start of this hour.
    hour: i64,
    before: u32,
    now: u32,
}

impl RunCount {
    /// The runs of the last sixty minutes: of those of the hour before, the part that isn't over yet.
    fn recent(&self, now: Timestamp) -> i64 {
        let left = HOUR - (now.0 - self.hour).clamp(0, HOUR);
        i64::from(self.now) + i64::from(self.before) * left / HOUR
    }

    /// Moves on to the hour of a time.
    fn advance(&mut self, now: Timestamp) {
        let hour = now.0.div_euclid(HOUR) * HOUR;
        if hour != self.hour {
            let is_next = hour == self.hour + HOUR;
            *self = Self {
                hour,
                before: if is_next { self.now } else { 0 },
                now: 0,
            };
        }
    }
}

impl Default for Quota {
    fn default() -> Self {
        Self::new(DEFAULT_LIMIT)
    }
}

impl Quota {
    /// At most `limit` calls at once.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            per_hour: None,
            running: Arc::default(),
            begun: Arc::default(),
        }
    }

    /// The same with at most so many runs of a space in an hour.
    #[must_use]
    pub fn with_rate(self, per_hour: u32) -> Self {
        Self {
            per_hour: Some(per_hour),
            ..self
        }
    }

    /// Counts a run of a space, of which so many are allowed in an hour; answers whether it is within them.
    fn count(&self, owner: &Owner, most: Option<u32>, now: Timestamp) -> bool {
        let Some(most) = most else {
            return true;
        };
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        if begun.len() > MAX_COUNTED {
            begun.retain(|_, count| now.0 - count.hour < 2 * HOUR);
        }
        let count = begun.entry(owner.clone()).or_default();
        count.advance(now);
        if count.recent(now) >= i64::from(most) {
            return false;
        }
        count.now = count.now.saturating_add(1);
        true
    }

    /// Admits a run of a space, of which so many may run at once.
    fn admit(&self, owner: &Owner, limit: usize) -> Option<Permit> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let count = running.entry(owner.clone()).or_default();
        if *count >= limit {
            return None;
        }
        *count += 1;
        Some(Permit {
            owner: owner.clone(),
            running: Arc::clone(&self.running),
        })
    }
}

/// Counts as one call until it is dropped.
pub(crate) struct Permit {
    owner: Owner,
    running: Arc<Mutex<HashMap<Owner, usize>>>,
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = running.get_mut(&self.owner) {
            *count -= 1;
            if *count == 0 {
                running.remove(&self.owner);
            }
        }
    }
}

impl Stage for Quota {
    fn name(&self) -> &'static str {
        "quota"
    }

    fn check<'a>(&'a self, passage: &'a mut Passage<'_>) -> Answer<'a, ()> {
        let mut admitted = Ok(());
        if passage.spec.access == Access::Execute {
            let (space, own) = (&passage.call.space, passage.call.actor.permissions.quota);
            let limit = own.runs.and_then(|runs| usize::try_from(runs).ok());
            let limit = limit.unwrap_or(self.limit);
            let per_hour = own.runs_per_hour.or(self.per_hour);
            passage.permit = self.admit(space.owner(), limit);
            if passage.permit.is_none() {
                admitted = Err(Problem::TooManyRuns { limit }.error());
            } else if !self.count(space.owner(), per_hour, space.now()) {
                let limit = per_hour.unwrap_or_default();
                admitted = Err(Problem::RunsUsedUp { limit }.error());
            }
        }
        Box::pin(std::future::ready(admitted))
    }
}

#[cfg(test)]
mod tests {
    use gongfu_core::account::Owner;
    use gongfu_core::port::Timestamp;

    use super::{HOUR, Quota};

    #[test]
    fn runs_of_an_hour_are_counted_over_its_edge() {
        let quota = Quota::new(1).with_rate(4);
        let count = |now: i64| quota.count(&Owner::Local, quota.per_hour, Timestamp(now));
        let begun = 100 * HOUR + HOUR / 2;
        assert!((0..4).all(|after| count(begun + after)));
        assert!(!count(begun + 10));
        // In the middle of the next hour, half of them are over.
        assert!(!count(101 * HOUR));
        let later = 101 * HOUR + HOUR / 2;
        assert!(count(later) && count(later) && !count(later));
        assert!((0..4).all(|_| count(110 * HOUR)) && !count(110 * HOUR));
    }
}
