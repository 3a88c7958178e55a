//! Teams: listed, created, shown, renamed, deleted.

use gongfu_core::account::{Team, TeamId, TeamName, TeamRole, UserId};
use gongfu_core::port::Timestamp;
use gongfu_core::registry::AccountError;
use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::admin::{CONFLICT, UNKNOWN};
use super::context::Context;
use super::endpoint::{Access, Answer, Endpoint, Refusal, ReplyBody};
use super::team_access::{of, team_id};
use super::token::MAX_PAGE;
use crate::problem::Problem;

/// Makes spaces see a change of teams at once.
pub(super) async fn changed(context: &Context) -> Result<(), Problem> {
    Ok(context.server()?.teams.changed().await?)
}

/// A role in a team.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum RoleName {
    /// Uses the team's skills.
    Member,
    /// Changes them, and manages the team.
    Maintainer,
}

impl From<RoleName> for TeamRole {
    fn from(name: RoleName) -> Self {
        match name {
            RoleName::Member => Self::Member,
            RoleName::Maintainer => Self::Maintainer,
        }
    }
}

impl From<TeamRole> for RoleName {
    fn from(role: TeamRole) -> Self {
        match role {
            TeamRole::Member => Self::Member,
            TeamRole::Maintainer => Self::Maintainer,
        }
    }
}

/// A member of a team.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct MemberReply {
    /// The id of the user.
    id: String,
    /// The user name.
    username: String,
    /// The role.
    role: RoleName,
    /// True for somebody who is a member by a group of the company's sign-in.
    is_synced: bool,
    /// The time since which they are a member (RFC 3339).
    since: String,
}

/// An invitation that nobody used yet.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct InvitationReply {
    /// The id, by which it is taken back.
    id: String,
    /// The role that it gives.
    role: RoleName,
    /// The time from which it is refused (RFC 3339).
    expires_at: String,
}

/// A team in a list.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ListedTeam {
    /// The id, which never changes.
    id: String,
    /// The name. The team's skills are of the source `team-NAME`.
    name: String,
    /// Your role; null for an admin who is no member.
    role: Option<RoleName>,
    /// The number of members.
    members: usize,
    /// The time of creation (RFC 3339).
    created_at: String,
}

impl ListedTeam {
    fn of(team: &Team, user: &UserId) -> Self {
        Self {
            id: team.id.as_str().to_owned(),
            name: team.name.to_string(),
            role: team.role_of(user).map(RoleName::from),
            members: team.members.len(),
            created_at: Timestamp(team.created).to_string(),
        }
    }
}

/// A team.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct TeamReply {
    /// The id, which never changes.
    id: String,
    /// The name. The team's skills are of the source `team-NAME`.
    name: String,
    /// Your role; null for an admin who is no member.
    role: Option<RoleName>,
    /// The members.
    members: Vec<MemberReply>,
    /// The open invitations; only maintainers see them.
    invitations: Vec<InvitationReply>,
    /// The time of creation (RFC 3339).
    created_at: String,
    /// The time of the last change (RFC 3339).
    updated_at: String,
}

/// A team as the caller sees it.
pub(super) async fn reply(context: &Context, team: &Team) -> Result<TeamReply, Problem> {
    let mut members = Vec::with_capacity(team.members.len());
    for (id, membership) in &team.members {
        let user = match context.accounts()?.user(id).await {
            Ok(user) => user,
            Err(AccountError::Unknown(_)) => continue,
            Err(error) => return Err(error.into()),
        };
        members.push(MemberReply {
            id: id.as_str().to_owned(),
            username: user.username.to_string(),
            role: membership.role.into(),
            is_synced: membership.is_synced,
            since: Timestamp(membership.since).to_string(),
        });
    }
    let role = team.role_of(&context.identity()?.user);
    let now = context.now().0;
    let open = team
        .invitations
        .iter()
        .filter(|(_, invitation)| role == Some(TeamRole::Maintainer) && invitation.expires > now);
    let invitations = open.map(|(id, invitation)| InvitationReply {
        id: id.clone(),
        role: invitation.role.into(),
        expires_at: Timestamp(invitation.expires).to_string(),
    });
    Ok(TeamReply {
        id: team.id.as_str().to_owned(),
        name: team.name.to_string(),
        role: role.map(RoleName::from),
        members,
        invitations: invitations.collect(),
        created_at: Timestamp(team.created).to_string(),
        updated_at: Timestamp(team.updated).to_string(),
    })
}

