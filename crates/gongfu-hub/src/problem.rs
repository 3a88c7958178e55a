//! What went wrong, with the parameters of its message; and the English table of messages.

use std::fmt::Write as _;

use gongfu_core::capability::{Access, Safety};
use gongfu_core::edit::EditError;
use gongfu_core::library::Unresolved;
use gongfu_core::port::PortError;
use gongfu_core::sandbox::Reason;
use gongfu_core::skill::path::PathError;
use serde_json::{Map, Value, json};

use crate::error::{ErrorCode, ToolError};

/// How many names a hint spells out.
const NAMES_IN_HINT: usize = 12;
/// How much of a stranger's text a message repeats, in characters.
const MOST: usize = 120;

/// Everything that can go wrong with a call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "each variant is described by its message below"
)]
pub enum Problem {
    UnknownTool {
        name: String,
        nearest: Vec<String>,
    },
    MissingArgument {
        name: String,
        about: String,
    },
    UnknownArgument {
        name: String,
        known: Vec<String>,
    },
    WrongType {
        name: String,
        wanted: String,
        given: &'static str,
    },
    WrongValue {
        name: String,
        reason: String,
        hint: String,
    },
    ArgumentsTooLarge {
        bytes: usize,
        limit: usize,
    },
    SkillName {
        name: String,
        reason: String,
    },
    SkillUnknown {
        name: String,
        nearest: Vec<String>,
        total: usize,
    },
    SkillDisabled {
        name: String,
        full_name: String,
    },
    SkillUnreadable {
        name: String,
        reason: String,
    },
    FilePath {
        path: String,
        reason: String,
    },
    FileUnknown {
        skill: String,
        path: String,
        nearest: Vec<String>,
    },
    FileTooLarge {
        path: String,
        bytes: u64,
        limit: u64,
    },
    SectionUnknown {
        section: String,
        headings: Vec<String>,
    },
    ResourceUri {
        uri: String,
        reason: String,
    },
    ResourceUnknown {
        uri: String,
        nearest: Vec<String>,
    },
    PromptUnknown {
        name: String,
        nearest: Vec<String>,
        total: usize,
    },
    CursorUnknown {
        list: String,
    },
    PlacePath {
        path: String,
        reason: String,
    },
    PlaceUnknown {
        path: String,
    },
    SourceReadOnly {
        place: String,
        instead: Option<String>,
    },
    SkillExists {
        name: String,
        full_name: String,
    },
    SkillInvalid {
        reason: String,
        hint: String,
    },
    FileNotText {
        path: String,
    },
    IsAFolder {
        path: String,
    },
    NotAFolder {
        path: String,
    },
    EditRefused {
        path: String,
        why: EditError,
    },
    Conflict {
        path: String,
        reason: String,
    },
    RoleTooLow {
        tool: String,
        access: Access,
    },
    NeedsApproval {
        tool: String,
        safety: Safety,
    },
    PartBroken {
        part: &'static str,
        reason: String,
    },
    SandboxUnavailable {
        reason: String,
    },
    RunRefused {
        reason: String,
    },
    RunEnded {
        reason: Reason,
        why: String,
        said: String,
    },
    Fault {
        reason: String,
    },
}

/// What is said about a problem: the same pair as for findings about skills.
pub use gongfu_core::text::Text;

