//! The library kept alive: what the watches tell, and the thread that waits for it.
//!
//! Whoever asks for the library reads what was told himself, so that an answer never waits for a
//! thread and never misses what happened before it. The thread looks when nobody asks, and tells
//! those who wait for a change: once for many changes that come together.

use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::root::RootState;
use super::tree::Part;
use super::{LocalSkills, State};
use crate::watch::{Event, Limit, RootNumber, Unwatchable, Waiter, Watches};

/// How long nothing may happen until a burst of changes is taken to be over.
const QUIET: Duration = Duration::from_millis(75);
/// How long a burst may last until it is told all the same.
const BURST: Duration = Duration::from_millis(400);
/// How long events gather in the kernel before they are read.
const GATHER: Duration = Duration::from_millis(15);
/// How often what can't be watched is looked at, at most.
const POLL: Duration = Duration::from_secs(1);
/// Looking may take one part in so many of the time.
const SHARE: u32 = 20;
/// How long after a change what changed is read once more, so that its stamps can be trusted.
const SETTLE: Duration = Duration::from_millis(2_500);
/// How many skills of a root are read once more in one go.
const PIECE: usize = 100;
/// How long the first calls have the machine for themselves before folders are watched.
const START: Duration = Duration::from_millis(150);
/// How often an error is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// How far the watching has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Stage {
    /// Nobody asked for it.
    #[default]
    Off,
    /// The watches are being made.
    Starting,
    /// What can be watched is watched.
    Standing,
}

/// What is watched, and what was told.
#[derive(Default)]
pub(super) struct Live {
    pub(super) watches: Option<Watches>,
    /// Whether something happened to the switches.
    pub(super) switched: bool,
    /// Whether something happened to what the places hang on.
    pub(super) unhinged: bool,
    /// Whether everything that the places hang on is watched.
    pub(super) hinged: bool,
    stage: Stage,
    waiter: Option<Waiter>,
    /// Why nothing at all can be watched.
    refused: Option<Unwatchable>,
    roots: RootNumber,
}

/// How a place is kept current.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watched {
    /// The id of the place.
    pub id: Arc<str>,
    /// The folder.
    pub path: PathBuf,
    /// How many folders of it are watched.
    pub folders: usize,
    /// Why it is looked at again and again instead.
    pub unwatched: Option<Unwatchable>,
}

impl Live {
    pub(super) fn is_standing(&self) -> bool {
        self.stage == Stage::Standing
    }

    pub(super) fn is_starting(&self) -> bool {
        self.stage == Stage::Starting
    }

    /// Whether a thread keeps the index, after those who ask have their answers.
    pub(super) fn keeps_index(&self) -> bool {
        self.waiter.is_some()
    }

    /// Whether a thread tells those who wait for changes.
    pub(super) fn tells(&self) -> bool {
        self.waiter.is_some()
    }

    pub(super) fn wake(&self) {
        if let Some(waiter) = &self.waiter {
            waiter.wake();
        }
    }

    /// A root that nothing is known of yet.
    pub(super) fn new_root(&mut self) -> RootState {
        self.roots = self.roots.wrapping_add(1);
        RootState::new(self.roots, self.refused.clone())
    }
}

/// Takes over what was told since the last time.
pub(super) fn absorb(state: &mut State) {
    let Some(watches) = &mut state.live.watches else {
        return;
    };
    for event in watches.drain() {
        match event {
            Event::Folder {
                root,
                folder,
                name,
                is_folder,
                moved,
            } => {
                let mut roots = state.roots.iter_mut().map(|(_, root)| root);
                let Some(root) = roots.find(|known| known.number == root) else {
                    continue;
                };
                match &name {
                    None if moved => root.forget(watches, &folder),
                    Some(name) if moved && is_folder && folder.is_empty() => {
                        root.forget(watches, name);
                    }
                    Some(name) if moved && is_folder => {
                        root.forget(watches, &format!("{folder}/{name}"));
                    }
                    _ => {}
                }
                root.dirt.whole |= folder.is_empty() && name.is_none();
                if let Some(tree) = root.tree.as_ref().filter(|_| !root.dirt.whole) {
                    let parts = tree.parts(&folder, name.as_deref(), is_folder, moved);
                    root.dirt.parts.extend(parts);
                }
            }
            Event::Hinge(path) if LocalSkills::is_switches(&path) => state.live.switched = true,
            Event::Hinge(path) => {
                state.live.unhinged = true;
                for (place, root) in &mut state.roots {
                    let real = root
                        .root
                        .as_ref()
                        .is_some_and(|root| root.path().starts_with(&path));
                    if real || place.path.starts_with(&path) {
                        root.forget(watches, "");
                        root.dirt.whole = true;
                    }
                }
            }
            Event::Everything => {
                (state.live.switched, state.live.unhinged) = (true, true);
                for (_, root) in &mut state.roots {
                    root.forget(watches, "");
                    root.dirt.whole = true;
                }
            }
        }
    }
}

