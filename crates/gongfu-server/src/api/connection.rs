//! Connections: the other servers whose tools the operator offers to users.

use gongfu_core::account::Scope;
use gongfu_core::connection::{ConnectionName, State, Target, wire_name};
use gongfu_core::port::ConnectionStatus;
use gongfu_core::registry::Credential;
use gongfu_hub::surface::connection::ConnectionStates;
use gongfu_hub::{Catalog, Profile, ToolSpec};
use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::context::Context;
use super::endpoint::{Access, Answer, Endpoint, Refusal};
use crate::problem::Problem;

/// Another server.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ConnectionReply {
    /// The name, with which the names of its tools begin.
    name: String,
    /// `program` or `address`.
    kind: &'static str,
    /// The state of your session: `INIT` before the first call, `READY`, `DEGRADED` or `DEAD`.
    state: &'static str,
    /// Why it is not ready; null if it is.
    reason: Option<String>,
    /// The number of tools that can be called.
    tool_count: usize,
    /// Its command or address as the operator approved it, a line each, without secrets; null for those who are no admins.
    target: Option<Vec<String>>,
}

impl ConnectionReply {
    fn new(status: ConnectionStatus, is_admin: bool) -> Self {
        let target = &status.connection.target;
        Self {
            kind: match target {
                Target::Program(_) => "program",
                Target::Url(_) => "address",
            },
            state: status.state.as_str(),
            reason: match status.state {
                // The words of a program or of a network may name what users needn't know.
                State::Dead if !is_admin => {
                    Some("it doesn't start, or gives no answer; ask the operator".to_owned())
                }
                _ => status.reason,
            },
            tool_count: status.tools.len(),
            target: is_admin.then(|| target.lines()),
            name: status.connection.name.into(),
        }
    }
}

/// The connections, as the caller may see them, and whether that is an admin.
async fn statuses(context: &Context) -> Result<(Vec<ConnectionStatus>, bool), Problem> {
    let statuses = context.operate(ConnectionStates {}).await?;
    let identity = context.identity()?;
    let is_person = matches!(identity.credential, Credential::SignIn(_));
    Ok((statuses, identity.is_admin && is_person))
}

/// Connections.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ConnectionPage {
    /// The connections, by name.
    items: Vec<ConnectionReply>,
    /// The number of all.
    total: usize,
}

/// List the other servers whose tools you may call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ConnectionList {}

impl Endpoint for ConnectionList {
    const NAME: &'static str = "connection_list";
    const METHOD: Method = Method::GET;
    const PATH: &'static str = "/api/v1/connections";
    const ACCESS: Access = Access::Scopes(&[Scope::SkillsRead, Scope::SkillsRun]);
    type Reply = ConnectionPage;

    async fn answer(self, context: &Context) -> Result<Answer<ConnectionPage>, Problem> {
        let (statuses, is_admin) = statuses(context).await?;
        let items = statuses.into_iter();
        let items: Vec<_> = items
            .map(|status| ConnectionReply::new(status, is_admin))
            .collect();
        let total = items.len();
        Ok(Answer::from(ConnectionPage { items, total }))
    }
}

/// A tool of another server.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ConnectionTool {
    /// The name, for `POST /api/v1/tools/{name}`.
    name: String,
    /// The title for people.
    title: String,
    /// Its purpose, in the words of its server.
    description: String,
    /// The harm that it can do: `SAFE`, `LOW`, `MEDIUM`, `HIGH` or `CRITICAL`.
    safety: &'static str,
    /// True if each call of an agent waits for your approval.
    needs_approval: bool,
}

impl ConnectionTool {
    fn new(spec: ToolSpec, catalog: &Catalog) -> Self {
        Self {
            needs_approval: catalog.needs_approval(&spec),
            name: spec.name.to_string(),
            title: spec.title.to_string(),
            description: spec.description,
            safety: spec.safety.as_str(),
        }
    }
}

/// Another server with its tools.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ConnectionWithTools {
    #[serde(flatten)]
    connection: ConnectionReply,
    /// The tools that can be called.
    tools: Vec<ConnectionTool>,
}

/// Show another server with its tools.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ConnectionRead {
    /// The name.
    #[schemars(length(min = 1, max = 64), extend("example" = "github"))]
    name: String,
}

impl Endpoint for ConnectionRead {
    const NAME: &'static str = "connection_read";
    const METHOD: Method = Method::GET;
    const PATH: &'static str = "/api/v1/connections/{name}";
    const ACCESS: Access = Access::Scopes(&[Scope::SkillsRead, Scope::SkillsRun]);
    const REFUSALS: &'static [Refusal] = &[Refusal::NOT_FOUND];
    type Reply = ConnectionWithTools;

    async fn answer(self, context: &Context) -> Result<Answer<ConnectionWithTools>, Problem> {
        let (statuses, is_admin) = statuses(context).await?;
        let mut statuses = statuses.into_iter();
        let named = statuses.find(|status| status.connection.name.as_str() == self.name);
        let status = named.ok_or(Problem::NotFound("connection"))?;
        let actor = context.actor()?;
        let tool = |name: &ConnectionName, tool: &String| {
            let name = wire_name(name, tool);
            context.catalog().spec(&[Profile::All], &actor, &name)
        };
        let name = &status.connection.name;
        let tools = status.tools.iter().filter_map(|one| tool(name, one));
        let tools = tools.map(|spec| ConnectionTool::new(spec, context.catalog()));
        let tools = tools.collect();
        let connection = ConnectionReply::new(status, is_admin);
        Ok(Answer::from(ConnectionWithTools { connection, tools }))
    }
}
