//! The agent as surfaces see it: what they ask for, and what they are told.
//!
//! The agent itself is elsewhere; nothing here reaches a model.

use std::collections::BTreeMap;
use std::sync::Arc;

use gongfu_core::account::Actor;
use gongfu_core::agent::{AgentLimits, CallRecord, CallStatus, End, Entry, PlannedCall, Session};
use gongfu_core::port::{Message, ModelRetry, Usage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::call::{Asking, Elicitation, Event, Question};
use crate::gate::Answer;

/// gongfu's own agent. Each request passes the gate.
pub trait ChatAgent: Send + Sync {
    /// Runs a turn of a chat to its end.
    fn chat(self: Arc<Self>, request: ChatRequest, person: &Actor) -> Answer<'_, ChatResult>;

    /// Runs a pipeline to its end, and answers its outcome with the id of the run.
    fn run_task(self: Arc<Self>, task: TaskSpec, person: &Actor) -> Answer<'_, Value>;

    /// The sessions of a person, the one with the latest turn first.
    fn sessions<'a>(&'a self, person: &'a Actor) -> Answer<'a, Vec<SessionInfo>>;

    /// The log of a session.
    fn session<'a>(&'a self, id: &'a str, person: &'a Actor) -> Answer<'a, ShownSession>;

    /// Removes a session with its log.
    fn remove_session<'a>(&'a self, id: &'a str, person: &'a Actor) -> Answer<'a, ()>;

    /// The names of the models that can be asked for; the first one is asked where none is named.
    fn models(&self) -> Vec<String>;

    /// The limits of each turn.
    fn limits(&self) -> AgentLimits;
}

/// A run of a pipeline that is asked for.
#[derive(Debug, Clone)]
pub struct TaskSpec {
    /// The name of a pipeline that comes with gongfu.
    pub name: Option<String>,
    /// The definition of another one.
    pub pipeline: Option<Value>,
    /// The input.
    pub params: Value,
    /// Cancels the run.
    pub cancel: CancellationToken,
}

/// The surface's end of a turn. Must not block, except to ask a person.
pub trait AgentEvents: Send + Sync {
    /// The id of the session, before anything happens in it.
    fn session(&self, _id: &str) {}

    /// A piece of the model's answer arrived.
    fn text(&self, _piece: &str) {}

    /// The model is asked again: the pieces of its answer so far are void.
    fn retry(&self, _retry: &ModelRetry<'_>) {}

    /// The model's answer is whole.
    fn answered(&self) {}

    /// A tool is called.
    fn calling(&self, _call: &PlannedCall) {}

    /// Something happens during a call.
    fn during(&self, _call: &str, _event: Event<'_>) {}

    /// A call ended; the text is its result as the model sees it.
    fn called(&self, _record: &CallRecord, _text: &str) {}

    /// The first messages were summarised.
    fn compacted(&self) {}

    /// Asks the person about a call, and records the answer as that person's; see [`EventSink::ask`](crate::EventSink::ask).
    fn ask<'a>(&'a self, _question: &'a Question) -> Asking<'a> {
        Box::pin(std::future::ready(false))
    }

    /// Shows the person a question of another server; see [`EventSink::elicit`](crate::EventSink::elicit).
    fn elicit(&self, _question: Value) -> Elicitation<'_> {
        Box::pin(std::future::ready(None))
    }
}

/// Events that nobody receives.
impl AgentEvents for () {}

/// The work of a turn: a prompt, or the rest of the turn that is open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum ChatInput {
    /// Answer this prompt.
    Prompt(String),
    /// Finish the open turn.
    Resume,
}

/// A turn that is asked for.
pub struct ChatRequest {
    /// The session; `None` starts a new one.
    pub session: Option<String>,
    /// The prompt.
    pub input: ChatInput,
    /// The model; `None` for the configured one.
    pub model: Option<String>,
    /// The conversation before a new session.
    pub history: Vec<Message>,
    /// The folder of the project that a new session belongs to.
    pub project: Option<String>,
    /// False for a session that leaves no log.
    pub is_kept: bool,
    /// Receives what happens.
    pub events: Arc<dyn AgentEvents>,
    /// Stops the turn.
    pub cancel: CancellationToken,
}

impl ChatRequest {
    /// A prompt in a new session, with the configured model.
    pub fn new(prompt: impl Into<String>) -> Self {
        Self {
            session: None,
            input: ChatInput::Prompt(prompt.into()),
            model: None,
            history: Vec::new(),
            project: None,
            is_kept: true,
            events: Arc::new(()),
            cancel: CancellationToken::new(),
        }
    }
}

/// The result of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ChatResult {
    /// The reply.
    pub reply: String,
    /// The calls, in the order of the model's answers.
    pub tool_calls: Vec<ToolCall>,
    /// The tokens of the turn.
    #[schemars(with = "BTreeMap<String, u64>")]
    pub usage: Usage,
    /// The id of the session.
    pub session: String,
    /// True if there was a conversation before this turn.
    pub has_context: bool,
    /// The reason why the turn ended: `answered`, `steps` where the limit of steps was reached, `length` where the answer
    /// is cut at its longest, `filter` where the provider's filter stopped it.
    #[schemars(with = "String")]
    pub end: End,
    /// The model that answered.
    pub model: String,
}

/// A call of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ToolCall {
    /// The tool.
    pub tool: String,
    /// The arguments.
    pub params: Map<String, Value>,
    /// The start of the result, at most 500 characters.
    pub result: String,
    /// The way in which it ended: `ok`, `failed`, `refused`, `invalid` or `interrupted`.
    #[schemars(with = "String")]
    pub status: CallStatus,
    /// The time that it took.
    pub duration_ms: u64,
}

/// A session in a list.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionInfo {
    /// Its id.
    pub id: String,
    /// The start of its first prompt.
    pub title: String,
    /// The time of its start (RFC 3339).
    pub started: String,
    /// The time of its last turn.
    pub updated: String,
    /// The model that was asked last.
    pub model: Option<String>,
    /// The number of turns.
    pub turns: usize,
    /// True while a turn isn't at its end.
    pub is_open: bool,
    /// The tokens of all turns.
    pub usage: Usage,
    /// The session that it was forked from.
    pub forked_from: Option<String>,
    /// The folder of the project that it was started in, where there is one.
    pub project: Option<String>,
    /// True while a turn runs in it.
    #[serde(skip_deserializing)]
    pub is_running: bool,
}

/// The log of a session, and its state.
#[derive(Debug, Clone)]
pub struct ShownSession {
    /// The entries.
    pub entries: Vec<Entry>,
    /// The state after the last entry.
    pub session: Session,
}

/// The calls of a turn, as results show them.
pub fn tool_calls(calls: &[CallRecord]) -> Vec<ToolCall> {
    let calls = calls.iter().map(|record| ToolCall {
        tool: record.call.tool.clone(),
        params: record.call.params.clone(),
        result: record.result.clone(),
        status: record.status,
        duration_ms: record.duration_ms,
    });
    calls.collect()
}
