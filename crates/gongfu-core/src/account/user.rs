//! Users and teams, as records of a server with accounts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::UserId;
use super::name::{Email, Username};

/// The most characters of a team's name.
pub const MAX_TEAM_NAME: usize = 64;

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
    /// Counts the changes that end every session: of the password, of being active.
    #[serde(default)]
    pub generation: u64,
    /// The time at which they were created, in milliseconds since 1970.
    pub created: i64,
    /// The time of the last change, in milliseconds since 1970.
    pub updated: i64,
}

/// The permission of a member of a team.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemberRole {
    /// Reads and runs the team's skills.
    Member,
    /// Changes them, and who is in the team.
    Maintainer,
}

/// A team: an owner whose skills its members share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Team {
    /// Its id, which never changes.
    pub id: UserId,
    /// Its name.
    pub name: String,
    /// Its members.
    pub members: BTreeMap<UserId, MemberRole>,
    /// The time at which it was created, in milliseconds since 1970.
    pub created: i64,
}

/// Why a change of a team is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TeamError {
    /// Only a maintainer changes a team.
    #[error("only a maintainer of the team can do that")]
    NotMaintainer,
    /// Nobody could change the team any more.
    #[error("a team needs a maintainer; make another member one first")]
    LastMaintainer,
    /// There is no such member.
    #[error("there is no such member of the team")]
    NotMember,
}

impl Team {
    /// The role of a user, if they are a member.
    pub fn role_of(&self, user: &UserId) -> Option<MemberRole> {
        self.members.get(user).copied()
    }

    /// Sets the role of a member, as a maintainer; `None` removes them. A member may remove themselves.
    ///
    /// # Errors
    /// The caller may not do it, or no maintainer would be left.
    pub fn set_role(
        &mut self,
        caller: &UserId,
        member: &UserId,
        role: Option<MemberRole>,
    ) -> Result<(), TeamError> {
        let leaves = caller == member && role.is_none();
        if self.role_of(caller) != Some(MemberRole::Maintainer) && !leaves {
            return Err(TeamError::NotMaintainer);
        }
        if role.is_none() && self.role_of(member).is_none() {
            return Err(TeamError::NotMember);
        }
        let mut members = self.members.clone();
        match role {
            Some(role) => members.insert(member.clone(), role),
            None => members.remove(member),
        };
        if !members.values().any(|role| *role == MemberRole::Maintainer) {
            return Err(TeamError::LastMaintainer);
        }
        self.members = members;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{MemberRole, Team, TeamError};
    use crate::account::UserId;

    fn user(name: &str) -> UserId {
        UserId::new(name).unwrap()
    }

    #[test]
    fn team_keeps_a_maintainer() {
        let (ann, bob) = (user("ann"), user("bob"));
        let mut team = Team {
            id: user("t"),
            name: "t".to_owned(),
            members: BTreeMap::from([(ann.clone(), MemberRole::Maintainer)]),
            created: 0,
        };
        let member = Some(MemberRole::Member);
        assert_eq!(
            team.set_role(&bob, &bob, member),
            Err(TeamError::NotMaintainer)
        );
        assert_eq!(
            team.set_role(&ann, &ann, None),
            Err(TeamError::LastMaintainer)
        );
        assert_eq!(
            team.set_role(&ann, &ann, member),
            Err(TeamError::LastMaintainer)
        );
        assert_eq!(team.set_role(&ann, &bob, None), Err(TeamError::NotMember));
        assert_eq!(team.set_role(&ann, &bob, member), Ok(()));
        assert_eq!(
            team.set_role(&bob, &ann, None),
            Err(TeamError::NotMaintainer)
        );
        assert_eq!(
            team.set_role(&ann, &bob, Some(MemberRole::Maintainer)),
            Ok(())
        );
        assert_eq!(team.set_role(&ann, &ann, None), Ok(()));
        assert_eq!(team.role_of(&ann), None);
        assert_eq!(
            team.set_role(&bob, &bob, None),
            Err(TeamError::LastMaintainer)
        );
    }
}
