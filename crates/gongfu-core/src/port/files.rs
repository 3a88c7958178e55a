//! The files that an owner works on, and the files that runs left beside skills.

use serde::Serialize;

use super::{Change, FileContent, Lease, Pending, Timestamp};
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

    /// Keeps a long answer beside the long outputs of runs, in a new folder, and answers its path for the tools about
    /// files. The oldest are removed. The default is for places that keep none.
    fn keep<'a>(&'a self, folder: &'a str, name: &'a str, bytes: &'a [u8]) -> Pending<'a, String> {
        let _ = (folder, name, bytes);
        let why = "long answers aren't kept here".to_owned();
        super::ready(Err(super::PortError::Denied(why)))
    }
}

/// The layer above one version of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LayerInfo {
    /// Its id.
    pub id: String,
    /// The full name of the skill at its last run.
    pub skill: String,
    /// The folder of the skill, for people.
    pub folder: String,
    /// The time of its last run.
    pub used: Timestamp,
    /// The number of files and links.
    pub files: u64,
    /// Their length in bytes.
    pub bytes: u64,
    /// True if the skill that was asked for has this version now.
    pub is_current: bool,
}

/// The layers above skills: they take the writes of runs, so that a skill itself never changes.
///
/// A layer belongs to one version of a skill: another version starts with an empty one, and the former one is there
/// again when the skill is as it was. A new layer may remove former ones of its skill that weren't used for 30 days.
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

    /// The bytes that runs may still leave, of [`crate::sandbox::MAX_LAYER_BYTES`] for all layers together.
    fn room(&self) -> Pending<'_, u64>;

    /// The layers of a skill, of every version that has one, or of all skills; the one used last first.
    fn all<'a>(&'a self, skill: Option<&'a Skill>) -> Pending<'a, Vec<LayerInfo>>;

    /// The files and links in a layer with their lengths in bytes, by path; at most 5,000.
    fn files<'a>(&'a self, id: &'a str) -> Pending<'a, Vec<(SkillPath, u64)>>;

    /// Removes a layer with all its files.
    fn clear<'a>(&'a self, id: &'a str) -> Pending<'a, ()>;
}
