//! The reasons for which the reference validator refuses a skill, as closed enums.
//!
//! Every reason has a stable code. Nothing here knows how a reason is found, and nothing here may
//! depend on the file system.

/// One reason for which the reference validator refuses a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Why the skill is refused.
    pub reason: Reason,
    /// Byte offset in the file's bytes where it can be seen, when there is such a place.
    pub offset: Option<usize>,
}

/// Why the reference validator refuses a skill: one variant for each of its messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// The file does not begin with `---`.
    MissingFrontmatter,
    /// There is no second `---` anywhere in the file.
    UnclosedFrontmatter,
    /// The file is not UTF-8; the reference stops with an uncaught error.
    NotUtf8,
    /// The frontmatter is not YAML of the kind that the reference accepts.
    Yaml {
        /// The fault in the YAML.
        problem: YamlProblem,
    },
    /// The reference itself fails on this frontmatter, which counts as a refusal.
    Crash {
        /// The construct on which the reference fails.
        cause: CrashCause,
    },
    /// The frontmatter is empty, a scalar or a list.
    NotAMapping,
    /// The frontmatter has top-level fields that the specification does not name.
    UnexpectedFields {
        /// The fields, sorted.
        fields: Vec<String>,
    },
    /// There is no field `name`.
    MissingName,
    /// The field `name` is a mapping, a list, or one of the special scalars `=` and `<<`.
    NameNotAString,
    /// The field `name` is empty or blank.
    NameEmpty,
    /// The name has too many characters.
    NameTooLong {
        /// The length of the normalised name in characters.
        length: usize,
    },
    /// The name has characters with a lower-case form.
    NameNotLowercase {
        /// The normalised name.
        name: String,
    },
    /// The name begins or ends with a hyphen.
    NameHyphenEdge,
    /// The name has two hyphens in a row.
    NameDoubleHyphen,
    /// The name has characters other than letters, digits and hyphens.
    NameInvalidCharacters {
        /// The normalised name.
        name: String,
    },
    /// The name is not the name of the folder.
    NameMismatch {
        /// The normalised name.
        name: String,
        /// The name of the folder, as it is.
        folder: String,
    },
    /// There is no field `description`.
    MissingDescription,
    /// The field `description` is a mapping, a list, or one of the special scalars `=` and `<<`.
    DescriptionNotAString,
    /// The field `description` is empty or blank.
    DescriptionEmpty,
    /// The description has too many characters.
    DescriptionTooLong {
        /// Its length in characters.
        length: usize,
    },
    /// The field `compatibility` is a mapping, a list, or one of the special scalars `=` and `<<`.
    CompatibilityNotAString,
    /// The field `compatibility` has too many characters.
    CompatibilityTooLong {
        /// Its length in characters.
        length: usize,
    },
}

/// A fault that makes a frontmatter invalid YAML for the reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum YamlProblem {
    /// A collection in flow style, `[…]` or `{…}`.
    FlowStyle,
    /// An anchor, `&name`.
    Anchor,
    /// An alias, `*name`; without anchors it can refer to nothing.
    Alias,
    /// A tag, `!name`.
    Tag,
    /// A directive, `%NAME`; it needs a `---` that the frontmatter cannot hold.
    Directive,
    /// The same key twice in one mapping.
    DuplicateKey {
        /// The key.
        key: String,
    },
    /// A mapping as the key of a mapping.
    MappingKey,
    /// Two mappings inside one mapping are indented differently.
    UnevenIndentation,
    /// A merge key, `<<`, whose value is neither a mapping nor a list of mappings.
    MergeValue,
    /// A character that cannot begin a value here: a tab, `@`, a grave accent, a stray bracket …
    UnexpectedCharacter {
        /// The character.
        character: char,
    },
    /// A line where a key is needed has no `:` after its first value.
    MissingColon,
    /// A `:` followed by a space inside an unquoted value, or a value at a place without a key.
    ValueNotAllowedHere,
    /// A `- ` at a place where no list can begin.
    EntryNotAllowedHere,
    /// A `? ` at a place where no mapping can begin.
    KeyNotAllowedHere,
    /// A quoted value is never closed.
    UnclosedQuote,
    /// A line with `...` inside a quoted value.
    DocumentEndInQuotes,
    /// An unknown escape in a double-quoted value.
    UnknownEscape {
        /// The character after the backslash.
        character: char,
    },
    /// A numeric escape in a double-quoted value with too few hexadecimal digits.
    ShortEscape,
    /// Something unknown after `|` or `>`.
    BlockScalarHeader,
    /// The frontmatter goes on after a line with `...`.
    SecondDocument,
    /// Values, keys or lists stand where the indentation gives them no place.
    Structure,
}

