//! The goals of gongfu, and whether it reaches them.

use std::fmt;

use serde_json::{Value, json};

use crate::peer::figure::Row;
use crate::sample::Sample;

/// One goal on one path.
pub(super) struct Bar {
    path: &'static str,
    what: String,
    /// The reached value, in words.
    reached: String,
    /// `None` when something was not measured.
    is_held: Option<bool>,
}

impl Bar {
    fn new(
        path: &'static str,
        what: &str,
        reached: Option<f64>,
        unit: &str,
        is_held: fn(f64) -> bool,
    ) -> Self {
        Self {
            path,
            what: what.to_owned(),
            reached: reached.map_or_else(
                || "not measured".to_owned(),
                |value| format!("{value:.2}{unit}"),
            ),
            is_held: reached.map(is_held),
        }
    }

    /// For programs.
    pub(super) fn to_json(&self) -> Value {
        json!({
            "path": self.path,
            "what": self.what,
            "reached": self.reached,
            "held": self.is_held,
        })
    }
}

impl fmt::Display for Bar {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = match self.is_held {
            Some(true) => "held",
            Some(false) => "MISSED",
            None => "unknown",
        };
        write!(
            formatter,
            "{verdict:<8} {:<10} {:<52} {}",
            self.path, self.what, self.reached
        )
    }
}

/// A figure of a row.
type Pick = for<'a, 'b> fn(&'a Row<'b>) -> &'a Sample;

/// All bars, for each path of gongfu against the same kind of path of the others.
pub(super) fn bars(rows: &[Row<'_>]) -> Vec<Bar> {
    let find = |name: &str, is_session: bool| {
        rows.iter()
            .find(|row| row.contender.name == name && row.is_session() == is_session)
    };
    let mut bars = Vec::new();
    for is_session in [false, true] {
        let path = if is_session { "session" } else { "stateless" };
        let ours = find("gongfu", is_session);
        let value = |row: Option<&Row<'_>>, sample: Pick| row.and_then(|row| sample(row).median());
        let ratio = |name: &str, sample: Pick| {
            let theirs = value(find(name, is_session), sample)?;
            Some(value(ours, sample)? / theirs)
        };
        let rate: Pick = |row| &row.many.rate;
        let tail = ratio("fastmcp", |row| &row.many.tail).map(|ratio| 1.0 / ratio);
        let own = |sample: Pick| value(ours, sample);
        let beside = if ours.is_some_and(|row| row.contender.has_accounts) {
            Bar::new(
                path,
                "calls/s, 16 in flight, with accounts: ≥ 5 × FastMCP",
                ratio("fastmcp", rate),
                " ×",
                |times| times >= 5.0,
            )
        } else {
            Bar::new(
                path,
                "calls/s, 16 in flight: ≥ 10 × FastMCP",
                ratio("fastmcp", rate),
                " ×",
                |times| times >= 10.0,
            )
        };
        bars.extend([
            beside,
            Bar::new(
                path,
                "calls/s, 16 in flight: ≥ 5 × TypeScript v1",
                ratio("typescript-v1", rate),
                " ×",
                |times| times >= 5.0,
            ),
            Bar::new(
                path,
                "p99, 16 in flight: FastMCP's ≥ 10 × ours",
                tail,
                " ×",
                |times| times >= 10.0,
            ),
            Bar::new(
                path,
                "CPU a call ≤ 250 µs",
                own(|row| &row.many.cost),
                " µs",
                |micros| micros <= 250.0,
            ),
            Bar::new(
                path,
                "idle memory ≤ 40 MB",
                own(|row| &row.idle),
                " MB",
                |megabytes| megabytes <= 40.0,
            ),
            Bar::new(
                path,
                "HTTP start to first answer < 100 ms",
                own(|row| &row.http),
                " ms",
                |millis| millis < 100.0,
            ),
        ]);
        if !is_session {
            let stdio = own(|row| &row.stdio);
            bars.push(Bar::new(
                "stdio",
                "start to first `tools/list` < 30 ms",
                stdio,
                " ms",
                |millis| millis < 30.0,
            ));
        }
    }
    bars
}