impl Problem {
    /// The code that it is told by.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::UnknownTool { .. } => ErrorCode::ToolNotFound,
            Self::MissingArgument { .. } => ErrorCode::MissingArgument,
            Self::UnknownArgument { .. } => ErrorCode::UnknownArgument,
            Self::WrongType { .. } | Self::WrongValue { .. } | Self::RunRefused { .. } => {
                ErrorCode::InvalidArgument
            }
            Self::ArgumentsTooLarge { .. } => ErrorCode::ArgumentsTooLarge,
            Self::SkillName { .. } => ErrorCode::InvalidSkillName,
            Self::SkillUnknown { .. } => ErrorCode::SkillNotFound,
            Self::SkillDisabled { .. } => ErrorCode::SkillDeactivated,
            Self::SkillUnreadable { .. } => ErrorCode::SkillsReadError,
            Self::FilePath { .. } | Self::PlacePath { .. } => ErrorCode::InvalidFilePath,
            Self::FileUnknown { .. } | Self::PlaceUnknown { .. } => ErrorCode::FileNotFound,
            Self::FileTooLarge { .. } => ErrorCode::FileTooLarge,
            Self::SectionUnknown { .. } => ErrorCode::SectionNotFound,
            Self::ResourceUri { .. } => ErrorCode::InvalidUri,
            Self::ResourceUnknown { .. } => ErrorCode::ResourceNotFound,
            Self::PromptUnknown { .. } => ErrorCode::PromptNotFound,
            Self::CursorUnknown { .. } => ErrorCode::InvalidCursor,
            Self::SourceReadOnly { .. } => ErrorCode::SourceReadOnly,
            Self::SkillExists { .. } => ErrorCode::SkillExists,
            Self::SkillInvalid { .. } => ErrorCode::SkillInvalid,
            Self::FileNotText { .. } => ErrorCode::FileNotText,
            Self::IsAFolder { .. } => ErrorCode::IsAFolder,
            Self::NotAFolder { .. } => ErrorCode::NotAFolder,
            Self::EditRefused { .. } => ErrorCode::EditRefused,
            Self::Conflict { .. } => ErrorCode::Conflict,
            Self::RoleTooLow { .. } => ErrorCode::Forbidden,
            Self::NeedsApproval { .. } => ErrorCode::ApprovalRequired,
            Self::PartBroken { .. } => ErrorCode::Unavailable,
            Self::SandboxUnavailable { .. } => ErrorCode::SandboxUnavailable,
            Self::RunEnded { reason, .. } => match reason {
                Reason::Timeout => ErrorCode::Timeout,
                _ => ErrorCode::QuotaExceeded,
            },
            Self::Fault { .. } => ErrorCode::Internal,
        }
    }

    /// What a program may want to know beyond the code.
    pub(crate) fn details(&self) -> Map<String, Value> {
        let details = match self {
            Self::SkillUnknown {
                name,
                nearest,
                total,
            } => json!({ "skill_name": clipped(name), "available": nearest, "total": total }),
            Self::SkillDisabled { full_name, .. } | Self::SkillExists { full_name, .. } => {
                json!({ "full_name": full_name })
            }
            Self::FileUnknown {
                skill,
                path,
                nearest,
            } => json!({ "skill_name": skill, "path": clipped(path), "available": nearest }),
            Self::SectionUnknown { headings, .. } => json!({ "available": headings }),
            Self::ResourceUri { uri, .. } => json!({ "uri": clipped_uri(uri) }),
            Self::ResourceUnknown { uri, nearest } => {
                json!({ "uri": clipped_uri(uri), "available": nearest })
            }
            Self::PromptUnknown {
                name,
                nearest,
                total,
            } => json!({ "prompt": clipped(name), "available": nearest, "total": total }),
            Self::UnknownTool { nearest, .. } => json!({ "available": nearest }),
            Self::UnknownArgument { known, .. } => json!({ "available": known }),
            _ => json!({}),
        };
        match details {
            Value::Object(details) => details,
            _ => Map::new(),
        }
    }

    /// The words for people, in English.
    #[expect(
        clippy::too_many_lines,
        reason = "one table, so that the compiler misses the words of a new problem"
    )]
    pub fn text(&self) -> Text {
        let (message, hint) = match self {
            Self::UnknownTool { name, nearest } => (
                format!("there is no tool `{}`", clipped(name)),
                listed("the tools here are", nearest),
            ),
            Self::MissingArgument { name, about } => (
                format!("the argument `{name}` is missing"),
                format!("give `{name}`: {about}"),
            ),
            Self::UnknownArgument { name, known } => (
                format!("there is no argument `{}`", clipped(name)),
                listed("the arguments are", known),
            ),
            Self::WrongType {
                name,
                wanted,
                given,
            } => (
                format!("the argument `{name}` is {given}"),
                format!("give {wanted}"),
            ),
            Self::WrongValue { name, reason, hint } => (
                format!("the argument `{name}` can't be used: {reason}"),
                hint.clone(),
            ),
            Self::ArgumentsTooLarge { bytes, limit } => (
                format!("the arguments are {bytes} bytes long"),
                format!("keep them below {limit} bytes"),
            ),
            Self::SkillName { name, reason } => (
                format!("`{}` can't be the name of a skill: {reason}", clipped(name)),
                "give a name or a full name as `skill_list` shows it, never a path".to_owned(),
            ),
            Self::SkillUnknown {
                name,
                nearest,
                total,
            } => (
                format!("there is no skill `{}`", clipped(name)),
                skills_hint(nearest, *total),
            ),
            Self::SkillDisabled { name, full_name } => (
                format!("the skill `{}` is switched off", clipped(name)),
                format!("a person can switch it on: gongfu skill enable {full_name}"),
            ),
            Self::SkillUnreadable { name, reason } => (
                format!("the skill `{}` can't be read: {reason}", clipped(name)),
                format!(
                    "a person can look: gongfu skill check, on the folder of {}",
                    clipped(name)
                ),
            ),
            Self::FilePath { path, reason } => (
                format!(
                    "`{}` is no path inside of the skill: {reason}",
                    clipped(path)
                ),
                "give a path relative to the skill's folder, e.g. references/guide.md".to_owned(),
            ),
            Self::FileUnknown {
                skill,
                path,
                nearest,
            } => (
                format!(
                    "there is no file `{}` in the skill `{skill}`",
                    clipped(path)
                ),
                listed("the files are", nearest),
            ),
            Self::FileTooLarge { path, bytes, limit } => (
                format!("`{}` is {bytes} bytes large", clipped(path)),
                format!(
                    "an answer carries at most {limit} bytes of such a file; use it where it lies"
                ),
            ),
            Self::SectionUnknown { section, headings } => (
                format!("there is no section `{}`", clipped(section)),
                listed("the headings are", headings),
            ),
            Self::ResourceUri { uri, reason } => (
                format!("`{}` is no URI that can be used here: {reason}", clipped(uri)),
                "write it as skill://source/path/name/SKILL.md, or take it from a list".to_owned(),
            ),
            Self::ResourceUnknown { uri, nearest } => (
                format!("there is nothing at `{}`", clipped(uri)),
                listed("nearest first, there are", nearest),
            ),
            Self::PromptUnknown {
                name,
                nearest,
                total,
            } => (
                format!("there is no prompt `{}`", clipped(name)),
                match total {
                    0 => "see `prompts/list`".to_owned(),
                    total => format!(
                        "{} ({total} in all: see `prompts/list`)",
                        listed("nearest first, there are", nearest)
                    ),
                },
            ),
            Self::CursorUnknown { list } => (
                format!("the cursor is none of {list} as it is now"),
                "start again without a cursor".to_owned(),
            ),
            Self::PlacePath { path, reason } => (
                format!("`{}` can't be reached: {reason}", clipped(path)),
                "give a path below the workspace, e.g. src/main.py, or an absolute one below a folder that the operator mounted (--mount)".to_owned(),
            ),
            Self::PlaceUnknown { path } => (
                format!("there is nothing at `{}`", clipped(path)),
                "list the folder above it to see what is there".to_owned(),
            ),
            Self::SourceReadOnly { place, instead } => (
                format!("`{}` is not written to", clipped(place)),
                match instead {
                    Some(folder) => format!(
                        "skills are written to {folder}: make one there under another name, or ask a person to change this one where it lies"
                    ),
                    None => "a person can name a folder to write to: --skills-dir for skills, --mount without `:ro` for files".to_owned(),
                },
            ),
            Self::SkillExists { name, full_name } => (
                format!("there is a skill `{}` already: {full_name}", clipped(name)),
                "choose another name, or change that one".to_owned(),
            ),
            Self::SkillInvalid { reason, hint } => (
                format!("that would be no skill that can be loaded: {reason}"),
                format!("{hint}; nothing was written"),
            ),
            Self::FileNotText { path } => (
                format!("`{}` is not text", clipped(path)),
                "use it where it lies, e.g. by a script".to_owned(),
            ),
            Self::IsAFolder { path } => (
                format!("`{}` is a folder", clipped(path)),
                "give the path of a file".to_owned(),
            ),
            Self::NotAFolder { path } => (
                format!("`{}` is not a folder, or something above it is none", clipped(path)),
                "give the path of a folder, or of something below one".to_owned(),
            ),
            Self::EditRefused { path, why } => (
                format!("`{}` can't be changed: {why}", clipped(path)),
                match why {
                    EditError::Ambiguous(_) => "give more of the text around it, so that it is unique".to_owned(),
                    EditError::Encoding => "convert the file to UTF-8 first".to_owned(),
                    EditError::Empty | EditError::Missing => {
                        "read the file again and give the text exactly as it stands there".to_owned()
                    }
                },
            ),
            Self::Conflict { path, reason } => (
                format!("`{}` was not written: {reason}", clipped(path)),
                "read it again, then change what is there now".to_owned(),
            ),
            Self::RoleTooLow { tool, access } => (
                format!("this caller may not use `{tool}`"),
                format!("it needs the scope {}", access.scope()),
            ),
            Self::NeedsApproval { tool, safety } => (
                format!(
                    "`{tool}` needs the agreement of a person (its safety level is {safety:?})"
                ),
                "ask the person to allow it; don't retry before".to_owned(),
            ),
            Self::PartBroken { part, reason } => (
                format!("{part} doesn't work: {reason}"),
                "see `gongfu doctor`; nothing was changed".to_owned(),
            ),
            Self::SandboxUnavailable { reason } => (
                format!("nothing was run: {reason}"),
                "a person can see what this machine lacks: gongfu doctor".to_owned(),
            ),
            Self::RunRefused { reason } => (
                format!("it can't be run: {reason}"),
                "give a folder that is there: /skill, /workspace, a mounted one, or one below them"
                    .to_owned(),
            ),
            Self::RunEnded { why, said, .. } => (
                why.clone(),
                if said.is_empty() {
                    "it said nothing until then".to_owned()
                } else {
                    format!("until then it said:\n{said}")
                },
            ),
            Self::Fault { reason } => (
                format!("a fault of gongfu's own: {reason}"),
                "please report it with the call that led to it".to_owned(),
            ),
        };
        Text { message, hint }
    }

    /// Why a name reached no skill.
    pub fn unresolved(name: &str, why: Unresolved) -> Self {
        let name = name.to_owned();
        match why {
            Unresolved::Invalid(error) => Self::SkillName {
                name,
                reason: error.to_string(),
            },
            Unresolved::Unknown { nearest, total } => Self::SkillUnknown {
                name,
                nearest,
                total,
            },
            Unresolved::Disabled { full_name } => Self::SkillDisabled {
                name,
                full_name: full_name.to_string(),
            },
        }
    }

    /// Why a text is no path inside of a skill.
    pub fn bad_path(path: &str, why: PathError) -> Self {
        Self::FilePath {
            path: path.to_owned(),
            reason: why.to_string(),
        }
    }

    /// A part of gongfu that failed.
    pub fn broken(part: &'static str, why: &PortError) -> Self {
        Self::PartBroken {
            part,
            reason: why.to_string(),
        }
    }
}