/// A page of teams.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct TeamPage {
    /// The teams.
    items: Vec<ListedTeam>,
    /// Leads to the next page; null on the last one.
    next_cursor: Option<String>,
}

/// List your teams, by name.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TeamList {}

impl Endpoint for TeamList {
    const NAME: &'static str = "team_list";
    const METHOD: Method = Method::GET;
    const PATH: &'static str = "/api/v1/teams";
    const ACCESS: Access = Access::Person;
    type Reply = TeamPage;

    async fn answer(self, context: &Context) -> Result<Answer<TeamPage>, Problem> {
        let user = &context.identity()?.user;
        let teams = context.accounts()?.teams_of(user).await?;
        Ok(Answer::from(TeamPage {
            items: teams
                .iter()
                .map(|team| ListedTeam::of(team, user))
                .collect(),
            next_cursor: None,
        }))
    }
}

/// Create a team. You are its first maintainer.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TeamCreate {
    /// The name: lower-case letters, digits and single hyphens.
    #[schemars(with = "String", length(min = 2, max = 40), extend("pattern" = "^[a-z][a-z0-9]*(-[a-z0-9]+)*$", "example" = "design"))]
    name: TeamName,
}

impl Endpoint for TeamCreate {
    const NAME: &'static str = "team_create";
    const METHOD: Method = Method::POST;
    const PATH: &'static str = "/api/v1/teams";
    const ACCESS: Access = Access::Person;
    const SUCCESS: StatusCode = StatusCode::CREATED;
    const REFUSALS: &'static [Refusal] = &[CONFLICT];
    type Reply = TeamReply;

    async fn answer(self, context: &Context) -> Result<Answer<TeamReply>, Problem> {
        let user = &context.identity()?.user;
        let created = context.accounts()?.create_team(self.name, user, Some(user));
        let team = created.await?;
        changed(context).await?;
        let location = format!("{}/{}", Self::PATH, team.id.as_str());
        Ok(Answer::from(reply(context, &team).await?).location(location))
    }
}

/// Show a team of yours.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TeamRead {
    /// The id of the team.
    #[schemars(length(min = 1, max = 64))]
    team: String,
}

impl Endpoint for TeamRead {
    const NAME: &'static str = "team_read";
    const METHOD: Method = Method::GET;
    const PATH: &'static str = "/api/v1/teams/{team}";
    const ACCESS: Access = Access::Person;
    const REFUSALS: &'static [Refusal] = &[UNKNOWN];
    type Reply = TeamReply;

    async fn answer(self, context: &Context) -> Result<Answer<TeamReply>, Problem> {
        let user = &context.identity()?.user;
        let team = of(context.accounts()?, &self.team, user, TeamRole::Member).await?;
        Ok(Answer::from(reply(context, &team).await?))
    }
}

/// Rename a team that you maintain. Its id and its skills stay.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TeamRename {
    /// The id of the team.
    #[schemars(length(min = 1, max = 64))]
    team: String,
    /// The new name: lower-case letters, digits and single hyphens.
    #[schemars(with = "String", length(min = 2, max = 40), extend("pattern" = "^[a-z][a-z0-9]*(-[a-z0-9]+)*$"))]
    name: TeamName,
}

impl Endpoint for TeamRename {
    const NAME: &'static str = "team_rename";
    const METHOD: Method = Method::PUT;
    const PATH: &'static str = "/api/v1/teams/{team}";
    const ACCESS: Access = Access::Person;
    const REFUSALS: &'static [Refusal] = &[UNKNOWN, CONFLICT];
    type Reply = TeamReply;

