//! Problems of a call, with the parameters of their messages.

mod english;

use gongfu_core::capability::Access;
use gongfu_core::dependency::{Failure, Language};
use gongfu_core::edit::EditError;
use gongfu_core::library::ResolveError;
use gongfu_core::port::PortError;
use gongfu_core::sandbox::Reason;
use gongfu_core::skill::path::PathError;
use serde_json::{Map, Value, json};

use crate::call::Question;
use crate::error_code::ErrorCode;

/// The characters of a stranger's text that a message repeats.
const MAX_CLIPPED_CHARACTERS: usize = 120;

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
    PersonOnly {
        operation: String,
    },
    ApprovalWaiting {
        reason: String,
        /// The id of the approval record.
        id: String,
        /// True if the call would run a command.
        is_command: bool,
        /// The question for the person, where it shows all that would be done.
        question: Option<Box<Question>>,
    },
    Declined {
        reason: String,
    },
    TooManyRuns {
        limit: usize,
    },
    Cancelled,
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
    CommandBlocked {
        reason: String,
    },
    Dependencies {
        language: Language,
        from: String,
        failure: Failure,
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

/// The text about a problem: the same pair as for findings about skills.
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
            Self::RoleTooLow { .. } | Self::PersonOnly { .. } => ErrorCode::Forbidden,
            Self::ApprovalWaiting { .. } => ErrorCode::ApprovalRequired,
            Self::TooManyRuns { .. } => ErrorCode::QuotaExceeded,
            Self::Cancelled => ErrorCode::Cancelled,
            Self::CommandBlocked { .. } | Self::Declined { .. } => ErrorCode::CommandBlocked,
            Self::PartBroken { .. } => ErrorCode::Unavailable,
            Self::SandboxUnavailable { .. } => ErrorCode::SandboxUnavailable,
            Self::Dependencies { failure, .. } if failure.kind.is_of_the_skill() => {
                ErrorCode::DependenciesInvalid
            }
            Self::Dependencies { .. } => ErrorCode::DependenciesUnavailable,
            Self::RunEnded { reason, .. } => match reason {
                Reason::Timeout => ErrorCode::Timeout,
                _ => ErrorCode::QuotaExceeded,
            },
            Self::Fault { .. } => ErrorCode::Internal,
        }
    }

    /// Returns what a program may want to know beyond the code.
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
            Self::ApprovalWaiting { id, .. } => json!({ "approval": id }),
            Self::Dependencies {
                language,
                from,
                failure,
            } => json!({
                "reason": failure.kind.as_str(),
                "language": language.as_str(),
                "from": clipped(from),
                "package": failure.package.as_deref().map(clipped),
            }),
            Self::UnknownArgument { known, .. } => json!({ "available": known }),
            _ => json!({}),
        };
        match details {
            Value::Object(details) => details,
            _ => Map::new(),
        }
    }

    /// Why a name reached no skill.
    pub fn unresolved(name: &str, why: ResolveError) -> Self {
        let name = name.to_owned();
        match why {
            ResolveError::Invalid(error) => Self::SkillName {
                name,
                reason: error.to_string(),
            },
            ResolveError::Unknown { nearest, total } => Self::SkillUnknown {
                name,
                nearest,
                total,
            },
            ResolveError::Disabled { full_name } => Self::SkillDisabled {
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
    gongfu_core::text::clipped(text, MAX_CLIPPED_CHARACTERS, char::REPLACEMENT_CHARACTER)
}
