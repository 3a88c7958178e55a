//! The shared part of the tools that write: reading their arguments, and deciding what may be written.
//!
//! A SKILL.md that could not be loaded any more is refused before anything is written.

use gongfu_core::edit;
use gongfu_core::library::Skill;
use gongfu_core::place::Location;
use gongfu_core::port::{Change, PortError};
use gongfu_core::skill::{
    self, Diagnostic, Digest, Folder, SKILL_FILE, SkillName, SkillPath, check, draft,
};
use gongfu_core::text::{self, visible};
use schemars::JsonSchema;
use serde::Serialize;

use crate::call::{Call, Proposal};
use crate::change;
use crate::confirmation::confirm;
use crate::error::ToolError;
use crate::file;
use crate::problem::Problem;
use crate::shelf;

/// The wanted state of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Intent {
    /// This, whatever it was.
    Whole(String),
    /// The old content, with one text replaced.
    Edit {
        /// The text that is there exactly once.
        old: String,
        /// The text in its place.
        new: String,
    },
}

impl Intent {
    /// Reads the arguments of a call: `content`, or `old_text` with `new_text`.
    ///
    /// # Errors
    /// Both are given, or neither, or only half of an edit.
    pub fn of(
        content: Option<String>,
        old: Option<String>,
        new: Option<String>,
    ) -> Result<Self, ToolError> {
        let missing = |name: &str, about: &str| {
            Err(Problem::MissingArgument {
                name: name.to_owned(),
                about: about.to_owned(),
            }
            .error())
        };
        match (content, old, new) {
            (Some(content), None, None) => Ok(Self::Whole(content)),
            (None, Some(old), Some(new)) => Ok(Self::Edit { old, new }),
            (None, None, None) => missing(
                "content",
                "the complete new content; or pass old_text and new_text to replace one passage",
            ),
            (None, Some(_), None) => missing("new_text", "the replacement for old_text"),
            (None, None, Some(_)) => missing("old_text", "the text that new_text replaces"),
            (Some(_), _, _) => Err(Problem::wrong_value(
                "content",
                "it is the complete file, while old_text and new_text replace a part",
                "pass either content, or old_text and new_text",
            )
            .error()),
        }
    }

    /// The new content of a file that holds `before`.
    fn bytes(&self, before: &[u8], path: &str) -> Result<Vec<u8>, ToolError> {
        match self {
            Self::Whole(content) => Ok(content.as_bytes().to_vec()),
            Self::Edit { old, new } => edit::replaced(before, old, new).map_err(|why| {
                let path = path.to_owned();
                Problem::EditRefused { path, why }.error()
            }),
        }
    }

    fn is_edit(&self) -> bool {
        matches!(self, Self::Edit { .. })
    }
}

/// The report of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteReport {
    /// The length of the file in bytes.
    pub bytes: usize,
    /// True if there was no such file before.
    pub created: bool,
    /// The findings of a check, when it is a SKILL.md.
    pub findings: Vec<FindingText>,
}

/// A finding of a check, for programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FindingText {
    /// `error`, `warning` or `info`.
    severity: &'static str,
    /// The name to call it by.
    code: &'static str,
    /// The line of the SKILL.md, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    /// What is wrong.
    message: String,
    /// What to do about it.
    hint: String,
}

impl std::fmt::Display for FindingText {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            severity,
            code,
            message,
            hint,
            ..
        } = self;
        match self.line {
            Some(line) => write!(
                formatter,
                "{severity}[{code}] line {line}: {message}; {hint}"
            ),
            None => write!(formatter, "{severity}[{code}]: {message}; {hint}"),
        }
    }
}

/// The write of a file as a proposal to a person, where programs of the machine obey it or the level of the tool has a
/// person asked; `None` for any other.
///
/// # Errors
/// An edit doesn't fit, or the place can't be read.
pub(crate) async fn review_place(
    call: &Call,
    place: &Location,
    given: &str,
    intent: &Intent,
) -> Result<Option<Proposal>, ToolError> {
    let Some(why) = reason(call, call.space.run_folders().obeyed(place)) else {
        return Ok(None);
    };
    let before = match file::read(call, place, given).await {
        Ok(before) => Some(before),
        Err(error) if intent.is_edit() => return Err(error),
        Err(_) => None,
    };
    proposal(&Subject::place(call, given), before, intent, why).map(Some)
}

/// The same for a file of a skill.
///
/// # Errors
/// As [`review_place`].
pub(crate) async fn review_skill(
    call: &Call,
    skill: &Skill,
    path: &SkillPath,
    given: &str,
    intent: &Intent,
) -> Result<Option<Proposal>, ToolError> {
    let folders = call.space.run_folders();
    let Some(why) = reason(call, folders.obeyed_in_skill(skill, path)) else {
        return Ok(None);
    };
    let before = match file::read_skill(call, skill, path, given).await {
        Ok(before) => Some(before),
        Err(error) if intent.is_edit() => return Err(error),
        Err(_) => None,
    };
    proposal(&Subject::skill(skill, given), before, intent, why).map(Some)
}

