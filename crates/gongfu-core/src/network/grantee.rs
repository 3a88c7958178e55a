//! The skill that hosts are granted to, as refusals and hints name it.

use std::fmt::Display;

/// A skill that a person can grant hosts to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grantee {
    /// The name of the skill.
    pub skill: String,
    /// True if it is a skill of a user or a team, whose grants are made over REST.
    pub has_account: bool,
}

impl Grantee {
    /// Returns the end of an advice, which says with what a person grants a host.
    pub fn with(&self, host: impl Display) -> String {
        if self.has_account {
            return "with `POST /api/v1/grants`".to_owned();
        }
        format!("with `gongfu grant add {} {host}`", self.skill)
    }
}