impl Problem {
    /// The problem as the error of a call.
    pub fn error(self) -> ToolError {
        self.into()
    }
}

fn skills_hint(nearest: &[String], total: usize) -> String {
    if nearest.is_empty() {
        return "the library is empty: a person can name a folder of skills by --skills-dir"
            .to_owned();
    }
    let mut hint = listed("nearest first, there are", nearest);
    if total > nearest.len().min(NAMES_IN_HINT) {
        let _ = write!(hint, " ({total} in all: see `skill_list`)");
    }
    hint
}

fn listed(lead: &str, names: &[String]) -> String {
    if names.is_empty() {
        return format!("{lead} none");
    }
    let mut shown: Vec<String> = names
        .iter()
        .take(NAMES_IN_HINT)
        .map(|name| clipped(name))
        .collect();
    if names.len() > NAMES_IN_HINT {
        shown.push(format!("… and {} more", names.len() - NAMES_IN_HINT));
    }
    format!("{lead}: {}", shown.join(", "))
}

/// A URI for programs: whole, unless it is longer than any that gongfu gives out.
fn clipped_uri(uri: &str) -> String {
    const LONGEST: usize = 4_096;
    if uri.len() <= LONGEST {
        uri.to_owned()
    } else {
        clipped(uri)
    }
}

/// A stranger's text, cut to what fits in a message, its control characters marked.
pub(crate) fn clipped(text: &str) -> String {
    gongfu_core::text::clipped(text, MOST, char::REPLACEMENT_CHARACTER)
}
