//! The effect of a catalog entry, and its origin.
//!
//! Knows nothing of how an entry runs.

use serde::{Deserialize, Serialize};

/// The effect of a tool on the world; maps to MCP annotations, to token scopes and to a least
/// [`Safety`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Looks, changes nothing.
    Read,
    /// Changes what gongfu keeps.
    Write,
    /// Runs what somebody wrote.
    Execute,
}

/// The harm that a call can do (seed 004): the higher, the sooner a person is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Safety {
    /// Can harm nothing.
    Safe = 0,
    /// Reads what the owner keeps.
    Low = 1,
    /// Reads files or the web, writes in a place that its owner set aside for that, or runs something
    /// in a sandbox, from which it reaches nothing else.
    Medium = 2,
    /// Executes without a sandbox, or writes where its owner didn't say so.
    High = 3,
    /// Deletes.
    Critical = 4,
}

impl Safety {
    /// The level of a name, in letters of either case.
    pub fn from_name(name: &str) -> Option<Self> {
        let all = [
            Self::Safe,
            Self::Low,
            Self::Medium,
            Self::High,
            Self::Critical,
        ];
        let mut all = all.into_iter();
        all.find(|level| level.as_str().eq_ignore_ascii_case(name))
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Safe => "SAFE",
            Self::Low => "LOW",
            Self::Medium => "MEDIUM",
            Self::High => "HIGH",
            Self::Critical => "CRITICAL",
        }
    }
}

/// The origin of a catalog entry or a skill; its identity is (origin, uri).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Part of gongfu.
    Native,
    /// A skill of the library.
    Skill,
    /// Another MCP server, by the name of its connection.
    Server(String),
}
