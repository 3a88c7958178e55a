//! A turn of a chat: what is asked for, and what came of it.

use std::sync::Arc;

use gongfu_core::account::Actor;
use gongfu_core::agent::{EntryEvent, FORMAT};
use gongfu_core::port::ChatModel;
use gongfu_hub::agent::{ChatInput, ChatRequest, ChatResult, TurnEvent, tool_calls};
use gongfu_hub::surface::{Operation, operation};
use gongfu_hub::{Call, Problem, ToolError, specified};
use schemars::JsonSchema;
use serde::Serialize;
use tracing::Instrument as _;

use crate::agent::Agent;
use crate::span;
use crate::store::Store;
use crate::turn::Turn;

/// The longest prompt, in bytes of JSON.
pub const MAX_PROMPT: usize = 256 * 1024;
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
    turn: Option<(Arc<Agent>, ChatRequest)>,
}

impl Operation for ChatTurn {
    const NAME: &'static str = "agent/chat";
    type Output = ChatResult;

    specified!(operation::write_spec::<Self>());

    async fn run(mut self, call: &Call) -> Result<ChatResult, ToolError> {
        let Some((agent, request)) = self.turn.take() else {
            let reason = "a turn without an agent".to_owned();
            return Err(Problem::Fault { reason }.error());
        };
        // In a box, because it is large.
        Box::pin(run(&agent, request, call)).await
    }
}

impl Agent {
    fn model(&self, name: Option<&str>) -> Result<Arc<dyn ChatModel>, ToolError> {
        self.models.model(name).map_err(|error| {
            let model = name.unwrap_or_default().to_owned();
            let session = None;
            Problem::Model {
                model,
                error,
                session,
            }
            .error()
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
        let operation = ChatTurn {
            session: request.session.clone(),
            turn: Some((Arc::clone(self), request)),
        };
        self.catalog.operate(operation, person).await
    }
}

async fn run(agent: &Agent, request: ChatRequest, call: &Call) -> Result<ChatResult, ToolError> {
    check_length("prompt", MAX_PROMPT, "make it shorter", &request.input)?;
    check_length(
        "history",
        MAX_HISTORY,
        "leave out its beginning",
        &request.history,
    )?;
    if matches!(&request.input, ChatInput::Prompt(prompt) if prompt.trim().is_empty()) {
        let hint = "write what the agent should do";
        return Err(Problem::wrong_value("prompt", "it is empty", hint).error());
    }
    let (store, model) = session(agent, call, &request).await?;
    let actor = Agent::actor(&call.actor, store.id());
    let mut turn = Turn {
        agent,
        model: &*model,
        call,
        actor,
        events: Arc::clone(&request.events),
        cancel: request.cancel.clone(),
        store,
    };
    let ended = run_turn(&mut turn, request).await;
    let noted = turn.store.note_state().await;
    let has_context = ended?;
    noted?;
    let result = result(&turn.store, has_context).ok_or_else(|| Problem::Cancelled.error())?;
    if !result.end.has_answer() {
        let reason = result.reply;
        return Err(Problem::BudgetUsedUp { reason }.error());
    }
    Ok(result)
}

/// The session of a request, and the model that answers in it: the one that is asked for, or that of the session.
async fn session(
    agent: &Agent,
    call: &Call,
    request: &ChatRequest,
) -> Result<(Store, Arc<dyn ChatModel>), ToolError> {
    let asked = request.model.as_deref();
    let Some(id) = &request.session else {
        let model = agent.model(asked)?;
        let project = request.project.clone();
        let store = Store::create(call, project, request.is_kept).await?;
        return Ok((store, model));
    };
    let store = Store::open_to_continue(&call.space, id).await?;
    check_project(&store, request).await?;
    let model = agent.model(asked.or(store.session.model()))?;
    Ok((store, model))
}

/// Refuses to resume a turn in another project than it was started in: its open calls would be made there.
async fn check_project(store: &Store, request: &ChatRequest) -> Result<(), ToolError> {
    let info = store.info().await?;
    match (info.project, &request.project) {
        (Some(started), Some(here)) if request.input == ChatInput::Resume && started != *here => {
            let reason = format!("its turn was started in {started}");
            let hint = "resume it there";
            Err(Problem::wrong_value("session", reason, hint).error())
        }
        _ => Ok(()),
    }
}

/// Refuses a value that is too long for an entry of the log.
fn check_length(
    argument: &'static str,
    limit: usize,
    hint: &'static str,
    value: &impl Serialize,
) -> Result<(), ToolError> {
    let length = serde_json::to_vec(value).map_or(0, |value| value.len());
    if length > limit {
        let reason = format!("it is longer than {limit} bytes of JSON");
        return Err(Problem::wrong_value(argument, reason, hint).error());
    }
    Ok(())
}

/// Begins or continues a turn, and runs it to its end; true if there was a conversation before it.
async fn run_turn(turn: &mut Turn<'_>, request: ChatRequest) -> Result<bool, ToolError> {
    let store = &mut turn.store;
    let id = store.id().to_owned();
    match (&request.input, store.session.is_open()) {
        // The open turn waits for a model that didn't answer: the new prompt replaces it.
        (ChatInput::Prompt(_), true) if store.session.error().is_some() => {
            store.add(EntryEvent::Interrupted).await?;
        }
        (ChatInput::Prompt(_), true) => return Err(Problem::SessionOpen { id }.error()),
        (ChatInput::Resume, false) => return Err(Problem::SessionIdle { id }.error()),
        _ => {}
    }
    if request.session.is_none() {
        let (format, forked_from) = (FORMAT, None);
        let started = EntryEvent::Started {
            format,
            forked_from,
        };
        store.add(started).await?;
        if !request.history.is_empty() {
            let messages = request.history;
            store.add(EntryEvent::History { messages }).await?;
        }
    }
    if let ChatInput::Prompt(text) = request.input {
        let settings = &turn.agent.settings;
        let catalog = &turn.agent.catalog;
        let skills = catalog.listed_skills(&turn.actor, settings.skills_budget);
        let prompt = EntryEvent::Prompt {
            text,
            limits: settings.limits,
            skills: skills.await,
        };
        store.add(prompt).await?;
    }
    store.note_state().await?;
    let session = store.id().to_owned();
    turn.events.event(TurnEvent::Session(session));
    let has_context = store.session.has_context();
    let span = span::agent(store.id());
    turn.run().instrument(span).await?;
    Ok(has_context)
}
