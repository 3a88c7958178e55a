//! The identities behind credentials that were looked up a moment ago.
//!
//! A client sends one credential with hundreds of requests a second. For half a second its identity isn't looked up again,
//! so that a revocation counts within that time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use gongfu_core::port::{Clock, Timestamp};
use gongfu_core::registry::Identity;
use gongfu_core::skill::Digest;

/// The time for which an identity counts, in milliseconds.
const FRESH: i64 = 500;
/// The most identities.
const MAX: usize = 10_000;

/// Identities by the digests of their credentials and audiences.
pub(super) struct IdentityCache {
    known: Mutex<HashMap<Digest, (Timestamp, Arc<Identity>)>>,
    clock: Arc<dyn Clock>,
}

impl IdentityCache {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            known: Mutex::default(),
            clock,
        }
    }

    /// The key of a credential for something with these audiences.
    pub(super) fn key(credential: &str, audiences: &[&str]) -> Digest {
        Digest::of([&[credential], audiences].concat().join("\n").as_bytes())
    }

    /// The identity behind a key, if it is fresh.
    pub(super) fn get(&self, key: &Digest) -> Option<Arc<Identity>> {
        let now = self.clock.now();
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, identity) = known.get(key)?;
        is_fresh(*at, now).then(|| Arc::clone(identity))
    }

    /// Keeps an identity, which was looked up after this time.
    pub(super) fn put(&self, key: Digest, asked: Timestamp, identity: &Arc<Identity>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX {
            known.retain(|_, (at, _)| is_fresh(*at, asked));
        }
        if known.len() < MAX {
            known.insert(key, (asked, Arc::clone(identity)));
        }
    }

    /// Now.
    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

/// Returns whether an identity that was looked up at a time still counts; it doesn't where the clock went back.
fn is_fresh(at: Timestamp, now: Timestamp) -> bool {
    (0..FRESH).contains(&now.0.saturating_sub(at.0))
}
