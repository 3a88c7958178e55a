//! The closed list of what can be wrong with a skill.
//!
//! One row, one stable code, one severity. The words for people are in [`crate::text`].

use gongfu_skills_ref::Reason;

use super::name::NameFault;
use super::severity::Severity::{self, Error, Info, Warning};
use crate::import::Language;

/// Declares the findings, each with its parameters, its code and its severity.
macro_rules! findings {
    ($($finding:ident $({ $($name:ident: $type:ty),+ })? = $code:literal, $severity:ident;)+) => {
        /// Everything that `gongfu skill check` can find, with the parameters of its message.
        #[derive(Debug, Clone, PartialEq, Eq)]
        #[expect(
            missing_docs,
            reason = "each variant is described by its message in `text::english`"
        )]
        pub enum Finding {
            $($finding $({ $($name: $type),+ })?,)+
            /// The name breaks a rule of the format, which has a code for each.
            NameBreaksRule { name: String, fault: NameFault },
            /// The verdict of the reference validator, under `--strict`.
            Strict(Reason),
        }

        impl Finding {
            /// Every code with its severity, except those of the reference validator.
            pub const CODES: &'static [(&'static str, Severity)] = &[
                $(($code, $severity),)+
                ("name-too-long", Error),
                ("name-uppercase", Error),
                ("name-edge-hyphen", Error),
                ("name-double-hyphen", Error),
                ("name-character", Error),
            ];

            /// The code and the severity.
            fn class(&self) -> (&'static str, Severity) {
                match self {
                    $(Self::$finding { .. } => ($code, $severity),)+
                    Self::NameBreaksRule { fault, .. } => (name_fault_code(*fault), Error),
                    Self::Strict(reason) => (reason.code(), Error),
                }
            }
        }
    };
}

findings! {
    // The folder and its SKILL.md as files.
    PathMissing { path: String } = "path-missing", Error;
    PathNotAFolder { path: String } = "path-not-a-folder", Error;
    FolderUnreadable { reason: String } = "folder-unreadable", Error;
    SkillFileMissing = "skill-file-missing", Error;
    SkillPacked = "skill-packed", Error;
    SkillFileIsCode { marker: &'static str } = "skill-file-is-code", Error;
    SkillFileSpelling { name: String } = "skill-file-spelling", Warning;
    SkillFileEmpty = "skill-file-empty", Error;
    SkillFileUnreadable { reason: String } = "skill-file-unreadable", Error;
    SkillFileNotText = "skill-file-not-text", Error;
    SkillFileTooLarge { bytes: u64, limit: u64 } = "skill-file-too-large", Error;
    EntriesLeftOut { limit: usize } = "entries-left-out", Error;
    FoldersLeftOut { limit: usize, example: String } = "folders-left-out", Warning;
    DepthLeftOut { limit: usize, example: String } = "depth-left-out", Warning;

    // The text as text.
    ByteOrderMark = "byte-order-mark", Warning;
    EncodingUtf16 = "encoding-utf16", Error;
    EncodingInvalid { count: usize } = "encoding-invalid", Error;
    ControlCharacters { count: usize, first: char } = "control-characters", Error;
    HiddenCharacters { count: usize, first: char } = "hidden-characters", Warning;

    // The frontmatter as YAML.
    FrontmatterMissing = "frontmatter-missing", Error;
    FrontmatterNotFirst = "frontmatter-not-first", Error;
    FrontmatterUnopened = "frontmatter-unopened", Error;
    FrontmatterUnclosed = "frontmatter-unclosed", Error;
    FrontmatterTooLarge { bytes: usize, limit: usize } = "frontmatter-too-large", Error;
    YamlUnquoted { field: String } = "yaml-unquoted", Error;
    YamlInvalid { problem: String } = "yaml-invalid", Error;
    YamlNotAMapping = "yaml-not-a-mapping", Error;
    YamlTooDeep { limit: usize } = "yaml-too-deep", Error;
    YamlTooManyNodes { limit: usize } = "yaml-too-many-nodes", Error;
    YamlDuplicateKey { key: String } = "yaml-duplicate-key", Error;

    // The fields of the format.
    NameMissing { folder: String } = "name-missing", Error;
    NameNotText = "name-not-text", Error;
    NameUnusable { reason: String } = "name-unusable", Error;
    NameDiffersFromFolder { name: String, folder: String } = "name-differs-from-folder", Error;
    NameMixedScript { name: String, odd: char } = "name-mixed-script", Warning;
    NameNotInUri { name: String } = "name-not-in-uri", Warning;
    DescriptionMissing { stand_in: bool } = "description-missing", Error;
    DescriptionVague = "description-vague", Warning;
    DescriptionNotText = "description-not-text", Error;
    DescriptionTooLong { length: usize, limit: usize } = "description-too-long", Error;
    CompatibilityNotText = "compatibility-not-text", Error;
    CompatibilityTooLong { length: usize, limit: usize } = "compatibility-too-long", Error;
    MetadataNotAMapping = "metadata-not-a-mapping", Warning;
    MetadataNested { key: String } = "metadata-nested", Info;
    AllowedToolsShape = "allowed-tools-shape", Info;
    FieldUnknown { field: String, near: Option<&'static str> } = "field-unknown", Warning;

    // The body and the files.
    TemplateUntouched { text: String } = "template-untouched", Warning;
    BodyEmpty = "body-empty", Warning;
    BodyTooLong { lines: usize, tokens: usize } = "body-too-long", Warning;
    ReferenceDangling { target: String } = "reference-dangling", Warning;
    ReferenceOutside { target: String } = "reference-outside", Warning;
    FileUnreadable { reason: String } = "file-unreadable", Warning;
    FileSpecial { kind: &'static str } = "file-special", Warning;
    FileNameUnusable { name: String } = "file-name-unusable", Warning;
    LinkOutside = "link-outside", Warning;
    SkillLinkOutside = "skill-link-outside", Error;
    SkillsLinkOutside = "skills-link-outside", Error;
    LinkDangling = "link-dangling", Warning;
    LinkLoop = "link-loop", Warning;
    FilesTooMany { files: usize, limit: usize } = "files-too-many", Warning;
    SkillTooLarge { bytes: u64, limit: u64 } = "skill-too-large", Warning;
    ScriptWithoutInterpreter = "script-without-interpreter", Warning;
    ScriptShebangCarriageReturn = "script-shebang-carriage-return", Warning;
    ScriptDependenciesUndeclared { language: Language, packages: Vec<String>, unknown: Vec<String> } = "script-dependencies-undeclared", Warning;

    // Several skills together.
    NameTaken { name: String, winner: String } = "name-taken", Warning;
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
