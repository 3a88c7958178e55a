//! Network namespaces that are used again: to make one takes longer than to make all others of a run, and
//! so does its end, which the system works off later.
//!
//! Nothing in one is anybody's once the last process of a run is dead. Its only interface is down, and
//! nobody in it may change that: nothing was ever sent in it, and sockets end with the processes that have
//! them, and their names with them. What the system counts in it (`/proc/net/snmp`) is told to nobody but
//! whose runs it counted: it is used again for the same owner alone, by one run at a time.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

use gongfu_core::account;

use crate::plan;

/// How many are kept.
const KEPT: usize = 8;

/// A network namespace that no process is in.
#[derive(Debug)]
pub(crate) struct Network {
    pub(crate) namespace: OwnedFd,
    /// The user namespace that it is of, where only those in that may come into it.
    pub(crate) holder: Option<OwnedFd>,
}

impl Network {
    /// The one that came over a socket, if it did.
    pub(crate) fn received(handles: Vec<OwnedFd>) -> Option<Self> {
        let mut handles = handles.into_iter();
        Some(Self {
            namespace: handles.next()?,
            holder: handles.next(),
        })
    }

    /// The same as it goes over a socket.
    pub(crate) fn handles(&self) -> Vec<BorrowedFd<'_>> {
        let namespace = [self.namespace.as_fd()].into_iter();
        let holder = self.holder.as_ref().map(OwnedFd::as_fd);
        namespace.chain(holder).collect()
    }
}

/// Whose runs may use one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tenancy {
    /// Whose runs they are.
    pub(crate) owner: account::Owner,
    /// Whom they are on the machine; `None` for whoever started gongfu.
    pub(crate) tenant: Option<plan::Owner>,
}

/// Those that no run uses.
#[derive(Debug, Default)]
pub(crate) struct Networks(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    /// The longest unused one first.
    all: Vec<(Tenancy, Network)>,
    /// Whether there is to be no other one.
    is_closed: bool,
}

impl Networks {
    /// One that only runs of this owner were in, if there is one. Nobody else is given it.
    pub(crate) fn take(&self, whose: &Tenancy) -> Option<Network> {
        let mut kept = self.kept();
        let found = kept.all.iter().rposition(|(tenancy, _)| tenancy == whose)?;
        Some(kept.all.remove(found).1)
    }

    /// Keeps one that such a run was in, of which every process is dead; the longest unused one goes for it.
    pub(crate) fn keep(&self, whose: Tenancy, network: Network) {
        let mut kept = self.kept();
        if kept.is_closed {
            return;
        }
        kept.all.push((whose, network));
        let over = (kept.all.len() > KEPT).then(|| kept.all.remove(0));
        drop(kept);
        drop(over);
    }

    /// Lets go of all.
    pub(crate) fn clear(&self) {
        let over = std::mem::take(&mut self.kept().all);
        drop(over);
    }

    /// Lets go of all, and keeps none any more.
    pub(crate) fn close(&self) {
        self.kept().is_closed = true;
        self.clear();
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::os::fd::AsRawFd as _;

    use super::*;

    fn network() -> (Network, i32) {
        let (end, _) = io::pipe().expect("a pipe");
        let namespace = OwnedFd::from(end);
        let number = namespace.as_raw_fd();
        let holder = None;
        (Network { namespace, holder }, number)
    }

    fn tenancy(user: u32) -> Tenancy {
        Tenancy {
            owner: account::Owner::Local,
            tenant: Some(plan::Owner { user, group: 1 }),
        }
    }

    #[test]
    fn one_is_used_again_by_its_owner_alone() {
        let networks = Networks::default();
        let (mine, number) = network();
        networks.keep(tenancy(1), mine);
        assert!(networks.take(&tenancy(2)).is_none());
        let again = networks.take(&tenancy(1)).expect("it is kept");
        assert_eq!(again.namespace.as_raw_fd(), number);
        assert!(networks.take(&tenancy(1)).is_none(), "it is in use");
    }

    #[test]
    fn only_so_many_are_kept() {
        let networks = Networks::default();
        for user in 0..20 {
            networks.keep(tenancy(user), network().0);
        }
        let kept = (0..20).filter(|user| networks.take(&tenancy(*user)).is_some());
        assert_eq!(kept.collect::<Vec<_>>(), (12..20).collect::<Vec<_>>());
        networks.keep(tenancy(1), network().0);
        networks.clear();
        assert!(networks.take(&tenancy(1)).is_none());
        networks.close();
        networks.keep(tenancy(1), network().0);
        assert!(networks.take(&tenancy(1)).is_none(), "none is kept");
    }
}
