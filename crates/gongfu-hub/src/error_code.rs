//! The closed list of error codes, and what each is on every surface.

mod explanation;

use std::fmt;

/// Declares the codes, each with its name, its HTTP status and its exit code.
macro_rules! error_codes {
    ($($(#[doc = $about:literal])+ $code:ident = $name:literal, $http:literal, $exit:literal;)+) => {
        /// Everything that can go wrong with a call, for programs to branch on.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ErrorCode {
            $($(#[doc = $about])+ $code,)+
        }

        impl ErrorCode {
            /// Every code, for documentation and tests.
            pub const ALL: &[Self] = &[$(Self::$code,)+];

            /// Its meaning, in one sentence.
            pub fn meaning(self) -> &'static str {
                let text = match self {
                    $(Self::$code => concat!($($about),+),)+
                };
                text.trim_start()
            }

            /// The name, the HTTP status and the exit code.
            fn row(self) -> (&'static str, u16, u8) {
                match self {
                    $(Self::$code => ($name, $http, $exit),)+
                }
            }
        }
    };
}

error_codes! {
    /// There is no tool of that name in the profile.
    ToolNotFound = "TOOL_NOT_FOUND", 404, 2;
    /// A required argument is missing.
    MissingArgument = "MISSING_ARGUMENT", 422, 2;
    /// An argument that the tool doesn't have.
    UnknownArgument = "UNKNOWN_ARGUMENT", 422, 2;
    /// An argument of the wrong type or with an impossible value.
    InvalidArgument = "INVALID_ARGUMENT", 422, 2;
    /// The arguments together are too large.
    ArgumentsTooLarge = "ARGUMENTS_TOO_LARGE", 413, 2;
    /// The name can't be the name of any skill.
    InvalidSkillName = "INVALID_SKILL_NAME", 422, 1;
    /// There is no such skill.
    SkillNotFound = "SKILL_NOT_FOUND", 404, 1;
    /// The skill is disabled.
    SkillDeactivated = "SKILL_DEACTIVATED", 409, 1;
    /// The skill is there but can't be read.
    SkillsReadError = "SKILLS_READ_ERROR", 500, 1;
    /// The path can't be inside of a skill.
    InvalidFilePath = "INVALID_FILE_PATH", 422, 1;
    /// There is no such file in the skill.
    FileNotFound = "FILE_NOT_FOUND", 404, 1;
    /// The file is larger than an answer may be.
    FileTooLarge = "FILE_TOO_LARGE", 413, 1;
    /// There is no such section in the document.
    SectionNotFound = "SECTION_NOT_FOUND", 404, 1;
    /// The text is no URI of a skill.
    InvalidUri = "INVALID_URI", 422, 1;
    /// There is nothing at the URI.
    ResourceNotFound = "RESOURCE_NOT_FOUND", 404, 1;
    /// There is no such prompt.
    PromptNotFound = "PROMPT_NOT_FOUND", 404, 1;
    /// The cursor doesn't belong to this list.
    InvalidCursor = "INVALID_CURSOR", 422, 2;
    /// The source of the skill, or the mount, isn't written to.
    SourceReadOnly = "SOURCE_READ_ONLY", 403, 1;
    /// There is a skill of that name already.
    SkillExists = "SKILL_EXISTS", 409, 1;
    /// The content to be written would not be a skill.
    SkillInvalid = "SKILL_INVALID", 422, 1;
    /// The file is not text.
    FileNotText = "FILE_NOT_TEXT", 415, 1;
    /// A folder stands where a file is meant.
    IsAFolder = "IS_A_DIRECTORY", 409, 1;
    /// A file stands where a folder is meant.
    NotAFolder = "NOT_A_DIRECTORY", 409, 1;
    /// The text to replace is not in the file, or not only once.
    EditRefused = "EDIT_REFUSED", 409, 1;
    /// No change set of that id waits.
    ChangeSetNotFound = "CHANGE_SET_NOT_FOUND", 404, 1;
    /// Somebody else changed it meanwhile.
    Conflict = "CONFLICT", 409, 1;
    /// The precondition of the change doesn't hold.
    Outdated = "PRECONDITION_FAILED", 412, 1;
    /// The caller's role doesn't allow it.
    Forbidden = "FORBIDDEN", 403, 1;
    /// A person has to agree first.
    ApprovalRequired = "APPROVAL_REQUIRED", 403, 1;
    /// The skill is from a project that isn't trusted.
    ProjectUntrusted = "PROJECT_UNTRUSTED", 403, 1;
    /// The command is refused.
    CommandBlocked = "COMMAND_BLOCKED", 403, 1;
    /// The declared needs of a skill can't be read or can't be met.
    DependenciesInvalid = "DEPENDENCIES_INVALID", 422, 1;
    /// The needs of a skill can't be installed right now.
    DependenciesUnavailable = "DEPENDENCIES_UNAVAILABLE", 503, 1;
    /// A part of gongfu doesn't work right now.
    Unavailable = "UNAVAILABLE", 503, 1;
    /// No sandbox works here, so nothing is run.
    SandboxUnavailable = "SANDBOX_UNAVAILABLE", 503, 1;
    /// There is no connection of that name.
    ConnectionNotFound = "CONNECTION_NOT_FOUND", 404, 1;
    /// A person has to approve the connection, or a tool of it, first.
    ConnectionNotApproved = "CONNECTION_NOT_APPROVED", 403, 1;
    /// A file of another MCP server's skill isn't the one that a person approved.
    SkillUnverified = "SKILL_UNVERIFIED", 409, 1;
    /// A person has to sign in at another MCP server first.
    SignInRequired = "SIGN_IN_REQUIRED", 403, 1;
    /// Another MCP server doesn't work right now.
    ServerUnavailable = "SERVER_UNAVAILABLE", 503, 1;
    /// A script called the tool that runs scripts.
    NestedScript = "NESTED_SCRIPT", 403, 1;
    /// The run used more than it may.
    QuotaExceeded = "QUOTA_EXCEEDED", 429, 1;
    /// The run took too long.
    Timeout = "TIMEOUT", 504, 1;
    /// The caller cancelled the call.
    Cancelled = "CANCELLED", 499, 1;
    /// No model is configured, or not as it has to be.
    ModelNotConfigured = "MODEL_NOT_CONFIGURED", 409, 1;
    /// The provider of the model refuses the request.
    ModelRefused = "MODEL_REFUSED", 502, 1;
    /// The model doesn't answer right now.
    ModelUnavailable = "MODEL_UNAVAILABLE", 503, 1;
    /// There is no such session of the agent.
    SessionNotFound = "SESSION_NOT_FOUND", 404, 1;
    /// The log of a session can't be read.
    SessionInvalid = "SESSION_INVALID", 422, 1;
    /// A fault of gongfu's own.
    Internal = "INTERNAL_SERVER_ERROR", 500, 1;
}

impl ErrorCode {
    /// The code as it is written: upper-case words (seed 000).
    pub fn as_str(self) -> &'static str {
        self.row().0
    }

    /// The status of an HTTP answer.
    pub fn http_status(self) -> u16 {
        self.row().1
    }

    /// The exit code of the command line: 2 for wrong use, 1 for anything else.
    pub fn exit_code(self) -> u8 {
        self.row().2
    }

    /// Returns true if it is about the call's form, which JSON-RPC calls invalid params (-32602).
    pub fn is_wrong_use(self) -> bool {
        self.exit_code() == 2
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::ErrorCode;

    #[test]
    fn codes_are_upper_case_words_and_unique() {
        let mut names: Vec<&str> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
        assert!(names.iter().all(|name| {
            name.bytes()
                .all(|byte| byte.is_ascii_uppercase() || byte == b'_')
        }));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ErrorCode::ALL.len());
        assert!(
            ErrorCode::ALL
                .iter()
                .all(|code| (400..600).contains(&code.http_status())
                    && (1..=2).contains(&code.exit_code()))
        );
    }
}
