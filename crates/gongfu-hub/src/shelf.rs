//! The shared part of the tools about skills: finding a skill, opening its files.

use std::ops::Range;
use std::sync::Arc;

use gongfu_core::catalogue::shortened;
use gongfu_core::library::{Library, MAX_NEAREST, ResolveError, Skill};
use gongfu_core::near;
use gongfu_core::port::{FileContent, PortError};
use gongfu_core::skill::frontmatter::Frontmatter;
use gongfu_core::skill::section;
use gongfu_core::skill::source_text::SourceText;
use gongfu_core::skill::{SKILL_FILE, SKILL_FILE_LOWER, SkillName, SkillPath};
use gongfu_core::uses;
use serde_json::Value;

use crate::call::{Call, Event};
use crate::error::ToolError;
use crate::problem::Problem;

/// The most bytes of a file that are read for an answer.
pub const MAX_READ: u64 = 16 * 1024 * 1024;

/// The longest description that is told, in characters: what the format allows.
const MAX_DESCRIPTION: usize = 1_024;

/// The library of the caller.
///
/// # Errors
/// It can't be read right now.
pub async fn library(call: &Call) -> Result<Arc<Library>, ToolError> {
    call.space
        .skills()
        .library()
        .await
        .map_err(|error| Problem::broken("the library", &error).error())
}

/// The skill that a name means.
///
/// # Errors
/// The name can't be one, there is no such skill, or it is switched off.
pub async fn skill(call: &Call, name: &str) -> Result<Arc<Skill>, ToolError> {
    let library = library(call).await?;
    let resolved = library.resolve(name);
    let found = resolved.as_ref().map_or(name, |skill| &*skill.full_name);
    call.events.send(Event::Skill(found));
    resolved.map(Arc::clone).map_err(|why| {
        // Something that is there and can't be loaded isn't unknown.
        let broken = library.unloadable_named(name);
        let first = broken.and_then(|left| left.diagnostics.first());
        match (&why, first) {
            (ResolveError::Unknown { .. }, Some(found)) => Problem::SkillUnreadable {
                name: name.to_owned(),
                reason: gongfu_core::text::finding(&found.finding).message,
            }
            .error(),
            _ => Problem::unresolved(name, why).error(),
        }
    })
}

/// The skill that a name means, with the files that the library doesn't list, for what a person allows it.
///
/// # Errors
/// As [`skill`], or its folder can't be read.
pub(crate) async fn skill_with_unlisted(call: &Call, name: &str) -> Result<Arc<Skill>, ToolError> {
    with_unlisted(call, &skill(call, name).await?).await
}

/// A skill with the files that the library doesn't list.
///
/// # Errors
/// Its folder can't be read, or it has none.
pub(crate) async fn with_unlisted(
    call: &Call,
    skill: &Arc<Skill>,
) -> Result<Arc<Skill>, ToolError> {
    check_local(call, skill).await?;
    let skill = call.space.skills().with_unlisted(skill).await;
    skill.map_err(|error| Problem::broken("the folder of the skill", &error).error())
}

