//! The caller's sessions of the agent.

use std::collections::BTreeMap;

use gongfu_core::port::Usage;
use gongfu_hub::agent::SessionInfo;
use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::super::context::Context;
use super::super::endpoint::{Access, Answer, Endpoint, Refusal, ReplyBody};
use super::super::skill::{READ, WRITE};
use crate::problem::Problem;

/// The sessions of an answer, unless somebody asks for another number.
const PAGE: usize = 50;

/// Sessions.
#[derive(Debug, Serialize, JsonSchema)]
pub(in super::super) struct SessionPage {
    /// The sessions, the one with the latest turn first.
    items: Vec<SessionInfo>,
    /// The number of all.
    total: usize,
}

/// List the sessions of the agent, the one with the latest turn first.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct AgentSessions {
    /// The most sessions to return (50).
    #[schemars(range(min = 1, max = 1_000))]
    limit: Option<usize>,
}

impl Endpoint for AgentSessions {
    const NAME: &'static str = "agent_session_list";
    const METHOD: Method = Method::GET;
    const PATH: &'static str = "/api/v1/agent/sessions";
    const ACCESS: Access = READ;
    const IS_LOCAL: bool = true;
    const REFUSALS: &'static [Refusal] = &[Refusal::AGENT_OFF];
    type Reply = SessionPage;

    async fn answer(self, context: &Context) -> Result<Answer<SessionPage>, Problem> {
        let sessions = context.agent()?.sessions(&context.actor()?).await?;
        let total = sessions.len();
        let items = sessions.into_iter().take(self.limit.unwrap_or(PAGE));
        let items = items.collect();
        Ok(Answer::from(SessionPage { items, total }))
    }
}

/// A session with its log.
#[derive(Debug, Serialize, JsonSchema)]
pub(in super::super) struct SessionLog {
    /// The id.
    id: String,
    /// The model that was asked last.
    model: Option<String>,
    /// True while a turn isn't at its end.
    is_open: bool,
    /// The tokens of all turns by kind, and their cost.
    #[schemars(with = "BTreeMap<String, f64>")]
    usage: Usage,
    /// The entries of the log, in order; each has a number `n`, a time `at` and a `kind`.
    entries: Vec<Map<String, Value>>,
}

/// Read the log of a session.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct AgentSession {
    /// The id of the session.
    #[schemars(length(min = 1, max = 128))]
    id: String,
}

impl Endpoint for AgentSession {
    const NAME: &'static str = "agent_session_read";
    const METHOD: Method = Method::GET;
    const PATH: &'static str = "/api/v1/agent/sessions/{id}";
    const ACCESS: Access = READ;
    const IS_LOCAL: bool = true;
    const REFUSALS: &'static [Refusal] = &[
        Refusal::AGENT_OFF,
        Refusal::SESSION_NOT_FOUND,
        Refusal::SESSION_INVALID,
    ];
    type Reply = SessionLog;

    async fn answer(self, context: &Context) -> Result<Answer<SessionLog>, Problem> {
        let (agent, actor) = (context.agent()?, context.actor()?);
        let shown = agent.session(&self.id, &actor).await?;
        let entries = shown.entries.iter().map(|entry| {
            let entry = serde_json::to_value(entry);
            match entry {
                Ok(Value::Object(entry)) => Ok(entry),
                _ => Err(Problem::Fault),
            }
        });
        let entries = entries.collect::<Result<_, _>>()?;
        Ok(Answer::from(SessionLog {
            model: shown.session.model().map(str::to_owned),
            is_open: shown.session.is_open(),
            usage: shown.session.usage(),
            id: self.id,
            entries,
        }))
    }
}

/// Remove a session with its log. A turn that runs in it ends at its next step.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct AgentSessionRemove {
    /// The id of the session.
    #[schemars(length(min = 1, max = 128))]
    id: String,
}

impl Endpoint for AgentSessionRemove {
    const NAME: &'static str = "agent_session_remove";
    const METHOD: Method = Method::DELETE;
    const PATH: &'static str = "/api/v1/agent/sessions/{id}";
    const ACCESS: Access = WRITE;
    const IS_LOCAL: bool = true;
    const SUCCESS: StatusCode = StatusCode::NO_CONTENT;
    const REFUSALS: &'static [Refusal] = &[Refusal::AGENT_OFF, Refusal::SESSION_NOT_FOUND];
    const REPLY: ReplyBody = ReplyBody::Nothing;
    type Reply = ();

    async fn answer(self, context: &Context) -> Result<Answer<()>, Problem> {
        let (agent, actor) = (context.agent()?, context.actor()?);
        agent.remove_session(&self.id, &actor).await?;
        Ok(Answer::nothing())
    }
}
