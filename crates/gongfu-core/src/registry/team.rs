//! Teams: created, joined, left, deleted.
//!
//! A team is one record with its members, so that two maintainers who change it at once are a conflict, and the second
//! is tried again. The teams of a user are a record of its own, written in the same commit.

mod invitation;
mod member;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::hex::hex;
use super::{AccountError, Accounts, MAX_ATTEMPTS, StoredValue, Write, busy, key, unreadable};
use crate::account::{Membership, Team, TeamId, TeamName, TeamRole, UserId};
use crate::port::{PortError, RecordKey, Timestamp};

pub use invitation::InvitationSecret;

/// The most teams of one user.
pub const MAX_TEAMS: usize = 50;
/// The most members of a team.
pub const MAX_MEMBERS: usize = 5_000;

/// The claim of a team to a name.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct NameClaim {
    team: TeamId,
}

/// The teams of a user.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct UserTeams {
    teams: BTreeSet<TeamId>,
}

/// A team that was deleted, until its data is removed.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Deletion {
    at: i64,
}

/// A change of a team for the audit: the user who makes it, and the one it is about.
#[derive(Clone, Copy)]
struct Event<'a> {
    name: &'static str,
    by: Option<&'a UserId>,
    user: Option<&'a UserId>,
}

impl Accounts {
    /// Creates a team with its first maintainer.
    ///
    /// # Errors
    /// The name is taken, or the maintainer has too many teams.
    pub async fn create_team(
        &self,
        name: TeamName,
        maintainer: &UserId,
        by: Option<&UserId>,
    ) -> Result<Team, AccountError> {
        let now = self.now().0;
        let id = TeamId::of_digits(&hex(&self.random::<16>()?));
        let membership = Membership {
            role: TeamRole::Maintainer,
            since: now,
            is_synced: false,
        };
        let team = Team {
            id: id.map_err(|error| PortError::Other(error.into()))?,
            name,
            members: BTreeMap::from([(maintainer.clone(), membership)]),
            invitations: BTreeMap::new(),
            created: now,
            updated: now,
        };
        let claim = NameClaim {
            team: team.id.clone(),
        };
        for _ in 0..MAX_ATTEMPTS {
            let name = name_key(&team.name)?;
            if self.read::<NameClaim>(&name).await?.is_some() {
                return Err(AccountError::TeamTaken);
            }
            self.user(maintainer).await?;
            let mut writes = vec![
                Write::put(team_key(&team.id)?, None, &team)?,
                Write::put(name, None, &claim)?,
                self.count_change().await?,
            ];
            writes.extend(self.join_write(maintainer, &team.id).await?);
            let about = Some(team.id.as_str());
            let commit = self.commit(&writes, "team.create", by, maintainer, about);
            match commit.await {
                Ok(()) => return Ok(team),
                Err(PortError::Conflict(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(busy("list of teams").into())
    }

    /// A team by its id.
    ///
    /// # Errors
    /// No team has it.
    pub async fn team(&self, id: &TeamId) -> Result<Team, AccountError> {
        Ok(self.versioned_team(id).await?.value)
    }

    /// A team by its name or id.
    ///
    /// # Errors
    /// No team has it.
    pub async fn find_team(&self, name_or_id: &str) -> Result<Team, AccountError> {
        if let Ok(name) = TeamName::new(name_or_id)
            && let Some(claim) = self.read::<NameClaim>(&name_key(&name)?).await?
        {
            return self.team(&claim.value.team).await;
        }
        let id = TeamId::new(name_or_id).map_err(|_| AccountError::Unknown("team"))?;
        self.team(&id).await
    }

    /// The teams in the order of their ids, after one of them.
    ///
    /// # Errors
    /// The store fails.
    pub async fn teams(
        &self,
        after: Option<&TeamId>,
        limit: usize,
    ) -> Result<Vec<Team>, AccountError> {
        let prefix = RecordKey::new("team").map_err(PortError::from)?;
        let after = after.map(team_key).transpose()?;
        let page = self.parts.records.page(&prefix, after.as_ref(), limit);
        let teams = page.await?.into_iter().map(|(_, record)| {
            serde_json::from_slice(&record.value).map_err(|error| unreadable(&record.place, &error))
        });
        Ok(teams.collect::<Result<_, _>>()?)
    }

    /// The teams of a user, by name.
    ///
    /// # Errors
    /// The store fails.
    pub async fn teams_of(&self, user: &UserId) -> Result<Vec<Team>, AccountError> {
        let Some(ids) = self.read::<UserTeams>(&user_teams_key(user)?).await? else {
            return Ok(Vec::new());
        };
        let mut teams = Vec::new();
        for id in &ids.value.teams {
            match self.team(id).await {
                Ok(team) if team.role_of(user).is_some() => teams.push(team),
                Ok(_) | Err(AccountError::Unknown(_)) => {}
                Err(error) => return Err(error),
            }
        }
        teams.sort_by(|one, other| one.name.as_str().cmp(other.name.as_str()));
        Ok(teams)
    }

    /// Gives a team another name. Its id and its skills stay.
    ///
    /// # Errors
    /// The name is taken.
    pub async fn rename_team(
        &self,
        id: &TeamId,
        name: TeamName,
        by: Option<&UserId>,
    ) -> Result<Team, AccountError> {
        for _ in 0..MAX_ATTEMPTS {
            let before = self.versioned_team(id).await?;
            let mut team = before.value;
            if team.name == name {
                return Ok(team);
            }
            let (old, new) = (name_key(&team.name)?, name_key(&name)?);
            if self.read::<NameClaim>(&new).await?.is_some() {
                return Err(AccountError::TeamTaken);
            }
            let claim = NameClaim { team: id.clone() };
            team.name = name.clone();
            team.updated = self.now().0;
            let mut writes = vec![
                Write::put(team_key(id)?, Some(before.version), &team)?,
                Write::put(new, None, &claim)?,
                self.count_change().await?,
            ];
            let claim: Option<StoredValue<NameClaim>> = self.read(&old).await?;
            writes.extend(claim.map(|claim| Write::remove(old, claim.version)));
            let commit = self.commit(&writes, "team.rename", by, None, Some(id.as_str()));
            match commit.await {
                Ok(()) => return Ok(team),
                Err(PortError::Conflict(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(busy("team").into())
    }

    /// Deletes a team. Its data stays until somebody who asks for [`Self::deleted_teams`] has removed it.
    ///
    /// # Errors
    /// There is no such team.
    pub async fn delete_team(&self, id: &TeamId, by: Option<&UserId>) -> Result<(), AccountError> {
        for _ in 0..MAX_ATTEMPTS {
            let found = self.versioned_team(id).await?;
            let deletion = Deletion { at: self.now().0 };
            let mut writes = vec![
                Write::remove(team_key(id)?, found.version),
                Write::put(deletion_key(id)?, None, &deletion)?,
                self.count_change().await?,
            ];
            let name = name_key(&found.value.name)?;
            let claim: Option<StoredValue<NameClaim>> = self.read(&name).await?;
            writes.extend(claim.map(|claim| Write::remove(name, claim.version)));
            for user in found.value.members.keys() {
                writes.extend(self.leave_write(user, id).await?);
            }
            let commit = self.commit(&writes, "team.delete", by, None, Some(id.as_str()));
            match commit.await {
                Ok(()) => return Ok(()),
                Err(PortError::Conflict(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(busy("team").into())
    }

    /// The deleted teams whose data may still be there, and when each was deleted; at most `limit`.
    ///
    /// # Errors
    /// The store fails.
    pub async fn deleted_teams(
        &self,
        limit: usize,
    ) -> Result<Vec<(TeamId, Timestamp)>, AccountError> {
        let prefix = RecordKey::new("deleted-team").map_err(PortError::from)?;
        let page = self.parts.records.page(&prefix, None, limit).await?;
        let teams = page.iter().filter_map(|(key, record)| {
            let (_, id) = key.as_str().split_once('/')?;
            let deletion: Deletion = serde_json::from_slice(&record.value).ok()?;
            Some((TeamId::new(id).ok()?, Timestamp(deletion.at)))
        });
        Ok(teams.collect())
    }

    /// Notes that the data of a deleted team is removed.
    ///
    /// # Errors
    /// The store fails.
    pub async fn team_data_removed(&self, id: &TeamId) -> Result<(), AccountError> {
        let key = deletion_key(id)?;
        let Some(found) = self.read::<Deletion>(&key).await? else {
            return Ok(());
        };
        let write = Write::remove(key, found.version);
        let about = Some(id.as_str());
        match self
            .commit(&[write], "team.data_removed", None, None, about)
            .await
        {
            Err(PortError::Conflict(_)) => Ok(()),
            other => Ok(other?),
        }
    }

    /// Changes a team, again when somebody else changed it in between. The records of users who come or go follow.
    async fn update_team(
        &self,
        id: &TeamId,
        event: Event<'_>,
        mut change: impl FnMut(&mut Team) -> Result<(), AccountError> + Send,
    ) -> Result<Team, AccountError> {
        for _ in 0..MAX_ATTEMPTS {
            let before = self.versioned_team(id).await?;
            let (old, mut team) = (before.value.members.clone(), before.value);
            change(&mut team)?;
            team.withdraw_stale();
            if team.members.len() > MAX_MEMBERS {
                let why = format!("a team has at most {MAX_MEMBERS} members");
                return Err(AccountError::Invalid(why));
            }
            team.updated = self.now().0;
            let mut writes = vec![Write::put(team_key(id)?, Some(before.version), &team)?];
            let new = &team.members;
            for user in new.keys().filter(|user| !old.contains_key(*user)) {
                self.user(user).await?;
                writes.extend(self.join_write(user, id).await?);
            }
            for user in old.keys().filter(|user| !new.contains_key(*user)) {
                writes.extend(self.leave_write(user, id).await?);
            }
            if old != *new {
                writes.push(self.count_change().await?);
            }
            let about = Some(id.as_str());
            let commit = self.commit(&writes, event.name, event.by, event.user, about);
            match commit.await {
                Ok(()) => return Ok(team),
                Err(PortError::Conflict(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(busy("team").into())
    }

    async fn versioned_team(&self, id: &TeamId) -> Result<StoredValue<Team>, AccountError> {
        let team = self.read(&team_key(id)?).await?;
        team.ok_or(AccountError::Unknown("team"))
    }
}

fn team_key(id: &TeamId) -> Result<RecordKey, PortError> {
    key("team", id.as_str())
}

fn name_key(name: &TeamName) -> Result<RecordKey, PortError> {
    key("team-name", &name.identity().hex(64))
}

fn user_teams_key(user: &UserId) -> Result<RecordKey, PortError> {
    key("teams-of", user.as_str())
}

fn deletion_key(id: &TeamId) -> Result<RecordKey, PortError> {
    key("deleted-team", id.as_str())
}
