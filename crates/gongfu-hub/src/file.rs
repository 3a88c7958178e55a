//! The shared part of the tools about files: resolving a path, listing a folder.
//!
//! A path is always reported as it was given, never as it is on this machine.

use std::collections::BTreeMap;

use gongfu_core::library::Skill;
use gongfu_core::place::{Location, PlaceError, VirtualPath};
use gongfu_core::port::{FolderEntry, FolderEntryKind, PortError};
use gongfu_core::skill::SkillPath;

use crate::call::Call;
use crate::error::ToolError;
use crate::problem::Problem;
use crate::shelf::{self, MAX_READ};

/// A file or folder of the workspace or a mount.
///
/// # Errors
/// The path climbs, or can't be one.
pub fn location(path: &str) -> Result<Location, ToolError> {
    Location::parse(path).map_err(|why| no_place(path, why))
}

/// The same with the skills in the tree.
///
/// # Errors
/// The path climbs, or can't be one.
pub fn virtual_path(path: &str) -> Result<VirtualPath, ToolError> {
    VirtualPath::parse(path).map_err(|why| no_place(path, why))
}

fn no_place(path: &str, why: PlaceError) -> ToolError {
    Problem::PlacePath {
        path: path.to_owned(),
        reason: why.to_string(),
    }
    .error()
}

/// Lists a folder, by name.
///
/// # Errors
/// It isn't there, is no folder, or leads outside.
pub async fn list(
    call: &Call,
    place: &Location,
    given: &str,
) -> Result<Vec<FolderEntry>, ToolError> {
    let entries = call.space.files().list(place).await;
    entries.map_err(|error| failed(error, given, "listing the folder"))
}

/// A file, whole.
///
/// # Errors
/// It isn't there, is no file, leads outside, or is too large.
pub async fn read(call: &Call, place: &Location, given: &str) -> Result<Vec<u8>, ToolError> {
    match call.space.files().read(place, MAX_READ).await {
        Ok(content) if content.is_cut() => Err(Problem::FileTooLarge {
            path: given.to_owned(),
            bytes: content.size,
            limit: MAX_READ,
        }
        .error()),
        Ok(content) => Ok(content.bytes),
        Err(error) => Err(failed(error, given, "reading the file")),
    }
}

/// Returns the entries of a folder, by all files that there are; a later one takes the place of an earlier one.
fn entries<'a>(
    files: impl Iterator<Item = (&'a SkillPath, u64)>,
    folder: &SkillPath,
    given: &str,
) -> Result<Vec<FolderEntry>, ToolError> {
    let mut entries: BTreeMap<&str, FolderEntryKind> = BTreeMap::new();
    for (path, size) in files.filter(|(path, _)| path.is_within(folder)) {
        let below = path.as_str().get(folder.as_str().len()..);
        let below = below.unwrap_or_default().trim_start_matches('/');
        match below.split_once('/') {
            Some((name, _)) => entries.insert(name, FolderEntryKind::Folder),
            None if below.is_empty() => {
                let path = given.to_owned();
                return Err(Problem::NotAFolder { path }.error());
            }
            None => entries.insert(below, FolderEntryKind::File(size)),
        };
    }
    if entries.is_empty() {
        let path = given.to_owned();
        return Err(Problem::PlaceUnknown { path }.error());
    }
    let entries = entries.into_iter().map(|(name, kind)| FolderEntry {
        name: name.to_owned(),
        kind,
    });
    Ok(entries.collect())
}

/// A file of a skill, whole, told by the path that was given.
///
/// # Errors
/// It isn't there, is no file, leads outside, or is too large.
pub async fn read_skill(
    call: &Call,
    skill: &Skill,
    path: &SkillPath,
    given: &str,
) -> Result<Vec<u8>, ToolError> {
    let is_folder = path.is_root() || skill.files.iter().any(|file| file.path.is_within(path));
    let is_file = skill.files.iter().any(|file| file.path == *path);
    if is_folder && !is_file {
        let path = given.to_owned();
        return Err(Problem::IsAFolder { path }.error());
    }
    let content = shelf::file(call, skill, path).await;
    content.map_err(|error| retold(error, given))
}

/// The same as the skill's runs see it: as one of them left it, else as it is in the skill.
///
/// # Errors
/// As [`read_skill`].
pub async fn read_seen(
    call: &Call,
    skill: &Skill,
    path: &SkillPath,
    given: &str,
) -> Result<Vec<u8>, ToolError> {
    match shelf::left(call, skill, path).await {
        Some(content) => content.map_err(|error| retold(error, given)),
        None => read_skill(call, skill, path, given).await,
    }
}

/// Lists a folder of a skill, by name, with what its runs left there.
///
/// # Errors
/// There is no such folder.
pub async fn list_seen(
    call: &Call,
    skill: &Skill,
    folder: &SkillPath,
    given: &str,
) -> Result<Vec<FolderEntry>, ToolError> {
    let left = shelf::all_left(call, skill).await;
    let own = skill.files.iter().map(|file| (&file.path, file.size));
    let left = left.iter().map(|(path, size)| (path, *size));
    entries(own.chain(left), folder, given)
}

/// An error about a path in a skill as one about the path that was given.
pub(crate) fn retold(error: ToolError, given: &str) -> ToolError {
    let path = given.to_owned();
    match error.problem {
        Problem::FileUnknown { .. } => Problem::PlaceUnknown { path }.error(),
        Problem::FilePath { reason, .. } => Problem::PlacePath { path, reason }.error(),
        Problem::FileTooLarge { bytes, limit, .. } => {
            Problem::FileTooLarge { path, bytes, limit }.error()
        }
        problem => problem.error(),
    }
}

/// An error of a port about a path, in words about that path.
pub(crate) fn failed(error: PortError, path: &str, doing: &'static str) -> ToolError {
    let path = path.to_owned();
    match error {
        PortError::NotFound => Problem::PlaceUnknown { path },
        PortError::Denied(reason) => Problem::PlacePath { path, reason },
        PortError::OutOfReach(reason) => Problem::OutOfReach { reason },
        PortError::IsAFolder => Problem::IsAFolder { path },
        PortError::NotAFolder => Problem::NotAFolder { path },
        PortError::ReadOnly { place, instead } => Problem::SourceReadOnly { place, instead },
        PortError::Conflict(reason) => Problem::Conflict { path, reason },
        PortError::Full(reason) => Problem::StorageFull { reason },
        other => Problem::broken(doing, &other),
    }
    .error()
}
