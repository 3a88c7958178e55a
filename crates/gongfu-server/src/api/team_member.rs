//! The members of teams: invited, joining, promoted, leaving.

use gongfu_core::account::TeamRole;
use gongfu_core::port::Timestamp;
use gongfu_core::registry::AccountError;
use gongfu_core::registry::team::InvitationSecret;
use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::admin::{CONFLICT, UNKNOWN, user_id};
use super::context::Context;
use super::endpoint::{Access, Answer, Endpoint, Refusal, ReplyBody};
use super::team::{RoleName, TeamReply, changed, reply};
use super::team_access::{of, team_id};
use crate::problem::Problem;

/// An invitation with its secret.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct CreatedInvitation {
    /// The id, by which it is taken back.
    id: String,
    /// The secret, which is shown this once. Send it to the one who is to join by `team_join`.
    invitation: String,
    /// The role that it gives.
    role: RoleName,
    /// The time from which it is refused (RFC 3339).
    expires_at: String,
}

/// Invite somebody to a team that you maintain. An invitation is good for one user, within a week.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TeamInvite {
    /// The id of the team.
    #[schemars(length(min = 1, max = 64))]
    team: String,
    /// The role that it gives; without it `member`.
    role: Option<RoleName>,
}

impl Endpoint for TeamInvite {
    const NAME: &'static str = "team_invite";
    const METHOD: Method = Method::POST;
    const PATH: &'static str = "/api/v1/teams/{team}/invitations";
    const ACCESS: Access = Access::Person;
    const SUCCESS: StatusCode = StatusCode::CREATED;
    const REFUSALS: &'static [Refusal] = &[UNKNOWN];
    type Reply = CreatedInvitation;

    async fn answer(self, context: &Context) -> Result<Answer<CreatedInvitation>, Problem> {
        let (accounts, user) = (context.accounts()?, &context.identity()?.user);
        let team = of(accounts, &self.team, user, TeamRole::Maintainer).await?;
        let role = self.role.unwrap_or(RoleName::Member);
        let invited = accounts.invite(&team.id, role.into(), Some(user));
        let (secret, invitation) = invited.await?;
        Ok(Answer::from(CreatedInvitation {
            id: secret.id(),
            invitation: secret.as_str().to_owned(),
            role: invitation.role.into(),
            expires_at: Timestamp(invitation.expires).to_string(),
        }))
    }
}

/// Take an invitation back.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TeamInvitationDelete {
    /// The id of the team.
    #[schemars(length(min = 1, max = 64))]
    team: String,
    /// The id of the invitation.
    #[schemars(length(min = 1, max = 200))]
    id: String,
}

impl Endpoint for TeamInvitationDelete {
    const NAME: &'static str = "team_invitation_delete";
    const METHOD: Method = Method::DELETE;
    const PATH: &'static str = "/api/v1/teams/{team}/invitations/{id}";
    const ACCESS: Access = Access::Person;
    const SUCCESS: StatusCode = StatusCode::NO_CONTENT;
    const REFUSALS: &'static [Refusal] = &[UNKNOWN];
    const REPLY: ReplyBody = ReplyBody::Nothing;
    type Reply = ();

    async fn answer(self, context: &Context) -> Result<Answer<()>, Problem> {
        let (accounts, user) = (context.accounts()?, &context.identity()?.user);
        let team = of(accounts, &self.team, user, TeamRole::Maintainer).await?;
        let withdrawn = accounts.withdraw(&team.id, &self.id, Some(user));
        withdrawn.await?;
        Ok(Answer::nothing())
    }
}

/// Join a team by an invitation, which is used up.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TeamJoin {
    /// The secret of the invitation.
    #[schemars(length(min = 1, max = 200))]
    invitation: String,
}

impl Endpoint for TeamJoin {
    const NAME: &'static str = "team_join";
    const METHOD: Method = Method::POST;
    const PATH: &'static str = "/api/v1/teams/join";
    const ACCESS: Access = Access::Person;
    const REFUSALS: &'static [Refusal] = &[Refusal::CONFLICT];
    type Reply = TeamReply;

