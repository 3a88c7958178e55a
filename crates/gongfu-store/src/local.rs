//! The skills of a local installation: many roots on disk as one library.
//!
//! Watched, every answer is the library as it is on disk when it is asked for. Where nothing is
//! watched, an answer is at most a second old: a look at the stamps of all files tells what has to
//! be read again, and only that is read.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use gongfu_core::account::Owner;
use gongfu_core::library::{Library, Revision, Skill};
use gongfu_core::port::{Change, Clock, FileContent, Pending, PortError, SkillStore, Timestamp};
use gongfu_core::skill::{SkillName, SkillPath};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::watch::Sender;

use crate::disk::{self, Root};
use crate::home::Home;
use crate::source::{self, Place, Settings};
use crate::switches::Switches;

mod assembly;
mod folders;
mod hinge;
mod known;
mod live;
mod root;
mod tree;
mod writing;

pub use live::Watched;

use live::Live;
use root::{Look, RootState};

/// How long an answer about what isn't watched is taken for current, in milliseconds.
const FRESH: i64 = 1_000;

/// How often it is tried to have the state at once.
const TRIES: usize = 64;

/// How often it is looked once more for places that come meanwhile.
const ROUNDS: usize = 8;

/// The skills on this machine, as one library.
pub struct LocalSkills {
    home: Home,
    settings: Settings,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
    /// The roots that were there at the last look, by their places: whoever reads a file doesn't
    /// wait for a look.
    open: Mutex<Vec<(Arc<str>, Arc<Root>)>>,
    /// Held by the request that looks.
    turn: tokio::sync::Mutex<()>,
    /// What was answered last, for as long as nothing is watched yet.
    recent: Mutex<Option<(Timestamp, Arc<Library>)>>,
    /// The revision that everybody who waits for one is told.
    told: Sender<Revision>,
}

#[derive(Default)]
struct State {
    looked: Option<Timestamp>,
    roots: Vec<(Place, RootState)>,
    switches: Switches,
    library: Arc<Library>,
    live: Live,
}

impl LocalSkills {
    /// The skills that `settings` lead to, with the index and the switches of `home`.
    pub fn new(home: Home, settings: Settings, clock: Arc<dyn Clock>) -> Self {
        Self {
            home,
            settings,
            clock,
            state: Mutex::default(),
            open: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
            recent: Mutex::default(),
            told: Sender::new(Revision::default()),
        }
    }

    /// The places that are looked at, in order of precedence, as they are now: a person may link
    /// folders into their own at any time.
    pub fn places(&self) -> Vec<Place> {
        source::places(&self.settings, &self.home)
    }

    /// The library as it is on disk now.
    ///
    /// # Errors
    /// The switches can't be read.
    pub fn current(&self) -> io::Result<Arc<Library>> {
        if let Some(library) = self.recent() {
            return Ok(library);
        }
        let mut state = self.lock();
        self.refresh(&mut state)?;
        Ok(Arc::clone(&state.library))
    }

    /// The library, when that takes no look at any folder and no waiting for one.
    fn at_once(&self) -> Option<Arc<Library>> {
        if let Some(library) = self.recent() {
            return Some(library);
        }
        let mut state = self.lock_soon()?;
        self.is_current(&mut state)
            .then(|| Arc::clone(&state.library))
    }

