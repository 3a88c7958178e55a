//! Quota: how many calls of one space run something at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use gongfu_core::account::Owner;
use gongfu_core::capability::Access;

use super::{Answer, Passage, Stage};
use crate::problem::Problem;

/// Runs at once in one space, unless the operator says otherwise.
const DEFAULT_LIMIT: usize = 1_024;

/// Limits the calls of a space that run something at once.
#[derive(Debug, Clone)]
pub struct Quota {
    limit: usize,
    running: Arc<Mutex<HashMap<Owner, usize>>>,
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
            running: Arc::default(),
        }
    }

    fn admit(&self, owner: &Owner) -> Option<Permit> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let count = running.entry(owner.clone()).or_default();
        if *count >= self.limit {
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
            passage.permit = self.admit(passage.call.space.owner());
            if passage.permit.is_none() {
                admitted = Err(Problem::TooManyRuns { limit: self.limit }.error());
            }
        }
        Box::pin(std::future::ready(admitted))
    }
}
