//! The limits on how often somebody may ask, checked before anything expensive.
//!
//! Everything is in memory and bounded: what was asked the longest ago is forgotten first.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};

use gongfu_core::port::Clock;
use gongfu_core::skill::Digest;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

#[cfg(test)]
mod tests;

/// The entries of half of a table.
const MAX_ENTRIES: usize = 20_000;
/// The failures of one name that cost no time.
const FREE_FAILURES: u32 = 5;
/// The longest time for which a name is locked, in milliseconds.
const MAX_LOCK: i64 = 15 * 60 * 1_000;
/// The time after which failures are forgotten, in milliseconds.
const MEMORY: i64 = 60 * 60 * 1_000;
/// The requests that may wait for a password to be hashed.
const MAX_HASHING: usize = 32;
/// Milliseconds of a minute.
const MINUTE: i64 = 60 * 1_000;

/// The limits of a server with accounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateSettings {
    /// The logins and registrations of one address in a minute; `None` for any number.
    pub logins: Option<u32>,
    /// The requests of one credential in a minute; `None` for any number.
    pub requests: Option<u32>,
}

impl Default for RateSettings {
    fn default() -> Self {
        Self {
            logins: Some(20),
            requests: Some(1_200),
        }
    }
}

/// The time after which a refused request may be made again, in whole seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryAfter(pub u64);

impl RetryAfter {
    fn of_milliseconds(milliseconds: i64) -> Self {
        let seconds = milliseconds.max(1).saturating_add(999) / 1_000;
        Self(u64::try_from(seconds).unwrap_or(1))
    }
}

/// Permission to hash a password, as long as it is held.
#[derive(Debug)]
pub struct HashingPermit {
    _permit: OwnedSemaphorePermit,
}

/// The limits on how often somebody may ask.
pub struct RateLimits {
    settings: RateSettings,
    clock: Arc<dyn Clock>,
    tables: Mutex<Tables>,
    hashing: Arc<Semaphore>,
}

#[derive(Default)]
struct Tables {
    logins: Table<IpAddr, Bucket>,
    refreshes: Table<IpAddr, Bucket>,
    requests: Table<Digest, Bucket>,
    failures: Table<Digest, Failures>,
}

impl RateLimits {
    /// Limits that nobody has used yet.
    pub fn new(settings: RateSettings, clock: Arc<dyn Clock>) -> Self {
        Self {
            settings,
            clock,
            tables: Mutex::default(),
            hashing: Arc::new(Semaphore::new(MAX_HASHING)),
        }
    }

    /// Counts an attempt to sign in from an address as a name, before the password is looked at. A name that doesn't
    /// exist is treated the same.
    ///
    /// The attempt counts as a failed one until [`Self::login_succeeded`], so many at once gain nothing.
    ///
    /// # Errors
    /// There were too many from this address, or the name is locked for a while.
    pub fn login_allowed(&self, address: IpAddr, name: &str) -> Result<(), RetryAfter> {
        self.registration_allowed(address)?;
        let now = self.clock.now().0;
        self.with(|tables| tables.failures.entry(key(name), now).attempt(now))
    }

    /// Locks a name after a wrong password, for longer each time.
    pub fn login_failed(&self, name: &str) {
        let now = self.clock.now().0;
        self.with(|tables| tables.failures.entry(key(name), now).lock(now));
    }

    /// Forgets the failures of a name.
    pub fn login_succeeded(&self, name: &str) {
        self.with(|tables| tables.failures.remove(&key(name)));
    }

    /// Counts a registration from an address.
    ///
    /// # Errors
    /// There were too many registrations and logins from it.
    pub fn registration_allowed(&self, address: IpAddr) -> Result<(), RetryAfter> {
        let Some(limit) = self.settings.logins else {
            return Ok(());
        };
        let now = self.clock.now().0;
        self.with(|tables| {
            let bucket = tables.logins.entry(network(address), now);
            bucket.take(limit, now)
        })
    }

    /// Counts the use of a refresh token from an address: no password is hashed for it.
    ///
    /// # Errors
    /// There were too many.
    pub fn refresh_allowed(&self, address: IpAddr) -> Result<(), RetryAfter> {
        let Some(limit) = self.settings.logins else {
            return Ok(());
        };
        let now = self.clock.now().0;
        self.with(|tables| {
            let bucket = tables.refreshes.entry(network(address), now);
            bucket.take(limit.saturating_mul(6), now)
        })
    }

