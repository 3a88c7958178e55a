//! Problems of a call, with the parameters of their messages.

mod agent;
mod english;

use gongfu_core::account::Scope;
use gongfu_core::capability::Access;
use gongfu_core::dependency::{Failure, Language};
use gongfu_core::edit::EditError;
use gongfu_core::library::{Library, ResolveError, Skill};
use gongfu_core::port::{ModelError, ModelErrorKind, PortError};
use gongfu_core::sandbox::Reason;
use gongfu_core::skill::path::PathError;
use serde_json::{Map, Value, json};

use crate::call::Question;
use crate::error_code::ErrorCode;

/// The characters of a stranger's text that a message repeats.
const MAX_CLIPPED_CHARACTERS: usize = 120;

/// Declares the problems that always have the same code, each with its parameters and its code.
macro_rules! problems {
    ($($problem:ident $({ $($(#[$about:meta])* $name:ident: $type:ty),+ $(,)? })? = $code:ident;)+) => {
        /// Everything that can go wrong with a call.
        #[derive(Debug, Clone, PartialEq, Eq)]
        #[expect(
            missing_docs,
            reason = "each variant is described by its message in `problem::english`"
        )]
        pub enum Problem {
            $($problem $({ $($(#[$about])* $name: $type),+ })?,)+
            /// Packages that a skill needs can't be had; the reason decides the code.
            Dependencies { language: Language, from: String, failure: Failure },
            /// A run reached a limit, which decides the code.
            RunEnded { reason: Reason, why: String, said: String },
            /// The model didn't answer, for a reason that decides the code.
            Model { model: String, error: ModelError, session: Option<String> },
        }

        impl Problem {
            /// Returns its code.
            pub fn code(&self) -> ErrorCode {
                match self {
                    $(Self::$problem { .. } => ErrorCode::$code,)+
                    Self::Dependencies { failure, .. } if failure.kind.is_of_the_skill() => {
                        ErrorCode::DependenciesInvalid
                    }
                    Self::Dependencies { .. } => ErrorCode::DependenciesUnavailable,
                    Self::RunEnded { reason: Reason::Timeout, .. } => ErrorCode::Timeout,
                    Self::RunEnded { .. } => ErrorCode::QuotaExceeded,
                    Self::Model { error, .. } => of_model(error.kind),
                }
            }
        }
    };
}

problems! {
    UnknownTool { name: String, nearest: Vec<String> } = ToolNotFound;
    UnknownTarget { name: String, nearest: Vec<String> } = ToolNotFound;
    MissingArgument { name: String, about: String } = MissingArgument;
    UnknownArgument { name: String, known: Vec<String> } = UnknownArgument;
    WrongType { name: String, wanted: String, given: &'static str } = InvalidArgument;
    WrongValue { name: String, reason: String, hint: String } = InvalidArgument;
    ArgumentsTooLarge { bytes: usize, limit: usize } = ArgumentsTooLarge;
    SkillName { name: String, reason: String } = InvalidSkillName;
    SkillUnknown { name: String, nearest: Vec<String>, total: usize } = SkillNotFound;
    SkillDisabled { name: String, full_name: String } = SkillDeactivated;
    SkillUnreadable { name: String, reason: String } = SkillsReadError;
    FilePath { path: String, reason: String } = InvalidFilePath;
    FileUnknown { skill: String, path: String, nearest: Vec<String> } = FileNotFound;
    FileTooLarge { path: String, bytes: u64, limit: u64 } = FileTooLarge;
    SectionUnknown { section: String, headings: Vec<String> } = SectionNotFound;
    ResourceUri { uri: String, reason: String } = InvalidUri;
    ResourceUnknown { uri: String, nearest: Vec<String> } = ResourceNotFound;
    PromptUnknown { name: String, nearest: Vec<String>, total: usize } = PromptNotFound;
    CursorUnknown { list: String } = InvalidCursor;
    PlacePath { path: String, reason: String } = InvalidFilePath;
    PlaceUnknown { path: String } = FileNotFound;
    SourceReadOnly { place: String, instead: Option<String> } = SourceReadOnly;
    SkillExists { name: String, full_name: String } = SkillExists;
    SkillInvalid { reason: String, hint: String } = SkillInvalid;
    FileNotText { path: String } = FileNotText;
    IsAFolder { path: String } = IsAFolder;
    NotAFolder { path: String } = NotAFolder;
    EditRefused { path: String, why: EditError } = EditRefused;
    Conflict { path: String, reason: String } = Conflict;
    Outdated { skill: String } = Outdated;
    RoleTooLow { tool: String, access: Access } = Forbidden;
    ScopeMissing { tool: String, scope: Scope } = Forbidden;
    PersonOnly { operation: String } = Forbidden;
    OutOfReach { reason: String } = Forbidden;
    ApprovalWaiting {
        reason: String,
        /// The id of the approval record.
        id: String,
        /// True if the call would run a command.
        is_command: bool,
        /// True on a server with accounts, where a person answers over REST.
        has_account: bool,
        /// The question for the person, where it shows all that would be done.
        question: Option<Box<Question>>,
    } = ApprovalRequired;
    Declined { reason: String, is_command: bool } = CommandBlocked;
    ChangedSinceReview = Conflict;
    ChangeSetUnknown { id: String } = ChangeSetNotFound;
    ChangeSetBusy { id: String, reason: String } = Conflict;
    StorageFull { reason: String } = QuotaExceeded;
    TooManyRuns { limit: usize } = QuotaExceeded;
    RunsUsedUp { limit: u32 } = QuotaExceeded;
    TooManyQuestions = QuotaExceeded;
    TooManyCalls { limit: usize } = QuotaExceeded;
    AnswerTooLarge { bytes: usize, limit: usize } = QuotaExceeded;
    NestedScript = NestedScript;
    PythonMissing { reason: String } = Unavailable;
    Cancelled = Cancelled;
    PartBroken { part: &'static str, reason: String } = Unavailable;
    SandboxUnavailable { reason: String } = SandboxUnavailable;
    ConnectionUnknown { name: String, nearest: Vec<String> } = ConnectionNotFound;
    ConnectionNotApproved { connection: String, reason: String, has_account: bool } = ConnectionNotApproved;
    SignInRequired { connection: String, reason: String, has_account: bool } = SignInRequired;
    ServerUnavailable { connection: String, reason: String, has_account: bool } = ServerUnavailable;
    SkillUnverified { skill: String, connection: String, reason: String } = SkillUnverified;
    SkillOfServer { skill: String, connection: String } = CommandBlocked;
    ProjectUntrusted { skill: String, project: String } = ProjectUntrusted;
    RunRefused { reason: String } = InvalidArgument;
    CommandBlocked { reason: String } = CommandBlocked;
    BudgetUsedUp { reason: String } = QuotaExceeded;
    SessionUnknown { id: String } = SessionNotFound;
    SessionInvalid { id: String, reason: String } = SessionInvalid;
    SessionOpen { id: String } = Conflict;
    SessionIdle { id: String } = Conflict;
    SessionRunning { id: String } = Conflict;
    Fault { reason: String } = Internal;
}

/// The text about a problem: the same pair as for findings about skills.
pub use gongfu_core::text::Text;

impl Problem {
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
            Self::UnknownTool { nearest, .. }
            | Self::UnknownTarget { nearest, .. }
            | Self::ConnectionUnknown { nearest, .. } => json!({ "available": nearest }),
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
            Self::ScopeMissing { scope, .. } => json!({ "scope": scope }),
            Self::Model { error, session, .. } => match session {
                Some(session) => json!({ "kind": error.kind, "session": session }),
                None => json!({ "kind": error.kind }),
            },
            Self::UnknownArgument { known, .. } => json!({ "available": known }),
            _ => json!({}),
        };
        match details {
            Value::Object(details) => details,
            _ => Map::new(),
        }
    }

    /// An argument with a value that it can't have.
    pub fn wrong_value(name: &str, reason: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::WrongValue {
            name: name.to_owned(),
            reason: reason.into(),
            hint: hint.into(),
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

    /// Why the server of a connection can't be used.
    pub fn of_server(connection: &str, why: &PortError, has_account: bool) -> Self {
        let (connection, reason) = (connection.to_owned(), why.to_string());
        match why {
            PortError::NotFound => Self::ConnectionUnknown {
                name: connection,
                nearest: Vec::new(),
            },
            PortError::Denied(_) => Self::ConnectionNotApproved {
                connection,
                reason,
                has_account,
            },
            PortError::OutOfReach(_) => Self::SignInRequired {
                connection,
                reason,
                has_account,
            },
            _ => Self::ServerUnavailable {
                connection,
                reason,
                has_account,
            },
        }
    }

    /// Why a file of a skill can't be read that is there: one of another server's skill may have to be fetched, and
    /// must be the one that a person approved.
    pub fn unreadable(library: &Library, skill: &Skill, why: &PortError) -> Self {
        let connection = library.connection(skill);
        match (why, connection) {
            (PortError::Conflict(reason), connection) => Self::SkillUnverified {
                skill: skill.full_name.to_string(),
                connection: connection.unwrap_or(&skill.source).to_owned(),
                reason: reason.clone(),
            },
            // Users of a server with accounts get no skills of other servers.
            (why, Some(connection)) => Self::of_server(connection, why, false),
            (why, None) => Self::broken("reading the skill", why),
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

/// The code of a model's failure.
fn of_model(kind: ModelErrorKind) -> ErrorCode {
    match kind {
        ModelErrorKind::NotConfigured => ErrorCode::ModelNotConfigured,
        ModelErrorKind::Unauthorized
        | ModelErrorKind::UnknownModel
        | ModelErrorKind::Rejected
        | ModelErrorKind::TooLong => ErrorCode::ModelRefused,
        ModelErrorKind::RateLimited
        | ModelErrorKind::Unavailable
        | ModelErrorKind::Stalled
        | ModelErrorKind::Incomplete
        | ModelErrorKind::Malformed
        | ModelErrorKind::TooLarge => ErrorCode::ModelUnavailable,
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
