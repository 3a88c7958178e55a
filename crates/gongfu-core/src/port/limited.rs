//! A space of which a caller reaches some skills alone.

use std::sync::{Arc, Mutex, PoisonError};

use super::{
    Change, FileContent, FileEdit, Lease, Materialize, Pending, PortError, Records, SkillSearch,
    SkillStore, TextIndex, ready,
};
use crate::library::{Library, Revision, Skill, SourceKind};
use crate::search::{Answer, Query, SearchText};
use crate::set::CapabilitySet;
use crate::skill::{self, SKILL_FILE, SkillName, SkillPath};

/// The most hits among which a search looks for those that are reachable.
const MAX_HITS: usize = 10_000;

/// The skills that a caller reaches.
#[derive(Debug, Clone)]
pub enum SkillReach {
    /// Those of a token, by full name.
    Token(Arc<[String]>),
    /// Those of a set.
    Set(Arc<CapabilitySet>),
}

impl SkillReach {
    fn has(&self, full_name: &str) -> bool {
        match self {
            Self::Token(names) => names.iter().any(|reached| **reached == *full_name),
            Self::Set(set) => set.has_skill(full_name),
        }
    }

    /// The one who draws the line, for people.
    fn whose(&self) -> &'static str {
        match self {
            Self::Token(_) => "the token",
            Self::Set(_) => "the set",
        }
    }
}

/// The skills of another store that are in reach.
pub(super) struct LimitedSkills {
    pub(super) skills: Arc<dyn SkillStore>,
    pub(super) reach: SkillReach,
    /// The last library, which stays the same for a revision.
    pub(super) last: Mutex<Option<Arc<Library>>>,
}

impl LimitedSkills {
    fn limited(&self, library: &Library) -> Arc<Library> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = &*last
            && last.revision() == library.revision()
        {
            return Arc::clone(last);
        }
        let skills = library.skills().iter();
        let reached = skills
            .filter(|skill| self.reach.has(&skill.full_name))
            .cloned();
        let limited = Library::new(library.sources().to_vec(), reached.collect(), Vec::new());
        let limited = Arc::new(limited.at(library.revision()));
        *last = Some(Arc::clone(&limited));
        limited
    }

    /// Checks that a skill with this name, among those that the space writes, is in reach.
    async fn may_create(&self, name: &SkillName) -> Result<(), PortError> {
        let library = self.skills.library().await?;
        let mut sources = library.sources().iter();
        let own = sources.find(|source| source.kind == SourceKind::Account);
        let full_name = own.map(|own| format!("{}/{name}", own.id));
        if full_name.is_some_and(|full_name| self.reach.has(&full_name)) {
            return Ok(());
        }
        let whose = self.reach.whose();
        let why = format!("{whose} doesn't reach a skill named `{name}`");
        Err(PortError::OutOfReach(why))
    }

    fn checked(&self, skill: &Skill) -> Result<(), PortError> {
        if self.reach.has(&skill.full_name) {
            Ok(())
        } else {
            Err(PortError::NotFound)
        }
    }

    /// Checks that a write leaves the name of a skill as it is: with another name it would take the place of a skill
    /// that is out of reach.
    fn may_write(
        &self,
        skill: &Skill,
        path: &SkillPath,
        content: Option<&[u8]>,
    ) -> Result<(), PortError> {
        self.checked(skill)?;
        let Some(content) = content.filter(|_| path.as_str().eq_ignore_ascii_case(SKILL_FILE))
        else {
            return Ok(());
        };
        let document = skill::load(content, skill.folder.file_name(), &mut Vec::new());
        if document.is_some_and(|document| document.name != skill.name) {
            let (whose, name) = (self.reach.whose(), &skill.full_name);
            let why = format!("{whose} doesn't let `{name}` have another name");
            return Err(PortError::OutOfReach(why));
        }
        Ok(())
    }
}

