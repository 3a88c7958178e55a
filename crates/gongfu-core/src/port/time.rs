//! Timestamps, and the clock that gives them.

use serde::Serialize;

/// A moment, in milliseconds since 1970 (UTC); shown as RFC 3339.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(pub i64);

impl std::fmt::Display for Timestamp {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(moment) => write!(formatter, "{moment:.3}"),
            Err(_) => write!(formatter, "{} ms", self.0),
        }
    }
}

impl Timestamp {
    /// The moment as RFC 3339 without a fraction of the second.
    pub fn to_seconds(self) -> String {
        match jiff::Timestamp::from_second(self.0.div_euclid(1_000)) {
            Ok(moment) => moment.to_string(),
            Err(_) => self.to_string(),
        }
    }
}

impl Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Tells the time, so that nothing asks the system for it.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> Timestamp;
}

#[cfg(test)]
mod tests {
    use super::Timestamp;

    #[test]
    fn timestamps_are_shown_as_rfc_3339() {
        assert_eq!(
            Timestamp(1_795_253_400_000).to_string(),
            "2026-11-21T09:30:00.000Z"
        );
        assert_eq!(
            Timestamp(1_795_253_400_999).to_seconds(),
            "2026-11-21T09:30:00Z"
        );
    }
}