    async fn answer(self, context: &Context) -> Result<Answer<TeamReply>, Problem> {
        let unknown = || {
            Problem::field(
                "invitation",
                "there is no such invitation; ask for a new one",
            )
        };
        let secret = InvitationSecret::parse(&self.invitation).ok_or_else(unknown)?;
        let user = &context.identity()?.user;
        let joined = context.accounts()?.join(&secret, user).await;
        let team = joined.map_err(|error| match error {
            AccountError::Unknown(_) => unknown(),
            error => error.into(),
        })?;
        changed(context).await?;
        Ok(Answer::from(reply(context, &team).await?))
    }
}

/// Give a member of a team that you maintain another role.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MemberChange {
    /// The id of the team.
    #[schemars(length(min = 1, max = 64))]
    team: String,
    /// The id of the member.
    #[schemars(length(min = 1, max = 64))]
    user: String,
    /// The role.
    role: RoleName,
}

impl Endpoint for MemberChange {
    const NAME: &'static str = "member_change";
    const METHOD: Method = Method::PUT;
    const PATH: &'static str = "/api/v1/teams/{team}/members/{user}";
    const ACCESS: Access = Access::Person;
    const REFUSALS: &'static [Refusal] = &[UNKNOWN, CONFLICT];
    type Reply = TeamReply;

    async fn answer(self, context: &Context) -> Result<Answer<TeamReply>, Problem> {
        let (accounts, by) = (context.accounts()?, &context.identity()?.user);
        let team = of(accounts, &self.team, by, TeamRole::Maintainer).await?;
        let user = user_id(&self.user)?;
        // Nobody is made a member who didn't agree.
        if team.role_of(&user).is_none() {
            return Err(Problem::NotFound("member"));
        }
        let set = accounts.set_member(&team.id, &user, self.role.into(), Some(by));
        let team = set.await?;
        changed(context).await?;
        Ok(Answer::from(reply(context, &team).await?))
    }
}

/// Leave a team, or remove a member of one that you maintain.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MemberRemove {
    /// The id of the team.
    #[schemars(length(min = 1, max = 64))]
    team: String,
    /// The id of the member.
    #[schemars(length(min = 1, max = 64))]
    user: String,
}

impl Endpoint for MemberRemove {
    const NAME: &'static str = "member_remove";
    const METHOD: Method = Method::DELETE;
    const PATH: &'static str = "/api/v1/teams/{team}/members/{user}";
    const ACCESS: Access = Access::Person;
    const SUCCESS: StatusCode = StatusCode::NO_CONTENT;
    const REFUSALS: &'static [Refusal] = &[UNKNOWN, CONFLICT];
    const REPLY: ReplyBody = ReplyBody::Nothing;
    type Reply = ();

    async fn answer(self, context: &Context) -> Result<Answer<()>, Problem> {
        let (accounts, by) = (context.accounts()?, &context.identity()?.user);
        let user = user_id(&self.user)?;
        let role = if user == *by {
            TeamRole::Member
        } else {
            TeamRole::Maintainer
        };
        let team = of(accounts, &self.team, by, role).await?;
        accounts.remove_member(&team.id, &user, Some(by)).await?;
        changed(context).await?;
        Ok(Answer::nothing())
    }
}

/// Make a user a member of any team, or give a member another role.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ServerMemberChange {
    /// The id of the team.
    #[schemars(length(min = 1, max = 64))]
    team: String,
    /// The id of the user.
    #[schemars(length(min = 1, max = 64))]
    user: String,
    /// The role.
    role: RoleName,
}

impl Endpoint for ServerMemberChange {
    const NAME: &'static str = "server_member_change";
    const METHOD: Method = Method::PUT;
    const PATH: &'static str = "/api/v1/admin/teams/{team}/members/{user}";
    const ACCESS: Access = Access::Admin;
    const REFUSALS: &'static [Refusal] = &[UNKNOWN, CONFLICT];
    type Reply = TeamReply;

    async fn answer(self, context: &Context) -> Result<Answer<TeamReply>, Problem> {
        let by = &context.identity()?.user;
        let (team, user) = (team_id(&self.team)?, user_id(&self.user)?);
        let set = context
            .accounts()?
            .set_member(&team, &user, self.role.into(), Some(by));
        let team = set.await?;
        changed(context).await?;
        Ok(Answer::from(reply(context, &team).await?))
    }
}
