//! The skills that an account sees: its own, and those that others share with it, read-only.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::select_all;
use gongfu_core::account::UserId;
use gongfu_core::library::{Library, Revision, Skill};
use gongfu_core::port::{
    Change, FileContent, FileEdit, Lease, Materialize, Pending, PortError, Records, SkillStore,
    ready,
};
use gongfu_core::skill::{SkillName, SkillPath};

use super::StoredSkills;

/// Skills that somebody shares.
#[derive(Clone)]
pub struct SharedSkills {
    /// The skills.
    pub skills: Arc<dyn SkillStore>,
    /// Their folders.
    pub folders: Arc<dyn Materialize>,
    /// The records of those who share them, with the grants that come with them.
    pub records: Arc<dyn Records>,
}

/// Those who share skills with an account, which may change.
pub trait Shares: Send + Sync {
    /// Them now, in the order of their precedence. The same list while nothing changed.
    fn current(&self) -> Pending<'_, Arc<[SharedSkills]>>;

    /// Waits until they may be others than these.
    fn changed<'a>(&'a self, since: &'a Arc<[SharedSkills]>) -> Pending<'a, ()>;
}

/// The ones who share stay the same.
impl Shares for Arc<[SharedSkills]> {
    fn current(&self) -> Pending<'_, Arc<[SharedSkills]>> {
        ready(Ok(Arc::clone(self)))
    }

    fn changed<'a>(&'a self, _since: &'a Arc<[SharedSkills]>) -> Pending<'a, ()> {
        Box::pin(std::future::pending())
    }
}

/// The skills that an account sees.
pub struct AccountSkills {
    own: StoredSkills,
    shares: Arc<dyn Shares>,
    state: Mutex<State>,
}

/// The union, and what it was made of.
#[derive(Clone, Default)]
struct State {
    /// Those who share, and the revisions of the account's own skills and of theirs.
    parts: Option<(Arc<[SharedSkills]>, Revision, Vec<Revision>)>,
    library: Arc<Library>,
    /// The place among those who share of each source.
    sources: Arc<HashMap<Arc<str>, usize>>,
}

impl AccountSkills {
    /// An account's own skills, and those that others share with it.
    pub fn new(own: StoredSkills, shares: Arc<dyn Shares>) -> Self {
        Self {
            own,
            shares,
            state: Mutex::default(),
        }
    }

    /// An account's own skills, with which nobody shares any.
    pub fn alone(own: StoredSkills) -> Self {
        Self::new(own, Arc::new(Arc::<[SharedSkills]>::from([])))
    }

    async fn current(&self) -> Result<Arc<Library>, PortError> {
        let shares = self.shares.current().await?;
        let own = self.own.own();
        let mut libraries = Vec::with_capacity(shares.len());
        for shared in &*shares {
            libraries.push(shared.skills.library().await?);
        }
        let revisions: Vec<Revision> = libraries.iter().map(|part| part.revision()).collect();
        let mut state = self.lock();
        if let Some((before, own_before, theirs)) = &state.parts
            && Arc::ptr_eq(before, &shares)
            && *own_before == own.revision()
            && *theirs == revisions
        {
            return Ok(Arc::clone(&state.library));
        }
        let revision = state.library.revision().next();
        let (library, sources) = self.union(&own, &libraries);
        *state = State {
            parts: Some((shares, own.revision(), revisions)),
            library: Arc::new(library.at(revision)),
            sources: Arc::new(sources),
        };
        Ok(Arc::clone(&state.library))
    }

    /// The account's own skills and those of others, and the place among the others of each source.
    fn union(&self, own: &Library, others: &[Arc<Library>]) -> (Library, HashMap<Arc<str>, usize>) {
        let (own_source, disabled) = (self.own.source(), self.own.disabled());
        let mut sources = own.sources().to_vec();
        let mut skills = own.skills().to_vec();
        let mut places = HashMap::new();
        for (place, library) in others.iter().enumerate() {
            for source in library.sources() {
                if source.id != own_source && !places.contains_key(&source.id) {
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
        if disabled.is_empty() {
            return (library, places);
        }
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
        let skills = skills.collect();
        (
            Library::new(library.sources().to_vec(), skills, Vec::new()),
            places,
        )
    }

    /// Waits until a part may be another than the union was made of.
    async fn part_changed(&self) -> Result<(), PortError> {
        let parts = self.lock().parts.clone();
        let Some((shares, own, revisions)) = parts else {
            return Ok(());
        };
        let own: Pending<'_, Revision> = self.own.changed(own);
        let others = shares.iter().zip(revisions);
        let others = others.map(|(shared, revision)| shared.skills.changed(revision));
        let changed = select_all(std::iter::once(own).chain(others));
        tokio::select! {
            (changed, ..) = changed => changed.map(drop),
            changed = self.shares.changed(&shares) => changed,
        }
    }

    /// The one who shares a skill; `None` for the account's own.
    fn shared(&self, skill: &Skill) -> Option<SharedSkills> {
        let state = self.lock();
        let place = *state.sources.get(&skill.source)?;
        let (shares, ..) = state.parts.as_ref()?;
        shares.get(place).cloned()
    }

    /// Checks that a skill is the account's own.
    fn check_own(&self, skill: &Skill) -> Result<(), PortError> {
        if skill.source == self.own.source() {
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
            Some(shared) => Box::pin(async move { shared.skills.read(skill, path, limit).await }),
            None => self.own.read(skill, path, limit),
        }
    }

    fn glance<'a>(
        &'a self,
        skill: &'a Skill,
        path: &'a SkillPath,
        limit: u64,
    ) -> Pending<'a, Option<FileContent>> {
        match self.shared(skill) {
            Some(shared) => Box::pin(async move { shared.skills.glance(skill, path, limit).await }),
            None => self.own.glance(skill, path, limit),
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
        match self.check_own(skill) {
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
        match self.check_own(skill) {
            Ok(()) => self.own.edit(skill, edits),
            Err(error) => ready(Err(error)),
        }
    }

    fn delete<'a>(&'a self, skill: &'a Skill) -> Pending<'a, ()> {
        match self.check_own(skill) {
            Ok(()) => self.own.delete(skill),
            Err(error) => ready(Err(error)),
        }
    }

    fn written_by(&self, user: &UserId) -> Option<Arc<dyn SkillStore>> {
        // The union is made already.
        let state = Mutex::new(self.lock().clone());
        Some(Arc::new(Self {
            own: self.own.changed_by(user),
            shares: Arc::clone(&self.shares),
            state,
        }))
    }

    fn records_of_sharer(&self, skill: &Skill) -> Option<Arc<dyn Records>> {
        Some(self.shared(skill)?.records)
    }

    fn with_unlisted<'a>(&'a self, skill: &'a Arc<Skill>) -> Pending<'a, Arc<Skill>> {
        match self.shared(skill) {
            Some(shared) => Box::pin(async move { shared.skills.with_unlisted(skill).await }),
            None => ready(Ok(Arc::clone(skill))),
        }
    }
}

impl Materialize for AccountSkills {
    fn materialize<'a>(&'a self, skill: &'a Skill) -> Pending<'a, Lease> {
        match self.shared(skill) {
            Some(shared) => Box::pin(async move { shared.folders.materialize(skill).await }),
            None => self.own.materialize(skill),
        }
    }
}
