//! The system's clock: the only place that asks it.

use std::time::{SystemTime, UNIX_EPOCH};

use gongfu_core::port::{Clock, Timestamp};

/// The time of this machine.
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that asks the system for the time"
    )]
    fn now(&self) -> Timestamp {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}