    async fn answer(self, context: &Context) -> Result<Answer<TeamReply>, Problem> {
        let (accounts, user) = (context.accounts()?, &context.identity()?.user);
        let team = of(accounts, &self.team, user, TeamRole::Maintainer).await?;
        let renamed = accounts.rename_team(&team.id, self.name, Some(user));
        let team = renamed.await?;
        changed(context).await?;
        Ok(Answer::from(reply(context, &team).await?))
    }
}

/// Delete a team that you maintain, with all its skills.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TeamDelete {
    /// The id of the team.
    #[schemars(length(min = 1, max = 64))]
    team: String,
}

impl Endpoint for TeamDelete {
    const NAME: &'static str = "team_delete";
    const METHOD: Method = Method::DELETE;
    const PATH: &'static str = "/api/v1/teams/{team}";
    const ACCESS: Access = Access::Person;
    const SUCCESS: StatusCode = StatusCode::NO_CONTENT;
    const REFUSALS: &'static [Refusal] = &[UNKNOWN];
    const REPLY: ReplyBody = ReplyBody::Nothing;
    type Reply = ();

    async fn answer(self, context: &Context) -> Result<Answer<()>, Problem> {
        let (accounts, user) = (context.accounts()?, &context.identity()?.user);
        let team = of(accounts, &self.team, user, TeamRole::Maintainer).await?;
        accounts.delete_team(&team.id, Some(user)).await?;
        changed(context).await?;
        Ok(Answer::nothing())
    }
}

/// List all teams, by id.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ServerTeamList {
    /// The `next_cursor` of the page before.
    #[schemars(length(min = 1, max = 64), extend("pattern" = "^team-[0-9a-f]{32}$"))]
    cursor: Option<String>,
    /// The most teams of the page (50).
    #[schemars(range(min = 1, max = 100))]
    limit: Option<usize>,
}

impl Endpoint for ServerTeamList {
    const NAME: &'static str = "server_team_list";
    const METHOD: Method = Method::GET;
    const PATH: &'static str = "/api/v1/admin/teams";
    const ACCESS: Access = Access::Admin;
    type Reply = TeamPage;

    async fn answer(self, context: &Context) -> Result<Answer<TeamPage>, Problem> {
        let after = self.cursor.as_deref().map(TeamId::new).transpose();
        let why = "it isn't a cursor of this list";
        let after = after.map_err(|_| Problem::field("cursor", why))?;
        let limit = self.limit.unwrap_or(50).min(MAX_PAGE);
        let mut teams = context.accounts()?.teams(after.as_ref(), limit + 1).await?;
        let has_more = teams.len() > limit;
        teams.truncate(limit);
        let last = teams.last().map(|team| team.id.as_str().to_owned());
        let user = &context.identity()?.user;
        Ok(Answer::from(TeamPage {
            items: teams
                .iter()
                .map(|team| ListedTeam::of(team, user))
                .collect(),
            next_cursor: last.filter(|_| has_more),
        }))
    }
}

/// Delete any team, with all its skills.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ServerTeamDelete {
    /// The id of the team.
    #[schemars(length(min = 1, max = 64))]
    team: String,
}

impl Endpoint for ServerTeamDelete {
    const NAME: &'static str = "server_team_delete";
    const METHOD: Method = Method::DELETE;
    const PATH: &'static str = "/api/v1/admin/teams/{team}";
    const ACCESS: Access = Access::Admin;
    const SUCCESS: StatusCode = StatusCode::NO_CONTENT;
    const REFUSALS: &'static [Refusal] = &[UNKNOWN];
    const REPLY: ReplyBody = ReplyBody::Nothing;
    type Reply = ();

    async fn answer(self, context: &Context) -> Result<Answer<()>, Problem> {
        let by = &context.identity()?.user;
        let team = team_id(&self.team)?;
        context.accounts()?.delete_team(&team, Some(by)).await?;
        changed(context).await?;
        Ok(Answer::nothing())
    }
}
