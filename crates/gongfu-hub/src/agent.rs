//! The agent as surfaces see it: what they ask for, and what they are told.
//!
//! The agent itself is elsewhere; nothing here reaches a model.

use std::collections::BTreeMap;
use std::sync::Arc;

use gongfu_core::account::Actor;
use gongfu_core::agent::{
    AgentLimits, CallRecord, CallStatus, End, Entry, MAX_TRACED, PlannedCall, Session,
};
use gongfu_core::pipeline;
use gongfu_core::port::{Message, Usage};
use gongfu_core::text::clipped;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use crate::call::{Asking, Elicitation, Event, Question};
use crate::gate::Answer;

/// gongfu's own agent. Each request passes the gate.
pub trait ChatAgent: Send + Sync {
    /// Runs a turn of a chat to its end.
    fn chat(self: Arc<Self>, request: ChatRequest, person: &Actor) -> Answer<'_, ChatResult>;

    /// Runs a pipeline to its end, or the rest of a run.
    fn run_task(self: Arc<Self>, task: TaskSpec, person: &Actor) -> Answer<'_, TaskResult>;

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
pub struct TaskSpec {
    /// The run.
    pub input: TaskChoice,
    /// Receives what happens.
    pub events: Arc<dyn TaskEvents>,
    /// Cancels the run.
    pub cancel: CancellationToken,
}

/// The run that is asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum TaskChoice {
    /// One of a pipeline that comes with gongfu, with this input.
    Named(String, Value),
    /// One of this definition, with this input.
    Defined(Value, Value),
    /// The rest of the run with this id, which was interrupted, cancelled, or failed.
    Resume(String),
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TaskResult {
    /// The id of the run.
    pub run: String,
    /// The outcome.
    #[serde(flatten)]
    #[schemars(schema_with = "outcome_schema")]
    pub outcome: pipeline::Outcome,
}

/// The schema of an outcome.
fn outcome_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "properties": {
            "success": {
                "type": "boolean",
                "description": "True if no step failed that ends the run.",
            },
            "pipelineId": { "type": "string", "description": "The name of the pipeline." },
            "outputs": {
                "type": "object",
                "description": "The outputs of the steps, by name.",
            },
            "trace": {
                "type": "array",
                "items": { "type": "object" },
                "description": "The steps by layer: `step`, `status`, `durationMs`, `attempt`.",
            },
            "durationMs": {
                "type": "integer",
                "description": "The duration, in milliseconds.",
            },
            "error": {
                "type": ["string", "null"],
                "description": "The reason why the run failed; null where it succeeded.",
            },
        },
        "required": ["success", "pipelineId", "outputs", "trace", "durationMs", "error"],
    })
}

/// The surface's end of calls. Must not block, except to ask a person.
pub trait CallEvents: Send + Sync {
    /// Something happens during a call, which is named by its id, or by its step in a pipeline.
    fn during(&self, _call: &str, _event: Event<'_>) {}

    /// Asks the person about a call, and records the answer as that person's; see [`EventSink::ask`](crate::EventSink::ask).
    fn ask<'a>(&'a self, _question: &'a Question) -> Asking<'a> {
        Box::pin(std::future::ready(false))
    }

    /// Shows the person a question of another server; see [`EventSink::elicit`](crate::EventSink::elicit).
    fn elicit(&self, _question: Value) -> Elicitation<'_> {
        Box::pin(std::future::ready(None))
    }
}

/// The surface's end of a turn.
pub trait AgentEvents: CallEvents {
    /// Receives what happens, in order.
    fn event(&self, _event: TurnEvent) {}
}

/// The surface's end of a run of a pipeline.
pub trait TaskEvents: CallEvents {
    /// Receives what happens, in order.
    fn event(&self, _event: TaskEvent) {}
}

impl CallEvents for () {}

/// Events that nobody receives.
impl AgentEvents for () {}

/// Events that nobody receives.
impl TaskEvents for () {}

impl<E: Send> CallEvents for UnboundedSender<E> {}

/// Events are dropped once nobody receives them.
impl AgentEvents for UnboundedSender<TurnEvent> {
    fn event(&self, event: TurnEvent) {
        let _ = self.send(event);
    }
}

/// Events are dropped once nobody receives them.
impl TaskEvents for UnboundedSender<TaskEvent> {
    fn event(&self, event: TaskEvent) {
        let _ = self.send(event);
    }
}

/// Something that happens in a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnEvent {
    /// The id of the session, before anything happens in it.
    Session(String),
    /// A piece of the model's answer.
    Text(String),
    /// The model is asked again: the pieces of its answer so far are void.
    Retry {
        /// The number of the next attempt.
        attempt: u32,
        /// The wait before it, in milliseconds.
        wait_ms: u64,
        /// The failure of the last one.
        message: String,
    },
    /// The model's answer is whole.
    Answered,
    /// A tool is called.
    Calling(PlannedCall),
    /// A call ended; its result is whole.
    Called(CallRecord),
    /// The first messages were summarised.
    Compacted,
}

impl TurnEvent {
    /// The name and the data of the event for programs; `None` for one that isn't for them.
    pub fn json(&self) -> Option<(&'static str, Value)> {
        Some(match self {
            Self::Session(id) => ("session", json!({ "session": id })),
            Self::Text(piece) => ("text", json!({ "piece": piece })),
            Self::Retry {
                attempt,
                wait_ms,
                message,
            } => (
                "retry",
                json!({ "attempt": attempt, "wait_ms": wait_ms, "message": message }),
            ),
            Self::Calling(call) => (
                "call",
                json!({ "id": call.id, "tool": call.tool, "params": call.params }),
            ),
            Self::Called(record) => (
                "result",
                json!({
                    "id": record.call.id,
                    "tool": record.call.tool,
                    "status": record.status,
                    "duration_ms": record.duration_ms,
                    "result": clipped(&record.result, MAX_TRACED, ' '),
                }),
            ),
            Self::Answered | Self::Compacted => return None,
        })
    }
}

/// Something that happens in a run of a pipeline.
#[derive(Debug, Clone, PartialEq)]
pub enum TaskEvent {
    /// The id of the run, before anything happens in it.
    Run(String),
    /// An event that is in the log of the run.
    Logged(pipeline::Event),
}

impl TaskEvent {
    /// The name and the data of the event for programs; `None` for one that isn't about a step.
    pub fn json(&self) -> Option<(&'static str, Value)> {
        match self {
            Self::Run(id) => Some(("run", json!({ "run": id }))),
            Self::Logged(
                pipeline::Event::Started { .. }
                | pipeline::Event::Resumed {}
                | pipeline::Event::Ended { .. },
            ) => None,
            Self::Logged(event) => Some(("step", serde_json::to_value(event).ok()?)),
        }
    }
}

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
    #[schemars(with = "BTreeMap<String, f64>")]
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
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// The tokens of all turns by kind: `input`, `output`, and `cached` for those of `input` that came from a cache; and
    /// their `cost` in dollars, where the price is known.
    #[schemars(with = "BTreeMap<String, f64>")]
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
