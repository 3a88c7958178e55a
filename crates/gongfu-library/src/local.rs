//! The skills of a local installation: many roots on disk as one library.
//!
//! While folders are watched, every answer is the library as it is on disk at the time of the
//! question. Otherwise it is at most a second old: a look at the stamps of all files finds the skills
//! that have to be read again.

mod ancestor_watch;
mod assembly;
mod cached_skill;
mod listings;
mod root;
mod state;
mod tree;
mod unlisted;
mod watch_thread;
mod writing;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use gongfu_core::library::{Library, Revision, Skill};
use gongfu_core::port::{
    Change, Clock, FileContent, Lease, Materialize, Pending, PortError, SkillStore, Timestamp,
    ready,
};
use gongfu_core::skill::{SkillName, SkillPath};
use gongfu_core::switches::Switches;
use gongfu_core::trust::Trusts;
use gongfu_files::Home;
use gongfu_files::disk::{self, Root};
use tokio::sync::watch::Sender;

use crate::blocking::blocking;
use crate::revision;
use crate::source::{self, Place, Settings};
use crate::switches::SwitchRecord;
use crate::trust::TrustRecord;

pub use state::WatchStatus;

use root::Look;
use state::State;

/// The age from which an answer about unwatched folders is stale, in milliseconds.
const MAX_AGE: i64 = 1_000;
/// The same while watches are made, in milliseconds: with ten thousand skills that takes a second, and longer on a
/// busy machine.
const MAX_START_AGE: i64 = 5_000;
/// The number of attempts to lock the state before another thread takes over.
const LOCK_ATTEMPTS: usize = 64;
/// The most looks in a row because places appear meanwhile.
const MAX_LOOKS: usize = 8;

/// An answer with the time and the trusted projects of its look.
struct Recent {
    looked: Timestamp,
    trusts: Trusts,
    library: Arc<Library>,
}

/// The skills on this machine, as one library.
pub struct LocalSkills {
    home: Home,
    settings: Mutex<Arc<Settings>>,
    switches: SwitchRecord,
    trusts: Option<TrustRecord>,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
    /// The roots of the last look, by the ids of their places: reading a file doesn't wait for a look.
    open: Mutex<Vec<(Arc<str>, Arc<Root>)>>,
    /// The switches of the last look.
    last_switches: Mutex<Switches>,
    /// Held by the request that looks.
    looking: tokio::sync::Mutex<()>,
    /// The last answer, while watches are made.
    recent: Mutex<Option<Recent>>,
    /// The revision that was reported last.
    reported: Sender<Revision>,
}

impl LocalSkills {
    /// The skills that `settings` lead to, with the index below `home`.
    pub fn new(
        home: Home,
        settings: Settings,
        switches: SwitchRecord,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let mut state = State::default();
        state.watch.switch_file = switches.file().map(ToOwned::to_owned);
        Self {
            home,
            settings: Mutex::new(Arc::new(settings)),
            switches,
            trusts: None,
            clock,
            state: Mutex::new(state),
            open: Mutex::default(),
            last_switches: Mutex::default(),
            looking: tokio::sync::Mutex::default(),
            recent: Mutex::default(),
            reported: Sender::new(Revision::default()),
        }
    }

    /// The same skills, of which those of a project that is trusted in this record keep their names.
    #[must_use]
    pub fn with_trusts(mut self, trusts: TrustRecord) -> Self {
        self.lock().watch.trust_file = Some(trusts.file().to_owned());
        self.trusts = Some(trusts);
        self
    }

    /// Looks for the skills of a project from this folder on.
    pub fn set_project(&self, start: Option<PathBuf>) {
        let settings = Settings {
            project: start,
            ..(*self.settings()).clone()
        };
        *held(&self.settings) = Arc::new(settings);
        self.lock().watch.places_changed = true;
        self.look_again();
    }

    fn settings(&self) -> Arc<Settings> {
        Arc::clone(&held(&self.settings))
    }

    /// The places where skills may be, in order of precedence, as they are now: a person may link
    /// folders into their own at any time.
    pub fn places(&self) -> Vec<Place> {
        source::places(&self.settings(), &self.home, &self.trusted())
    }

    /// Returns true if a project is trusted: its skills may take names from others.
    pub fn trusts(&self, project: &Path) -> bool {
        source::trusts(&self.settings(), &self.trusted(), project)
    }

    /// The projects that are trusted now.
    fn trusted(&self) -> Trusts {
        let trusts = self.trusts.as_ref().map(TrustRecord::read);
        trusts.unwrap_or_default()
    }

    /// The library as it is on disk now.
    ///
    /// # Errors
    /// The switches can't be read.
    pub fn current(&self) -> Result<Arc<Library>, PortError> {
        if let Some(library) = self.recent(MAX_AGE) {
            return Ok(library);
        }
        let mut state = self.lock();
        self.refresh(&mut state)?;
        Ok(Arc::clone(&state.library))
    }

