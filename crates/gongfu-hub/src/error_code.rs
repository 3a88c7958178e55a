//! The closed list of error codes, and what each is on every surface.

use std::fmt;

/// Everything that can go wrong with a call, for programs to branch on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorCode {
    /// There is no tool of that name in the profile.
    ToolNotFound,
    /// A required argument is missing.
    MissingArgument,
    /// An argument that the tool doesn't have.
    UnknownArgument,
    /// An argument of the wrong type or with an impossible value.
    InvalidArgument,
    /// The arguments together are too large.
    ArgumentsTooLarge,
    /// The name can't be the name of any skill.
    InvalidSkillName,
    /// There is no such skill.
    SkillNotFound,
    /// The skill is switched off.
    SkillDeactivated,
    /// The skill is there but can't be read.
    SkillsReadError,
    /// The path can't be inside of a skill.
    InvalidFilePath,
    /// There is no such file in the skill.
    FileNotFound,
    /// The file is larger than an answer may be.
    FileTooLarge,
    /// There is no such section in the document.
    SectionNotFound,
    /// The text is no URI of a skill.
    InvalidUri,
    /// There is nothing at the URI.
    ResourceNotFound,
    /// There is no such prompt.
    PromptNotFound,
    /// The cursor doesn't belong to this list.
    InvalidCursor,
    /// The source of the skill, or the mount, isn't written to.
    SourceReadOnly,
    /// There is a skill of that name already.
    SkillExists,
    /// The content to be written would not be a skill.
    SkillInvalid,
    /// The file is not text.
    FileNotText,
    /// A folder stands where a file is meant.
    IsAFolder,
    /// A file stands where a folder is meant.
    NotAFolder,
    /// The text to replace is not in the file, or not only once.
    EditRefused,
    /// Somebody else changed it meanwhile.
    Conflict,
    /// The caller's role doesn't allow it.
    Forbidden,
    /// A person has to agree first.
    ApprovalRequired,
    /// The command is refused.
    CommandBlocked,
    /// The declared needs of a skill can't be read or can't be met.
    DependenciesInvalid,
    /// The needs of a skill can't be installed right now.
    DependenciesUnavailable,
    /// A part of gongfu doesn't work right now.
    Unavailable,
    /// No sandbox works here, so nothing is run.
    SandboxUnavailable,
    /// The run used more than it may.
    QuotaExceeded,
    /// The run took too long.
    Timeout,
    /// The caller cancelled the call.
    Cancelled,
    /// A fault of gongfu's own.
    Internal,
}

/// A code on each surface.
struct Row {
    name: &'static str,
    http: u16,
    exit: u8,
}

impl ErrorCode {
    /// Every code, for documentation and tests.
    pub const ALL: [Self; 36] = [
        Self::ToolNotFound,
        Self::MissingArgument,
        Self::UnknownArgument,
        Self::InvalidArgument,
        Self::ArgumentsTooLarge,
        Self::InvalidSkillName,
        Self::SkillNotFound,
        Self::SkillDeactivated,
        Self::SkillsReadError,
        Self::InvalidFilePath,
        Self::FileNotFound,
        Self::FileTooLarge,
        Self::SectionNotFound,
        Self::InvalidUri,
        Self::ResourceNotFound,
        Self::PromptNotFound,
        Self::InvalidCursor,
        Self::SourceReadOnly,
        Self::SkillExists,
        Self::SkillInvalid,
        Self::FileNotText,
        Self::IsAFolder,
        Self::NotAFolder,
        Self::EditRefused,
        Self::Conflict,
        Self::Forbidden,
        Self::ApprovalRequired,
        Self::CommandBlocked,
        Self::DependenciesInvalid,
        Self::DependenciesUnavailable,
        Self::Unavailable,
        Self::SandboxUnavailable,
        Self::QuotaExceeded,
        Self::Timeout,
        Self::Cancelled,
        Self::Internal,
    ];

    /// The code as it is written: upper-case words (seed 000).
    pub fn as_str(self) -> &'static str {
        self.row().name
    }

    /// The status of an HTTP answer.
    pub fn http_status(self) -> u16 {
        self.row().http
    }

    /// The exit code of the command line: 2 for wrong use, 1 for anything else.
    pub fn exit_code(self) -> u8 {
        self.row().exit
    }

    /// Returns true if it is about the call's form, which JSON-RPC calls invalid params (-32602).
    pub fn is_wrong_use(self) -> bool {
        self.exit_code() == 2
    }

    fn row(self) -> Row {
        let (name, http, exit) = match self {
            Self::ToolNotFound => ("TOOL_NOT_FOUND", 404, 2),
            Self::MissingArgument => ("MISSING_ARGUMENT", 422, 2),
            Self::UnknownArgument => ("UNKNOWN_ARGUMENT", 422, 2),
            Self::InvalidArgument => ("INVALID_ARGUMENT", 422, 2),
            Self::ArgumentsTooLarge => ("ARGUMENTS_TOO_LARGE", 413, 2),
            Self::InvalidSkillName => ("INVALID_SKILL_NAME", 422, 1),
            Self::SkillNotFound => ("SKILL_NOT_FOUND", 404, 1),
            Self::SkillDeactivated => ("SKILL_DEACTIVATED", 409, 1),
            Self::SkillsReadError => ("SKILLS_READ_ERROR", 500, 1),
            Self::InvalidFilePath => ("INVALID_FILE_PATH", 422, 1),
            Self::FileNotFound => ("FILE_NOT_FOUND", 404, 1),
            Self::FileTooLarge => ("FILE_TOO_LARGE", 413, 1),
            Self::SectionNotFound => ("SECTION_NOT_FOUND", 404, 1),
            Self::InvalidUri => ("INVALID_URI", 422, 1),
            Self::ResourceNotFound => ("RESOURCE_NOT_FOUND", 404, 1),
            Self::PromptNotFound => ("PROMPT_NOT_FOUND", 404, 1),
            Self::InvalidCursor => ("INVALID_CURSOR", 422, 2),
            Self::SourceReadOnly => ("SOURCE_READ_ONLY", 403, 1),
            Self::SkillExists => ("SKILL_EXISTS", 409, 1),
            Self::SkillInvalid => ("SKILL_INVALID", 422, 1),
            Self::FileNotText => ("FILE_NOT_TEXT", 415, 1),
            Self::IsAFolder => ("IS_A_DIRECTORY", 409, 1),
            Self::NotAFolder => ("NOT_A_DIRECTORY", 409, 1),
            Self::EditRefused => ("EDIT_REFUSED", 409, 1),
            Self::Conflict => ("CONFLICT", 409, 1),
            Self::Forbidden => ("FORBIDDEN", 403, 1),
            Self::ApprovalRequired => ("APPROVAL_REQUIRED", 403, 1),
            Self::CommandBlocked => ("COMMAND_BLOCKED", 403, 1),
            Self::DependenciesInvalid => ("DEPENDENCIES_INVALID", 422, 1),
            Self::DependenciesUnavailable => ("DEPENDENCIES_UNAVAILABLE", 503, 1),
            Self::Unavailable => ("UNAVAILABLE", 503, 1),
            Self::SandboxUnavailable => ("SANDBOX_UNAVAILABLE", 503, 1),
            Self::QuotaExceeded => ("QUOTA_EXCEEDED", 429, 1),
            Self::Timeout => ("TIMEOUT", 504, 1),
            Self::Cancelled => ("CANCELLED", 499, 1),
            Self::Internal => ("INTERNAL_SERVER_ERROR", 500, 1),
        };
        Row { name, http, exit }
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
