//! Limits with a clock that stands still.

use std::net::IpAddr;
use std::sync::Arc;

use gongfu_testing::FixedClock;

use super::{MAX_ENTRIES, MAX_HASHING, MAX_LOCK, RateLimits, RateSettings, RetryAfter};

fn limits(settings: RateSettings) -> (RateLimits, Arc<FixedClock>) {
    let clock = Arc::<FixedClock>::default();
    let limits = RateLimits::new(settings, Arc::<FixedClock>::clone(&clock) as _);
    (limits, clock)
}

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// The attempts until the first refusal.
fn attempts(mut attempt: impl FnMut() -> Result<(), RetryAfter>) -> usize {
    (0..10_000).take_while(|_| attempt().is_ok()).count()
}

const WITHOUT_LOGINS: RateSettings = RateSettings {
    logins: None,
    requests: None,
};

#[test]
fn address_has_a_number_of_logins_in_a_minute() {
    let (limits, clock) = limits(RateSettings::default());
    let names = std::cell::Cell::new(0);
    let login = |from: &str| {
        names.set(names.get() + 1);
        limits.login_allowed(address(from), &format!("user{}", names.get()))
    };
    assert_eq!(attempts(|| login("192.0.2.1")), 20);
    assert_eq!(login("192.0.2.1"), Err(RetryAfter(3)));
    assert_eq!(login("::ffff:192.0.2.1"), Err(RetryAfter(3)));
    assert_eq!(
        limits.registration_allowed(address("192.0.2.1")),
        Err(RetryAfter(3))
    );
    // Others are not held up.
    assert_eq!(login("192.0.2.2"), Ok(()));
    clock.advance(3_000);
    assert_eq!(login("192.0.2.1"), Ok(()));
    assert_eq!(login("192.0.2.1"), Err(RetryAfter(3)));
    // A network of IPv6 is one client.
    assert_eq!(attempts(|| login("2001:db8:0:1::1")), 20);
    assert!(login("2001:db8:0:1:ffff::2").is_err());
    assert_eq!(login("2001:db8:0:2::1"), Ok(()));
}

#[test]
fn name_is_locked_for_longer_each_time_and_never_permanently() {
    let (limits, clock) = limits(WITHOUT_LOGINS);
    let attempt = || limits.login_allowed(address("192.0.2.1"), "Ann");
    let failed = || {
        attempt()?;
        limits.login_failed("ann ");
        Ok(())
    };
    assert_eq!(attempts(failed), 6);
    let mut waits = Vec::new();
    for _ in 0..14 {
        let RetryAfter(seconds) = attempt().unwrap_err();
        waits.push(seconds);
        clock.advance(i64::try_from(seconds).unwrap() * 1_000);
        failed().unwrap();
    }
    assert_eq!(
        waits,
        [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900, 900]
    );
    // Another name isn't locked; the right password forgets everything.
    assert_eq!(limits.login_allowed(address("192.0.2.1"), "bob"), Ok(()));
    clock.advance(MAX_LOCK);
    attempt().unwrap();
    limits.login_succeeded("ANN");
    assert_eq!(attempts(failed), 6);
    // After an hour without an attempt, too.
    clock.advance(3_600_000);
    assert_eq!(attempts(failed), 6);
}

#[test]
fn many_attempts_at_once_are_counted_before_they_fail() {
    let (limits, _clock) = limits(WITHOUT_LOGINS);
    assert_eq!(
        attempts(|| limits.login_allowed(address("192.0.2.1"), "ann")),
        6
    );
}

#[test]
fn clock_that_jumps_back_locks_nobody() {
    let (limits, clock) = limits(RateSettings::default());
    let attempt = || limits.login_allowed(address("192.0.2.1"), "ann");
    assert_eq!(attempts(attempt), 6);
    clock.advance(-1_000_000_000);
    assert_eq!(attempt(), Ok(()));
}

#[test]
fn credential_has_a_number_of_requests_in_a_minute() {
    let (limits, clock) = limits(RateSettings::default());
    assert_eq!(attempts(|| limits.request_allowed("token/1")), 1_200);
    assert_eq!(limits.request_allowed("token/2"), Ok(()));
    clock.advance(50);
    assert_eq!(limits.request_allowed("token/1"), Ok(()));
    assert_eq!(limits.request_allowed("token/1"), Err(RetryAfter(1)));
    let (open, _clock) = self::limits(WITHOUT_LOGINS);
    assert_eq!(attempts(|| open.request_allowed("token/1")), 10_000);
    assert_eq!(
        attempts(|| open.refresh_allowed(address("192.0.2.1"))),
        10_000
    );
}

#[test]
fn tables_are_bounded_and_keep_what_is_used() {
    let (limits, _clock) = limits(RateSettings::default());
    let attacked = || limits.request_allowed("token/attacked");
    assert_eq!(attempts(attacked), 1_200);
    for number in 0..3 * MAX_ENTRIES {
        limits.request_allowed(&format!("token/{number}")).unwrap();
        if number % 1_000 == 0 {
            assert!(attacked().is_err(), "{number}");
        }
    }
    let tables = limits.tables.lock().unwrap();
    let (young, old) = (&tables.requests.young, &tables.requests.old);
    assert!(young.len() <= MAX_ENTRIES && old.len() <= MAX_ENTRIES);
}

#[test]
fn few_passwords_wait_to_be_hashed() {
    let (limits, _clock) = limits(RateSettings::default());
    let mut permits: Vec<_> = (0..MAX_HASHING)
        .map(|_| limits.hashing().unwrap())
        .collect();
    assert_eq!(limits.hashing().unwrap_err(), RetryAfter(1));
    permits.pop();
    assert!(limits.hashing().is_ok());
}
