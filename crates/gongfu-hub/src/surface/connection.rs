//! Connections to other MCP servers: a person sees them, approves them, and ends that again.

use std::collections::BTreeMap;
use std::sync::Arc;

use gongfu_core::connection::{ConnectionName, OfferedSkill, ServerContent};
use gongfu_core::port::{ConnectionStatus, Discovery, PortError, SignIn};
use gongfu_core::{near, pin};
use schemars::JsonSchema;
use serde::Serialize;

use super::operation::{self, Operation, specified};
use crate::call::Call;
use crate::error::ToolError;
use crate::foreign;
use crate::problem::Problem;
use crate::tool::ToolSpec;

/// Lists the connections with their state. With `start`, the approved ones are started first, so that the state is
/// the one of this moment.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ConnectionList {
    /// Starts those that are approved.
    pub start: bool,
}

impl Operation for ConnectionList {
    const NAME: &'static str = "connection/list";
    type Output = Vec<ConnectionStatus>;
    specified!(ToolSpec {
        person_only: true,
        ..operation::spec::<Self>()
    });

    async fn run(self, call: &Call) -> Result<Vec<ConnectionStatus>, ToolError> {
        let servers = call.space.servers();
        let statuses = servers.statuses().await.map_err(|error| broken(&error))?;
        if !self.start {
            return Ok(statuses);
        }
        let approved = statuses.iter().filter(|status| status.is_approved);
        let names: Vec<&ConnectionName> = approved.map(|status| &status.connection.name).collect();
        // What fails is in their state afterwards.
        let starting = names.into_iter().map(|name| servers.discover(name));
        futures_util::future::join_all(starting).await;
        servers.statuses().await.map_err(|error| broken(&error))
    }
}

/// Lists the connections with their state for those who may call their tools. Starts nothing.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ConnectionStates {}

impl Operation for ConnectionStates {
    const NAME: &'static str = "connection/states";
    type Output = Vec<ConnectionStatus>;
    specified!();

    async fn run(self, call: &Call) -> Result<Vec<ConnectionStatus>, ToolError> {
        let statuses = call.space.servers().statuses().await;
        statuses.map_err(|error| broken(&error))
    }
}

/// Shows the prompts and resources of a connection, as its server listed them last. Starts nothing.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ConnectionContent {
    /// The name.
    pub connection: String,
}

impl Operation for ConnectionContent {
    const NAME: &'static str = "connection/content";
    type Output = Arc<ServerContent>;
    specified!(ToolSpec {
        person_only: true,
        ..operation::spec::<Self>()
    });

    async fn run(self, call: &Call) -> Result<Arc<ServerContent>, ToolError> {
        let contents = call.space.servers().contents().await;
        let contents = contents.map_err(|error| broken(&error))?;
        let mut contents = contents.into_iter();
        let found = contents.find(|content| content.connection.as_str() == self.connection);
        Ok(found.map(|found| found.content).unwrap_or_default())
    }
}

/// Approves the command or address of a connection, so that it may be started.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ConnectionTrust {
    /// The name.
    pub connection: String,
    /// The digest of what the person saw.
    pub digest: String,
}

impl Operation for ConnectionTrust {
    const NAME: &'static str = "connection/trust";
    type Output = ();
    specified!(operation::person_spec::<Self>());

    async fn run(self, call: &Call) -> Result<(), ToolError> {
        let status = status(call, &self.connection).await?;
        let connection = &status.connection;
        if connection.target.digest().to_string() != self.digest {
            return Err(Problem::ChangedSinceReview.error());
        }
        let (records, now) = (call.space.records(), call.space.now());
        let known = pin::read(records, &connection.name).await;
        let known = known.map_err(|error| broken(&error))?;
        if known.covers(&connection.target) {
            return Ok(());
        }
        let approving = pin::approve(records, connection, &[], now);
        approving.await.map_err(|error| broken(&error))
    }
}

/// Starts or contacts the server of a connection that is approved, and lists its tools.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ConnectionTest {
    /// The name.
    pub connection: String,
}

impl Operation for ConnectionTest {
    const NAME: &'static str = "connection/test";
    type Output = Discovery;
    specified!(ToolSpec {
        person_only: true,
        ..operation::spec::<Self>()
    });

    async fn run(self, call: &Call) -> Result<Discovery, ToolError> {
        let status = status(call, &self.connection).await?;
        discover(call, &status.connection.name).await
    }
}

/// Approves the definitions of a connection's tools, and its skills, as the person saw them.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ConnectionApprove {
    /// The name.
    pub connection: String,
    /// The digest of the command or address that the person saw.
    pub digest: String,
    /// The names and digests of the definitions that the person saw.
    pub tools: Vec<(String, String)>,
    /// The URIs and digests of the skills that the person saw; `None` leaves their approval as it is.
    pub skills: Option<Vec<(String, String)>>,
}

impl Operation for ConnectionApprove {
    const NAME: &'static str = "connection/approve";
    type Output = usize;
    specified!(operation::person_spec::<Self>());

