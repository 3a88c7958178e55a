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
    /// The moment that a text means: RFC 3339, or a date, which is its midnight (UTC).
    pub fn parse(text: &str) -> Option<Self> {
        let moment = text.parse::<jiff::Timestamp>();
        let moment = moment.or_else(|_| format!("{text}T00:00:00Z").parse::<jiff::Timestamp>());
        Some(Self(moment.ok()?.as_millisecond()))
    }

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
        let parsed = [
            "2026-11-21T09:30:00.5Z",
            "2026-11-21T10:30:00+01:00",
            "2026-11-21",
            "x",
            "",
        ];
        assert_eq!(
            parsed.map(|text| Timestamp::parse(text).map(|moment| moment.to_string())),
            [
                Some("2026-11-21T09:30:00.500Z".to_owned()),
                Some("2026-11-21T09:30:00.000Z".to_owned()),
                Some("2026-11-21T00:00:00.000Z".to_owned()),
                None,
                None
            ]
        );
    }
}