    /// Counts a request by a credential, by the id of its token or session.
    ///
    /// # Errors
    /// There were too many.
    pub fn request_allowed(&self, credential: &str) -> Result<(), RetryAfter> {
        let Some(limit) = self.settings.requests else {
            return Ok(());
        };
        let now = self.clock.now().0;
        self.with(|tables| tables.requests.entry(key(credential), now).take(limit, now))
    }

    /// Permission to hash a password.
    ///
    /// # Errors
    /// Too many requests wait for it already.
    pub fn hashing(&self) -> Result<HashingPermit, RetryAfter> {
        let permit = Arc::clone(&self.hashing).try_acquire_owned();
        let permit = permit.map_err(|_| RetryAfter(1))?;
        Ok(HashingPermit { _permit: permit })
    }

    fn with<T>(&self, act: impl FnOnce(&mut Tables) -> T) -> T {
        act(&mut self.tables.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The key of a name or an id: letter case makes no other one, and a long one takes no more room.
fn key(name: &str) -> Digest {
    Digest::of(name.trim().to_lowercase().as_bytes())
}

/// The network that one client may use freely: its address, or the first half of an IPv6 address.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(
            address.to_bits() & !u128::from(u64::MAX),
        )),
        address @ IpAddr::V4(_) => address,
    }
}

/// A bounded table, in two halves: when the young half is full, the old one is forgotten.
#[derive(Debug)]
struct Table<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
}

impl<K, V> Default for Table<K, V> {
    fn default() -> Self {
        Self {
            young: HashMap::new(),
            old: HashMap::new(),
        }
    }
}

/// Something that starts at a moment.
trait StartsAt {
    fn at(now: i64) -> Self;
}

impl<K: Eq + Hash, V: StartsAt> Table<K, V> {
    fn entry(&mut self, key: K, now: i64) -> &mut V {
        let moved = self.old.remove(&key);
        if self.young.len() >= MAX_ENTRIES && !self.young.contains_key(&key) {
            self.old = std::mem::take(&mut self.young);
        }
        let entry = self.young.entry(key);
        entry.or_insert_with(|| moved.unwrap_or_else(|| V::at(now)))
    }

    fn remove(&mut self, key: &K) {
        self.young.remove(key);
        self.old.remove(key);
    }
}

/// A token bucket: a minute's worth of tokens at once, and after that as many as time brings.
#[derive(Debug)]
struct Bucket {
    /// The milliseconds of the limit's minute that were used.
    used: i64,
    at: i64,
}

impl StartsAt for Bucket {
    fn at(now: i64) -> Self {
        Self { used: 0, at: now }
    }
}

impl Bucket {
    /// Takes one of `limit` tokens a minute.
    fn take(&mut self, limit: u32, now: i64) -> Result<(), RetryAfter> {
        // A clock that jumped back brings nothing.
        let passed = now.saturating_sub(self.at).max(0);
        self.at = now;
        self.used = self.used.saturating_sub(passed).max(0);
        let price = MINUTE / i64::from(limit.max(1));
        let after = self.used.saturating_add(price);
        if after > MINUTE {
            return Err(RetryAfter::of_milliseconds(after - MINUTE));
        }
        self.used = after;
        Ok(())
    }
}

/// The failed logins of a name.
#[derive(Debug)]
struct Failures {
    count: u32,
    last: i64,
    /// The time until which it is locked.
    until: i64,
}

impl StartsAt for Failures {
    fn at(now: i64) -> Self {
        Self {
            count: 0,
            last: now,
            until: now,
        }
    }
}

impl Failures {
    /// Counts an attempt, unless the name is locked.
    fn attempt(&mut self, now: i64) -> Result<(), RetryAfter> {
        // A clock that jumped locks nobody for longer than the longest time.
        let rest = self.until.saturating_sub(now);
        if (1..=MAX_LOCK).contains(&rest) {
            return Err(RetryAfter::of_milliseconds(rest));
        }
        if !(0..MEMORY).contains(&now.saturating_sub(self.last)) {
            self.count = 0;
        }
        self.count = self.count.saturating_add(1);
        self.lock(now);
        Ok(())
    }

    /// Locks the name for as long as its failures cost: a second, then twice as long each time.
    fn lock(&mut self, now: i64) {
        self.last = now;
        let doublings = self.count.saturating_sub(FREE_FAILURES);
        let time = match doublings {
            0 => 0,
            1..=20 => MAX_LOCK.min(1_000 << (doublings - 1)),
            _ => MAX_LOCK,
        };
        self.until = now.saturating_add(time);
    }
}
