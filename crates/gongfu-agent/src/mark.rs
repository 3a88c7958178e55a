//! Ids of sessions and runs, the names of what writes their logs, and durations in them.

use std::time::Instant;

use gongfu_core::skill::Digest;
use gongfu_hub::Call;

/// The attempts to find a free id.
pub(crate) const MAX_IDS: u32 = 16;

/// The name of a call as the writer of a log.
pub(crate) fn writer(call: &Call) -> String {
    format!("{}-{}-{}", std::process::id(), call.id, call.space.now().0)
}

/// An id for what starts at a time (RFC 3339): the date, the time, and digits that differ with each attempt.
pub(crate) fn id(now: &str, writer: &str, attempt: u32) -> String {
    let digits: String = now.chars().filter(char::is_ascii_digit).take(14).collect();
    let (date, time) = digits.split_at_checked(8).unwrap_or((&digits, ""));
    let salt = format!("{writer}/{now}/{attempt}");
    format!("{date}-{time}-{}", Digest::of(salt.as_bytes()).hex(6))
}

/// The milliseconds since a moment.
pub(crate) fn milliseconds(started: Instant) -> u64 {
    u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX)
}
