//! The watch thread: it looks when nobody asks, and reports changes, a burst of them once.
//!
//! A request reads the reported events itself, so that an answer never waits for this thread and
//! never misses a change before it.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::LocalSkills;
use super::root::RootState;
use super::state::{Stage, State, WatchStatus};
use super::tree::Part;
use crate::source::Place;
use crate::watch::{Limit, Waiter, Watches};

/// The pause that ends a burst of changes.
const QUIET: Duration = Duration::from_millis(75);
/// The time after which a burst is reported although it goes on.
const BURST: Duration = Duration::from_millis(400);
/// The time for which events gather in the kernel before they are read.
const GATHER: Duration = Duration::from_millis(15);
/// The shortest interval of polls, for folders that can't be watched.
const POLL: Duration = Duration::from_secs(1);
/// The interval of polls as a multiple of the time that one takes.
const POLL_FACTOR: u32 = 20;
/// The time after which a changed skill is read again, so that its stamps can be trusted.
const SETTLE: Duration = Duration::from_millis(2_500);
/// The number of skills of a root that are read again at once.
const SETTLE_BATCH: usize = 100;
/// The delay before folders are watched: the machine belongs to the first calls.
const START: Duration = Duration::from_millis(150);
/// The interval of attempts after an error.
const RETRY: Duration = Duration::from_secs(1);

impl LocalSkills {
    /// Watches from now on, on a thread that ends with the last user of the library.
    ///
    /// Folders that can't be watched are polled once a second.
    pub fn watch(self: &Arc<Self>, limit: Limit) {
        let waiter = match Waiter::new() {
            Ok(waiter) => waiter,
            Err(error) => {
                tracing::warn!(%error, "changes are noticed at the next call");
                return;
            }
        };
        let mut state = self.lock();
        if state.watch.stage != Stage::Off {
            return;
        }
        state.watch.stage = Stage::Starting;
        state.watch.waiter = Some(waiter.clone());
        drop(state);
        let skills = Arc::downgrade(self);
        let thread = std::thread::Builder::new().name("watch".to_owned());
        if let Err(error) = thread.spawn(move || run(&skills, waiter, limit)) {
            tracing::warn!(%error, "changes are noticed at the next call");
            let mut state = self.lock();
            (state.watch.stage, state.watch.waiter) = (Stage::Off, None);
        }
    }

    /// The watching of every place; begins to watch where that didn't happen yet.
    pub fn watching(&self, limit: Limit) -> Vec<WatchStatus> {
        let mut state = self.lock();
        if !state.watch.is_ready() {
            self.start_watches(&mut state, limit);
        }
        let status = |(place, root): &(Place, RootState)| WatchStatus {
            id: Arc::clone(&place.id),
            path: place.path.clone(),
            folders: root.tree.as_ref().map_or(0, super::tree::Tree::marked),
            unwatched: root.unwatched.clone(),
        };
        state.roots.iter().map(status).collect()
    }

    /// Makes the watches, and looks again.
    fn start_watches(&self, state: &mut State, limit: Limit) {
        match Watches::new(limit) {
            Ok(watches) => state.watch.watches = Some(watches),
            Err(why) => {
                tracing::warn!(reason = %why, "changes are noticed within a second");
                for (_, root) in &mut state.roots {
                    root.unwatched = Some(why.clone());
                }
                state.watch.unwatchable = Some(why);
            }
        }
        state.watch.stage = Stage::Ready;
        (state.watch.switches_changed, state.watch.places_changed) = (true, true);
        for (_, root) in &mut state.roots {
            root.dirty.whole = true;
        }
        if let Err(error) = self.look(state) {
            tracing::debug!(%error, "can't read the library");
        }
    }

    /// Writes the index of every root where it is out of date.
    fn save(&self, state: &mut State) {
        for (_, root) in &mut state.roots {
            if root.unsaved {
                root.save(&self.home);
            }
        }
    }
}