/// Doubts everything that nobody would tell about.
pub(super) fn doubt(state: &mut State) {
    state.live.switched |= !state.live.hinged;
    state.live.unhinged |= !state.live.hinged;
    for (_, root) in &mut state.roots {
        root.dirt.whole |= root.unwatched.is_some() || !state.live.hinged;
        if let Some(tree) = &root.tree {
            root.dirt.parts.extend(tree.linked());
        }
    }
}

/// Whether nothing has to be looked at.
pub(super) fn is_clean(state: &State) -> bool {
    let mut roots = state.roots.iter();
    !state.live.switched && !state.live.unhinged && roots.all(|(_, root)| root.dirt.is_none())
}

impl LocalSkills {
    /// Watches from now on, on a thread of its own that ends with the last user of the library.
    ///
    /// What can't be watched is looked at once a second instead.
    pub fn watch(self: &Arc<Self>, limit: Limit) {
        let waiter = match Waiter::new() {
            Ok(waiter) => waiter,
            Err(error) => {
                tracing::warn!(%error, "changes are looked for when somebody asks");
                return;
            }
        };
        let mut state = self.lock();
        if state.live.stage != Stage::Off {
            return;
        }
        state.live.stage = Stage::Starting;
        state.live.waiter = Some(waiter.clone());
        drop(state);
        let skills = Arc::downgrade(self);
        let thread = std::thread::Builder::new().name("watch".to_owned());
        if let Err(error) = thread.spawn(move || attend(&skills, waiter, limit)) {
            tracing::warn!(%error, "changes are looked for when somebody asks");
            let mut state = self.lock();
            (state.live.stage, state.live.waiter) = (Stage::Off, None);
        }
    }

    /// How every place is kept current, tried out where nothing is watched yet.
    pub fn watching(&self, limit: Limit) -> Vec<Watched> {
        let mut state = self.lock();
        if !state.live.is_standing() {
            self.stand(&mut state, limit);
        }
        let watched = |(place, root): &(crate::source::Place, RootState)| Watched {
            id: Arc::clone(&place.id),
            path: place.path.clone(),
            folders: root.tree.as_ref().map_or(0, super::tree::Tree::marked),
            unwatched: root.unwatched.clone(),
        };
        state.roots.iter().map(watched).collect()
    }

    /// Makes the watches, and looks once more when they stand.
    fn stand(&self, state: &mut State, limit: Limit) {
        match Watches::new(limit) {
            Ok(watches) => state.live.watches = Some(watches),
            Err(why) => {
                tracing::warn!(reason = %why, "changes are looked for once a second");
                for (_, root) in &mut state.roots {
                    root.unwatched = Some(why.clone());
                }
                state.live.refused = Some(why);
            }
        }
        state.live.stage = Stage::Standing;
        (state.live.switched, state.live.unhinged) = (true, true);
        for (_, root) in &mut state.roots {
            root.dirt.whole = true;
        }
        if let Err(error) = self.look(state) {
            tracing::debug!(%error, "the library can't be looked at");
        }
    }

    /// Keeps the index of every root that it doesn't have as it is here.
    fn keep(&self, state: &mut State) {
        for (_, root) in &mut state.roots {
            if root.unsaved {
                root.keep(&self.home);
            }
        }
    }
}

