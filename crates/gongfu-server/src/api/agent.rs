//! The agent: a turn of a chat, one tool without a model, and what it can use.

use gongfu_core::port::Message;
use gongfu_hub::Profile;
use gongfu_hub::agent::{ChatInput, ChatRequest, ChatResult, TurnEvent};
use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::capability::{CapabilityPage, CapabilityRead, PageChoice, kind_names};
use super::context::Context;
use super::endpoint::{Access, Answer, Endpoint, Refusal, ReplyBody};
use super::skill::{READ, WRITE};
use super::tool::{TOOL_REFUSALS, ToolCall, ToolReply};
use super::work::TurnWork;
use crate::problem::Problem;

pub(super) mod session;
pub(super) mod task;

/// The agent's tools: gongfu's own, and those of other servers.
const PROFILE: Profile = Profile::Standard;

/// The refusals of a turn, besides those of values.
pub(super) const TURN_REFUSALS: &[Refusal] = &[
    Refusal::AGENT_OFF,
    Refusal::SESSION_NOT_FOUND,
    Refusal {
        status: 409,
        codes: &["MODEL_NOT_CONFIGURED", "CONFLICT"],
    },
    Refusal {
        status: 422,
        codes: &["INVALID_ARGUMENT", "SESSION_INVALID"],
    },
    Refusal::QUOTA_EXCEEDED,
    Refusal {
        status: 499,
        codes: &["CANCELLED"],
    },
    Refusal {
        status: 502,
        codes: &["MODEL_REFUSED"],
    },
    Refusal {
        status: 503,
        codes: &["MODEL_UNAVAILABLE"],
    },
];

/// Let the agent answer a prompt, with the help of tools and skills.
///
/// With `Accept: text/event-stream` it answers by events: `session`, `text` (a piece of the model's answer), `retry` (the
/// pieces of this answer are void), `call`, `result`, and at the end `done` with what the request gets as JSON otherwise,
/// or `error`. A client that closes the connection stops the turn; `resume` finishes it. A call that needs a person's
/// approval is refused, and the agent says so.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AgentChat {
    /// The prompt; leave it out with `resume`.
    #[schemars(length(min = 1, max = 262_144), extend("example" = "Which skills are there?"))]
    prompt: Option<String>,
    /// The session to continue; missing for a new one.
    #[schemars(length(min = 1, max = 128))]
    session: Option<String>,
    /// The model, as `PROVIDER/NAME` or one of `models` of the capabilities; missing for the configured one.
    #[schemars(length(min = 1, max = 256))]
    model: Option<String>,
    /// True to finish the last turn of `session`, which was stopped or failed.
    #[serde(default)]
    resume: bool,
    /// The conversation before a new session.
    #[serde(default)]
    #[schemars(length(max = 1_000))]
    history: Vec<PastMessage>,
    /// False for a new session that leaves no log.
    keep: Option<bool>,
    /// The set that the request works with; a set only narrows.
    #[schemars(length(min = 1, max = 128))]
    set: Option<String>,
}

/// A message before a session.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PastMessage {
    /// The person or the agent.
    role: PastRole,
    /// The text.
    content: String,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum PastRole {
    User,
    Assistant,
}

impl From<PastMessage> for Message {
    fn from(message: PastMessage) -> Self {
        let text = message.content;
        match message.role {
            PastRole::User => Self::User { text },
            PastRole::Assistant => Self::Assistant {
                text,
                calls: Vec::new(),
            },
        }
    }
}

impl AgentChat {
    fn request(self) -> Result<ChatRequest, Problem> {
        let input = match (self.prompt, self.resume, &self.session) {
            (Some(prompt), false, _) => ChatInput::Prompt(prompt),
            (None, true, Some(_)) => ChatInput::Resume,
            (None, true, None) => {
                return Err(Problem::field("session", "name the session to resume"));
            }
            (Some(_), true, _) => {
                let why = "a resumed turn already has its prompt; pass either `prompt` or `resume`";
                return Err(Problem::field("prompt", why));
            }
            (None, false, _) => return Err(Problem::field("prompt", "it is missing")),
        };
        let why = "only a new session takes it; leave out either this or `session`";
        if self.session.is_some() && !self.history.is_empty() {
            return Err(Problem::field("history", why));
        }
        if self.session.is_some() && self.keep == Some(false) {
            return Err(Problem::field("keep", why));
        }
        Ok(ChatRequest {
            session: self.session,
            input,
            model: self.model,
            history: self.history.into_iter().map(Message::from).collect(),
            is_kept: self.keep.unwrap_or(true),
            ..ChatRequest::new("")
        })
    }
}