/// Runs until nobody uses the library.
fn run(skills: &Weak<LocalSkills>, mut waiter: Waiter, limit: Limit) {
    {
        let Some(skills) = skills.upgrade() else {
            return;
        };
        if let Err(error) = skills.current() {
            tracing::debug!(%error, "can't read the library");
        }
    }
    waiter.rest(START);
    {
        let Some(skills) = skills.upgrade() else {
            return;
        };
        let mut state = skills.lock();
        skills.start_watches(&mut state, limit);
        if let Some(watches) = &state.watch.watches {
            watches.attach(&mut waiter);
        }
        skills.report(state.library.revision());
        drop(state);
        skills.remember(None);
        skills.save(&mut skills.lock());
    }
    let mut schedule = Schedule::default();
    loop {
        let pause = {
            let Some(skills) = skills.upgrade() else {
                return;
            };
            schedule.work(&skills)
        };
        if waiter.wait(pause) {
            waiter.rest(GATHER);
        }
    }
}

/// The times of the thread's next work.
#[derive(Default)]
struct Schedule {
    /// The first and the last change of a burst.
    burst: Option<(Instant, Instant)>,
    /// The number of dirty parts and the revision of the library, last time.
    seen: (usize, u64),
    /// The last poll and its duration.
    polled: Option<Instant>,
    took: Duration,
    /// The time to read changed skills again.
    settle: Option<Instant>,
}

impl Schedule {
    /// Does the work that is due; answers the time until the next one.
    fn work(&mut self, skills: &LocalSkills) -> Option<Duration> {
        let mut state = skills.lock();
        state.absorb();
        let now = Instant::now();
        let behind = *skills.reported.borrow() != state.library.revision();
        if behind || !state.is_clean() {
            let dirty = state.roots.iter().map(|(_, root)| root.dirty.parts.len());
            let seen = (dirty.sum(), state.library.revision().0);
            let (first, last) = self.burst.get_or_insert((now, now));
            if seen != self.seen {
                *last = now;
            }
            self.seen = seen;
            if now >= *last + QUIET || now >= *first + BURST {
                self.burst = None;
                self.look(skills, &mut state);
            }
        } else {
            self.burst = None;
        }
        let has_unwatched = state.roots.iter().any(|(_, root)| {
            root.unwatched.is_some()
                || root
                    .tree
                    .as_ref()
                    .is_some_and(|tree| !tree.linked().is_empty())
        });
        let pause = POLL.max(self.took.saturating_mul(POLL_FACTOR));
        if (has_unwatched || !state.watch.ancestors_watched)
            && self.polled.is_none_or(|polled| now >= polled + pause)
        {
            let started = Instant::now();
            state.doubt();
            self.look(skills, &mut state);
            let ended = Instant::now();
            (self.polled, self.took) = (Some(ended), ended - started);
        }
        self.settle(skills, &mut state, now);
        let poll = (has_unwatched || !state.watch.ancestors_watched)
            .then_some(self.polled)
            .flatten();
        let ends = [
            self.burst
                .map(|(first, last)| (last + QUIET).min(first + BURST)),
            poll.map(|polled| polled + POLL.max(self.took.saturating_mul(POLL_FACTOR))),
            self.settle,
        ];
        let end = ends.into_iter().flatten().min()?;
        Some(end.saturating_duration_since(Instant::now()))
    }

    fn look(&mut self, skills: &LocalSkills, state: &mut State) {
        match skills.look(state) {
            Ok(()) => skills.report(state.library.revision()),
            Err(error) => {
                tracing::debug!(%error, "can't read the library");
                let later = Instant::now() + RETRY;
                self.burst = Some((later, later));
            }
        }
    }

    /// Reads changed skills again once their stamps can be trusted; then writes the index.
    fn settle(&mut self, skills: &LocalSkills, state: &mut State, now: Instant) {
        let unsaved = state.roots.iter().any(|(_, root)| root.unsaved);
        match self.settle {
            None if unsaved => self.settle = Some(now + SETTLE),
            Some(due) if now >= due => {
                let waiting = state.unsettled();
                let roots = state.roots.iter_mut().map(|(_, root)| root);
                for root in roots.filter(|root| root.tree.is_some()) {
                    let some = root.unsettled().take(SETTLE_BATCH).cloned();
                    let parts: Vec<Part> = some.map(Part::Below).collect();
                    root.dirty.parts.extend(parts);
                }
                if !state.is_clean() {
                    self.look(skills, state);
                }
                // A file with a time in the future never settles.
                let left = state.unsettled();
                if left > 0 && left < waiting {
                    self.settle = Some(now + GATHER);
                } else {
                    self.settle = None;
                    skills.save(state);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;
