//! The skills of a space, search over them, and local folders of them.

use std::sync::Arc;

use super::{Change, FileContent, Lease, Pending, Records};
use crate::account::UserId;
use crate::library::{Library, Revision, Skill};
use crate::search::{Answer, Query, SearchText, TextAnswer};
use crate::skill::{SkillName, SkillPath};

/// A file of a skill that is to be stored, or removed.
#[derive(Debug, Clone, Copy)]
pub struct FileEdit<'a> {
    /// Its path.
    pub path: &'a SkillPath,
    /// Its content; `None` removes it.
    pub content: Option<&'a [u8]>,
    /// True if it is a program; `None` leaves that as it is.
    pub is_executable: Option<bool>,
}

/// The skills of a space.
pub trait SkillStore: Send + Sync {
    /// The library as it is now.
    fn library(&self) -> Pending<'_, Arc<Library>>;

    /// Waits until the library has another revision than `since`, and answers it.
    ///
    /// Many changes at once are reported once, so this may come a moment after the library shows
    /// them. [`Revision::default`] stands before the first reading. The default waits forever, for
    /// stores whose skills never change.
    fn changed(&self, since: Revision) -> Pending<'_, Revision> {
        let _ = since;
        Box::pin(std::future::pending())
    }

    /// A file of a skill as it is now; at most `limit` bytes of it.
    fn read<'a>(
        &'a self,
        skill: &'a Skill,
        path: &'a SkillPath,
        limit: u64,
    ) -> Pending<'a, FileContent>;

    /// The same for a look at many skills, as a search takes: `None` for what would have to be fetched from elsewhere.
    fn glance<'a>(
        &'a self,
        skill: &'a Skill,
        path: &'a SkillPath,
        limit: u64,
    ) -> Pending<'a, Option<FileContent>> {
        Box::pin(async move { self.read(skill, path, limit).await.map(Some) })
    }

    /// Enables or disables a skill; answers whether that changed anything.
    fn set_enabled<'a>(&'a self, skill: &'a Skill, enabled: bool) -> Pending<'a, bool>;

    /// Creates a skill from its SKILL.md in the space's writable source, in a folder with its
    /// name. [`super::PortError::Conflict`] when the folder exists.
    fn create<'a>(&'a self, name: &'a SkillName, document: &'a [u8]) -> Pending<'a, Arc<Skill>>;

    /// Writes a whole file of a skill; creates it and the folders above it where they are missing.
    /// Answers whether the file is new.
    fn write<'a>(
        &'a self,
        skill: &'a Skill,
        path: &'a SkillPath,
        change: Change<'a>,
    ) -> Pending<'a, bool>;

    /// Creates a skill from all its files in the space's writable source, in a folder with its name, all or nothing.
    /// [`super::PortError::Conflict`] when the folder exists. The default is for stores whose files a person changes.
    fn create_whole<'a>(
        &'a self,
        name: &'a SkillName,
        files: &'a [FileEdit<'a>],
    ) -> Pending<'a, Arc<Skill>> {
        let _ = (name, files);
        super::ready(Err(not_stored()))
    }

    /// Changes files of a skill, all or nothing, and answers its new version.
    ///
    /// [`super::PortError::Conflict`] when it isn't this version any more, [`super::PortError::Denied`] when it would be no
    /// skill. The default is for stores whose files a person changes.
    fn edit<'a>(&'a self, skill: &'a Skill, edits: &'a [FileEdit<'a>]) -> Pending<'a, Arc<Skill>> {
        let _ = (skill, edits);
        super::ready(Err(not_stored()))
    }

    /// Deletes a skill with all its files. [`super::PortError::Conflict`] when it isn't this version any more. The default
    /// is for stores whose files a person deletes.
    fn delete<'a>(&'a self, skill: &'a Skill) -> Pending<'a, ()> {
        let _ = skill;
        super::ready(Err(not_stored()))
    }

    /// The same store, which notes a user as the one who changes its skills. The default is for stores that don't note
    /// who does.
    fn written_by(&self, user: &UserId) -> Option<Arc<dyn SkillStore>> {
        let _ = user;
        None
    }

    /// Returns the records of those who share a skill with the space: their grants count for it. The default is for
    /// stores whose skills are all the space's own.
    fn records_of_sharer(&self, skill: &Skill) -> Option<Arc<dyn Records>> {
        let _ = skill;
        None
    }

    /// A skill with its unlisted files, as what a person allows it needs them. The default is for stores
    /// that list every file.
    fn with_unlisted<'a>(&'a self, skill: &'a Arc<Skill>) -> Pending<'a, Arc<Skill>> {
        super::ready(Ok(Arc::clone(skill)))
    }
}

/// Turns a skill into a local folder, for whatever needs a path.
pub trait Materialize: Send + Sync {
    /// Leases a local folder that holds the files of a skill; nobody may write to it.
    fn materialize<'a>(&'a self, skill: &'a Skill) -> Pending<'a, Lease>;
}

/// Full-text search over the skills of a space.
///
/// A space is ranked by its own skills alone: another space's skills never change an answer.
pub trait SkillSearch: Send + Sync {
    /// The skills that match a query best, as the library is now.
    fn search<'a>(&'a self, query: &'a Query) -> Pending<'a, Answer>;

    /// An index of other short texts, such as those of tools; they are known by their numbers in this order. Its
    /// ranking is that of skills. Each line of a text's name is one of its names.
    fn index(&self, texts: Vec<SearchText>) -> Pending<'_, Arc<dyn TextIndex>>;
}

/// Texts that are ready to be searched.
pub trait TextIndex: Send + Sync {
    /// The texts that match a query best. The filter and snippets of the query are for skills alone.
    ///
    /// # Errors
    /// The index doesn't work.
    fn search(&self, query: &Query) -> Result<TextAnswer, super::PortError>;
}

fn not_stored() -> super::PortError {
    let why = "the skills here are folders of a person, who changes them there";
    super::PortError::Denied(why.to_owned())
}