/// An input on which the reference fails with an error that it does not catch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CrashCause {
    /// A control character or another character that YAML does not allow.
    ForbiddenCharacter {
        /// The character.
        character: char,
    },
    /// Mappings and lists are nested too deeply.
    TooDeep,
    /// Comments stand so close together that the reference cannot tell what they belong to.
    CommentOverlap,
    /// A list as the key of a mapping.
    SequenceKey,
    /// The merge key, `<<`, twice in one mapping.
    RepeatedMerge,
    /// A numeric escape for a number that is no code point.
    EscapeOutOfRange,
}

impl Reason {
    /// The stable code under which this reason is reported.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::MissingFrontmatter => "strict-missing-frontmatter",
            Self::UnclosedFrontmatter => "strict-unclosed-frontmatter",
            Self::NotUtf8 => "strict-not-utf8",
            Self::Yaml { problem } => problem.code(),
            Self::Crash { cause } => cause.code(),
            Self::NotAMapping => "strict-not-a-mapping",
            Self::UnexpectedFields { .. } => "strict-unexpected-fields",
            Self::MissingName => "strict-missing-name",
            Self::NameNotAString => "strict-name-not-a-string",
            Self::NameEmpty => "strict-name-empty",
            Self::NameTooLong { .. } => "strict-name-too-long",
            Self::NameNotLowercase { .. } => "strict-name-not-lowercase",
            Self::NameHyphenEdge => "strict-name-hyphen-edge",
            Self::NameDoubleHyphen => "strict-name-double-hyphen",
            Self::NameInvalidCharacters { .. } => "strict-name-invalid-characters",
            Self::NameMismatch { .. } => "strict-name-mismatch",
            Self::MissingDescription => "strict-missing-description",
            Self::DescriptionNotAString => "strict-description-not-a-string",
            Self::DescriptionEmpty => "strict-description-empty",
            Self::DescriptionTooLong { .. } => "strict-description-too-long",
            Self::CompatibilityNotAString => "strict-compatibility-not-a-string",
            Self::CompatibilityTooLong { .. } => "strict-compatibility-too-long",
        }
    }
}

impl YamlProblem {
    /// The stable code under which this problem is reported.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::FlowStyle => "strict-yaml-flow-style",
            Self::Anchor => "strict-yaml-anchor",
            Self::Alias => "strict-yaml-alias",
            Self::Tag => "strict-yaml-tag",
            Self::Directive => "strict-yaml-directive",
            Self::DuplicateKey { .. } => "strict-yaml-duplicate-key",
            Self::MappingKey => "strict-yaml-mapping-key",
            Self::UnevenIndentation => "strict-yaml-uneven-indentation",
            Self::MergeValue => "strict-yaml-merge-value",
            Self::UnexpectedCharacter { .. } => "strict-yaml-unexpected-character",
            Self::MissingColon => "strict-yaml-missing-colon",
            Self::ValueNotAllowedHere => "strict-yaml-value-not-allowed",
            Self::EntryNotAllowedHere => "strict-yaml-entry-not-allowed",
            Self::KeyNotAllowedHere => "strict-yaml-key-not-allowed",
            Self::UnclosedQuote => "strict-yaml-unclosed-quote",
            Self::DocumentEndInQuotes => "strict-yaml-document-end-in-quotes",
            Self::UnknownEscape { .. } => "strict-yaml-unknown-escape",
            Self::ShortEscape => "strict-yaml-short-escape",
            Self::BlockScalarHeader => "strict-yaml-block-scalar-header",
            Self::SecondDocument => "strict-yaml-second-document",
            Self::Structure => "strict-yaml-structure",
        }
    }
}

impl CrashCause {
    /// The stable code under which this cause is reported.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::ForbiddenCharacter { .. } => "strict-crash-forbidden-character",
            Self::TooDeep => "strict-crash-too-deep",
            Self::CommentOverlap => "strict-crash-comment-overlap",
            Self::SequenceKey => "strict-crash-sequence-key",
            Self::RepeatedMerge => "strict-crash-repeated-merge",
            Self::EscapeOutOfRange => "strict-crash-escape-out-of-range",
        }
    }
}