/// The reason why a person must allow a write: programs obey the file, or the level of the tool.
fn reason(call: &Call, obeyed: Option<&str>) -> Option<String> {
    obeyed.map(str::to_owned).or_else(|| call.level_reason())
}

/// The file that a write is about.
struct Subject {
    /// Its path, for people.
    path: String,
    /// The folder of the machine that the path belongs to, so that an answer holds for no other project.
    folder: String,
}

impl Subject {
    /// A file of the workspace or a mount.
    fn place(call: &Call, given: &str) -> Self {
        let folders = call.space.run_folders().folders(false);
        let hosts = folders.into_iter().filter_map(|folder| folder.host);
        Self {
            path: given.to_owned(),
            folder: hosts.collect::<Vec<_>>().join("\0"),
        }
    }

    /// A file of a skill.
    fn skill(skill: &Skill, given: &str) -> Self {
        Self {
            path: format!("{given} of {}", skill.full_name),
            folder: skill.path.clone(),
        }
    }

    /// The digest of a write.
    fn digest(&self, after: &[u8]) -> Digest {
        let (path, folder) = (self.path.as_bytes(), self.folder.as_bytes());
        Digest::of(&[folder, b"\0\0", path, b"\0", after].concat())
    }
}

/// The proposal to write a file, with its diff.
fn proposal(
    subject: &Subject,
    before: Option<Vec<u8>>,
    intent: &Intent,
    reason: String,
) -> Result<Proposal, ToolError> {
    let path = subject.path.as_str();
    let after = intent.bytes(before.as_deref().unwrap_or_default(), path)?;
    let digest = subject.digest(&after);
    let (diff, is_whole) = change::file_diff(path, before, after);
    Ok(Proposal {
        action: "write this file",
        what: visible(path).into_owned(),
        details: diff.lines().map(str::to_owned).collect(),
        is_whole,
        reason,
        digest,
        any: None,
        skill: None,
        trust: None,
    })
}

/// Writes a file of the workspace or a mount.
///
/// # Errors
/// It isn't the write that a person allowed, the place is not written to, an edit doesn't fit, or it can't be
/// written; then it is as it was.
pub async fn write_place(
    call: &Call,
    place: &Location,
    given: &str,
    intent: &Intent,
) -> Result<WriteReport, ToolError> {
    let before = if intent.is_edit() {
        Some(file::read(call, place, given).await?)
    } else {
        None
    };
    let bytes = intent.bytes(before.as_deref().unwrap_or_default(), given)?;
    let asked = reason(call, call.space.run_folders().obeyed(place));
    confirm(
        call,
        asked.map(|_| Subject::place(call, given).digest(&bytes)),
    )?;
    let change = Change {
        bytes: &bytes,
        expected: before.as_deref(),
    };
    let created = call.space.files().write(place, change).await;
    Ok(WriteReport {
        bytes: bytes.len(),
        created: created.map_err(|error| file::failed(error, given, "writing the file"))?,
        findings: Vec::new(),
    })
}

/// Writes a file of a skill; `given` is the path as its caller knows it.
///
/// # Errors
/// It isn't the write that a person allowed, the source is read-only, an edit doesn't fit, the SKILL.md would be
/// none, or it can't be written; then it is as it was.
pub async fn write_skill(
    call: &Call,
    skill: &Skill,
    path: &SkillPath,
    given: &str,
    intent: &Intent,
) -> Result<WriteReport, ToolError> {
    let before = if intent.is_edit() {
        Some(file::read_skill(call, skill, path, given).await?)
    } else {
        None
    };
    let bytes = intent.bytes(before.as_deref().unwrap_or_default(), given)?;
    let folders = call.space.run_folders();
    let asked = reason(call, folders.obeyed_in_skill(skill, path));
    confirm(
        call,
        asked.map(|_| Subject::skill(skill, given).digest(&bytes)),
    )?;
    // There are file systems to which letter case means nothing.
    let findings = if path.file_name().eq_ignore_ascii_case(SKILL_FILE) {
        check_new_name(call, &bytes, skill, path).await?;
        judged(&bytes, skill, path)?
    } else {
        Vec::new()
    };
    let change = Change {
        bytes: &bytes,
        expected: before.as_deref(),
    };
    let created = call.space.skills().write(skill, path, change).await;
    Ok(WriteReport {
        bytes: bytes.len(),
        created: created.map_err(|error| failed(error, skill, given))?,
        findings,
    })
}

/// An error of a store about a file of a skill.
fn failed(error: PortError, skill: &Skill, given: &str) -> ToolError {
    match error {
        PortError::NotFound => gone(skill),
        error => file::failed(error, given, "writing the skill"),
    }
}

