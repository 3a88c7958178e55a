//! Users, as records of a server with accounts.

use serde::{Deserialize, Serialize};

use super::UserId;
use super::name::{Email, Username};

/// The limits of a user; `None` for that of the server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UserQuota {
    /// The most skills.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skills: Option<u32>,
    /// The most that their skills take together, in MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skills_mib: Option<u32>,
    /// The most commands that run at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<u32>,
    /// The most commands that are started in an hour.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs_per_hour: Option<u32>,
}

impl UserQuota {
    /// Returns true if every limit is that of the server.
    pub fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// A user of a server with accounts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct User {
    /// Their id, which never changes.
    pub id: UserId,
    /// Their address.
    pub email: Email,
    /// Their name.
    pub username: Username,
    /// False once an admin disabled them: every credential of theirs is refused.
    pub is_active: bool,
    /// True if they manage users and the server.
    pub is_admin: bool,
    /// The hash of their password as a PHC string; `None` for somebody who signs in elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    /// The digest of who they are at the company's provider; `None` for somebody whom no provider vouches for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Limits of their own; `None` for those of the server.
    #[serde(default, skip_serializing_if = "UserQuota::is_usual")]
    pub quota: UserQuota,
    /// Counts the changes that end every session: of the password, of being active.
    #[serde(default)]
    pub generation: u64,
    /// The time at which they were created, in milliseconds since 1970.
    pub created: i64,
    /// The time of the last change, in milliseconds since 1970.
    pub updated: i64,
}
