//! The files that an owner works on, and the files that runs left beside skills.

use super::{Change, FileContent, Lease, Pending};
use crate::library::Skill;
use crate::place::Location;
use crate::skill::SkillPath;

/// An entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderEntry {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: FolderEntryKind,
}

/// The kind of an entry; a link that stays inside counts as its target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FolderEntryKind {
    /// A regular file and its length in bytes.
    File(u64),
    /// A folder.
    Folder,
    /// Something else that can't be reached, described for people.
    Other(String),
}

/// The files of an owner: a workspace, and the folders that the operator mounted beside it.
pub trait Files: Send + Sync {
    /// The entries of a folder, by name; a workspace that was never written to is empty.
    fn list<'a>(&'a self, place: &'a Location) -> Pending<'a, Vec<FolderEntry>>;

    /// A file as it is now; at most `limit` bytes of it.
    fn read<'a>(&'a self, place: &'a Location, limit: u64) -> Pending<'a, FileContent>;

    /// Writes a whole file; creates it and the folders above it where they are missing. Answers
    /// whether the file is new.
    fn write<'a>(&'a self, place: &'a Location, change: Change<'a>) -> Pending<'a, bool>;
}

/// The layers above skills: they take the writes of runs, so that a skill itself never changes.
///
/// A layer belongs to one version of a skill: another version starts with an empty one, and the former one is there
/// again when the skill is as it was.
pub trait Layers: Send + Sync {
    /// A file in the layer of a skill; at most `limit` bytes of it.
    fn read<'a>(
        &'a self,
        skill: &'a Skill,
        path: &'a SkillPath,
        limit: u64,
    ) -> Pending<'a, FileContent>;

    /// The files in the layer of a skill with their lengths in bytes, by path; at most 5,000.
    fn list<'a>(&'a self, skill: &'a Skill) -> Pending<'a, Vec<(SkillPath, u64)>>;

    /// Leases a local folder with the content of the layer, for a run to write to.
    fn lease<'a>(&'a self, skill: &'a Skill) -> Pending<'a, Lease>;

    /// Keeps the files that a leased folder holds now as the content of the layer.
    fn commit<'a>(&'a self, skill: &'a Skill, lease: Lease) -> Pending<'a, ()>;
}
