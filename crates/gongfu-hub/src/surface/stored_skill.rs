//! Skills by their ids, for surfaces that name them so: listed, shown, read, packed.

use std::sync::Arc;

use gongfu_core::archive::{ArchiveFile, ArchiveLimits};
use gongfu_core::library::{Library, Skill};
use gongfu_core::port::PortError;
use gongfu_core::skill::{Digest, SkillPath};
use schemars::JsonSchema;
use serde::Serialize;

use super::operation::{Operation, specified};
use crate::call::{Call, Event};
use crate::error::ToolError;
use crate::problem::Problem;
use crate::shelf;

/// The starts of programs: libraries don't say which of their files are any.
const PROGRAMS: [&[u8]; 2] = [b"#!", b"\x7fELF"];
/// The digits of an id.
const ID_DIGITS: usize = 32;

/// A skill with its id.
#[derive(Debug, Clone)]
pub struct StoredSkill {
    /// The id, which stays when the content of the skill changes.
    pub id: String,
    /// The skill.
    pub skill: Arc<Skill>,
}

impl StoredSkill {
    pub(super) fn new(library: &Library, skill: &Arc<Skill>) -> Self {
        let identity = library.identity(skill).as_bytes();
        Self {
            id: Digest::of(identity).hex(ID_DIGITS),
            skill: Arc::clone(skill),
        }
    }
}

/// The skill of the caller with an id, enabled or not.
pub(super) async fn find(call: &Call, id: &str) -> Result<StoredSkill, ToolError> {
    let library = shelf::library(call).await?;
    let mut skills = library.skills().iter();
    let found = skills.find_map(|skill| {
        let stored = StoredSkill::new(&library, skill);
        (stored.id == id).then_some(stored)
    });
    let Some(found) = found else {
        call.events.send(Event::Skill(id));
        return Err(Problem::SkillUnknown {
            name: id.to_owned(),
            nearest: Vec::new(),
            total: library.skills().len(),
        }
        .error());
    };
    call.events.send(Event::Skill(&found.skill.full_name));
    Ok(found)
}

/// Lists all skills in the order of their precedence, disabled ones included.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StoredSkillList {}

impl Operation for StoredSkillList {
    const NAME: &'static str = "skill/list";
    type Output = Vec<StoredSkill>;
    specified!();

    async fn run(self, call: &Call) -> Result<Vec<StoredSkill>, ToolError> {
        let library = shelf::library(call).await?;
        let skills = library.skills().iter();
        Ok(skills
            .map(|skill| StoredSkill::new(&library, skill))
            .collect())
    }
}

/// Shows a skill.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StoredSkillShow {
    /// The id of the skill.
    pub skill: String,
}

impl Operation for StoredSkillShow {
    const NAME: &'static str = "skill/show";
    type Output = StoredSkill;
    specified!();

    async fn run(self, call: &Call) -> Result<StoredSkill, ToolError> {
        find(call, &self.skill).await
    }
}

/// Reads a file of a skill as it is, up to the length that an archive's may have.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StoredFileRead {
    /// The id of the skill.
    pub skill: String,
    /// The path of the file.
    #[schemars(with = "String")]
    pub path: SkillPath,
}

impl Operation for StoredFileRead {
    const NAME: &'static str = "skill/file/read";
    type Output = (StoredSkill, Vec<u8>);
    specified!();

    async fn run(self, call: &Call) -> Result<Self::Output, ToolError> {
        let stored = find(call, &self.skill).await?;
        let bytes = read(call, &stored.skill, &self.path).await?;
        Ok((stored, bytes))
    }
}

/// Reads a whole skill.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StoredSkillDownload {
    /// The id of the skill.
    pub skill: String,
}

impl Operation for StoredSkillDownload {
    const NAME: &'static str = "skill/download";
    type Output = (StoredSkill, Vec<ArchiveFile>);
    specified!();

    async fn run(self, call: &Call) -> Result<Self::Output, ToolError> {
        let stored = find(call, &self.skill).await?;
        let mut files = Vec::new();
        for file in &*stored.skill.files {
            let bytes = read(call, &stored.skill, &file.path).await?;
            files.push(ArchiveFile {
                path: file.path.clone(),
                is_executable: Some(PROGRAMS.iter().any(|start| bytes.starts_with(start))),
                bytes,
            });
        }
        Ok((stored, files))
    }
}

/// A file of a skill, whole.
pub(super) async fn read(
    call: &Call,
    skill: &Skill,
    path: &SkillPath,
) -> Result<Vec<u8>, ToolError> {
    let unknown = || Problem::FileUnknown {
        skill: skill.name.to_string(),
        path: path.to_string(),
        nearest: skill
            .files
            .iter()
            .map(|file| file.path.to_string())
            .collect(),
    };
    // Nothing but what is listed: a folder may hold more than its skill.
    if !skill.files.iter().any(|file| file.path == *path) {
        return Err(unknown().error());
    }
    let limit = ArchiveLimits::SKILL.file;
    match call.space.skills().read(skill, path, limit).await {
        Ok(content) if content.is_cut() => Err(Problem::FileTooLarge {
            path: path.to_string(),
            bytes: content.size,
            limit,
        }
        .error()),
        Ok(content) => Ok(content.bytes),
        Err(PortError::NotFound) => Err(unknown().error()),
        Err(error) => Err(Problem::broken("reading the skill", &error).error()),
    }
}