    async fn run(self, call: &Call) -> Result<usize, ToolError> {
        let status = status(call, &self.connection).await?;
        let connection = &status.connection;
        if connection.target.digest().to_string() != self.digest {
            return Err(Problem::ChangedSinceReview.error());
        }
        let discovery = discover(call, &connection.name).await?;
        let skills = match &self.skills {
            Some(seen) => Some(seen_skills(seen, discovery.skills.skills)?),
            None => None,
        };
        let offered = discovery.offered;
        let mut tools: Vec<_> = self.tools.iter().collect();
        let count = tools.len();
        let wanted = offered.iter().filter(|tool| connection.wants(&tool.name));
        for tool in wanted {
            let digest = tool.digest().to_string();
            tools.retain(|(name, seen)| *name != tool.name || *seen != digest);
        }
        if !tools.is_empty() {
            return Err(Problem::ChangedSinceReview.error());
        }
        let seen = |name: &str| self.tools.iter().any(|(tool, _)| tool == name);
        let approved: Vec<_> = offered
            .into_iter()
            .filter(|tool| seen(&tool.name))
            .collect();
        let (records, now) = (call.space.records(), call.space.now());
        let approving = pin::approve(records, connection, &approved, now);
        approving.await.map_err(|error| broken(&error))?;
        if let Some(skills) = skills {
            let approving = pin::approve_skills(records, connection, skills);
            approving.await.map_err(|error| broken(&error))?;
        }
        Ok(count)
    }
}

/// The skills that the person saw, as the server offers them still.
fn seen_skills(
    seen: &[(String, String)],
    offered: Vec<OfferedSkill>,
) -> Result<Vec<OfferedSkill>, ToolError> {
    let wanted: BTreeMap<&str, &str> = seen
        .iter()
        .map(|(uri, digest)| (&**uri, &**digest))
        .collect();
    let is_seen = |skill: &OfferedSkill| {
        let digest = wanted.get(&*skill.uri);
        digest.is_some_and(|digest| skill.digest().to_string() == *digest)
    };
    let approved: Vec<OfferedSkill> = offered.into_iter().filter(is_seen).collect();
    if approved.len() == wanted.len() {
        Ok(approved)
    } else {
        Err(Problem::ChangedSinceReview.error())
    }
}

/// Ends the approval of a connection; answers whether it had one.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ConnectionRevoke {
    /// The name; the connection needn't exist any more.
    pub connection: String,
}

impl Operation for ConnectionRevoke {
    const NAME: &'static str = "connection/revoke";
    type Output = bool;
    specified!(operation::person_spec::<Self>());

    async fn run(self, call: &Call) -> Result<bool, ToolError> {
        let name = ConnectionName::new(&self.connection).map_err(|error| {
            Problem::wrong_value("connection", error.to_string(), LISTS).error()
        })?;
        let removing = pin::remove(call.space.records(), &name);
        removing.await.map_err(|error| broken(&error))
    }
}

/// Begins a sign-in at the server of a connection.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ConnectionLogin {
    /// The name.
    pub connection: String,
    /// The address that the browser comes back to.
    pub redirect: String,
}

impl Operation for ConnectionLogin {
    const NAME: &'static str = "connection/login";
    type Output = Box<dyn SignIn>;
    specified!(operation::person_spec::<Self>());

    async fn run(self, call: &Call) -> Result<Box<dyn SignIn>, ToolError> {
        let name = status(call, &self.connection).await?.connection.name;
        let beginning = call.space.servers().sign_in(&name, self.redirect);
        beginning
            .await
            .map_err(|error| foreign::refusal(&name, &error, call))
    }
}

/// Forgets the sign-in at the server of a connection; answers whether there was one.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ConnectionLogout {
    /// The name.
    pub connection: String,
}

impl Operation for ConnectionLogout {
    const NAME: &'static str = "connection/logout";
    type Output = bool;
    specified!(operation::person_spec::<Self>());

    async fn run(self, call: &Call) -> Result<bool, ToolError> {
        let name = status(call, &self.connection).await?.connection.name;
        let removing = call.space.servers().sign_out(&name);
        removing
            .await
            .map_err(|error| foreign::refusal(&name, &error, call))
    }
}

/// A hint for somebody who looks for a name.
const LISTS: &str = "`gongfu connection list` shows the connections";

/// The connection of a name.
async fn status(call: &Call, name: &str) -> Result<ConnectionStatus, ToolError> {
    let statuses = call.space.servers().statuses().await;
    let statuses = statuses.map_err(|error| broken(&error))?;
    let names: Vec<String> = statuses
        .iter()
        .map(|status| status.connection.name.to_string())
        .collect();
    let mut statuses = statuses.into_iter();
    let found = statuses.find(|status| status.connection.name.as_str() == name);
    found.ok_or_else(|| {
        let nearest = near::nearest_first(name, names.iter().map(String::as_str));
        Problem::ConnectionUnknown {
            name: name.to_owned(),
            nearest: nearest.into_iter().take(5).map(str::to_owned).collect(),
        }
        .error()
    })
}

async fn discover(call: &Call, name: &ConnectionName) -> Result<Discovery, ToolError> {
    let discovering = call.space.servers().discover(name);
    discovering
        .await
        .map_err(|error| foreign::refusal(name, &error, call))
}

fn broken(error: &PortError) -> ToolError {
    Problem::broken("the connections", error).error()
}
