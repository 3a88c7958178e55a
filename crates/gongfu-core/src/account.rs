//! Owners, actors and their roles.
//!
//! Knows nothing of passwords, tokens or requests: the surface that authenticates a call builds the
//! [`Actor`], everything else only reads it.

pub mod name;
pub mod password;
pub mod scope;
pub mod team;
pub mod user;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::set::CapabilitySet;

pub use name::{Email, Username};
pub use password::Password;
pub use scope::{Scope, Scopes};
pub use team::{Invitation, Membership, Team, TeamId, TeamName, TeamRole};
pub use user::{User, UserQuota};

/// The owner of a space: nothing of one owner is visible to another.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Owner {
    /// The one person of a local installation: no accounts, no login.
    Local,
    /// A user of a server with accounts.
    User(UserId),
    /// A team of such users.
    Team(TeamId),
}

impl Owner {
    /// The id of a user or a team; `None` for the local person.
    pub fn id(&self) -> Option<&str> {
        match self {
            Self::Local => None,
            Self::User(user) => Some(user.as_str()),
            Self::Team(team) => Some(team.as_str()),
        }
    }
}

/// The identity of a user; never empty, never with characters that mean something in a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct UserId(String);

/// A text that can't be a [`UserId`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a user id is 1 to 64 ascii letters, digits, `-` or `_`")]
pub struct UserIdError;

impl UserId {
    /// Checks and wraps a user id: 1 to 64 ASCII letters, digits, `-` or `_`.
    pub fn new(id: &str) -> Result<Self, UserIdError> {
        let fits = (1..=64).contains(&id.len());
        let plain = id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
        if fits && plain {
            Ok(Self(id.to_owned()))
        } else {
            Err(UserIdError)
        }
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for UserId {
    type Error = UserIdError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::new(&text)
    }
}

impl From<UserId> for String {
    fn from(id: UserId) -> Self {
        id.0
    }
}

/// The role of an actor towards this installation (seed 001, "Gateway"; `visitor` may only read).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A coding agent or other program on the far side of MCP or REST.
    ExternalAgent,
    /// gongfu's own agent.
    ChatAgent,
    /// A person at the command line or the dashboard.
    Developer,
    /// Somebody who may only read.
    Visitor,
}

impl Role {
    /// Returns true if calls of this role are a person's own words: only a person answers approvals, grants
    /// hosts and enables skills.
    pub fn is_person(self) -> bool {
        self == Self::Developer
    }
}

/// The caller of a tool or an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// The owner of the space that the call works in.
    pub owner: Owner,
    /// The caller's role.
    pub role: Role,
    /// The caller's name for itself, for the audit: a client's name and version, or `cli`.
    pub client: String,
    /// The permissions of its credential.
    pub permissions: Permissions,
    /// The user who acts for the owner, where that is a team.
    pub member: Option<UserId>,
    /// The session of its client, which ends with the connection; `None` for a request by itself.
    pub session: Option<Arc<str>>,
}

/// The permissions of a credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permissions {
    /// Its scopes.
    pub scopes: Scopes,
    /// The only skills that it reaches, by full name; `None` for all.
    pub skills: Option<Arc<[String]>>,
    /// The set that the caller works with; `None` for everything.
    pub set: Option<Arc<CapabilitySet>>,
    /// The limits of its user.
    pub quota: UserQuota,
    /// Its id, for the audit; `None` for the person of a local installation.
    pub credential: Option<Arc<str>>,
}

impl Permissions {
    /// Everything: those of the person of a local installation.
    pub fn all() -> Self {
        Self {
            scopes: Scopes::of_user(true),
            skills: None,
            set: None,
            quota: UserQuota::default(),
            credential: None,
        }
    }
}

impl Actor {
    /// The person of a local installation, calling from `client`.
    pub fn local(role: Role, client: impl Into<String>) -> Self {
        Self {
            owner: Owner::Local,
            role,
            client: client.into(),
            permissions: Permissions::all(),
            member: None,
            session: None,
        }
    }

    /// The same caller in the space of a team of theirs.
    #[must_use]
    pub fn for_team(self, team: TeamId) -> Self {
        let member = match self.owner {
            Owner::User(user) => Some(user),
            Owner::Local | Owner::Team(_) => self.member,
        };
        Self {
            owner: Owner::Team(team),
            member,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::UserId;

    #[test]
    fn user_id_cannot_be_a_path() {
        for bad in ["", "..", "a/b", "a\\b", "a b", "é", &"x".repeat(65)] {
            assert!(UserId::new(bad).is_err(), "{bad:?}");
        }
        assert!(UserId::new("u_1-A").is_ok());
    }
}
