//! The skills of a local installation: many roots on disk as one library.
//!
//! Every answer about the library is at most a second old: a look at the stamps of all files tells
//! what has to be read again, and only that is read.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use gongfu_core::account::Owner;
use gongfu_core::library::{Library, Skill};
use gongfu_core::port::{Change, Clock, FileContent, Pending, PortError, SkillStore, Timestamp};
use gongfu_core::skill::{SkillName, SkillPath};

use crate::disk::{self, Root};
use crate::home::Home;
use crate::source::{self, Place, Settings};
use crate::switches::Switches;

mod assembly;
mod root;
mod writing;

use root::RootState;

/// How long an answer about the library is taken for current, in milliseconds.
const FRESH: i64 = 1_000;

/// The skills on this machine, as one library.
pub struct LocalSkills {
    home: Home,
    settings: Settings,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    looked: Option<Timestamp>,
    roots: Vec<(Place, RootState)>,
    switches: Switches,
    library: Arc<Library>,
}

impl LocalSkills {
    /// The skills that `settings` lead to, with the index and the switches of `home`.
    pub fn new(home: Home, settings: Settings, clock: Arc<dyn Clock>) -> Self {
        Self {
            home,
            settings,
            clock,
            state: Mutex::default(),
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
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.clock.now();
        let fresh = state
            .looked
            .is_some_and(|looked| (0..FRESH).contains(&(now.0 - looked.0)));
        if !fresh {
            self.look(&mut state, now)?;
        }
        Ok(Arc::clone(&state.library))
    }

    fn look(&self, state: &mut State, now: Timestamp) -> io::Result<()> {
        let switches = Switches::read(&self.home)?;
        let mut before = std::mem::take(&mut state.roots);
        let mut changed = state.looked.is_none() || switches != state.switches;
        for place in self.places() {
            let known = before.iter().position(|(known, _)| *known == place);
            let (mut root, first) = match known {
                Some(at) => (before.swap_remove(at).1, false),
                None => (RootState::default(), true),
            };
            changed |= root.look(&place, &self.home, first, now);
            state.roots.push((place, root));
        }
        // A place that is no more takes its skills along.
        changed |= !before.is_empty();
        state.switches = switches;
        if changed {
            state.library = Arc::new(assembly::library(&state.roots, &state.switches));
        }
        // Taken after the look, so that a slow look isn't stale at once.
        state.looked = Some(self.clock.now());
        Ok(())
    }

    /// What was changed from here is seen by the next answer.
    fn look_again(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.looked = None;
    }

    fn root_of(&self, skill: &Skill) -> Result<Root, PortError> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut roots = state.roots.iter();
        let found = roots.find(|(place, _)| place.id == skill.source);
        let root = found.and_then(|(_, root)| root.root.clone());
        let root = root.ok_or(PortError::NotFound)?;
        drop(state);
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
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut roots = state.roots.iter();
        let found = roots.find(|(place, _)| place.id == skill.source);
        assembly::switch_key(found.map(|(place, _)| place.kind), skill)
    }
}

impl SkillStore for LocalSkills {
    fn library<'a>(&'a self, _owner: &'a Owner) -> Pending<'a, Arc<Library>> {
        let library = self
            .current()
            .map_err(|error| PortError::Unavailable(error.to_string()));
        Box::pin(std::future::ready(library))
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

#[cfg(test)]
mod tests;
