//! Room for the sessions of many users: when all of it is taken, the session that was idle longest ends.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// Somebody with a session.
pub(crate) trait Guest: Send + Sync {
    /// The time since its session was last used; `None` while it is in use.
    fn idle(&self) -> Option<Duration>;

    /// Ends its session.
    fn leave(&self);
}

/// A place of the room, until it is dropped.
pub(crate) type Place = Arc<()>;

/// Room for so many sessions.
pub(crate) struct Room {
    size: usize,
    taken: Mutex<Vec<Seat>>,
}

/// A place that is taken, and its guest.
struct Seat {
    guest: Weak<dyn Guest>,
    place: Weak<()>,
}

impl Room {
    pub(crate) fn new(size: usize) -> Self {
        Self {
            size,
            taken: Mutex::default(),
        }
    }

    /// The number of places that are taken.
    pub(crate) fn taken(&self) -> usize {
        self.lock().len()
    }

    /// A place for a session of a guest; `None` while all others are in use.
    pub(crate) fn take(&self, guest: Weak<dyn Guest>) -> Option<Place> {
        let mut taken = self.lock();
        let mut last = None;
        if taken.len() >= self.size {
            let idle = taken.iter().enumerate();
            let idle = idle.filter_map(|(at, one)| Some((one.guest.upgrade()?.idle()?, at)));
            let (_, at) = idle.max()?;
            last = taken.swap_remove(at).guest.upgrade();
        }
        let place = Arc::new(());
        taken.push(Seat {
            guest,
            place: Arc::downgrade(&place),
        });
        drop(taken);
        if let Some(last) = last {
            last.leave();
        }
        Some(place)
    }

    /// The places that are taken by now.
    fn lock(&self) -> MutexGuard<'_, Vec<Seat>> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.retain(|one| one.place.strong_count() > 0);
        taken
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, Weak};
    use std::time::Duration;

    use super::{Guest, Room};

    struct Session {
        idle: Option<u64>,
        has_left: AtomicBool,
    }

    impl Guest for Session {
        fn idle(&self) -> Option<Duration> {
            self.idle.map(Duration::from_secs)
        }

        fn leave(&self) {
            self.has_left.store(true, Ordering::Relaxed);
        }
    }

    fn session(idle: Option<u64>) -> Arc<Session> {
        Arc::new(Session {
            idle,
            has_left: AtomicBool::new(false),
        })
    }

    fn weak(session: &Arc<Session>) -> Weak<dyn Guest> {
        let session: Weak<Session> = Arc::downgrade(session);
        session
    }

    #[test]
    fn session_that_was_idle_longest_ends_and_none_that_is_used() {
        let room = Room::new(3);
        let all = [session(Some(5)), session(None), session(Some(9))];
        let places = all.each_ref().map(|one| room.take(weak(one)).unwrap());
        let next = session(None);
        let place = room.take(weak(&next)).unwrap();
        let left = all
            .each_ref()
            .map(|one| one.has_left.load(Ordering::Relaxed));
        assert_eq!(left, [false, false, true]);
        assert_eq!(room.taken(), 3);
        let busy = [session(None), session(None)];
        let second = room.take(weak(&busy[0])).unwrap();
        assert!(room.take(weak(&busy[1])).is_none());
        // A place that is given back is free.
        drop(place);
        assert!(room.take(weak(&busy[1])).is_some());
        drop((places, second));
        assert_eq!(room.taken(), 0);
    }
}
