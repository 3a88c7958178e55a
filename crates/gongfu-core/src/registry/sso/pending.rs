//! Sign-ins that began in a browser and aren't answered yet.
//!
//! They stay in memory: each is good once, for some minutes, and for the browser in which it began.

use std::collections::HashMap;

use crate::port::{ProviderRequest, Timestamp};
use crate::skill::Digest;

/// The time for which a sign-in may take, in milliseconds.
const LIFE: i64 = 10 * 60 * 1_000;
/// The most sign-ins; another one takes the place of the oldest.
const MAX: usize = 2_000;

/// A sign-in that isn't answered yet.
pub(super) struct PendingSignIn {
    /// The digest of the browser's own bits.
    browser: Digest,
    pub(super) next: String,
    pub(super) request: ProviderRequest,
    began: Timestamp,
}

impl PendingSignIn {
    pub(super) fn new(browser: &str, next: &str, request: ProviderRequest, now: Timestamp) -> Self {
        Self {
            browser: Digest::of(browser.as_bytes()),
            next: next.to_owned(),
            request,
            began: now,
        }
    }

    fn is_current(&self, now: Timestamp) -> bool {
        (0..LIFE).contains(&now.0.saturating_sub(self.began.0))
    }
}

/// All of them, by the digests of their states.
#[derive(Default)]
pub(super) struct PendingSignIns(HashMap<Digest, PendingSignIn>);

impl PendingSignIns {
    pub(super) fn add(&mut self, pending: PendingSignIn, now: Timestamp) {
        if self.0.len() >= MAX {
            self.0.retain(|_, one| one.is_current(now));
        }
        if self.0.len() >= MAX {
            let oldest = self.0.iter().min_by_key(|(_, one)| one.began);
            if let Some(key) = oldest.map(|(key, _)| *key) {
                self.0.remove(&key);
            }
        }
        let key = Digest::of(pending.request.state.as_bytes());
        self.0.insert(key, pending);
    }

    /// Takes a sign-in out. Another browser than its own leaves it as it is.
    pub(super) fn take(
        &mut self,
        state: &str,
        browser: &str,
        now: Timestamp,
    ) -> Option<PendingSignIn> {
        let key = Digest::of(state.as_bytes());
        let is_own = self.0.get(&key)?.browser == Digest::of(browser.as_bytes());
        let taken = is_own.then(|| self.0.remove(&key)).flatten();
        taken.filter(|pending| pending.is_current(now))
    }
}

#[cfg(test)]
mod tests {
    use super::{LIFE, MAX, PendingSignIn, PendingSignIns};
    use crate::port::{ProviderRequest, Timestamp};

    fn pending(state: usize, now: i64) -> PendingSignIn {
        let request = ProviderRequest {
            state: state.to_string(),
            nonce: String::new(),
            verifier: String::new(),
            redirect: String::new(),
        };
        PendingSignIn::new("browser", "/account", request, Timestamp(now))
    }

    #[test]
    fn sign_in_is_answered_once_in_time_and_in_its_browser() {
        let mut all = PendingSignIns::default();
        all.add(pending(1, 0), Timestamp(0));
        assert!(all.take("1", "other", Timestamp(1)).is_none());
        assert!(all.take("2", "browser", Timestamp(1)).is_none());
        assert!(all.take("1", "browser", Timestamp(1)).is_some());
        assert!(all.take("1", "browser", Timestamp(1)).is_none());
        for late in [-1, LIFE] {
            all.add(pending(1, 0), Timestamp(0));
            assert!(all.take("1", "browser", Timestamp(late)).is_none());
        }
    }

    #[test]
    fn newest_sign_ins_are_kept() {
        let mut all = PendingSignIns::default();
        for (state, now) in (0..=MAX).zip(0..) {
            all.add(pending(state, now), Timestamp(now));
        }
        assert_eq!(all.0.len(), MAX);
        assert!(all.take("0", "browser", Timestamp(0)).is_none());
        let last = i64::try_from(MAX).unwrap();
        let newest = all.take(&MAX.to_string(), "browser", Timestamp(last));
        assert!(newest.is_some());
        // Those that are too old make room first.
        all.add(pending(MAX + 1, last), Timestamp(last));
        all.add(pending(MAX + 2, last + LIFE), Timestamp(last + LIFE));
        assert_eq!(all.0.len(), 1);
    }
}