    /// The library, if that takes no look and no waiting for one.
    fn at_once(&self) -> Option<Arc<Library>> {
        if let Some(library) = self.recent(MAX_AGE) {
            return Some(library);
        }
        let Some(mut state) = self.lock_soon() else {
            return self.recent(MAX_START_AGE);
        };
        self.is_current(&mut state)
            .then(|| Arc::clone(&state.library))
    }

    /// The state, unless it is locked for longer than a question takes.
    ///
    /// A question takes microseconds, less than handing other work over to another thread.
    fn lock_soon(&self) -> Option<MutexGuard<'_, State>> {
        for _ in 0..LOCK_ATTEMPTS {
            match self.state.try_lock() {
                Ok(state) => return Some(state),
                Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => std::thread::yield_now(),
            }
        }
        None
    }

    /// The last answer, if it is younger than this, while watches are made: that locks the state for long.
    fn recent(&self, age: i64) -> Option<Arc<Library>> {
        let recent = held(&self.recent);
        let recent = recent.as_ref()?;
        // A person who has just answered must not be asked again.
        let is_valid = self.is_younger(recent.looked, age) && self.trusted() == recent.trusts;
        is_valid.then(|| Arc::clone(&recent.library))
    }

    fn remember(&self, answer: Option<Recent>) {
        *held(&self.recent) = answer;
    }

    /// Returns whether a look is less than a second old.
    fn is_fresh(&self, looked: Timestamp) -> bool {
        self.is_younger(looked, MAX_AGE)
    }

    /// Returns whether a look is younger than an age; it isn't where the clock went back.
    fn is_younger(&self, looked: Timestamp, age: i64) -> bool {
        (0..age).contains(&(self.clock.now().0 - looked.0))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        held(&self.state)
    }

    /// Brings the library up to date, by reported events or by looking.
    fn refresh(&self, state: &mut State) -> Result<(), PortError> {
        if self.is_current(state) {
            return Ok(());
        }
        self.look(state)
    }

    /// Returns whether the library is up to date, reported events included.
    fn is_current(&self, state: &mut State) -> bool {
        let fresh = state.looked.is_some_and(|looked| self.is_fresh(looked));
        if !state.watch.is_ready() {
            return fresh && self.trusted() == state.trusts;
        }
        state.absorb();
        if !fresh {
            state.doubt();
        }
        state.is_clean()
    }

    /// Looks at everything that may have changed.
    fn look(&self, state: &mut State) -> Result<(), PortError> {
        for _ in 0..MAX_LOOKS {
            self.look_once(state)?;
            // A place may appear while its ancestors come to be watched.
            if !state.watch.places_changed {
                break;
            }
        }
        Ok(())
    }

    fn look_once(&self, state: &mut State) -> Result<(), PortError> {
        if state.watch.places_changed {
            self.watch_ancestors(state);
        }
        let switches = self.switches.read()?;
        let now = self.clock.now();
        let is_watched = state.watch.is_ready();
        let saves_later = state.watch.has_thread();
        let mut before = std::mem::take(&mut state.roots);
        let mut changed = state.looked.is_none() || switches != state.switches;
        let mut moved = false;
        let trusts = self.trusted();
        let places = source::places(&self.settings(), &self.home, &trusts);
        let folders: Vec<PathBuf> = places.iter().map(|place| place.path.clone()).collect();
        for place in places {
            let known = before.iter().position(|(known, _)| *known == place);
            let (mut root, first) = match known {
                Some(at) => (before.swap_remove(at).1, false),
                None => (state.watch.new_root(), true),
            };
            moved |= first;
            root.dirty.whole |= !is_watched;
            if first || !root.dirty.is_empty() {
                let look = Look {
                    place: &place,
                    places: &folders,
                    home: &self.home,
                    now,
                    watches: state.watch.watches.as_mut(),
                    saves_later,
                };
                changed |= root.look(look, first);
            }
            state.roots.push((place, root));
        }
        changed |= !before.is_empty();
        moved |= !before.is_empty();
        for (_, mut root) in before {
            if let Some(watches) = &mut state.watch.watches {
                root.forget(watches, "");
            }
        }
        let roots = state.roots.iter();
        let open = roots.filter_map(|(place, root)| {
            let root = root.root.as_ref()?;
            Some((Arc::clone(&place.id), Arc::clone(root)))
        });
        *held(&self.open) = open.collect();
        if moved {
            self.watch_ancestors(state);
        }
        state.watch.switches_changed = false;
        held(&self.last_switches).clone_from(&switches);
        state.switches = switches;
        let first = state.looked.is_none();
        if first {
            state.uses = Arc::new(self.switches.uses());
        }
        if changed {
            let revision = state.library.revision().next();
            let library = assembly::library(&state.roots, &state.switches);
            let library = library.with_uses(Arc::clone(&state.uses));
            state.library = Arc::new(library.at(revision));
        }
        // The time after the look, so that a slow one isn't stale at once.
        let looked = self.clock.now();
        state.looked = Some(looked);
        let starting = state.watch.is_starting();
        self.remember(starting.then(|| Recent {
            looked,
            trusts: trusts.clone(),
            library: Arc::clone(&state.library),
        }));
        state.trusts = trusts;
        // The first state is no change; later ones are reported by the thread when a burst is over.
        if first || !state.watch.has_thread() {
            self.report(state.library.revision());
        } else if changed {
            state.watch.wake();
        }
        Ok(())
    }

    /// Makes the next answer include a change by this process, even where nothing is watched.
    fn look_again(&self) {
        let mut state = self.lock();
        state.looked = state.looked.map(|_| Timestamp(i64::MIN / 2));
        drop(state);
        self.remember(None);
    }

    fn report(&self, revision: Revision) {
        self.reported.send_if_modified(|reported| {
            let is_new = *reported != revision;
            *reported = revision;
            is_new
        });
    }

    /// The folder of a skill, as a handle.
    fn root_of(&self, skill: &Skill) -> Result<Root, PortError> {
        let open = held(&self.open);
        let found = open.iter().find(|(id, _)| *id == skill.source);
        let root = found.map(|(_, root)| Arc::clone(root));
        drop(open);
        let root = root.ok_or(PortError::NotFound)?;
        root.below(&skill.folder).map_err(disk::port_error)
    }

    /// The switches of the last look, without waiting for one.
    pub(crate) fn last_switches(&self) -> Switches {
        held(&self.last_switches).clone()
    }

    /// Enables or disables the skill of an identity; answers whether that changed anything.
    pub(crate) async fn switch(&self, identity: &str, enabled: bool) -> Result<bool, PortError> {
        let changed = self.switches.set(identity, enabled).await;
        self.lock().watch.switches_changed = true;
        self.look_again();
        changed
    }

    /// The identity of a skill in the switches.
    fn switch_key<'a>(&self, skill: &'a Skill) -> &'a str {
        let state = self.lock();
        let mut roots = state.roots.iter();
        let found = roots.find(|(place, _)| place.id == skill.source);
        skill.identity(found.map(|(place, _)| place.kind))
    }
}

