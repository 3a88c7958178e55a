//! One sentence for each reason, in our own words. Its stable code stands beside its definition.

use std::fmt;

use crate::reason::{CrashCause, Reason, YamlProblem};

/// Characters of the file's text that a sentence repeats at most.
const MAX_QUOTED: usize = 80;

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sentence = match self {
            Self::Yaml { problem } => return problem.fmt(formatter),
            Self::Crash { cause } => return cause.fmt(formatter),
            Self::UnexpectedFields { fields } => {
                let fields = excerpt(&fields.join(", "));
                return write!(formatter, "the format has no field `{fields}`");
            }
            Self::NameTooLong { length } => {
                return write!(formatter, "the name has {length} characters, more than 64");
            }
            Self::NameNotLowercase { name } => {
                let name = excerpt(name);
                return write!(formatter, "the name `{name}` is not in lower case");
            }
            Self::NameInvalidCharacters { name } => {
                let name = excerpt(name);
                return write!(
                    formatter,
                    "the name `{name}` has more than letters, digits and hyphens"
                );
            }
            Self::NameMismatch { name, folder } => {
                let (name, folder) = (excerpt(name), excerpt(folder));
                return write!(
                    formatter,
                    "the name `{name}` differs from the folder's, `{folder}`"
                );
            }
            Self::DescriptionTooLong { length } => {
                return write!(
                    formatter,
                    "the description has {length} characters, more than 1024"
                );
            }
            Self::CompatibilityTooLong { length } => {
                return write!(
                    formatter,
                    "the field `compatibility` has {length} characters, more than 500"
                );
            }
            Self::MissingFrontmatter => "the file does not start with `---`",
            Self::UnclosedFrontmatter => "no second `---` closes the frontmatter",
            Self::NotUtf8 => "the file is not UTF-8",
            Self::NotAMapping => "the frontmatter is not a mapping",
            Self::MissingName => "the field `name` is missing",
            Self::NameNotAString => "the name is not text",
            Self::NameEmpty => "the name is empty",
            Self::NameHyphenEdge => "the name starts or ends with a hyphen",
            Self::NameDoubleHyphen => "the name has two hyphens in a row",
            Self::MissingDescription => "the field `description` is missing",
            Self::DescriptionNotAString => "the description is not text",
            Self::DescriptionEmpty => "the description is empty",
            Self::CompatibilityNotAString => "the field `compatibility` is not text",
        };
        formatter.write_str(sentence)
    }
}

impl fmt::Display for YamlProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sentence = match self {
            Self::DuplicateKey { key } => {
                let key = excerpt(key);
                return write!(formatter, "the key `{key}` stands twice in one mapping");
            }
            Self::UnexpectedCharacter { character } => {
                return write!(formatter, "{character:?} can't stand here; quote the value");
            }
            Self::UnknownEscape { character } => {
                return write!(
                    formatter,
                    "a backslash can't stand before {character:?}; double it, or use single quotes"
                );
            }
            Self::FlowStyle => "brackets and braces can't start a value; write one item a line",
            Self::Anchor => "anchors are not allowed; quote a value that starts with `&`",
            Self::Alias => "aliases are not allowed; quote a value that starts with `*`",
            Self::Tag => "tags are not allowed; quote a value that starts with `!`",
            Self::Directive => "a line can't start with `%`",
            Self::MappingKey => "a mapping can't be a key",
            Self::UnevenIndentation => "the mappings inside one mapping are indented differently",
            Self::MergeValue => "the value of `<<` is not a mapping",
            Self::MissingColon => "no `: ` follows the key on its line",
            Self::ValueNotAllowedHere => {
                "a colon and a space can't stand here; quote a value that holds them"
            }
            Self::EntryNotAllowedHere => "a list can't start here",
            Self::KeyNotAllowedHere => "a key can't start here",
            Self::UnclosedQuote => "the quotation mark is never closed",
            Self::DocumentEndInQuotes => "a line with `...` can't stand inside quotation marks",
            Self::ShortEscape => "the numeric escape has too few hexadecimal digits",
            Self::BlockScalarHeader => "only a sign and a digit can follow `|` or `>`",
            Self::SecondDocument => "something follows where the document has ended",
            Self::Structure => "the indentation gives this line no place",
        };
        formatter.write_str(sentence)
    }
}

impl fmt::Display for CrashCause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sentence = match self {
            Self::ForbiddenCharacter { character } => {
                return write!(formatter, "YAML does not allow the character {character:?}");
            }
            Self::TooDeep => "mappings and lists are nested too deeply",
            Self::CommentOverlap => "two comments stand so close that the reference fails",
            Self::SequenceKey => "a list can't be a key",
            Self::RepeatedMerge => "the key `<<` stands twice in one mapping",
            Self::EscapeOutOfRange => "the numeric escape is beyond the last character",
        };
        formatter.write_str(sentence)
    }
}

/// Text of the file, cut to fit into a sentence, without line breaks.
fn excerpt(text: &str) -> String {
    let clean = |character: char| {
        if character.is_control() {
            ' '
        } else {
            character
        }
    };
    text.chars().take(MAX_QUOTED).map(clean).collect()
}
