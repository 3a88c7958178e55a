//! Teams: owners that several users share.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::UserId;
use crate::skill::Digest;

/// The characters of a team's name.
const NAME_LENGTH: std::ops::RangeInclusive<usize> = 2..=40;
/// The start of every id of a team, which no id of a user has.
const PREFIX: &str = "team-";

/// The identity of a team: `team-` and 1 to 59 ASCII letters or digits. It never changes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TeamId(String);

/// A text that can't be a [`TeamId`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a team id is `team-` and 1 to 59 ascii letters or digits")]
pub struct TeamIdError;

impl TeamId {
    /// Checks an id.
    ///
    /// # Errors
    /// It can't be one.
    pub fn new(id: &str) -> Result<Self, TeamIdError> {
        let digits = id.strip_prefix(PREFIX).unwrap_or_default();
        let fits = (1..=59).contains(&digits.len());
        let is_plain = digits.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let id = (fits && is_plain).then(|| Self(id.to_owned()));
        id.ok_or(TeamIdError)
    }

    /// The id with these digits.
    ///
    /// # Errors
    /// They can't be part of one.
    pub fn of_digits(digits: &str) -> Result<Self, TeamIdError> {
        Self::new(&format!("{PREFIX}{digits}"))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for TeamId {
    type Error = TeamIdError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::new(&text)
    }
}

impl From<TeamId> for String {
    fn from(id: TeamId) -> Self {
        id.0
    }
}

/// The name of a team: 2 to 40 lower-case letters, digits and single hyphens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TeamName(String);

/// A text that can't be a [`TeamName`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a team name is 2 to 40 lower-case letters, digits and single hyphens, and begins with a letter"
)]
pub struct TeamNameError;

impl TeamName {
    /// Checks a name. Part of the names of the team's skills, so it is as plain as those.
    ///
    /// # Errors
    /// It can't be one.
    pub fn new(text: &str) -> Result<Self, TeamNameError> {
        let is_plain = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
        let fits = NAME_LENGTH.contains(&text.len())
            && text.bytes().all(is_plain)
            && text.starts_with(|c: char| c.is_ascii_lowercase())
            && !text.ends_with('-')
            && !text.contains("--");
        fits.then(|| Self(text.to_owned())).ok_or(TeamNameError)
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The key of the team with this name.
    pub fn identity(&self) -> Digest {
        Digest::of(self.0.as_bytes())
    }
}

impl fmt::Display for TeamName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl TryFrom<String> for TeamName {
    type Error = TeamNameError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::new(&text)
    }
}

impl From<TeamName> for String {
    fn from(name: TeamName) -> Self {
        name.0
    }
}

/// The role of a user in a team.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TeamRole {
    /// Uses the team's skills.
    Member,
    /// Changes them, and manages the team.
    Maintainer,
}

impl TeamRole {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Member => "member",
            Self::Maintainer => "maintainer",
        }
    }
}

/// A user of a team.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Membership {
    /// Their role.
    pub role: TeamRole,
    /// The time since which they have been a member, in milliseconds since 1970.
    pub since: i64,
    /// True if they are a member because a group of the company's provider of identities says so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_synced: bool,
}

/// An invitation to a team that nobody has used yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Invitation {
    /// The role that it gives.
    pub role: TeamRole,
    /// The user who made it; missing for the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<UserId>,
    /// The time from which it is refused, in milliseconds since 1970.
    pub expires: i64,
}

/// A team of a server with accounts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Team {
    /// The id, which never changes.
    pub id: TeamId,
    /// The name.
    pub name: TeamName,
    /// The users.
    pub members: BTreeMap<UserId, Membership>,
    /// The invitations, by the digests of their secrets.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub invitations: BTreeMap<String, Invitation>,
    /// The time at which it was created, in milliseconds since 1970.
    pub created: i64,
    /// The time of the last change, in milliseconds since 1970.
    pub updated: i64,
}

impl Team {
    /// The role of a user; `None` for somebody else.
    pub fn role_of(&self, user: &UserId) -> Option<TeamRole> {
        self.members.get(user).map(|membership| membership.role)
    }

    /// Withdraws the invitations of those who manage the team no more, so that none of them comes back by one.
    pub(crate) fn withdraw_stale(&mut self) {
        let members = &self.members;
        let manages = |user: &UserId| {
            let membership = members.get(user);
            membership.is_some_and(|membership| membership.role == TeamRole::Maintainer)
        };
        self.invitations
            .retain(|_, invitation| invitation.by.as_ref().is_none_or(manages));
    }

    /// Returns true if somebody manages the team.
    pub fn has_maintainer(&self) -> bool {
        let mut members = self.members.values();
        members.any(|membership| membership.role == TeamRole::Maintainer)
    }
}

#[cfg(test)]
mod tests {
    use super::{TeamId, TeamName};

    #[test]
    fn ids_and_names_are_plain() {
        for bad in [
            "",
            "team-",
            "team-..",
            "team-a/b",
            "user-1",
            "team-a-b",
            &format!("team-{}", "x".repeat(60)),
        ] {
            assert!(TeamId::new(bad).is_err(), "{bad:?}");
        }
        assert!(TeamId::of_digits("0a").is_ok());
        for bad in [
            "",
            "a",
            "Design",
            "a--b",
            "-a",
            "a-",
            "9a",
            "a b",
            "ä-team",
            &"x".repeat(41),
        ] {
            assert!(TeamName::new(bad).is_err(), "{bad:?}");
        }
        assert!(TeamName::new("design-2").is_ok());
    }
}
