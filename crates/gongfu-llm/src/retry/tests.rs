//! Tests of waits.

use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use super::{asked, wait};
use crate::settings::Limits;

fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
    let pair = |(name, value): &(&'static str, &'static str)| {
        (
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        )
    };
    pairs.iter().map(pair).collect()
}

#[test]
fn reads_each_form_of_a_wait() {
    let date = ("date", "Wed, 21 Oct 2015 07:28:00 GMT");
    for (pairs, expected) in [
        (&[("retry-after", "7")][..], Some(Duration::from_secs(7))),
        (&[("retry-after", "0.5")], Some(Duration::from_millis(500))),
        (
            &[("retry-after", "7"), ("retry-after-ms", "20")],
            Some(Duration::from_millis(20)),
        ),
        (
            &[("retry-after", "Wed, 21 Oct 2015 07:28:30 GMT"), date],
            Some(Duration::from_secs(30)),
        ),
        (
            &[("retry-after", "Wed, 21 Oct 2015 07:27:00 GMT"), date],
            Some(Duration::ZERO),
        ),
        (&[("retry-after", "Wed, 21 Oct 2015 07:28:30 GMT")], None),
        (&[("retry-after", "-1")], None),
        (&[("retry-after", "1e300")], Some(Duration::MAX)),
        (&[("retry-after", "inf")], None),
        (&[("retry-after", "NaN")], None),
        (&[("retry-after", "soon")], None),
        (&[], None),
    ] {
        assert_eq!(asked(&headers(pairs)), expected, "{pairs:?}");
    }
}

#[test]
fn doubles_up_to_the_longest_wait() {
    let limits = Limits {
        first_wait: Duration::from_secs(1),
        longest_wait: Duration::from_secs(6),
        ..Limits::default()
    };
    for (attempt, most) in [(1, 1), (2, 2), (3, 4), (4, 6), (99, 6), (u32::MAX, 6)] {
        let wait = wait(attempt, None, &limits);
        let most = Duration::from_secs(most);
        assert!(wait >= most / 2 && wait <= most, "{attempt}: {wait:?}");
    }
}

#[test]
fn waits_as_asked() {
    let limits = Limits::default();
    assert_eq!(wait(1, Some(Duration::ZERO), &limits), Duration::ZERO);
    assert_eq!(
        wait(1, Some(Duration::from_secs(5)), &limits),
        Duration::from_secs(5)
    );
}
