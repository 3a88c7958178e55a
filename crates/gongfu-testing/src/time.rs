//! A clock that a test sets.

use std::sync::atomic::{AtomicI64, Ordering};

use gongfu_core::port::{Clock, Timestamp};

/// A clock that stands still until a test moves it, or moves by a step with each question.
#[derive(Debug)]
pub struct FixedClock {
    now: AtomicI64,
    step: i64,
}

impl Default for FixedClock {
    /// 2026-11-21T09:30:00Z.
    fn default() -> Self {
        Self::at(Timestamp(1_795_253_400_000))
    }
}

impl FixedClock {
    /// A clock at a moment.
    pub fn at(moment: Timestamp) -> Self {
        Self::stepping(moment, 0)
    }

    /// A clock that moves by this many milliseconds with each question.
    pub fn stepping(moment: Timestamp, step: i64) -> Self {
        let now = AtomicI64::new(moment.0);
        Self { now, step }
    }

    /// Sets the clock to a moment.
    pub fn set(&self, moment: Timestamp) {
        self.now.store(moment.0, Ordering::Relaxed);
    }

    /// Moves the clock by this many milliseconds.
    pub fn advance(&self, milliseconds: i64) {
        self.now.fetch_add(milliseconds, Ordering::Relaxed);
    }
}

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.now.fetch_add(self.step, Ordering::Relaxed))
    }
}
