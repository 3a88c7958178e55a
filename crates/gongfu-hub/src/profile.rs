//! Profiles: which tools a connection sees.

use std::str::FromStr;

use gongfu_core::near;

use crate::dialect::{self, Dialect};

/// A set of tools that a client asks for by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Profile {
    /// gongfu's own tools.
    Standard,
    /// The tools of a dialect, by its name.
    Dialect(&'static str),
    /// Everything, for tests.
    All,
}

impl Profile {
    /// Every profile.
    pub fn every() -> Vec<Self> {
        let dialects = dialect::all().iter();
        let mut every = vec![Self::Standard];
        every.extend(dialects.map(|dialect| Self::Dialect(dialect.name)));
        every.push(Self::All);
        every
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Dialect(name) => name,
            Self::All => "all",
        }
    }

    /// Returns a sentence about its tools.
    pub fn about(self) -> &'static str {
        match self {
            Self::Standard => "gongfu's own tools",
            Self::Dialect(name) => {
                let mut dialects = dialect::all().iter();
                let found = dialects.find(|dialect| dialect.name == name);
                found.map_or("", |dialect| dialect.about)
            }
            Self::All => "the tools of all profiles, for tests",
        }
    }

    /// The tool by which a client of this profile sees what skills there are, if it has one, and the
    /// one by which it loads the instructions of a skill: what words to a client may name.
    pub fn reading(self) -> (Option<&'static str>, &'static str) {
        let mut dialects = dialect::all().iter();
        match dialects.find(|dialect| dialect.name == self.as_str()) {
            Some(dialect) => (dialect.lists, dialect.loads),
            None => (Some("skill_list"), "skill_load"),
        }
    }

    /// Returns true if it shows the tools of a dialect.
    pub(crate) fn shows(self, dialect: &Dialect) -> bool {
        match self {
            Self::Standard => false,
            Self::Dialect(name) => name == dialect.name,
            Self::All => true,
        }
    }

    /// The names of all profiles, for a hint.
    pub fn names() -> String {
        let names: Vec<&str> = Self::every().into_iter().map(Self::as_str).collect();
        names.join(", ")
    }
}

/// Returns true if these profiles show the tools of other servers.
pub(crate) fn shows_foreign(profiles: &[Profile]) -> bool {
    let shows = |profile: &Profile| matches!(profile, Profile::Standard | Profile::All);
    profiles.iter().any(shows)
}

/// The dialects that these profiles show.
pub(crate) fn dialects(profiles: &[Profile]) -> impl Iterator<Item = &'static Dialect> {
    let dialects = dialect::all().iter().copied();
    dialects.filter(move |dialect| profiles.iter().any(|profile| profile.shows(dialect)))
}

/// There is no profile of that name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownProfile(String);

impl std::fmt::Display for UnknownProfile {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "there is no profile `{}`; ", self.0)?;
        let names = Profile::every().into_iter().map(Profile::as_str);
        if let Some(meant) = near::meant(&self.0, names) {
            write!(formatter, "did you mean `{meant}`? ")?;
        }
        write!(formatter, "the profiles are: {}", Profile::names())
    }
}

impl std::error::Error for UnknownProfile {}

impl FromStr for Profile {
    type Err = UnknownProfile;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::every()
            .into_iter()
            .find(|profile| profile.as_str() == name)
            .ok_or_else(|| UnknownProfile(name.to_owned()))
    }
}
