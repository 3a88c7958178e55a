//! Grants: the hosts that a person lets the scripts of a skill reach.

use gongfu_core::account::TeamRole;
use gongfu_core::network::Rule;
use gongfu_hub::surface::grant::{GrantAdd, GrantDelete, GrantList, ListedGrant};
use gongfu_hub::surface::stored_skill::StoredSkillShow;
use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::context::Context;
use super::endpoint::{Access, Answer, Endpoint, Refusal, ReplyBody};
use super::skill::{FULL, in_body};
use crate::problem::Problem;

/// The path of all grants.
const PATH: &str = "/api/v1/grants";

/// A host that the scripts of a skill may reach.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct GrantReply {
    /// The id.
    id: String,
    /// The unique name of the skill at the time of the grant.
    skill: String,
    /// The id of the skill; null if it isn't there any more.
    skill_id: Option<String>,
    /// The host, as `HOST`, `HOST:PORT` or `*.HOST`.
    host: String,
    /// True if the host may be in the network of the server.
    private: bool,
    /// The files of the skill that are different now. The grant has no effect then, and is made again once somebody has
    /// read them.
    difference: Vec<String>,
}

impl From<ListedGrant> for GrantReply {
    fn from(listed: ListedGrant) -> Self {
        Self {
            id: listed.grant.id(),
            skill: listed.grant.skill,
            skill_id: listed.skill.map(|stored| stored.id),
            host: listed.grant.host.to_string(),
            private: listed.grant.private,
            difference: listed.difference,
        }
    }
}

/// The grants of a user or a team.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct GrantPage {
    /// The grants, the oldest first.
    items: Vec<GrantReply>,
    /// The number of all.
    total: usize,
}

/// List the hosts that you let scripts of skills reach.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GrantRead {}

impl Endpoint for GrantRead {
    const NAME: &'static str = "grant_list";
    const METHOD: Method = Method::GET;
    const PATH: &'static str = PATH;
    const ACCESS: Access = Access::Person;
    const TEAM: Option<TeamRole> = Some(TeamRole::Member);
    type Reply = GrantPage;

    async fn answer(self, context: &Context) -> Result<Answer<GrantPage>, Problem> {
        let grants = context.operate(GrantList {}).await?;
        let items: Vec<GrantReply> = grants.into_iter().map(GrantReply::from).collect();
        let total = items.len();
        Ok(Answer::from(GrantPage { items, total }))
    }
}

/// Let the scripts of a skill reach a host, by TLS.
///
/// It holds for this version of the skill. A grant of a team holds for the runs of all its members.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GrantCreate {
    /// The id of the skill.
    #[schemars(length(min = 1, max = 64))]
    skill: String,
    /// The host, as `HOST`, `HOST:PORT` or `*.HOST`. The port is 443 if none is named.
    #[schemars(length(min = 1, max = 300), extend("example" = "api.example.com"))]
    host: String,
    /// True to reach the host even if it is in the network of the server. Only an admin may.
    #[serde(default)]
    private: bool,
}

impl Endpoint for GrantCreate {
    const NAME: &'static str = "grant_create";
    const METHOD: Method = Method::POST;
    const PATH: &'static str = PATH;
    const ACCESS: Access = Access::Person;
    const TEAM: Option<TeamRole> = Some(TeamRole::Maintainer);
    const SUCCESS: StatusCode = StatusCode::CREATED;
    const REFUSALS: &'static [Refusal] = &[
        Refusal {
            status: 403,
            codes: &["FORBIDDEN"],
        },
        Refusal {
            status: 409,
            codes: &["SKILL_DEACTIVATED"],
        },
        FULL,
    ];
    type Reply = GrantReply;

    async fn answer(self, context: &Context) -> Result<Answer<GrantReply>, Problem> {
        let identity = context.identity()?;
        let rule = self.host.parse::<Rule>();
        let rule = rule.map_err(|error| Problem::field("host", error.to_string()))?;
        if self.private && !identity.is_admin {
            return Err(Problem::Forbidden {
                detail: "only an admin lets scripts reach the network of the server".to_owned(),
                hint: "leave `private` out, or ask an admin",
            });
        }
        if !context.server()?.users_grant && !identity.is_admin {
            return Err(Problem::Forbidden {
                detail: "on this server only an admin lets scripts reach hosts".to_owned(),
                hint: "ask an admin",
            });
        }
        let skill = StoredSkillShow { skill: self.skill };
        let stored = context.operate(skill).await.map_err(in_body)?;
        let add = GrantAdd {
            skill: stored.skill.full_name.to_string(),
            hosts: vec![rule],
            private: self.private,
        };
        let added = context.operate(add).await?;
        let grant = added.grants.into_iter().next().ok_or(Problem::Fault)?;
        let made = ListedGrant {
            grant,
            skill: Some(stored),
            difference: Vec::new(),
        };
        Ok(Answer::from(GrantReply::from(made)).location(context.path(PATH)))
    }
}

/// Take a host back. Runs that are going on keep it until they end.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GrantRemove {
    /// The id of the grant.
    #[schemars(length(min = 1, max = 64))]
    id: String,
}

impl Endpoint for GrantRemove {
    const NAME: &'static str = "grant_delete";
    const METHOD: Method = Method::DELETE;
    const PATH: &'static str = "/api/v1/grants/{id}";
    const ACCESS: Access = Access::Person;
    const TEAM: Option<TeamRole> = Some(TeamRole::Maintainer);
    const SUCCESS: StatusCode = StatusCode::NO_CONTENT;
    const REFUSALS: &'static [Refusal] = &[Refusal::NOT_FOUND];
    const REPLY: ReplyBody = ReplyBody::Nothing;
    type Reply = ();

    async fn answer(self, context: &Context) -> Result<Answer<()>, Problem> {
        let is_removed = context.operate(GrantDelete { grant: self.id }).await?;
        if is_removed {
            Ok(Answer::nothing())
        } else {
            Err(Problem::NotFound("grant"))
        }
    }
}