/// Refuses a skill of another server, of which nothing is run: a person approved it to be read.
///
/// # Errors
/// It is one, or the library can't be read.
pub(crate) async fn check_local(call: &Call, skill: &Skill) -> Result<(), ToolError> {
    let library = library(call).await?;
    library.connection(skill).map_or(Ok(()), |connection| {
        let problem = Problem::SkillOfServer {
            skill: skill.full_name.to_string(),
            connection: connection.to_owned(),
        };
        Err(problem.error())
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
    let problem = Problem::wrong_value(
        "source",
        "there is no such source",
        format!("the sources are: {}", ids.join(", ")),
    );
    Err(problem.error())
}

/// The skill that a bare name means; a full name or a path is the name of none.
///
/// # Errors
/// As [`skill`], but nothing is no name: there is just no such skill.
pub async fn skill_by_name(call: &Call, name: &str) -> Result<Arc<Skill>, ToolError> {
    if SkillName::new(name).is_ok() {
        return skill(call, name).await;
    }
    let library = library(call).await?;
    let names = names(&library);
    let total = names.len();
    let nearest = near::nearest_first(name, names).into_iter();
    Err(Problem::SkillUnknown {
        name: name.to_owned(),
        nearest: nearest.take(MAX_NEAREST).map(str::to_owned).collect(),
        total,
    }
    .error())
}

/// The bare names that exist.
pub fn names(library: &Library) -> Vec<&str> {
    let reachable = library.reachable();
    reachable.map(|skill| skill.name.as_str()).collect()
}

/// A text of a skill's own `metadata`, if it has one of that name.
pub fn metadata(skill: &Skill, key: &str) -> Option<String> {
    let frontmatter: Value = serde_json::from_str(&skill.frontmatter).ok()?;
    let text = frontmatter.get("metadata")?.get(key)?.as_str()?;
    Some(one_line(text)).filter(|text| !text.is_empty())
}

/// A description in one line, without control characters, clipped to what the format allows.
pub fn one_line(description: &str) -> String {
    let plain = description.len() <= MAX_DESCRIPTION
        && description
            .bytes()
            .all(|byte| (b' '..=b'~').contains(&byte))
        && !description.contains("  ")
        && description.trim().len() == description.len();
    if plain {
        return description.to_owned();
    }
    let printable = |c: char| if c.is_control() { ' ' } else { c };
    let line: String = description.chars().map(printable).collect();
    let words: Vec<&str> = line.split_whitespace().collect();
    shortened(&words.join(" "), MAX_DESCRIPTION)
}

/// The text of a file of a skill, whole, as its runs see it.
///
/// # Errors
/// As [`file()`], or it is not text.
pub async fn text(call: &Call, skill: &Skill, path: &SkillPath) -> Result<String, ToolError> {
    let bytes = seen(call, skill, path).await?;
    as_text(bytes, path.as_str())
}

/// The bytes of a file as text.
///
/// # Errors
/// They are none.
pub fn as_text(bytes: Vec<u8>, path: &str) -> Result<String, ToolError> {
    let text = String::from_utf8(bytes).ok();
    text.filter(|text| !text.contains('\0')).ok_or_else(|| {
        Problem::FileNotText {
            path: path.to_owned(),
        }
        .error()
    })
}

/// Returns the range of the body of a SKILL.md: behind the frontmatter and its blank lines.
pub(crate) fn body_range(source: &SourceText) -> Range<usize> {
    let text = source.text.as_str();
    let body = Frontmatter::read(source, &mut Vec::new()).body;
    let behind = text.get(body..).unwrap_or_default();
    text.len() - behind.trim_start_matches(['\r', '\n']).len()..text.len()
}

/// The body of a SKILL.md: what stands behind the frontmatter and its blank lines.
pub fn body(source: &SourceText) -> &str {
    source.text.get(body_range(source)).unwrap_or_default()
}

/// Returns the range of the section of a document that a text means.
///
/// # Errors
/// No heading matches; the error names those that there are.
pub(crate) fn section_range(source: &SourceText, wanted: &str) -> Result<Range<usize>, ToolError> {
    let start = Frontmatter::read(source, &mut Vec::new()).body;
    let body = source.text.get(start..).unwrap_or_default();
    let headings = section::headings(body);
    let found =
        section::find(body, &headings, wanted).ok_or_else(|| unknown_section(wanted, &headings))?;
    Ok(start + found.start..start + found.end)
}

/// The section of a document that is meant by a text.
///
/// # Errors
/// No heading matches; the error names those that there are.
pub fn section<'source>(
    source: &'source SourceText,
    wanted: &str,
) -> Result<&'source str, ToolError> {
    let range = section_range(source, wanted)?;
    Ok(source.text.get(range).unwrap_or_default())
}

