//! The skills that an account sees: its own, and those that others share with it, read-only.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::select_all;
use gongfu_core::library::{Library, Revision, Skill};
use gongfu_core::port::{
    Change, FileContent, FileEdit, Lease, Materialize, Pending, PortError, SkillStore, ready,
};
use gongfu_core::skill::{SkillName, SkillPath};

use super::StoredSkills;
use super::record::SOURCE;

/// Skills that somebody shares.
#[derive(Clone)]
pub struct SharedSkills {
    /// The skills.
    pub skills: Arc<dyn SkillStore>,
    /// Their folders.
    pub folders: Arc<dyn Materialize>,
}

/// The skills that an account sees.
pub struct AccountSkills {
    own: Arc<StoredSkills>,
    shared: Vec<SharedSkills>,
    state: Mutex<State>,
}

/// The union, and what it was made of.
#[derive(Default)]
struct State {
    parts: Option<(Revision, Vec<Revision>)>,
    library: Arc<Library>,
    /// The place in `shared` of each source.
    sources: HashMap<Arc<str>, usize>,
}

impl AccountSkills {
    /// An account's own skills, and shared ones in the order of their precedence.
    pub fn new(own: Arc<StoredSkills>, shared: Vec<SharedSkills>) -> Self {
        Self {
            own,
            shared,
            state: Mutex::default(),
        }
    }

    async fn current(&self) -> Result<Arc<Library>, PortError> {
        let own = self.own.own();
        let mut libraries = Vec::with_capacity(self.shared.len());
        for shared in &self.shared {
            libraries.push(shared.skills.library().await?);
        }
        let revisions: Vec<Revision> = libraries.iter().map(|part| part.revision()).collect();
        let mut state = self.lock();
        let parts = Some((own.revision(), revisions));
        if state.parts == parts {
            return Ok(Arc::clone(&state.library));
        }
        let revision = state.library.revision().next();
        let mut sources = own.sources().to_vec();
        let mut skills = own.skills().to_vec();
        let mut places = HashMap::new();
        for (place, library) in libraries.iter().enumerate() {
            for source in library.sources() {
                if *source.id != *SOURCE && !places.contains_key(&source.id) {
                    places.insert(Arc::clone(&source.id), place);
                    sources.push(source.clone());
                }
            }
            // The one who shares them decides first which are enabled.
            let enabled = library
                .skills()
                .iter()
                .filter(|skill| skill.enabled && places.get(&skill.source) == Some(&place));
            skills.extend(enabled.cloned());
        }
        let library = Library::new(sources, skills, Vec::new());
        let disabled = self.own.disabled();
        let skills = library.skills().iter().map(|skill| {
            let enabled = !disabled.contains(library.identity(skill));
            if enabled == skill.enabled {
                Arc::clone(skill)
            } else {
                Arc::new(Skill {
                    enabled,
                    ..(**skill).clone()
                })
            }
        });
        let library = if disabled.is_empty() {
            library
        } else {
            Library::new(library.sources().to_vec(), skills.collect(), Vec::new())
        };
        *state = State {
            parts,
            library: Arc::new(library.at(revision)),
            sources: places,
        };
        Ok(Arc::clone(&state.library))
    }

    /// Waits until a part has another revision than the union was made of.
    async fn part_changed(&self) -> Result<(), PortError> {
        let parts = self.lock().parts.clone();
        let Some((own, revisions)) = parts else {
            return Ok(());
        };
        let own: Pending<'_, Revision> = self.own.changed(own);
        let shared = self.shared.iter().zip(revisions);
        let shared = shared.map(|(shared, revision)| shared.skills.changed(revision));
        let (changed, ..) = select_all(std::iter::once(own).chain(shared)).await;
        changed.map(drop)
    }

    /// The one who shares a skill; `None` for the account's own.
    fn shared(&self, skill: &Skill) -> Option<&SharedSkills> {
        let place = self.lock().sources.get(&skill.source).copied();
        place.and_then(|place| self.shared.get(place))
    }

    /// Checks that a skill is the account's own.
    fn check_own(skill: &Skill) -> Result<(), PortError> {
        if *skill.source == *SOURCE {
            return Ok(());
        }
        Err(PortError::ReadOnly {
            place: skill.source.to_string(),
            instead: Some("your own skills".to_owned()),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SkillStore for AccountSkills {
    fn library(&self) -> Pending<'_, Arc<Library>> {
        Box::pin(self.current())
    }

    fn changed(&self, since: Revision) -> Pending<'_, Revision> {
        Box::pin(async move {
            loop {
                let revision = self.current().await?.revision();
                if revision != since {
                    return Ok(revision);
                }
                self.part_changed().await?;
            }
        })
    }

    fn read<'a>(
        &'a self,
        skill: &'a Skill,
        path: &'a SkillPath,
        limit: u64,
    ) -> Pending<'a, FileContent> {
        match self.shared(skill) {
            Some(shared) => shared.skills.read(skill, path, limit),
            None => self.own.read(skill, path, limit),
        }
    }

    fn set_enabled<'a>(&'a self, skill: &'a Skill, enabled: bool) -> Pending<'a, bool> {
        Box::pin(async move {
            let library = self.current().await?;
            self.own.switch(library.identity(skill), enabled).await
        })
    }

    fn create<'a>(&'a self, name: &'a SkillName, document: &'a [u8]) -> Pending<'a, Arc<Skill>> {
        self.own.create(name, document)
    }

    fn write<'a>(
        &'a self,
        skill: &'a Skill,
        path: &'a SkillPath,
        change: Change<'a>,
    ) -> Pending<'a, bool> {
        match Self::check_own(skill) {
            Ok(()) => self.own.write(skill, path, change),
            Err(error) => ready(Err(error)),
        }
    }

    fn create_whole<'a>(
        &'a self,
        name: &'a SkillName,
        files: &'a [FileEdit<'a>],
    ) -> Pending<'a, Arc<Skill>> {
        self.own.create_whole(name, files)
    }

    fn edit<'a>(&'a self, skill: &'a Skill, edits: &'a [FileEdit<'a>]) -> Pending<'a, Arc<Skill>> {
        match Self::check_own(skill) {
            Ok(()) => self.own.edit(skill, edits),
            Err(error) => ready(Err(error)),
        }
    }

    fn delete<'a>(&'a self, skill: &'a Skill) -> Pending<'a, ()> {
        match Self::check_own(skill) {
            Ok(()) => self.own.delete(skill),
            Err(error) => ready(Err(error)),
        }
    }

    fn with_unlisted<'a>(&'a self, skill: &'a Arc<Skill>) -> Pending<'a, Arc<Skill>> {
        match self.shared(skill) {
            Some(shared) => shared.skills.with_unlisted(skill),
            None => ready(Ok(Arc::clone(skill))),
        }
    }
}

impl Materialize for AccountSkills {
    fn materialize<'a>(&'a self, skill: &'a Skill) -> Pending<'a, Lease> {
        match self.shared(skill) {
            Some(shared) => shared.folders.materialize(skill),
            None => self.own.materialize(skill),
        }
    }
}