    /// The state, unless somebody holds it for longer than a question takes.
    ///
    /// To ask takes microseconds, and to have another thread take over what else there is to do
    /// takes more than a few of those.
    fn lock_soon(&self) -> Option<MutexGuard<'_, State>> {
        for _ in 0..TRIES {
            match self.state.try_lock() {
                Ok(state) => return Some(state),
                Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => std::thread::yield_now(),
            }
        }
        None
    }

    /// What was answered less than a second ago, while the watches are still being made: that
    /// takes the state for long.
    fn recent(&self) -> Option<Arc<Library>> {
        let recent = held(&self.recent);
        let (looked, library) = recent.as_ref()?;
        self.is_fresh(*looked).then(|| Arc::clone(library))
    }

    fn remember(&self, answer: Option<(Timestamp, Arc<Library>)>) {
        *held(&self.recent) = answer;
    }

    /// Whether a look was made within the last second; a clock that went back tells nothing.
    fn is_fresh(&self, looked: Timestamp) -> bool {
        (0..FRESH).contains(&(self.clock.now().0 - looked.0))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        held(&self.state)
    }

    /// Makes the library what it is on disk, by what was told or by looking.
    fn refresh(&self, state: &mut State) -> io::Result<()> {
        if self.is_current(state) {
            return Ok(());
        }
        self.look(state)
    }

    /// Whether the library is what is on disk, once what was told is taken over.
    fn is_current(&self, state: &mut State) -> bool {
        let fresh = state.looked.is_some_and(|looked| self.is_fresh(looked));
        if !state.live.is_standing() {
            return fresh;
        }
        live::absorb(state);
        if !fresh {
            live::doubt(state);
        }
        live::is_clean(state)
    }

    /// Looks at everything that isn't known to be unchanged.
    fn look(&self, state: &mut State) -> io::Result<()> {
        for _ in 0..ROUNDS {
            self.look_once(state)?;
            // A place may come while what it hangs on is being watched.
            if !state.live.unhinged {
                break;
            }
        }
        Ok(())
    }

    fn look_once(&self, state: &mut State) -> io::Result<()> {
        if state.live.unhinged {
            self.hang(state);
        }
        let switches = Switches::read(&self.home)?;
        let now = self.clock.now();
        let standing = state.live.is_standing();
        let keeps_later = state.live.keeps_index();
        let mut before = std::mem::take(&mut state.roots);
        let mut changed = state.looked.is_none() || switches != state.switches;
        let mut moved = false;
        for place in self.places() {
            let known = before.iter().position(|(known, _)| *known == place);
            let (mut root, first) = match known {
                Some(at) => (before.swap_remove(at).1, false),
                None => (state.live.new_root(), true),
            };
            moved |= first;
            root.dirt.whole |= !standing;
            if first || !root.dirt.is_none() {
                let look = Look {
                    place: &place,
                    home: &self.home,
                    now,
                    watches: state.live.watches.as_mut(),
                    keeps_later,
                };
                changed |= root.look(look, first);
            }
            state.roots.push((place, root));
        }
        // A place that is no more takes its skills along.
        changed |= !before.is_empty();
        moved |= !before.is_empty();
        for (_, mut root) in before {
            if let Some(watches) = &mut state.live.watches {
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
            self.hang(state);
        }
        state.live.switched = false;
        state.switches = switches;
        let first = state.looked.is_none();
        if changed {
            let revision = state.library.revision().next();
            let library = assembly::library(&state.roots, &state.switches);
            state.library = Arc::new(library.at(revision));
        }
        // Taken after the look, so that a slow look isn't stale at once.
        let looked = self.clock.now();
        state.looked = Some(looked);
        let starting = state.live.is_starting();
        self.remember(starting.then(|| (looked, Arc::clone(&state.library))));
        // The first state is no change of anything; later ones are told when a burst is over.
        if first || !state.live.tells() {
            self.tell(state.library.revision());
        } else if changed {
            state.live.wake();
        }
        Ok(())
    }

    /// What was changed from here is seen by the next answer, even where nothing is watched.
    fn look_again(&self) {
        let mut state = self.lock();
        state.looked = state.looked.map(|_| Timestamp(i64::MIN / 2));
        drop(state);
        self.remember(None);
    }

    fn tell(&self, revision: Revision) {
        self.told.send_if_modified(|told| {
            let news = *told != revision;
            *told = revision;
            news
        });
    }

    /// A handle of the folder that a skill lies in.
    pub(crate) fn root_of(&self, skill: &Skill) -> Result<Root, PortError> {
        let open = held(&self.open);
        let found = open.iter().find(|(id, _)| *id == skill.source);
        let root = found.map(|(_, root)| Arc::clone(root));
        drop(open);
        let root = root.ok_or(PortError::NotFound)?;
        let below = skill
            .full_name
            .strip_prefix(&*skill.source)
            .and_then(|rest| rest.strip_prefix('/'))
            .unwrap_or_default();
        let below = SkillPath::new(below).map_err(|error| PortError::Other(Box::new(error)))?;
        root.below(&below).map_err(disk::port_error)
    }

    /// What the switches know a skill by; a built-in one by its name, because its folder moves with
    /// every version.
    fn switch_key<'a>(&self, skill: &'a Skill) -> &'a str {
        let state = self.lock();
        let mut roots = state.roots.iter();
        let found = roots.find(|(place, _)| place.id == skill.source);
        assembly::switch_key(found.map(|(place, _)| place.kind), skill)
    }
}

/// What a mutex guards, even if whoever had it before panicked: every part is whole by itself.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does work that may take long, so that whoever waits for something else is answered meanwhile.
fn aside<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        // There is one thread, or nobody else.
        _ => work(),
    }
}

impl SkillStore for LocalSkills {
    fn library<'a>(&'a self, _owner: &'a Owner) -> Pending<'a, Arc<Library>> {
        Box::pin(async move {
            if let Some(library) = self.at_once() {
                return Ok(library);
            }
            // The others wait without a thread each for the one who looks.
            let _turn = self.turn.lock().await;
            if let Some(library) = self.at_once() {
                return Ok(library);
            }
            let library = aside(|| self.current());
            library.map_err(|error| PortError::Unavailable(error.to_string()))
        })
    }

    fn changed<'a>(&'a self, _owner: &'a Owner, since: Revision) -> Pending<'a, Revision> {
        let mut told = self.told.subscribe();
        Box::pin(async move {
            let another = told.wait_for(|revision| *revision != since).await;
            another
                .map(|revision| *revision)
                .map_err(|error| PortError::Other(Box::new(error)))
        })
    }

    fn read<'a>(
        &'a self,
        _owner: &'a Owner,
        skill: &'a Skill,
        path: &'a SkillPath,
        limit: u64,
    ) -> Pending<'a, FileContent> {
        let content = self
            .root_of(skill)
            .and_then(|root| root.read(path, limit).map_err(disk::port_error));
        Box::pin(std::future::ready(content))
    }

    fn set_enabled<'a>(
        &'a self,
        _owner: &'a Owner,
        skill: &'a Skill,
        enabled: bool,
    ) -> Pending<'a, bool> {
        let changed = Switches::set(&self.home, self.switch_key(skill), enabled)
            .map_err(|error| PortError::Unavailable(error.to_string()));
        self.lock().live.switched = true;
        self.look_again();
        Box::pin(std::future::ready(changed))
    }

    fn create<'a>(
        &'a self,
        _owner: &'a Owner,
        name: &'a SkillName,
        document: &'a [u8],
    ) -> Pending<'a, Arc<Skill>> {
        Box::pin(std::future::ready(self.make(name, document)))
    }

    fn write<'a>(
        &'a self,
        _owner: &'a Owner,
        skill: &'a Skill,
        path: &'a SkillPath,
        change: Change<'a>,
    ) -> Pending<'a, bool> {
        Box::pin(std::future::ready(self.put(skill, path, change)))
    }
}

impl Drop for LocalSkills {
    fn drop(&mut self) {
        // Whoever watches for it ends, now that there is nobody to watch for.
        self.lock().live.wake();
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod starts;
#[cfg(test)]
mod tests;
