//! What the tools about skills share: finding a skill, opening its files.

use std::sync::Arc;

use gongfu_core::library::{Library, Skill, Unresolved};
use gongfu_core::near;
use gongfu_core::port::PortError;
use gongfu_core::skill::source_text::SourceText;
use gongfu_core::skill::{SKILL_FILE, SKILL_FILE_LOWER, SkillPath};

use crate::error::ToolError;
use crate::problem::Problem;
use crate::tool::Context;

/// The most bytes of a file that are read for an answer.
pub const MAX_READ: u64 = 16 * 1024 * 1024;

/// The longest description that is told, in characters: what the format allows.
pub const MAX_DESCRIPTION: usize = 1_024;

/// The library of the caller.
///
/// # Errors
/// It can't be read right now.
pub async fn library(context: &Context) -> Result<Arc<Library>, ToolError> {
    context
        .skills
        .library(&context.actor.owner)
        .await
        .map_err(|error| Problem::broken("the library", &error).error())
}

/// The skill that a name means.
///
/// # Errors
/// The name can't be one, there is no such skill, or it is switched off.
pub async fn skill(context: &Context, name: &str) -> Result<Arc<Skill>, ToolError> {
    let library = library(context).await?;
    library.resolve(name).map(Arc::clone).map_err(|why| {
        // Something that is there and can't be loaded isn't unknown.
        let broken = library.unloadable_named(name);
        let first = broken.and_then(|left| left.diagnostics.first());
        match (&why, first) {
            (Unresolved::Unknown { .. }, Some(found)) => Problem::SkillUnreadable {
                name: name.to_owned(),
                reason: gongfu_core::text::finding(&found.finding).message,
            }
            .error(),
            _ => Problem::unresolved(name, why).error(),
        }
    })
}

/// Checks that a source is there.
///
/// # Errors
/// It isn't; the error names those that are.
pub fn known_source(library: &Library, source: &str) -> Result<(), ToolError> {
    if library.sources().iter().any(|known| *known.id == *source) {
        return Ok(());
    }
    let ids: Vec<&str> = library.sources().iter().map(|known| &*known.id).collect();
    let problem = Problem::WrongValue {
        name: "source".to_owned(),
        reason: "there is no such source".to_owned(),
        hint: format!("the sources are: {}", ids.join(", ")),
    };
    Err(problem.error())
}

/// A description in one line, without control characters, clipped to so many characters.
pub fn one_line(description: &str, most: usize) -> String {
    let words: Vec<&str> = description.split_whitespace().collect();
    let line = words.join(" ");
    let kept = line.chars().take(most).filter(|c| !c.is_control());
    let mut kept: String = kept.collect();
    if line.chars().nth(most).is_some() {
        kept.push('…');
    }
    kept
}

/// A file of a skill, whole.
///
/// # Errors
/// It isn't there, leads outside, or is too large.
pub async fn file(
    context: &Context,
    skill: &Skill,
    path: &SkillPath,
) -> Result<Vec<u8>, ToolError> {
    match context
        .skills
        .read(&context.actor.owner, skill, path, MAX_READ)
        .await
    {
        Ok(content) if content.is_cut() => Err(Problem::FileTooLarge {
            path: path.to_string(),
            bytes: content.size,
            limit: MAX_READ,
        }
        .error()),
        Ok(content) => Ok(content.bytes),
        Err(PortError::NotFound) => Err(unknown_file(skill, path)),
        Err(PortError::Denied(reason)) => Err(Problem::FilePath {
            path: path.to_string(),
            reason,
        }
        .error()),
        Err(error) => Err(Problem::broken("reading the skill", &error).error()),
    }
}

/// The SKILL.md of a skill as text.
///
/// # Errors
/// It is gone, or no longer text.
pub async fn document(context: &Context, skill: &Skill) -> Result<SourceText, ToolError> {
    let named = |name: &str| skill.files.iter().any(|file| file.path.as_str() == name);
    let name = if named(SKILL_FILE) || !named(SKILL_FILE_LOWER) {
        SKILL_FILE
    } else {
        SKILL_FILE_LOWER
    };
    let unreadable = |reason: String| {
        Problem::SkillUnreadable {
            name: skill.name.to_string(),
            reason,
        }
        .error()
    };
    let path = SkillPath::new(name).map_err(|error| unreadable(error.to_string()))?;
    let bytes = file(context, skill, &path)
        .await
        .map_err(|error| match error.problem {
            Problem::FileUnknown { .. } => unreadable("SKILL.md is gone".to_owned()),
            Problem::FilePath { reason, .. } => unreadable(reason),
            _ => error,
        })?;
    SourceText::decode(&bytes, name, &mut Vec::new())
        .ok_or_else(|| unreadable("SKILL.md is not text".to_owned()))
}

fn unknown_file(skill: &Skill, path: &SkillPath) -> ToolError {
    let names = skill.files.iter().map(|file| file.path.as_str());
    let nearest = near::nearest_first(path.as_str(), names)
        .into_iter()
        .take(50)
        .map(str::to_owned)
        .collect();
    Problem::FileUnknown {
        skill: skill.name.to_string(),
        path: path.to_string(),
        nearest,
    }
    .error()
}
