//! Properties of every input, whatever made it: a file for each kind of input.
//!
//! Used by `lab prove-parse` and, from its own workspace, by the fuzz targets; so nothing
//! here names the rest of this crate. An input is bytes; a check answers what doesn't hold.

mod arguments;
mod command;
mod document;
mod fixture;
mod name;
mod path;
mod section;
mod strict;
mod yaml;

pub(crate) use fixture::{BASE, Fixture};
use fixture::{CANARY_NAME, holds_canary, is_told};

/// A kind of input: what reads it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A SKILL.md: loaded, checked and fixed.
    #[default]
    Document,
    /// A SKILL.md: the strict verdict alone.
    Strict,
    /// YAML alone.
    Yaml,
    /// A name or full name of a skill.
    Name,
    /// A path in a skill, read from disk.
    Path,
    /// The body of a document.
    Section,
    /// A call of a tool, as JSON.
    Arguments,
    /// A line for a shell, judged.
    Command,
}

/// A fault that is put in on purpose, to see that it is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plant {
    /// Some inputs make the loader panic.
    Panic,
    /// Paths are read without the handle that nothing leads out of.
    Leak,
}

/// The verdict on a property; an error says what is wrong.
pub(crate) type Verdict = Result<(), String>;

impl Kind {
    /// Every kind.
    pub(crate) const ALL: [Self; 8] = [
        Self::Document,
        Self::Strict,
        Self::Yaml,
        Self::Name,
        Self::Path,
        Self::Section,
        Self::Arguments,
        Self::Command,
    ];

    /// Its name, one word.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Document => "document",
            Self::Strict => "strict",
            Self::Yaml => "yaml",
            Self::Name => "name",
            Self::Path => "path",
            Self::Section => "section",
            Self::Arguments => "arguments",
            Self::Command => "command",
        }
    }

    /// Checks everything that must hold for an input of this kind.
    pub(crate) fn check(self, fixture: &Fixture, input: &[u8]) -> Verdict {
        match self {
            Self::Document => {
                let is_planted = fixture.plant == Some(Plant::Panic) && input.len() % 97 == 96;
                assert!(!is_planted, "a panic that was planted");
                document::check(input)
            }
            Self::Strict => strict::check(input),
            Self::Yaml => yaml::check(&String::from_utf8_lossy(input)),
            Self::Name => name::check(fixture, &String::from_utf8_lossy(input)),
            Self::Path => path::check(fixture, &String::from_utf8_lossy(input)),
            Self::Section => section::check(&String::from_utf8_lossy(input)),
            Self::Arguments => arguments::check(fixture, input),
            Self::Command => command::check(&String::from_utf8_lossy(input)),
        }
    }
}

/// Fails with a text unless something holds.
fn ensure(holds: bool, what: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(what()) }
}