/// A skill that was there a moment ago.
pub(crate) fn gone(skill: &Skill) -> ToolError {
    Problem::SkillUnknown {
        name: skill.full_name.to_string(),
        nearest: Vec::new(),
        total: 0,
    }
    .error()
}

/// Checks that a SKILL.md gives its skill no name that another one has: that one would be found no more.
pub(crate) async fn check_new_name(
    call: &Call,
    document: &[u8],
    skill: &Skill,
    path: &SkillPath,
) -> Result<(), ToolError> {
    if !path.as_str().eq_ignore_ascii_case(SKILL_FILE) {
        return Ok(());
    }
    let document = skill::load(document, skill.folder.file_name(), &mut Vec::new());
    let Some(document) = document.filter(|document| document.name != skill.name) else {
        return Ok(());
    };
    let library = shelf::library(call).await?;
    let mut skills = library.skills().iter();
    match skills.find(|known| known.name == document.name && library.is_own(known)) {
        Some(known) => Err(exists(document.name.as_str(), &known.full_name)),
        None => Ok(()),
    }
}

/// Makes a skill.
///
/// # Errors
/// The name can't be a folder's, there is such a skill, or it can't be written.
pub async fn create_skill(
    call: &Call,
    name: &str,
    description: &str,
    instructions: &str,
) -> Result<(std::sync::Arc<Skill>, WriteReport), ToolError> {
    let parsed = match SkillName::new(name) {
        Ok(parsed) if parsed.as_str() == name => parsed,
        _ => return Err(wrong_name("it can't be a folder name".to_owned())),
    };
    if let Some(odd) = skill::name::mixed_script(name) {
        let odd = u32::from(odd);
        return Err(wrong_name(format!(
            "it mixes letters of several scripts, U+{odd:04X} for one, and looks like another name"
        )));
    }
    if description.trim().is_empty() {
        return Err(Problem::MissingArgument {
            name: "description".to_owned(),
            about: "what the skill does and when to use it".to_owned(),
        }
        .error());
    }
    let library = shelf::library(call).await?;
    let mut skills = library.skills().iter();
    // One of a project that isn't trusted loses the name to the new one.
    let known = skills.find(|skill| skill.name == parsed && library.is_own(skill));
    if let Some(known) = known {
        return Err(exists(name, &known.full_name));
    }
    let text = draft::document(name, description, instructions);
    let mut diagnostics = Vec::new();
    if skill::load(text.as_bytes(), name, &mut diagnostics).is_none() {
        return Err(invalid(&diagnostics));
    }
    let created = call.space.skills().create(&parsed, text.as_bytes()).await;
    let skill = created.map_err(|error| match error {
        PortError::Conflict(reason) => exists(name, &reason),
        other => file::failed(other, name, "writing the skill"),
    })?;
    let written = WriteReport {
        bytes: text.len(),
        created: true,
        findings: diagnostics.iter().map(found).collect(),
    };
    Ok((skill, written))
}

/// A name that no new skill can have.
pub fn wrong_name(reason: String) -> ToolError {
    Problem::wrong_value("name", reason, "use lower-case letters, digits and single hyphens, at most 64 characters, starting with a letter, e.g. `pdf-tools`")
    .error()
}

pub(crate) fn exists(name: &str, full_name: &str) -> ToolError {
    Problem::SkillExists {
        name: name.to_owned(),
        full_name: full_name.to_owned(),
    }
    .error()
}

/// Checks a SKILL.md that shall be written into a skill.
pub(crate) fn judged(
    bytes: &[u8],
    skill: &Skill,
    path: &SkillPath,
) -> Result<Vec<FindingText>, ToolError> {
    let parent = path.parent();
    let folder = if parent.is_root() {
        skill.path.rsplit(['/', '\\']).next().unwrap_or_default()
    } else {
        parent.file_name()
    };
    let mut diagnostics = Vec::new();
    let Some(document) = skill::load(bytes, folder, &mut diagnostics) else {
        return Err(invalid(&diagnostics));
    };
    if parent.is_root() {
        let folder = Folder {
            name: folder.to_owned(),
            files: skill.files.to_vec(),
        };
        check::folder(&folder, &document, &mut diagnostics);
    }
    Ok(diagnostics.iter().map(found).collect())
}

pub(crate) fn invalid(diagnostics: &[Diagnostic]) -> ToolError {
    let why = diagnostics.last().map(|why| text::finding(&why.finding));
    let (reason, hint) = why.map_or_else(Default::default, |why| (why.message, why.hint));
    Problem::SkillInvalid { reason, hint }.error()
}

fn found(diagnostic: &Diagnostic) -> FindingText {
    let text = text::finding(&diagnostic.finding);
    FindingText {
        severity: diagnostic.severity().as_str(),
        code: diagnostic.finding.code(),
        line: diagnostic.position.map(|position| position.line),
        message: text.message,
        hint: text.hint,
    }
}
