//! The members of teams.

use std::collections::BTreeSet;

use super::{Event, MAX_TEAMS, TeamId, UserTeams, team_key, user_teams_key};
use crate::account::{Membership, Team, TeamRole, UserId};
use crate::registry::{AccountError, Accounts, StoredValue, Write};

impl Accounts {
    /// Makes a user a member in a role, or gives a member another role.
    ///
    /// # Errors
    /// There is no such user or team, they have too many teams, or the team would have no maintainer.
    pub async fn set_member(
        &self,
        team: &TeamId,
        user: &UserId,
        role: TeamRole,
        by: Option<&UserId>,
    ) -> Result<Team, AccountError> {
        let now = self.now().0;
        let event = Event {
            name: "team.member",
            by,
            user: Some(user),
        };
        let changed = self.update_team(team, event, |team| {
            let had_maintainer = team.has_maintainer();
            let membership = team.members.entry(user.clone()).or_insert(Membership {
                role,
                since: now,
                is_synced: false,
            });
            membership.role = role;
            keeps_maintainer(had_maintainer, team)
        });
        changed.await
    }

    /// Ends the membership of a user.
    ///
    /// # Errors
    /// They aren't a member, the team would have no maintainer, or a group says that they are one.
    pub async fn remove_member(
        &self,
        team: &TeamId,
        user: &UserId,
        by: Option<&UserId>,
    ) -> Result<Team, AccountError> {
        let event = Event {
            name: "team.leave",
            by,
            user: Some(user),
        };
        let changed = self.update_team(team, event, |team| {
            let had_maintainer = team.has_maintainer();
            let left = team.members.remove(user);
            if left.ok_or(AccountError::Unknown("member"))?.is_synced {
                return Err(AccountError::Synced);
            }
            keeps_maintainer(had_maintainer, team)
        });
        changed.await
    }

    /// Makes the memberships of a user that come from groups exactly these. A team that isn't there is left out, and a
    /// membership that somebody gave by hand stays.
    ///
    /// # Errors
    /// The store fails.
    pub async fn set_synced_teams(
        &self,
        user: &UserId,
        wanted: &BTreeSet<TeamId>,
    ) -> Result<(), AccountError> {
        let now = self.now().0;
        let teams = self.teams_of(user).await?;
        let synced = |team: &&Team| team.members.get(user).is_some_and(|known| known.is_synced);
        let gone = teams
            .iter()
            .filter(synced)
            .filter(|team| !wanted.contains(&team.id));
        for team in gone {
            let event = Event {
                name: "team.sync_leave",
                by: None,
                user: Some(user),
            };
            let left = self.update_team(&team.id, event, |team| {
                if team.members.get(user).is_some_and(|known| known.is_synced) {
                    team.members.remove(user);
                }
                Ok(())
            });
            ignore_unknown(left.await)?;
        }
        let is_new = |id: &&TeamId| !teams.iter().any(|team| team.id == **id);
        for id in wanted.iter().filter(is_new) {
            let event = Event {
                name: "team.sync_join",
                by: None,
                user: Some(user),
            };
            let joined = self.update_team(id, event, |team| {
                team.members.entry(user.clone()).or_insert(Membership {
                    role: TeamRole::Member,
                    since: now,
                    is_synced: true,
                });
                Ok(())
            });
            ignore_unknown(joined.await)?;
        }
        Ok(())
    }

    /// The writes by which a user leaves every team, even as the last maintainer: an admin makes somebody else one.
    pub(in crate::registry) async fn leave_all(
        &self,
        user: &UserId,
    ) -> Result<Vec<Write>, AccountError> {
        let key = user_teams_key(user)?;
        let Some(teams) = self.read::<UserTeams>(&key).await? else {
            return Ok(Vec::new());
        };
        let mut writes = vec![Write::remove(key, teams.version)];
        for id in &teams.value.teams {
            let Some(found) = self.read::<Team>(&team_key(id)?).await? else {
                continue;
            };
            let mut team = found.value;
            team.members.remove(user);
            team.withdraw_stale();
            writes.push(Write::put(team_key(id)?, Some(found.version), &team)?);
        }
        writes.push(self.count_change().await?);
        Ok(writes)
    }

    /// The write that notes a team of a user.
    pub(super) async fn join_write(
        &self,
        user: &UserId,
        team: &TeamId,
    ) -> Result<Option<Write>, AccountError> {
        self.list_write(user, |teams| {
            if teams.len() >= MAX_TEAMS {
                let why = format!("a user is in at most {MAX_TEAMS} teams; leave one first");
                return Err(AccountError::Invalid(why));
            }
            Ok(teams.insert(team.clone()))
        })
        .await
    }

    /// The write that notes that a user left a team.
    pub(super) async fn leave_write(
        &self,
        user: &UserId,
        team: &TeamId,
    ) -> Result<Option<Write>, AccountError> {
        self.list_write(user, |teams| Ok(teams.remove(team))).await
    }

    /// The write of a change of a user's list; `None` where nothing changes.
    async fn list_write(
        &self,
        user: &UserId,
        change: impl FnOnce(&mut BTreeSet<TeamId>) -> Result<bool, AccountError> + Send,
    ) -> Result<Option<Write>, AccountError> {
        let key = user_teams_key(user)?;
        let before: Option<StoredValue<UserTeams>> = self.read(&key).await?;
        let version = before.as_ref().map(|before| before.version);
        let mut teams = before.map(|before| before.value).unwrap_or_default();
        if !change(&mut teams.teams)? {
            return Ok(None);
        }
        Ok(Some(Write::put(key, version, &teams)?))
    }
}

/// Refuses a change after which nobody manages a team that somebody managed before.
fn keeps_maintainer(had_maintainer: bool, team: &Team) -> Result<(), AccountError> {
    if had_maintainer && !team.has_maintainer() {
        return Err(AccountError::LastMaintainer);
    }
    Ok(())
}

/// A team or user that went in between needs no change any more.
fn ignore_unknown(changed: Result<Team, AccountError>) -> Result<(), AccountError> {
    match changed {
        Ok(_) | Err(AccountError::Unknown(_) | AccountError::Invalid(_)) => Ok(()),
        Err(error) => Err(error),
    }
}
