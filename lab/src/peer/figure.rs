//! The figures of a server on one path, over all rounds.

use serde_json::{Value, json};

use super::contender::{Contender, Listing};
use crate::http::load::Outcome;
use crate::http::wire::Path;
use crate::sample::Sample;

/// The number of calls in flight under load.
pub(super) const MANY: usize = 16;

/// The figures of so many calls in flight.
#[derive(Default)]
pub(super) struct Calls {
    /// Calls in a second.
    pub(super) rate: Sample,
    /// Milliseconds.
    pub(super) half: Sample,
    /// Milliseconds.
    pub(super) tail: Sample,
    /// The server's processor time for a call, in microseconds.
    pub(super) cost: Sample,
    /// The load's processor time for a call, in microseconds.
    pub(super) own: Sample,
    /// The number of right answers.
    pub(super) right: u64,
    pub(super) errors: u64,
    pub(super) complaint: Option<String>,
}

/// The figures of all skills of a server.
pub(super) struct Whole {
    pub(super) listing: Listing,
    /// The first list after the start, in milliseconds.
    pub(super) first: Sample,
    /// A later list, in milliseconds.
    pub(super) again: Sample,
    /// One read, in milliseconds.
    pub(super) half: Sample,
    /// One read, in milliseconds.
    pub(super) tail: Sample,
    /// Megabytes.
    pub(super) peak: Sample,
    pub(super) pages: usize,
    pub(super) entries: usize,
    /// The size of all pages in bytes.
    pub(super) size: usize,
    pub(super) trouble: Option<String>,
}

/// One line of the first table, and the lines of the second that belong to it.
pub(super) struct Row<'a> {
    pub(super) contender: &'a Contender,
    pub(super) path: Path,
    pub(super) one: Calls,
    pub(super) many: Calls,
    /// Megabytes.
    pub(super) idle: Sample,
    /// Megabytes.
    pub(super) peak: Sample,
    /// Milliseconds from the start to the first answer.
    pub(super) http: Sample,
    /// Milliseconds from the start to the first list of tools.
    pub(super) stdio: Sample,
    pub(super) wholes: Vec<Whole>,
    /// Why there are no more figures.
    pub(super) trouble: Option<String>,
}

impl<'a> Row<'a> {
    /// The rows of a server.
    pub(super) fn of(contender: &'a Contender) -> Vec<Self> {
        let row = |(place, path): (usize, &Path)| Self {
            contender,
            path: *path,
            one: Calls::default(),
            many: Calls::default(),
            idle: Sample::default(),
            peak: Sample::default(),
            http: Sample::default(),
            stdio: Sample::default(),
            // All skills are asked for on the first path alone.
            wholes: if place == 0 {
                contender.listings.iter().copied().map(Whole::new).collect()
            } else {
                Vec::new()
            },
            trouble: None,
        };
        contender.paths.iter().enumerate().map(row).collect()
    }

    /// The server and the path.
    pub(super) fn title(&self) -> String {
        format!("{}, {}", self.contender.title, self.path.name())
    }

    /// True when a client of this row has a session.
    pub(super) fn is_session(&self) -> bool {
        self.path == Path::Session
    }

    /// For programs.
    pub(super) fn to_json(&self) -> Value {
        json!({
            "name": self.contender.name,
            "title": self.contender.title,
            "path": self.path.name(),
            "revision": self.path.revision(),
            "settings": self.contender.settings,
            "one_in_flight": self.one.to_json(),
            "many_in_flight": self.many.to_json(),
            "idle_megabytes": values(&self.idle),
            "peak_megabytes": values(&self.peak),
            "http_start_milliseconds": values(&self.http),
            "stdio_start_milliseconds": values(&self.stdio),
            "all_skills": self.wholes.iter().map(Whole::to_json).collect::<Vec<_>>(),
            "not_measured": self.trouble,
        })
    }
}

impl Calls {
    /// Takes what came of a load, and what the server computed for it.
    pub(super) fn add(&mut self, outcome: Outcome, computed: Option<std::time::Duration>) {
        self.right += outcome.calls;
        self.errors += outcome.errors;
        if outcome.calls > 0 {
            self.rate.value(outcome.rate());
            self.half.value(outcome.quantile(0.5));
            self.tail.value(outcome.quantile(0.99));
            self.own.value(outcome.each(outcome.own));
            if let Some(computed) = computed {
                self.cost.value(outcome.each(computed));
            }
        }
        if self.complaint.is_none() {
            self.complaint = outcome.complaint;
        }
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "calls": self.right,
            "errors": self.errors,
            "first_error": self.complaint,
            "per_second": values(&self.rate),
            "p50_milliseconds": values(&self.half),
            "p99_milliseconds": values(&self.tail),
            "server_microseconds_a_call": values(&self.cost),
            "load_microseconds_a_call": values(&self.own),
        })
    }
}

impl Whole {
    fn new(listing: Listing) -> Self {
        Self {
            listing,
            first: Sample::default(),
            again: Sample::default(),
            half: Sample::default(),
            tail: Sample::default(),
            peak: Sample::default(),
            pages: 0,
            entries: 0,
            size: 0,
            trouble: None,
        }
    }

    fn to_json(&self) -> Value {
        json!({
            "method": self.listing.method(),
            "entries": self.entries,
            "pages": self.pages,
            "bytes": self.size,
            "first_milliseconds": values(&self.first),
            "again_milliseconds": values(&self.again),
            "read_p50_milliseconds": values(&self.half),
            "read_p99_milliseconds": values(&self.tail),
            "peak_megabytes": values(&self.peak),
            "not_measured": self.trouble,
        })
    }
}

/// The median of the rounds, with the least and the most.
fn values(sample: &Sample) -> Value {
    json!({ "median": sample.median(), "min": sample.least(), "max": sample.most() })
}

/// Mebibytes as megabytes, which is what the goals are in.
pub(super) fn megabytes(mebibytes: f64) -> f64 {
    mebibytes * 1.048_576
}