/// No heading is meant by this text; those that there are, nearest first.
fn unknown_section(wanted: &str, headings: &[section::Heading]) -> ToolError {
    let names = near::nearest_first(wanted, headings.iter().map(|heading| heading.text.as_str()));
    Problem::SectionUnknown {
        section: wanted.to_owned(),
        headings: names.into_iter().take(100).map(str::to_owned).collect(),
    }
    .error()
}

/// A file of a skill as its runs see it: as one of them left it, else as it is in the skill. The
/// instructions are always the skill's own.
///
/// # Errors
/// As [`file()`].
pub async fn seen(call: &Call, skill: &Skill, path: &SkillPath) -> Result<Vec<u8>, ToolError> {
    match left(call, skill, path).await {
        Some(content) => content,
        None => file(call, skill, path).await,
    }
}

/// A file as a run of the skill left it; `None` where none did.
///
/// What a run writes in place of the instructions is for later runs alone: no model is to follow it.
pub(crate) async fn left(
    call: &Call,
    skill: &Skill,
    path: &SkillPath,
) -> Option<Result<Vec<u8>, ToolError>> {
    if path.is_root() || matches!(path.as_str(), SKILL_FILE | SKILL_FILE_LOWER) {
        return None;
    }
    let layers = call.space.layers();
    let content = layers.read(skill, path, MAX_READ).await.ok()?;
    Some(whole(content, path))
}

/// The files that runs of a skill left, by path; empty when that can't be told.
pub(crate) async fn all_left(call: &Call, skill: &Skill) -> Vec<(SkillPath, u64)> {
    let listed = call.space.layers().list(skill).await;
    let mut left = listed.unwrap_or_default();
    left.retain(|(path, _)| !matches!(path.as_str(), SKILL_FILE | SKILL_FILE_LOWER));
    left
}

fn whole(content: FileContent, path: &SkillPath) -> Result<Vec<u8>, ToolError> {
    if content.is_cut() {
        return Err(Problem::FileTooLarge {
            path: path.to_string(),
            bytes: content.size,
            limit: MAX_READ,
        }
        .error());
    }
    Ok(content.bytes)
}

/// A file of a skill, whole.
///
/// # Errors
/// It isn't there, leads outside, or is too large.
pub async fn file(call: &Call, skill: &Skill, path: &SkillPath) -> Result<Vec<u8>, ToolError> {
    match call.space.skills().read(skill, path, MAX_READ).await {
        Ok(content) => whole(content, path),
        Err(PortError::NotFound) => Err(unknown_file(skill, path)),
        Err(PortError::Denied(reason)) => Err(Problem::FilePath {
            path: path.to_string(),
            reason,
        }
        .error()),
        Err(error) => {
            let library = call.space.skills().library().await.unwrap_or_default();
            Err(Problem::unreadable(&library, skill, &error).error())
        }
    }
}

/// The SKILL.md of a skill as text, for somebody who is going to follow it: that is a use of the skill.
///
/// # Errors
/// It is gone, or no longer text.
pub async fn load(call: &Call, skill: &Skill) -> Result<SourceText, ToolError> {
    let source = document(call, skill).await?;
    record_use(call, skill).await;
    Ok(source)
}

/// Records that a skill was used; a record that can't be written is no reason to fail.
pub(crate) async fn record_use(call: &Call, skill: &Skill) {
    if call.is_replay {
        return;
    }
    let Ok(library) = call.space.skills().library().await else {
        return;
    };
    let recorded = uses::record(call.space.records(), library.identity(skill)).await;
    if let Err(error) = recorded {
        tracing::debug!(%error, "a use of a skill isn't recorded");
    }
}

/// The SKILL.md of a skill as text.
///
/// # Errors
/// It is gone, or no longer text.
async fn document(call: &Call, skill: &Skill) -> Result<SourceText, ToolError> {
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
    let bytes = file(call, skill, &path)
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
