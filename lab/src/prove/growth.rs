//! Inputs that grow: a reader that takes four times as long for four times as much is fine, one
//! that takes sixteen times as long is not.
//!
//! Only reports: a time is never a failure.

mod shape;

use std::time::{Duration, Instant};

use super::property::{Fixture, Kind};
pub(super) use shape::SHAPES;

/// The sizes that are compared, in bytes.
const SMALL: usize = 48 * 1024;
const TIMES: usize = 4;
/// A quicker reading of the large one is not looked at.
const NOTICEABLE: Duration = Duration::from_millis(25);
/// A reading of the large one that takes longer is reported, whatever its growth.
pub(super) const SLOW: Duration = Duration::from_millis(100);
/// Growth by more than this factor, for four times the input, is reported.
const STEEP: f64 = 9.0;
/// After such a long reading of the small one, the large one is left out.
const ENOUGH: Duration = Duration::from_secs(3);

/// An input of any size.
pub(super) struct Shape {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    make: fn(usize) -> String,
}

/// The times of a shape.
pub(super) struct Growth {
    pub(super) small: Duration,
    pub(super) large: Option<Duration>,
    /// The size of the larger input that was read.
    pub(super) size: usize,
}

impl Growth {
    /// True when it is worth a line.
    pub(super) fn is_notable(&self) -> bool {
        match self.large {
            None => true,
            Some(large) => large > SLOW || (large > NOTICEABLE && self.ratio() > STEEP),
        }
    }

    /// The time of the large one divided by the time of the small one.
    pub(super) fn ratio(&self) -> f64 {
        let large = self.large.unwrap_or_default();
        large.as_secs_f64() / self.small.as_secs_f64().max(1e-6)
    }
}

impl Shape {
    /// The input of about this size.
    pub(super) fn input(&self, size: usize) -> Vec<u8> {
        (self.make)(size).into_bytes()
    }

    /// Reads the small and the large one, the quicker of two times each.
    pub(super) fn measure(&self, fixture: &Fixture) -> Growth {
        let time = |size: usize| {
            let input = self.input(size);
            let once = || {
                let started = Instant::now();
                // What doesn't hold is found by the other inputs; here only the time counts.
                let _ = self.kind.check(fixture, &input);
                started.elapsed()
            };
            let first = once();
            if first > SLOW {
                first
            } else {
                first.min(once())
            }
        };
        let small = time(SMALL);
        let large = (small < ENOUGH).then(|| time(SMALL * TIMES));
        Growth {
            small,
            large,
            size: if large.is_some() {
                SMALL * TIMES
            } else {
                SMALL
            },
        }
    }
}
