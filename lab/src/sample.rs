//! Measured values: their median, percentiles and how they are shown.

use std::time::Duration;

/// Values of one quantity, in the order in which they were measured.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Sample(Vec<f64>);

/// The unit of the values in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Milliseconds,
    Mebibytes,
    PerSecond,
    Times,
}

impl Sample {
    /// Adds a time, in milliseconds.
    pub(crate) fn time(&mut self, time: Duration) {
        self.0.push(time.as_secs_f64() * 1000.0);
    }

    /// Adds a value.
    pub(crate) fn value(&mut self, value: f64) {
        self.0.push(value);
    }

    /// The number of values.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The smallest value.
    pub(crate) fn least(&self) -> Option<f64> {
        self.0.iter().copied().reduce(f64::min)
    }

    /// The largest value.
    pub(crate) fn most(&self) -> Option<f64> {
        self.0.iter().copied().reduce(f64::max)
    }

    /// The value in the middle; of an even number of values the lower of the two.
    pub(crate) fn median(&self) -> Option<f64> {
        self.percentile(50)
    }

    /// The smallest value that at least so many in a hundred do not exceed.
    pub(crate) fn percentile(&self, share: usize) -> Option<f64> {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let rank = (sorted.len() * share).div_ceil(100);
        sorted.get(rank.saturating_sub(1)).copied()
    }
}

/// A value in about three digits.
pub(crate) fn three_digits(value: f64) -> String {
    let digits = match value.abs() {
        large if large >= 100.0 => 0,
        middling if middling >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.digits$}")
}

impl Unit {
    /// A value with its unit, in about three digits.
    pub(crate) fn show(self, value: f64) -> String {
        match self {
            Self::Milliseconds if value >= 10_000.0 => format!("{:.1} s", value / 1000.0),
            Self::Milliseconds => format!("{} ms", three_digits(value)),
            Self::Mebibytes => format!("{} MiB", three_digits(value)),
            Self::PerSecond => format!("{value:.0} /s"),
            Self::Times => format!("{value:.0}"),
        }
    }

    /// Its name in JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Milliseconds => "milliseconds",
            Self::Mebibytes => "mebibytes",
            Self::PerSecond => "per_second",
            Self::Times => "times",
        }
    }

    /// True when more of it is better.
    pub(crate) fn more_is_better(self) -> bool {
        self == Self::PerSecond
    }
}

#[cfg(test)]
mod tests {
    use super::{Sample, Unit};

    fn sample(values: impl IntoIterator<Item = u32>) -> Sample {
        let mut sample = Sample::default();
        for value in values {
            sample.value(f64::from(value));
        }
        sample
    }

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let hundred = sample((1..=100).rev());
        assert_eq!(hundred.median(), Some(50.0));
        assert_eq!(hundred.percentile(99), Some(99.0));
        assert_eq!(sample([7]).percentile(99), Some(7.0));
        assert_eq!(sample([3, 1, 2]).median(), Some(2.0));
        assert_eq!(sample([]).median(), None);
    }

    #[test]
    fn values_are_shown_in_three_digits() {
        assert_eq!(Unit::Milliseconds.show(1.234), "1.23 ms");
        assert_eq!(Unit::Milliseconds.show(12_345.0), "12.3 s");
        assert_eq!(Unit::Mebibytes.show(123.4), "123 MiB");
    }
}
