//! The wait before the next attempt.
//!
//! Knows neither requests nor providers.

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

use crate::settings::Limits;

/// The wait that a provider asks for: seconds, milliseconds, or a date.
///
/// A date is compared with that of the answer, so that neither clock needs to be right.
pub(crate) fn asked(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(wait) = text("retry-after-ms").and_then(|wait| wait.parse().ok()) {
        return Some(Duration::from_millis(wait));
    }
    let wait = text(RETRY_AFTER.as_str())?;
    if let Ok(seconds) = wait.parse::<f64>() {
        let is_wait = seconds.is_finite() && seconds >= 0.0;
        return is_wait.then(|| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX));
    }
    let (from, to) = (date(text(DATE.as_str())?)?, date(wait)?);
    Some(Duration::try_from(to.duration_since(from)).unwrap_or_default())
}

fn date(text: &str) -> Option<Timestamp> {
    DateTimeParser::new().parse_timestamp(text).ok()
}

/// The wait after this attempt, the first one being 1: the one that the provider asks for, else one of our own.
///
/// Our own doubles with each attempt, and half of it is random, so that clients that failed together don't come back
/// together.
pub(crate) fn wait(attempt: u32, asked: Option<Duration>, limits: &Limits) -> Duration {
    asked.unwrap_or_else(|| {
        let doubled = 2_u32.saturating_pow(attempt.saturating_sub(1));
        let most = limits
            .first_wait
            .saturating_mul(doubled)
            .min(limits.longest_wait);
        // Without a random number, the wait is the longest one.
        let share = getrandom::u32().unwrap_or(u32::MAX);
        most / 2 + (most / 2).mul_f64(f64::from(share) / f64::from(u32::MAX))
    })
}

#[cfg(test)]
mod tests;
