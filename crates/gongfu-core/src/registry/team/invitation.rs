//! Invitations to teams: a secret that one user gives to another, who joins by it once.

use std::fmt;

use super::{Event, TeamId};
use crate::account::{Invitation, Membership, Team, TeamRole, UserId};
use crate::registry::hex::{hex, is_hex};
use crate::registry::{AccountError, Accounts};
use crate::skill::Digest;

/// The start of every invitation, so that nobody takes it for a token.
const PREFIX: &str = "gfi_";
/// The digits of a team's id, and those of the secret.
const TEAM_DIGITS: usize = 32;
const SECRET_DIGITS: usize = 64;
/// The life of an invitation, in milliseconds.
const LIFE: i64 = 7 * 24 * 60 * 60 * 1_000;
/// The most invitations of a team.
const MAX_INVITATIONS: usize = 100;
/// The digits by which an invitation is listed.
const ID_DIGITS: usize = 32;

/// The text of an invitation. Shown once; only its digest is stored.
#[derive(Clone, PartialEq, Eq)]
pub struct InvitationSecret {
    text: String,
    team: TeamId,
}

impl InvitationSecret {
    /// Reads an invitation; `None` for a text of another form.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(PREFIX)?;
        let team = digits.get(..TEAM_DIGITS)?;
        is_hex(digits, TEAM_DIGITS + SECRET_DIGITS).then_some(())?;
        Some(Self {
            text: text.to_owned(),
            team: TeamId::of_digits(team).ok()?,
        })
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The id by which it is listed and taken back.
    pub fn id(&self) -> String {
        Digest::of(self.text.as_bytes()).hex(ID_DIGITS)
    }
}

impl fmt::Debug for InvitationSecret {
    /// Shows nothing of the secret: logs are read by others.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("InvitationSecret")
    }
}

impl Accounts {
    /// Invites somebody to a team: one user joins by the secret, within a week.
    ///
    /// # Errors
    /// There is no such team, or it has too many invitations.
    pub async fn invite(
        &self,
        team: &TeamId,
        role: TeamRole,
        by: Option<&UserId>,
    ) -> Result<(InvitationSecret, Invitation), AccountError> {
        let digits = team.as_str().rsplit('-').next().unwrap_or_default();
        let secret = hex(&self.random::<{ SECRET_DIGITS / 2 }>()?);
        let secret = InvitationSecret::parse(&format!("{PREFIX}{digits}{secret}"));
        let secret = secret.ok_or(AccountError::Unknown("team"))?;
        let now = self.now().0;
        let invitation = Invitation {
            role,
            by: by.cloned(),
            expires: now.saturating_add(LIFE),
        };
        let event = Event {
            name: "team.invite",
            by,
            user: None,
        };
        let invited = self.update_team(team, event, |team| {
            team.invitations.retain(|_, known| known.expires > now);
            if team.invitations.len() >= MAX_INVITATIONS {
                let why = format!("a team has at most {MAX_INVITATIONS} open invitations");
                return Err(AccountError::Invalid(why));
            }
            team.invitations.insert(secret.id(), invitation.clone());
            Ok(())
        });
        invited.await?;
        Ok((secret, invitation))
    }

    /// Takes an invitation back, by its id.
    ///
    /// # Errors
    /// There is no such invitation.
    pub async fn withdraw(
        &self,
        team: &TeamId,
        invitation: &str,
        by: Option<&UserId>,
    ) -> Result<Team, AccountError> {
        let event = Event {
            name: "team.withdraw",
            by,
            user: None,
        };
        let withdrawn = self.update_team(team, event, |team| {
            let withdrawn = team.invitations.remove(invitation);
            withdrawn
                .map(drop)
                .ok_or(AccountError::Unknown("invitation"))
        });
        withdrawn.await
    }

    /// Makes a user a member by an invitation, which is used up, or gives a member its higher role.
    ///
    /// # Errors
    /// The invitation was used or taken back, has expired, or never was; the user has its role already, or too many
    /// teams.
    pub async fn join(
        &self,
        secret: &InvitationSecret,
        user: &UserId,
    ) -> Result<Team, AccountError> {
        let unknown = || AccountError::Unknown("invitation");
        let now = self.now().0;
        let event = Event {
            name: "team.join",
            by: Some(user),
            user: Some(user),
        };
        let joined = self.update_team(&secret.team, event, |team| {
            let invitation = team.invitations.remove(&secret.id());
            let invitation = invitation.filter(|known| known.expires > now);
            let role = invitation.ok_or_else(unknown)?.role;
            if team.role_of(user).is_some_and(|known| known >= role) {
                return Err(AccountError::AlreadyMember);
            }
            let membership = team.members.entry(user.clone()).or_insert(Membership {
                role,
                since: now,
                is_synced: false,
            });
            membership.role = role;
            Ok(())
        });
        match joined.await {
            Err(AccountError::Unknown("team")) => Err(unknown()),
            joined => joined,
        }
    }
}
