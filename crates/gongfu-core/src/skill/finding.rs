//! The closed list of what can be wrong with a skill.
//!
//! One variant, one stable code, one severity. The words for people are in [`crate::text`].

use gongfu_skills_ref::Reason;

use super::name::NameFault;
use super::severity::Severity;

/// Everything that `gongfu skill check` can find, with the parameters of its message.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "each variant is described by its message in `text::english`"
)]
pub enum Finding {
    // The folder and its SKILL.md as files.
    PathMissing {
        path: String,
    },
    PathNotAFolder {
        path: String,
    },
    FolderUnreadable {
        reason: String,
    },
    SkillFileMissing,
    SkillFileIsCode {
        marker: &'static str,
    },
    SkillFileSpelling {
        name: String,
    },
    SkillFileEmpty,
    SkillFileUnreadable {
        reason: String,
    },
    SkillFileNotText,
    SkillFileTooLarge {
        bytes: u64,
        limit: u64,
    },
    EntriesLeftOut {
        limit: usize,
    },
    FoldersLeftOut {
        limit: usize,
        example: String,
    },
    DepthLeftOut {
        limit: usize,
        example: String,
    },

    // The text as text.
    ByteOrderMark,
    EncodingUtf16,
    EncodingInvalid {
        count: usize,
    },
    ControlCharacters {
        count: usize,
        first: char,
    },
    HiddenCharacters {
        count: usize,
        first: char,
    },

    // The frontmatter as YAML.
    FrontmatterMissing,
    FrontmatterNotFirst,
    FrontmatterUnclosed,
    FrontmatterTooLarge {
        bytes: usize,
        limit: usize,
    },
    YamlUnquoted {
        field: String,
    },
    YamlInvalid {
        problem: String,
    },
    YamlNotAMapping,
    YamlTooDeep {
        limit: usize,
    },
    YamlTooManyNodes {
        limit: usize,
    },
    YamlDuplicateKey {
        key: String,
    },

    // The fields of the format.
    NameMissing {
        folder: String,
    },
    NameNotText,
    NameUnusable {
        reason: String,
    },
    NameBreaksRule {
        name: String,
        fault: NameFault,
    },
    NameDiffersFromFolder {
        name: String,
        folder: String,
    },
    NameNotInUri {
        name: String,
    },
    DescriptionMissing {
        stand_in: bool,
    },
    DescriptionNotText,
    DescriptionTooLong {
        length: usize,
        limit: usize,
    },
    CompatibilityNotText,
    CompatibilityTooLong {
        length: usize,
        limit: usize,
    },
    MetadataNotAMapping,
    MetadataNested {
        key: String,
    },
    AllowedToolsShape,
    FieldUnknown {
        field: String,
        near: Option<&'static str>,
    },

    // The body and the files.
    BodyEmpty,
    BodyTooLong {
        lines: usize,
        tokens: usize,
    },
    ReferenceDangling {
        target: String,
    },
    ReferenceOutside {
        target: String,
    },
    FileUnreadable {
        reason: String,
    },
    FileSpecial {
        kind: &'static str,
    },
    FileNameUnusable {
        name: String,
    },
    LinkOutside,
    SkillLinkOutside,
    LinkDangling,
    LinkLoop,
    FilesTooMany {
        files: usize,
        limit: usize,
    },
    SkillTooLarge {
        bytes: u64,
        limit: u64,
    },
    ScriptWithoutInterpreter,
    ScriptShebangCarriageReturn,
    ScriptDependenciesUndeclared {
        packages: Vec<String>,
        manifest: &'static str,
    },

    // Several skills together.
    NameTaken {
        name: String,
        winner: String,
    },

    // The verdict of the reference validator, under `--strict`.
    Strict(Reason),
}