/// Locks a mutex, even after a panic: every value is complete by itself.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SkillStore for LocalSkills {
    fn library(&self) -> Pending<'_, Arc<Library>> {
        Box::pin(async move {
            if let Some(library) = self.at_once() {
                return Ok(library);
            }
            // The others wait for this look without a thread each.
            let _looking = self.looking.lock().await;
            if let Some(library) = self.at_once() {
                return Ok(library);
            }
            blocking(|| self.current())
        })
    }

    fn changed(&self, since: Revision) -> Pending<'_, Revision> {
        revision::changed(&self.reported, since)
    }

    fn read<'a>(
        &'a self,
        skill: &'a Skill,
        path: &'a SkillPath,
        limit: u64,
    ) -> Pending<'a, FileContent> {
        let content = self
            .root_of(skill)
            .and_then(|root| root.read(path, limit).map_err(disk::port_error));
        ready(content)
    }

    fn set_enabled<'a>(&'a self, skill: &'a Skill, enabled: bool) -> Pending<'a, bool> {
        Box::pin(async move {
            self.root_of(skill)?;
            self.switch(self.switch_key(skill), enabled).await
        })
    }

    fn create<'a>(&'a self, name: &'a SkillName, document: &'a [u8]) -> Pending<'a, Arc<Skill>> {
        ready(self.create_skill(name, document))
    }

    fn write<'a>(
        &'a self,
        skill: &'a Skill,
        path: &'a SkillPath,
        change: Change<'a>,
    ) -> Pending<'a, bool> {
        ready(self.put(skill, path, change))
    }

    fn with_unlisted<'a>(&'a self, skill: &'a Arc<Skill>) -> Pending<'a, Arc<Skill>> {
        let unlisted = self.root_of(skill).and_then(|root| {
            blocking(|| unlisted::unlisted(&root, skill)).map_err(disk::port_error)
        });
        ready(unlisted.map(|unlisted| {
            Arc::new(Skill {
                unlisted,
                ..(**skill).clone()
            })
        }))
    }
}

impl Materialize for LocalSkills {
    fn materialize<'a>(&'a self, skill: &'a Skill) -> Pending<'a, Lease> {
        let root = self.root_of(skill);
        ready(root.map(|root| Lease::permanent(root.path().to_owned())))
    }
}

impl Drop for LocalSkills {
    fn drop(&mut self) {
        // Ends the watch thread.
        self.lock().watch.wake();
    }
}

#[cfg(test)]
mod tests;
