//! One child that is begun ahead of time: the next run of the same kind finds everything there that
//! doesn't depend on it.
//!
//! Isolation is as without it: each is used once, for the tenant that it was begun for, and nothing of a
//! run is in it. Where anything is otherwise than it was when it was begun, one is begun anew.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use gongfu_core::account;
use gongfu_core::sandbox::Limits;

use crate::begun::{Begun, Mappings};
use crate::cgroup::Groups;
use crate::network::{Network, Networks, Tenancy};
use crate::plan::{Ground, Kind, Owner};
use crate::threads::Threads;

/// How long one waits that nobody uses.
const WAITING: Duration = Duration::from_secs(30);
/// In how many namespaces owners of files are kept mapped; each takes a handle.
const MAPPED: usize = 64;

/// For which runs a spare is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    /// What is made of it, and whom it is on the machine.
    pub(crate) ground: Ground,
    /// Whose run it is.
    pub(crate) owner: account::Owner,
    /// The limits that its control group holds.
    pub(crate) memory: u64,
    pub(crate) processes: u32,
    /// Whether it is in one.
    pub(crate) grouped: bool,
}

impl Key {
    /// In whose network it may be.
    pub(crate) fn tenancy(&self) -> Tenancy {
        Tenancy {
            owner: self.owner.clone(),
            tenant: self.ground.tenant,
        }
    }
}

/// The spare of a runner, and what else is kept from one run to the next.
pub(crate) struct Spares {
    is_wanted: bool,
    slot: Mutex<Slot>,
    /// Told of when nobody is to wait any longer.
    ended: Condvar,
    mapped: Mutex<BTreeMap<(Owner, Owner), Arc<OwnedFd>>>,
    networks: Networks,
}

#[derive(Default)]
struct Slot {
    spare: Option<Spare>,
    /// Whether somebody sees to it that it ends.
    is_watched: bool,
    /// Whether there is to be no other one.
    is_closed: bool,
}

/// A child that waits for its plan.
struct Spare {
    key: Key,
    begun: Begun,
    since: Instant,
}

impl Spares {
    /// Where there are to be none, every run begins its own child.
    pub(crate) fn new(is_wanted: bool) -> Self {
        let networks = Networks::default();
        if !is_wanted {
            networks.close();
        }
        Self {
            is_wanted,
            slot: Mutex::default(),
            ended: Condvar::new(),
            mapped: Mutex::default(),
            networks,
        }
    }

    /// A network for such a run, if there is one that no other run is in.
    pub(crate) fn network(&self, key: &Key) -> Option<Network> {
        // One that leads to a proxy is of its run alone.
        if key.ground.proxied {
            return None;
        }
        self.networks.take(&key.tenancy())
    }

    /// Takes back the network of such a run, of which every process is dead.
    pub(crate) fn keep_network(&self, key: &Key, network: Network) {
        if key.ground.proxied {
            return;
        }
        self.networks.keep(key.tenancy(), network);
    }

    /// The spare, if there is one for such a run. Nobody else is given it.
    pub(crate) fn take(&self, key: &Key) -> Option<Begun> {
        let mut slot = self.slot();
        let mut spare = slot.spare.take_if(|spare| spare.key == *key)?;
        drop(slot);
        spare.begun.is_there().then_some(spare.begun)
    }

    /// Has one begun in the background, unless there is one for such a run.
    pub(crate) fn renew(
        self: &Arc<Self>,
        key: &Key,
        groups: Option<&'static Groups>,
        threads: &Threads,
    ) {
        if !self.is_wanted {
            return;
        }
        let (spares, key) = (Arc::downgrade(self), key.clone());
        // Where there can be no more threads the next run begins its own.
        let _ = threads.begin("spare", groups, move || {
            let Some(spares) = spares.upgrade() else {
                return;
            };
            if spares.begin(key, groups) == Begins::Unwatched {
                spares.watch();
            }
        });
    }

    fn begin(&self, key: Key, groups: Option<&'static Groups>) -> Begins {
        // Whoever wants one waits until it is there: to begin another one takes longer.
        let mut slot = self.slot();
        let is_there = slot.spare.as_ref().is_some_and(|spare| spare.key == key);
        if is_there || slot.is_closed {
            return Begins::Nothing;
        }
        let limits = Limits {
            memory: key.memory,
            processes: key.processes,
            ..Limits::default()
        };
        // Only namespaces have a ground.
        let kind = Kind::Namespaces {
            sources: 0,
            pieces: 0,
        };
        let ground = Some((&key.ground, [].as_slice()));
        let network = self.network(&key);
        let Ok(begun) = Begun::begin(&kind, ground, network, groups, &limits) else {
            return Begins::Nothing;
        };
        let spare = Spare {
            key,
            begun,
            since: Instant::now(),
        };
        let former = slot.spare.replace(spare);
        let is_watched = std::mem::replace(&mut slot.is_watched, true);
        drop(slot);
        // Nobody waits for it to end.
        drop(former);
        if is_watched {
            Begins::Watched
        } else {
            Begins::Unwatched
        }
    }

    /// Ends what waits, and begins nothing ahead of time any more.
    pub(crate) fn close(&self) {
        let mut slot = self.slot();
        slot.is_closed = true;
        let spare = slot.spare.take();
        drop(slot);
        self.networks.close();
        self.ended.notify_all();
        drop(spare);
    }

    fn slot(&self) -> MutexGuard<'_, Slot> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends a spare that nobody used for long. On the thread that began the first one, because whoever runs things need
    /// not have a clock, and must not wait for this.
    fn watch(&self) {
        let mut slot = self.slot();
        loop {
            let spare = slot.spare.as_ref();
            let left = spare.map_or(Duration::ZERO, |spare| {
                WAITING.saturating_sub(spare.since.elapsed())
            });
            if left.is_zero() {
                slot.is_watched = false;
                let over = slot.spare.take();
                drop(slot);
                drop(over);
                self.networks.clear();
                return;
            }
            let waited = self.ended.wait_timeout(slot, left);
            slot = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The namespaces in which these owners are the tenant, as far as they are known.
    pub(crate) fn mapped(&self, owners: &[Owner], tenant: Owner) -> Mappings {
        let all = self.mapped.lock().unwrap_or_else(PoisonError::into_inner);
        let known = owners.iter().filter_map(|owner| {
            let namespace = all.get(&(*owner, tenant))?;
            Some((*owner, Arc::clone(namespace)))
        });
        known.collect()
    }

    /// Keeps them for later runs.
    pub(crate) fn keep(&self, mappings: &Mappings, tenant: Owner) {
        let mut all = self.mapped.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() + mappings.len() > MAPPED {
            all.clear();
        }
        let new = mappings.iter();
        all.extend(new.map(|(owner, namespace)| ((*owner, tenant), Arc::clone(namespace))));
    }
}

/// What was begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Begins {
    Nothing,
    Watched,
    /// A spare that nobody sees to yet.
    Unwatched,
}
