//! A turn of a chat: what is asked for, and what came of it.

use std::sync::Arc;

use gongfu_core::account::Actor;
use gongfu_core::agent::{End, EntryEvent, FORMAT, TurnRecord};
use gongfu_core::port::{ChatModel, Message, Usage};
use gongfu_hub::surface::{Operation, operation};
use gongfu_hub::{Call, Problem, ToolError, ToolSpec};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::event::AgentEvents;
use crate::store::Store;
use crate::turn::Turn;

/// The longest prompt, in bytes.
const MAX_PROMPT: usize = 256 * 1024;

/// What the person wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChatInput {
    /// An answer to this.
    Prompt(String),
    /// The end of the turn that was begun.
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
            is_kept: true,
            events: Arc::new(()),
            cancel: CancellationToken::new(),
        }
    }
}

/// The result of a turn.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChatResult {
    /// The reply.
    pub reply: String,
    /// The calls, in the order of the model's answers.
    pub tool_calls: Vec<ToolCall>,
    /// The tokens of the turn.
    pub usage: Usage,
    /// The id of the session.
    pub session: String,
    /// True if there was a conversation before this turn.
    pub has_context: bool,
    /// The reason why the turn ended.
    pub end: End,
    /// The model that answered.
    pub model: String,
}

/// A call of a turn.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolCall {
    /// The tool.
    pub tool: String,
    /// The arguments.
    pub params: Map<String, Value>,
    /// The start of the result, at most 500 characters.
    pub result: String,
    /// The way in which it ended.
    pub status: gongfu_core::agent::CallStatus,
    /// The time that it took.
    pub duration_ms: u64,
}

impl ChatResult {
    pub(crate) fn of(turn: &TurnRecord, store: &Store, has_context: bool) -> Option<Self> {
        let (reply, end) = turn.reply.clone()?;
        Some(Self {
            reply,
            tool_calls: tool_calls(turn),
            usage: turn.usage,
            session: store.id().to_owned(),
            has_context,
            end,
            model: store.session.model().unwrap_or_default().to_owned(),
        })
    }
}

/// The calls of a turn, as results show them.
pub(crate) fn tool_calls(turn: &TurnRecord) -> Vec<ToolCall> {
    let calls = turn.calls.iter().map(|record| ToolCall {
        tool: record.call.tool.clone(),
        params: record.call.params.clone(),
        result: record.result.clone(),
        status: record.status,
        duration_ms: record.duration_ms,
    });
    calls.collect()
}

/// Answers a prompt with the help of tools and skills.
#[derive(Serialize, JsonSchema)]
struct ChatTurn {
    /// The session.
    session: Option<String>,
    #[serde(skip)]
    #[schemars(skip)]
    turn: Option<(Arc<Agent>, Arc<dyn ChatModel>, ChatRequest)>,
}

impl Operation for ChatTurn {
    const NAME: &'static str = "agent/chat";
    type Output = ChatResult;

    fn spec() -> &'static ToolSpec {
        static SPEC: std::sync::OnceLock<ToolSpec> = std::sync::OnceLock::new();
        SPEC.get_or_init(operation::write_spec::<Self>)
    }

    async fn run(mut self, call: &Call) -> Result<ChatResult, ToolError> {
        let Some((agent, model, request)) = self.turn.take() else {
            let reason = "a turn without an agent".to_owned();
            return Err(Problem::Fault { reason }.error());
        };
        // In a box, because it is large.
        Box::pin(run(&agent, &*model, request, call)).await
    }
}

impl Agent {
    /// Runs a turn of a chat to its end, as the person's agent. It passes the gate, as each of its calls does.
    ///
    /// # Errors
    /// The gate refuses; the session isn't there, isn't this one's to continue, or can't be read; the model isn't
    /// configured or doesn't answer: then the turn can be resumed. [`gongfu_hub::ErrorCode::Cancelled`] where it was
    /// stopped.
    pub async fn chat(
        self: &Arc<Self>,
        request: ChatRequest,
        person: &Actor,
    ) -> Result<ChatResult, ToolError> {
        let model = self.models.model(request.model.as_deref());
        let model = model.map_err(|error| {
            let model = request.model.clone().unwrap_or_default();
            Problem::Model { model, error }.error()
        })?;
        let operation = ChatTurn {
            session: request.session.clone(),
            turn: Some((Arc::clone(self), model, request)),
        };
        self.catalog.operate(operation, person).await
    }
}

async fn run(
    agent: &Agent,
    model: &dyn ChatModel,
    request: ChatRequest,
    call: &Call,
) -> Result<ChatResult, ToolError> {
    let ChatRequest {
        session,
        input,
        history,
        is_kept,
        events,
        cancel,
        ..
    } = request;
    if let ChatInput::Prompt(prompt) = &input
        && (prompt.trim().is_empty() || prompt.len() > MAX_PROMPT)
    {
        let reason = if prompt.len() > MAX_PROMPT {
            format!("it is longer than {MAX_PROMPT} bytes")
        } else {
            "it is empty".to_owned()
        };
        return Err(Problem::wrong_value("prompt", reason, "say what is to be done").error());
    }
    let space = &call.space;
    let writer = format!("{}-{}-{}", std::process::id(), call.id, space.now().0);
    let mut store = match &session {
        Some(id) => Store::open(space, id, &writer).await?,
        None => Store::create(space, &writer, is_kept).await?,
    };
    let id = store.id().to_owned();
    match (&input, store.session.is_open()) {
        (ChatInput::Prompt(_), true) => return Err(Problem::SessionOpen { id }.error()),
        (ChatInput::Resume, false) => return Err(Problem::SessionIdle { id }.error()),
        _ => {}
    }
    if session.is_some() {
        store.claim().await?;
    } else {
        store
            .add(EntryEvent::Started {
                format: FORMAT,
                forked_from: None,
            })
            .await?;
        if !history.is_empty() {
            store.add(EntryEvent::History { messages: history }).await?;
        }
    }
    if let ChatInput::Prompt(text) = input {
        let limits = agent.settings.limits;
        store.add(EntryEvent::Prompt { text, limits }).await?;
    }
    store.note_state().await?;
    events.session(&id);
    let has_context = store.session.has_context();
    let actor = Agent::actor(&call.actor, &id);
    let mut turn = Turn {
        agent,
        model,
        call,
        actor,
        events,
        cancel,
        store,
    };
    let ended = turn.run().await;
    turn.store.note_state().await?;
    ended?;
    let record = turn.store.session.turns().last();
    let result = record.and_then(|record| ChatResult::of(record, &turn.store, has_context));
    let result = result.ok_or_else(|| Problem::Cancelled.error())?;
    if !result.end.has_answer() {
        let reason = result.reply;
        return Err(Problem::BudgetUsedUp { reason }.error());
    }
    Ok(result)
}