impl Endpoint for AgentChat {
    const NAME: &'static str = "agent_chat";
    const METHOD: Method = Method::POST;
    const PATH: &'static str = "/api/v1/agent/chat";
    const ACCESS: Access = WRITE;
    const IS_LOCAL: bool = true;
    const QUERY: &'static [&'static str] = &["set"];
    const HEADERS: &'static [&'static str] = &["Accept"];
    const REFUSALS: &'static [Refusal] = TURN_REFUSALS;
    const REPLY: ReplyBody = ReplyBody::JsonOrEvents;
    type Reply = ChatResult;

    async fn answer(self, context: &Context) -> Result<Answer<ChatResult>, Problem> {
        let actor = context.actor_in(self.set.as_deref())?;
        let turn = TurnWork::chat(context, self.request()?, actor)?;
        turn.answer(context, "done", TurnEvent::json).await
    }
}

/// Call one tool of the agent, without a model.
///
/// The same as `POST /api/v1/tools/{name}`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AgentTool {
    /// The name of the tool.
    #[schemars(length(min = 1, max = 128), extend("example" = "skill_list"))]
    name: String,
    /// Its arguments.
    #[serde(default)]
    params: Map<String, Value>,
    /// The set that the request works with; a set only narrows.
    #[schemars(length(min = 1, max = 128))]
    set: Option<String>,
}

impl Endpoint for AgentTool {
    const NAME: &'static str = "agent_tool";
    const METHOD: Method = Method::POST;
    const PATH: &'static str = "/api/v1/agent/tool";
    const ACCESS: Access = Access::Credential;
    const IS_LOCAL: bool = true;
    const QUERY: &'static [&'static str] = &["set"];
    const REFUSALS: &'static [Refusal] = TOOL_REFUSALS;
    type Reply = ToolReply;

    async fn answer(self, context: &Context) -> Result<Answer<ToolReply>, Problem> {
        let call = ToolCall {
            name: self.name,
            arguments: self.params,
            profile: Some(PROFILE.as_str().to_owned()),
            set: self.set,
        };
        call.answer(context).await
    }
}

/// The things that the agent can use.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AgentPage {
    #[serde(flatten)]
    page: CapabilityPage,
    /// The models that can be asked for, the configured one first.
    models: Vec<String>,
    /// The limits of a turn; null where the agent isn't for the callers of this server.
    limits: Option<TurnLimits>,
}

/// The limits of a turn.
#[derive(Debug, Serialize, JsonSchema)]
struct TurnLimits {
    /// The answers in which the model may call tools.
    steps: u32,
    /// The calls of one answer.
    calls: usize,
    /// The characters of a result that the model sees.
    observation: usize,
    /// The tokens of a request from which the conversation before it is summarised.
    context_tokens: u64,
    /// The tokens of a whole session; null for any number.
    session_tokens: Option<u64>,
}

/// List everything that the agent can use for the credential, its models and its limits.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AgentCapabilities {
    /// Only those of this kind.
    #[schemars(extend("enum" = kind_names()))]
    kind: Option<String>,
    /// The `next_cursor` of the page before.
    #[schemars(length(min = 1, max = 2_000), extend("pattern" = "^[A-Za-z0-9_-]+$"))]
    cursor: Option<String>,
    /// The most capabilities of the page (50).
    #[schemars(range(min = 1, max = 250))]
    limit: Option<usize>,
    /// The set that the request works with; a set only narrows.
    #[schemars(length(min = 1, max = 128))]
    set: Option<String>,
}

impl Endpoint for AgentCapabilities {
    const NAME: &'static str = "agent_capabilities";
    const METHOD: Method = Method::GET;
    const PATH: &'static str = "/api/v1/agent/capabilities";
    const ACCESS: Access = READ;
    const IS_LOCAL: bool = true;
    const REFUSALS: &'static [Refusal] = CapabilityRead::REFUSALS;
    type Reply = AgentPage;

    async fn answer(self, context: &Context) -> Result<Answer<AgentPage>, Problem> {
        let choice = PageChoice {
            kind: self.kind,
            cursor: self.cursor,
            limit: self.limit,
            set: self.set,
        };
        let agent = context.agent().ok();
        let limits = agent.map(|agent| agent.limits());
        Ok(Answer::from(AgentPage {
            page: CapabilityPage::read(context, choice, &[PROFILE]).await?,
            models: agent.map(|agent| agent.models()).unwrap_or_default(),
            limits: limits.map(|limits| TurnLimits {
                steps: limits.steps,
                calls: limits.calls,
                observation: limits.observation,
                context_tokens: limits.context_tokens,
                session_tokens: limits.session_tokens,
            }),
        }))
    }
}