impl Finding {
    /// The stable code: lower-case words with hyphens.
    pub fn code(&self) -> &'static str {
        self.class().0
    }

    /// Returns its severity.
    pub fn severity(&self) -> Severity {
        self.class().1
    }

    fn class(&self) -> (&'static str, Severity) {
        use Severity::{Error, Info, Warning};
        match self {
            Self::PathMissing { .. } => ("path-missing", Error),
            Self::PathNotAFolder { .. } => ("path-not-a-folder", Error),
            Self::FolderUnreadable { .. } => ("folder-unreadable", Error),
            Self::SkillFileMissing => ("skill-file-missing", Error),
            Self::SkillFileIsCode { .. } => ("skill-file-is-code", Error),
            Self::SkillFileSpelling { .. } => ("skill-file-spelling", Warning),
            Self::SkillFileEmpty => ("skill-file-empty", Error),
            Self::SkillFileUnreadable { .. } => ("skill-file-unreadable", Error),
            Self::SkillFileNotText => ("skill-file-not-text", Error),
            Self::SkillFileTooLarge { .. } => ("skill-file-too-large", Error),
            Self::EntriesLeftOut { .. } => ("entries-left-out", Error),
            Self::FoldersLeftOut { .. } => ("folders-left-out", Warning),
            Self::DepthLeftOut { .. } => ("depth-left-out", Warning),
            Self::ByteOrderMark => ("byte-order-mark", Warning),
            Self::EncodingUtf16 => ("encoding-utf16", Error),
            Self::EncodingInvalid { .. } => ("encoding-invalid", Error),
            Self::ControlCharacters { .. } => ("control-characters", Error),
            Self::HiddenCharacters { .. } => ("hidden-characters", Warning),
            Self::FrontmatterMissing => ("frontmatter-missing", Error),
            Self::FrontmatterNotFirst => ("frontmatter-not-first", Error),
            Self::FrontmatterUnclosed => ("frontmatter-unclosed", Error),
            Self::FrontmatterTooLarge { .. } => ("frontmatter-too-large", Error),
            Self::YamlUnquoted { .. } => ("yaml-unquoted", Error),
            Self::YamlInvalid { .. } => ("yaml-invalid", Error),
            Self::YamlNotAMapping => ("yaml-not-a-mapping", Error),
            Self::YamlTooDeep { .. } => ("yaml-too-deep", Error),
            Self::YamlTooManyNodes { .. } => ("yaml-too-many-nodes", Error),
            Self::YamlDuplicateKey { .. } => ("yaml-duplicate-key", Error),
            Self::NameMissing { .. } => ("name-missing", Error),
            Self::NameNotText => ("name-not-text", Error),
            Self::NameUnusable { .. } => ("name-unusable", Error),
            Self::NameBreaksRule { fault, .. } => (name_fault_code(*fault), Error),
            Self::NameDiffersFromFolder { .. } => ("name-differs-from-folder", Error),
            Self::NameNotInUri { .. } => ("name-not-in-uri", Warning),
            Self::DescriptionMissing { .. } => ("description-missing", Error),
            Self::DescriptionNotText => ("description-not-text", Error),
            Self::DescriptionTooLong { .. } => ("description-too-long", Error),
            Self::CompatibilityNotText => ("compatibility-not-text", Error),
            Self::CompatibilityTooLong { .. } => ("compatibility-too-long", Error),
            Self::MetadataNotAMapping => ("metadata-not-a-mapping", Warning),
            Self::MetadataNested { .. } => ("metadata-nested", Info),
            Self::AllowedToolsShape => ("allowed-tools-shape", Info),
            Self::FieldUnknown { .. } => ("field-unknown", Warning),
            Self::BodyEmpty => ("body-empty", Warning),
            Self::BodyTooLong { .. } => ("body-too-long", Warning),
            Self::ReferenceDangling { .. } => ("reference-dangling", Warning),
            Self::ReferenceOutside { .. } => ("reference-outside", Warning),
            Self::FileUnreadable { .. } => ("file-unreadable", Warning),
            Self::FileSpecial { .. } => ("file-special", Warning),
            Self::FileNameUnusable { .. } => ("file-name-unusable", Warning),
            Self::LinkOutside => ("link-outside", Warning),
            Self::SkillLinkOutside => ("skill-link-outside", Error),
            Self::LinkDangling => ("link-dangling", Warning),
            Self::LinkLoop => ("link-loop", Warning),
            Self::FilesTooMany { .. } => ("files-too-many", Warning),
            Self::SkillTooLarge { .. } => ("skill-too-large", Warning),
            Self::ScriptWithoutInterpreter => ("script-without-interpreter", Warning),
            Self::ScriptShebangCarriageReturn => ("script-shebang-carriage-return", Warning),
            Self::ScriptDependenciesUndeclared { .. } => {
                ("script-dependencies-undeclared", Warning)
            }
            Self::NameTaken { .. } => ("name-taken", Warning),
            Self::Strict(reason) => (reason.code(), Error),
        }
    }
}

fn name_fault_code(fault: NameFault) -> &'static str {
    match fault {
        NameFault::TooLong(_) => "name-too-long",
        NameFault::Uppercase => "name-uppercase",
        NameFault::EdgeHyphen => "name-edge-hyphen",
        NameFault::DoubleHyphen => "name-double-hyphen",
        NameFault::Character(_) => "name-character",
    }
}
