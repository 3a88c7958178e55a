//! Why an import fails: a stable code, what is wrong, and what to do.

/// The reason of a failure, as a stable name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportCode {
    /// The source can't be understood.
    SourceInvalid,
    /// The source isn't there, or can't be reached.
    SourceUnreachable,
    /// The source has what no skill may have, such as a path that leads out.
    SourceRefused,
    /// The source is larger than an import may be.
    SourceTooLarge,
    /// The source has no such skill.
    SkillNotInSource,
    /// Two skills would go to the same folder.
    SkillNameTaken,
    /// A person changed the files of a skill, which an import would replace.
    SkillChanged,
    /// A program that is needed is missing, or doesn't work.
    ProgramMissing,
    /// A lock can't be read.
    LockUnreadable,
    /// A lock was written by a newer version.
    LockNewer,
    /// A lock doesn't agree with what it locks.
    LockMismatch,
    /// A folder can't be written.
    PlaceUnwritable,
    /// The folder of a site has files that no publication wrote.
    SiteForeign,
}

impl ImportCode {
    /// The name, for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SourceInvalid => "SOURCE_INVALID",
            Self::SourceUnreachable => "SOURCE_UNREACHABLE",
            Self::SourceRefused => "SOURCE_REFUSED",
            Self::SourceTooLarge => "SOURCE_TOO_LARGE",
            Self::SkillNotInSource => "SKILL_NOT_IN_SOURCE",
            Self::SkillNameTaken => "SKILL_NAME_TAKEN",
            Self::SkillChanged => "SKILL_CHANGED",
            Self::ProgramMissing => "PROGRAM_MISSING",
            Self::LockUnreadable => "LOCK_UNREADABLE",
            Self::LockNewer => "LOCK_NEWER",
            Self::LockMismatch => "LOCK_MISMATCH",
            Self::PlaceUnwritable => "PLACE_UNWRITABLE",
            Self::SiteForeign => "SITE_FOREIGN",
        }
    }
}

/// A failed import.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ImportError {
    /// The reason.
    pub code: ImportCode,
    /// A description of what is wrong. Parts of it may come from a stranger.
    pub message: String,
    /// The next step.
    pub hint: String,
}

impl ImportError {
    /// A failure with its reason and the next step.
    pub fn new(code: ImportCode, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            hint: hint.into(),
        }
    }

    /// A source that has what no skill may have.
    pub fn refused(message: impl Into<String>) -> Self {
        let hint = "nothing was installed; tell the author of the source, or take another one";
        Self::new(ImportCode::SourceRefused, message, hint)
    }

    /// A source that is larger than an import may be.
    pub fn too_large(message: impl Into<String>) -> Self {
        let hint =
            "nothing was installed; name a smaller part of the source, such as a folder of it";
        Self::new(ImportCode::SourceTooLarge, message, hint)
    }

    /// A source that can't be reached.
    pub fn unreachable(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(ImportCode::SourceUnreachable, message, hint)
    }
}