/// What the thread does until nobody uses the library any more.
fn attend(skills: &Weak<LocalSkills>, mut waiter: Waiter, limit: Limit) {
    {
        let Some(skills) = skills.upgrade() else {
            return;
        };
        if let Err(error) = skills.current() {
            tracing::debug!(%error, "the library can't be looked at");
        }
    }
    waiter.rest(START);
    {
        let Some(skills) = skills.upgrade() else {
            return;
        };
        let mut state = skills.lock();
        skills.stand(&mut state, limit);
        if let Some(watches) = &state.live.watches {
            waiter.attend(watches);
        }
        skills.tell(state.library.revision());
        drop(state);
        skills.remember(None);
        skills.keep(&mut skills.lock());
    }
    let mut shift = Shift::default();
    loop {
        let patience = {
            let Some(skills) = skills.upgrade() else {
                return;
            };
            shift.turn(&skills)
        };
        if waiter.wait(patience) {
            // A burst is read in a few large pieces.
            waiter.rest(GATHER);
        }
    }
}

/// What the thread remembers from one turn to the next.
#[derive(Default)]
struct Shift {
    /// The beginning of a burst, and the last of it.
    burst: Option<(Instant, Instant)>,
    /// How many parts were dirty, and which library it was, at the last turn.
    seen: (usize, u64),
    polled: Option<Instant>,
    took: Duration,
    /// When what changed is to be read once more.
    settle: Option<Instant>,
}

impl Shift {
    /// Does what is due; answers how long there is nothing to do unless something happens.
    fn turn(&mut self, skills: &LocalSkills) -> Option<Duration> {
        let mut state = skills.lock();
        absorb(&mut state);
        let now = Instant::now();
        let behind = *skills.told.borrow() != state.library.revision();
        if behind || !is_clean(&state) {
            let dirty = state.roots.iter().map(|(_, root)| root.dirt.parts.len());
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
        let doubtful = state.roots.iter().any(|(_, root)| {
            root.unwatched.is_some()
                || root
                    .tree
                    .as_ref()
                    .is_some_and(|tree| !tree.linked().is_empty())
        });
        let pause = POLL.max(self.took.saturating_mul(SHARE));
        if (doubtful || !state.live.hinged)
            && self.polled.is_none_or(|polled| now >= polled + pause)
        {
            let begun = Instant::now();
            doubt(&mut state);
            self.look(skills, &mut state);
            let ended = Instant::now();
            (self.polled, self.took) = (Some(ended), ended - begun);
        }
        self.settle(skills, &mut state, now);
        let poll = (doubtful || !state.live.hinged)
            .then_some(self.polled)
            .flatten();
        let ends = [
            self.burst
                .map(|(first, last)| (last + QUIET).min(first + BURST)),
            poll.map(|polled| polled + POLL.max(self.took.saturating_mul(SHARE))),
            self.settle,
        ];
        let end = ends.into_iter().flatten().min()?;
        Some(end.saturating_duration_since(Instant::now()))
    }

    fn look(&mut self, skills: &LocalSkills, state: &mut State) {
        match skills.look(state) {
            Ok(()) => skills.tell(state.library.revision()),
            Err(error) => {
                tracing::debug!(%error, "the library can't be looked at");
                let later = Instant::now() + RETRY;
                self.burst = Some((later, later));
            }
        }
    }

    /// Reads what changed once more when its stamps can be trusted, and keeps the index then.
    fn settle(&mut self, skills: &LocalSkills, state: &mut State, now: Instant) {
        let unsaved = state.roots.iter().any(|(_, root)| root.unsaved);
        match self.settle {
            None if unsaved => self.settle = Some(now + SETTLE),
            Some(due) if now >= due => {
                let waiting = unsettled(state);
                let roots = state.roots.iter_mut().map(|(_, root)| root);
                for root in roots.filter(|root| root.tree.is_some()) {
                    let some = root.unsettled().take(PIECE).cloned();
                    let parts: Vec<Part> = some.map(Part::Below).collect();
                    root.dirt.parts.extend(parts);
                }
                if !is_clean(state) {
                    self.look(skills, state);
                }
                // What has a time in the future is never settled: nobody waits for it.
                let left = unsettled(state);
                if left > 0 && left < waiting {
                    self.settle = Some(now + GATHER);
                } else {
                    self.settle = None;
                    skills.keep(state);
                }
            }
            _ => {}
        }
    }
}

/// How many skills will have to be read once more.
fn unsettled(state: &State) -> usize {
    let roots = state.roots.iter();
    roots.map(|(_, root)| root.unsettled().count()).sum()
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;