impl SkillStore for LimitedSkills {
    fn library(&self) -> Pending<'_, Arc<Library>> {
        Box::pin(async move { Ok(self.limited(&*self.skills.library().await?)) })
    }

    fn changed(&self, since: Revision) -> Pending<'_, Revision> {
        self.skills.changed(since)
    }

    fn read<'a>(
        &'a self,
        skill: &'a Skill,
        path: &'a SkillPath,
        limit: u64,
    ) -> Pending<'a, FileContent> {
        match self.checked(skill) {
            Ok(()) => self.skills.read(skill, path, limit),
            Err(error) => ready(Err(error)),
        }
    }

    fn glance<'a>(
        &'a self,
        skill: &'a Skill,
        path: &'a SkillPath,
        limit: u64,
    ) -> Pending<'a, Option<FileContent>> {
        match self.checked(skill) {
            Ok(()) => self.skills.glance(skill, path, limit),
            Err(error) => ready(Err(error)),
        }
    }

    fn set_enabled<'a>(&'a self, skill: &'a Skill, enabled: bool) -> Pending<'a, bool> {
        match self.checked(skill) {
            Ok(()) => self.skills.set_enabled(skill, enabled),
            Err(error) => ready(Err(error)),
        }
    }

    fn create<'a>(&'a self, name: &'a SkillName, document: &'a [u8]) -> Pending<'a, Arc<Skill>> {
        Box::pin(async move {
            self.may_create(name).await?;
            self.skills.create(name, document).await
        })
    }

    fn write<'a>(
        &'a self,
        skill: &'a Skill,
        path: &'a SkillPath,
        change: Change<'a>,
    ) -> Pending<'a, bool> {
        match self.may_write(skill, path, Some(change.bytes)) {
            Ok(()) => self.skills.write(skill, path, change),
            Err(error) => ready(Err(error)),
        }
    }

    fn create_whole<'a>(
        &'a self,
        name: &'a SkillName,
        files: &'a [FileEdit<'a>],
    ) -> Pending<'a, Arc<Skill>> {
        Box::pin(async move {
            self.may_create(name).await?;
            self.skills.create_whole(name, files).await
        })
    }

    fn edit<'a>(&'a self, skill: &'a Skill, edits: &'a [FileEdit<'a>]) -> Pending<'a, Arc<Skill>> {
        let mut checks = edits.iter();
        let checks = checks.try_for_each(|edit| self.may_write(skill, edit.path, edit.content));
        match self.checked(skill).and(checks) {
            Ok(()) => self.skills.edit(skill, edits),
            Err(error) => ready(Err(error)),
        }
    }

    fn delete<'a>(&'a self, skill: &'a Skill) -> Pending<'a, ()> {
        match self.checked(skill) {
            Ok(()) => self.skills.delete(skill),
            Err(error) => ready(Err(error)),
        }
    }

    fn records_of_sharer(&self, skill: &Skill) -> Option<Arc<dyn Records>> {
        self.checked(skill).ok()?;
        self.skills.records_of_sharer(skill)
    }

    fn with_unlisted<'a>(&'a self, skill: &'a Arc<Skill>) -> Pending<'a, Arc<Skill>> {
        match self.checked(skill) {
            Ok(()) => self.skills.with_unlisted(skill),
            Err(error) => ready(Err(error)),
        }
    }
}

/// Local folders of the same skills.
pub(super) struct LimitedFolders {
    pub(super) folders: Arc<dyn Materialize>,
    pub(super) reach: SkillReach,
}

impl Materialize for LimitedFolders {
    fn materialize<'a>(&'a self, skill: &'a Skill) -> Pending<'a, Lease> {
        if self.reach.has(&skill.full_name) {
            self.folders.materialize(skill)
        } else {
            ready(Err(PortError::NotFound))
        }
    }
}

/// Search of which the same skills are found alone.
pub(super) struct LimitedSearch {
    pub(super) search: Arc<dyn SkillSearch>,
    pub(super) reach: SkillReach,
}

impl SkillSearch for LimitedSearch {
    fn search<'a>(&'a self, query: &'a Query) -> Pending<'a, Answer> {
        Box::pin(async move {
            let wide = Query {
                limit: MAX_HITS,
                ..query.clone()
            };
            let mut answer = self.search.search(&wide).await?;
            answer
                .hits
                .retain(|hit| self.reach.has(&hit.skill.full_name));
            answer.total = answer.hits.len();
            answer.hits.truncate(query.limit);
            Ok(answer)
        })
    }

    fn index(&self, texts: Vec<SearchText>) -> Pending<'_, Arc<dyn TextIndex>> {
        self.search.index(texts)
    }
}
