//! One sentence for each reason, in our own words. Which code a reason has stands beside it.

use std::fmt;

use super::reason::{CrashCause, Reason, YamlProblem};

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MissingFrontmatter => formatter.write_str("the file does not begin with ---"),
            Self::UnclosedFrontmatter => {
                formatter.write_str("the frontmatter is not closed by a second ---")
            }
            Self::NotUtf8 => formatter.write_str("the file is not UTF-8"),
            Self::Yaml { problem } => problem.fmt(formatter),
            Self::Crash { cause } => cause.fmt(formatter),
            Self::NotAMapping => formatter.write_str("the frontmatter is not a mapping"),
            Self::UnexpectedFields { fields } => write!(
                formatter,
                "the specification has no field {}",
                fields.join(", ")
            ),
            Self::MissingName => formatter.write_str("the field name is missing"),
            Self::NameNotAString => formatter.write_str("the name is not a string"),
            Self::NameEmpty => formatter.write_str("the name is empty"),
            Self::NameTooLong { length } => {
                write!(formatter, "the name has {length} characters, more than 64")
            }
            Self::NameNotLowercase { name } => {
                write!(formatter, "the name {name:?} is not in lower case")
            }
            Self::NameHyphenEdge => formatter.write_str("the name begins or ends with a hyphen"),
            Self::NameDoubleHyphen => formatter.write_str("the name has two hyphens in a row"),
            Self::NameInvalidCharacters { name } => write!(
                formatter,
                "the name {name:?} has characters other than letters, digits and hyphens"
            ),
            Self::NameMismatch { name, folder } => write!(
                formatter,
                "the name {name:?} is not the folder's name {folder:?}"
            ),
            Self::MissingDescription => formatter.write_str("the field description is missing"),
            Self::DescriptionNotAString => formatter.write_str("the description is not a string"),
            Self::DescriptionEmpty => formatter.write_str("the description is empty"),
            Self::DescriptionTooLong { length } => write!(
                formatter,
                "the description has {length} characters, more than 1024"
            ),
            Self::CompatibilityNotAString => {
                formatter.write_str("the field compatibility is not a string")
            }
            Self::CompatibilityTooLong { length } => write!(
                formatter,
                "the field compatibility has {length} characters, more than 500"
            ),
        }
    }
}

impl fmt::Display for YamlProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sentence = match self {
            Self::DuplicateKey { key } => {
                return write!(formatter, "the key {key:?} stands twice in one mapping");
            }
            Self::UnexpectedCharacter { character } => {
                return write!(formatter, "the character {character:?} cannot stand here");
            }
            Self::UnknownEscape { character } => {
                return write!(formatter, "there is no escape \\{character}");
            }
            Self::FlowStyle => "collections in brackets or braces are not allowed",
            Self::Anchor => "anchors are not allowed; quote a value that begins with &",
            Self::Alias => "aliases are not allowed; quote a value that begins with *",
            Self::Tag => "tags are not allowed; quote a value that begins with !",
            Self::Directive => "directives are not allowed",
            Self::MappingKey => "a mapping cannot be a key",
            Self::UnevenIndentation => "the mappings inside one mapping are indented differently",
            Self::MergeValue => "the value of << is not a mapping",
            Self::MissingColon => "there is no colon after the key",
            Self::ValueNotAllowedHere => {
                "a colon cannot stand here; quote a value that has a colon and a space in it"
            }
            Self::EntryNotAllowedHere => "a list cannot begin here",
            Self::KeyNotAllowedHere => "a key cannot stand here",
            Self::UnclosedQuote => "the quotation mark is never closed",
            Self::DocumentEndInQuotes => "a line with ... cannot stand inside quotation marks",
            Self::ShortEscape => "the numeric escape has too few hexadecimal digits",
            Self::BlockScalarHeader => "only + or - and a digit can follow | or >",
            Self::SecondDocument => "nothing can follow a line with ...",
            Self::Structure => "the indentation gives this line no place",
        };
        formatter.write_str(sentence)
    }
}

impl fmt::Display for CrashCause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sentence = match self {
            Self::ForbiddenCharacter { character } => {
                return write!(formatter, "the character {character:?} is not allowed");
            }
            Self::TooDeep => "mappings and lists are nested too deeply",
            Self::CommentOverlap => "comments stand too close together around a value",
            Self::SequenceKey => "a list cannot be a key",
            Self::RepeatedMerge => "the key << stands twice in one mapping",
            Self::EscapeOutOfRange => "the numeric escape is beyond the last code point",
        };
        formatter.write_str(sentence)
    }
}
