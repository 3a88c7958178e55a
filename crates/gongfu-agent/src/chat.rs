//! A turn of a chat: what is asked for, and what came of it.

use std::sync::Arc;

use gongfu_core::account::Actor;
use gongfu_core::agent::{EntryEvent, FORMAT};
use gongfu_core::port::ChatModel;
use gongfu_hub::agent::{ChatInput, ChatRequest, ChatResult, tool_calls};
use gongfu_hub::surface::{Operation, operation};
use gongfu_hub::{Call, Problem, ToolError, ToolSpec};
use schemars::JsonSchema;
use serde::Serialize;
use tracing::Instrument as _;

use crate::agent::Agent;
use crate::mark::writer;
use crate::span;
use crate::store::Store;
use crate::turn::Turn;

/// The longest prompt, in bytes.
const MAX_PROMPT: usize = 256 * 1024;
/// The longest conversation before a session, in bytes of JSON.
const MAX_HISTORY: usize = 768 * 1024;

/// The result of the last turn; `None` while it isn't at its end.
fn result(store: &Store, has_context: bool) -> Option<ChatResult> {
    let turn = store.session.turns().last()?;
    let (reply, end) = turn.reply.clone()?;
    Some(ChatResult {
        reply,
        tool_calls: tool_calls(&turn.calls),
        usage: turn.usage,
        session: store.id().to_owned(),
        has_context,
        end,
        model: store.session.model().unwrap_or_default().to_owned(),
    })
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
    fn model(&self, name: Option<&str>) -> Result<Arc<dyn ChatModel>, ToolError> {
        self.models.model(name).map_err(|error| {
            let model = name.unwrap_or_default().to_owned();
            Problem::Model { model, error }.error()
        })
    }

    /// The full name of the model that answers to a name, or of the configured one.
    ///
    /// # Errors
    /// There is no such model, or its provider isn't configured.
    pub fn model_name(&self, name: Option<&str>) -> Result<String, ToolError> {
        Ok(self.model(name)?.name().to_owned())
    }

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
        let model = self.model(request.model.as_deref())?;
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
        return Err(
            Problem::wrong_value("prompt", reason, "write what the agent should do").error(),
        );
    }
    let length = serde_json::to_vec(&history).map_or(0, |history| history.len());
    if length > MAX_HISTORY {
        let reason = format!("it is longer than {MAX_HISTORY} bytes");
        return Err(Problem::wrong_value("history", reason, "leave out its beginning").error());
    }
    let space = &call.space;
    let writer = writer(call);
    let mut store = match &session {
        Some(id) => Store::open(space, id, &writer, input == ChatInput::Resume).await?,
        None => Store::create(space, &writer, is_kept).await?,
    };
    let id = store.id().to_owned();
    match (&input, store.session.is_open()) {
        // The open turn waits for a model that didn't answer: the new prompt replaces it.
        (ChatInput::Prompt(_), true) => store.add(EntryEvent::Interrupted).await?,
        (ChatInput::Resume, false) => {
            store.release().await?;
            return Err(Problem::SessionIdle { id }.error());
        }
        _ => {}
    }
    if session.is_none() {
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
    let span = span::agent(&id);
    let ended = turn.run().instrument(span).await;
    let noted = turn.store.note_state().await;
    let released = turn.store.release().await;
    ended.and(noted)?;
    released?;
    let result = result(&turn.store, has_context).ok_or_else(|| Problem::Cancelled.error())?;
    if !result.end.has_answer() {
        let reason = result.reply;
        return Err(Problem::BudgetUsedUp { reason }.error());
    }
    Ok(result)
}
