//! The driver of a turn: it does what the state machine says, and writes down what came of it.

use std::sync::Arc;
use std::time::Instant;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use gongfu_core::account::Actor;
use gongfu_core::agent::{
    CallRecord, CallStatus, Effect, EntryEvent, LoggedDigest, PlannedCall, Session, as_logged,
    capped,
};
use gongfu_core::port::{
    ChatModel, ModelAnswer, ModelError, ModelErrorKind, ModelRequest, Price, Usage,
};
use gongfu_hub::agent::{AgentEvents, CallEvents, TurnEvent};
use gongfu_hub::{Call, Events, Problem, ToolError};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use crate::agent::Agent;
use crate::calling::{CallEnd, Calling};
use crate::log::milliseconds;
use crate::prompt::Prompt;
use crate::sink::{CallSink, ModelSink};
use crate::span;
use crate::store::Store;

/// A turn that runs.
pub(crate) struct Turn<'a> {
    pub(crate) agent: &'a Agent,
    pub(crate) model: &'a dyn ChatModel,
    /// The turn's own call through the gate.
    pub(crate) call: &'a Call,
    /// The agent as a caller of tools.
    pub(crate) actor: Actor,
    pub(crate) events: Arc<dyn AgentEvents>,
    pub(crate) cancel: CancellationToken,
    pub(crate) store: Store,
}

impl Turn<'_> {
    /// Continues until the turn ends.
    pub(crate) async fn run(&mut self) -> Result<(), ToolError> {
        loop {
            match self.store.session.next(self.store.session.tokens()) {
                Effect::Wait => return Ok(()),
                Effect::Compact(event) => {
                    self.store.add(event).await?;
                    self.events.event(TurnEvent::Compacted);
                }
                Effect::Finish(event) => self.store.add(event).await?,
                Effect::Ask { last } => self.ask(last).await?,
                Effect::Call(calls) => self.call_all(&calls).await?,
            }
        }
    }

    async fn ask(&mut self, last: bool) -> Result<(), ToolError> {
        let request = request(
            self.agent,
            &self.actor,
            &self.store.session,
            self.model.calls_tools(),
            last,
        )
        .await;
        let asking = Session::asking(self.model.name(), &request, last);
        self.store.add(asking).await?;
        let started = Instant::now();
        let events = ModelSink(&*self.events);
        let span = span::chat(self.model.name());
        let asking = self.model.ask(&request, &events).instrument(span.clone());
        let answered = tokio::select! {
            answered = asking => answered.and_then(fitting),
            () = self.cancel.cancelled() => return self.interrupt().await,
        };
        span::answered(&span, &answered);
        match answered {
            Ok(answer) => {
                let answer = as_logged(answer, self.store.session.next_entry());
                let answer = counted(answer, &request, self.model.price());
                let answered = EntryEvent::Answered {
                    digest: LoggedDigest::of_json(&answer),
                    answer,
                    duration_ms: milliseconds(started),
                };
                self.store.add(answered).await?;
                self.events.event(TurnEvent::Answered);
                Ok(())
            }
            Err(error) => {
                let failed = EntryEvent::Failed {
                    error: error.clone(),
                };
                self.store.add(failed).await?;
                // Each summary stands for more messages than the last one, so this ends.
                if error.kind == ModelErrorKind::TooLong
                    && let Some(summary) = self.store.session.compaction()
                {
                    self.store.add(summary).await?;
                    self.events.event(TurnEvent::Compacted);
                    return Ok(());
                }
                let problem = Problem::Model {
                    model: self.model.name().to_owned(),
                    error,
                    session: self.store.kept_id().map(str::to_owned),
                };
                Err(problem.error())
            }
        }
    }

    /// Makes the calls of an answer, all at once.
    async fn call_all(&mut self, calls: &[PlannedCall]) -> Result<(), ToolError> {
        for call in calls.iter().filter(|call| call.problem.is_none()) {
            self.store
                .add(calling(self.agent, &self.actor, call))
                .await?;
        }
        let mut running: FuturesUnordered<_> = calls
            .iter()
            .map(|call| {
                self.events.event(TurnEvent::Calling(call.clone()));
                let events = Arc::clone(&self.events);
                let sink = CallSink {
                    call: call.id.clone(),
                    events: events as Arc<dyn CallEvents>,
                };
                let calling = Calling {
                    catalog: &self.agent.catalog,
                    actor: &self.actor,
                    parent: self.call.id,
                    call,
                    events: Events::new(Arc::new(sink)),
                    cancel: self.cancel.child_token(),
                    is_replay: false,
                };
                let span = span::tool(call, calling.loaded_skill().as_deref());
                async move {
                    let started = Instant::now();
                    let called = calling.run().instrument(span.clone()).await;
                    span::called(&span, called.status);
                    (call, called, milliseconds(started))
                }
            })
            .collect();
        let (store, events, cancel) = (&mut self.store, &self.events, &self.cancel);
        loop {
            let ended = tokio::select! {
                biased;
                ended = running.next() => ended,
                () = cancel.cancelled() => break,
            };
            let Some((call, called, duration_ms)) = ended else {
                return Ok(());
            };
            if cancel.is_cancelled() && called.status == CallStatus::Interrupted {
                break;
            }
            note(store, &**events, call, called, duration_ms).await?;
        }
        drop(running);
        self.interrupt().await
    }

    async fn interrupt(&mut self) -> Result<(), ToolError> {
        self.store.add(EntryEvent::Interrupted).await?;
        Err(Problem::Cancelled.error())
    }
}

/// Adds the cost of an answer, and estimates its tokens if the provider doesn't report them.
fn counted(mut answer: ModelAnswer, request: &ModelRequest, price: Option<Price>) -> ModelAnswer {
    const BYTES_PER_TOKEN: u64 = 4;
    if answer.usage.total() == 0 {
        let tokens = |bytes: usize| {
            u64::try_from(bytes)
                .unwrap_or(u64::MAX)
                .div_ceil(BYTES_PER_TOKEN)
        };
        let sent = serde_json::to_vec(request).map_or(0, |request| request.len());
        answer.usage = Usage {
            input: tokens(sent),
            cached: 0,
            output: tokens(answer.text.len()),
            cost: 0,
        };
    }
    answer.usage.cost = price.map_or(0, |price| price.cost(answer.usage));
    answer
}

/// Refuses an answer that is too long for the log, such as one of control characters.
fn fitting(answer: ModelAnswer) -> Result<ModelAnswer, ModelError> {
    const MAX_BYTES: usize = 768 * 1024;
    match serde_json::to_vec(&answer) {
        Ok(line) if line.len() <= MAX_BYTES => Ok(answer),
        _ => Err(ModelError::new(
            ModelErrorKind::TooLarge,
            "the answer is too long",
        )),
    }
}

/// Writes down the end of a call.
async fn note(
    store: &mut Store,
    events: &dyn AgentEvents,
    call: &PlannedCall,
    called: CallEnd,
    duration_ms: u64,
) -> Result<(), ToolError> {
    let CallEnd {
        status,
        text,
        skill,
    } = called;
    // Instructions are never cut.
    let seen = match skill {
        Some(_) => text.clone(),
        None => capped(&text, store.session.limits().observation),
    };
    let ended = EntryEvent::Called {
        id: call.id.clone(),
        status,
        digest: LoggedDigest::of_result(status, &seen),
        text: seen,
        skill,
        duration_ms,
    };
    let record = CallRecord {
        call: call.clone(),
        status,
        result: text,
        duration_ms,
    };
    store.add(ended).await?;
    events.event(TurnEvent::Called(record));
    Ok(())
}

/// The request that the model is sent now.
pub(crate) async fn request(
    agent: &Agent,
    actor: &Actor,
    session: &Session,
    calls_tools: bool,
    last: bool,
) -> ModelRequest {
    let settings = &agent.settings;
    let prompt = Prompt::build(&agent.catalog, actor, settings, session, calls_tools).await;
    ModelRequest {
        max_tokens: agent.settings.max_tokens,
        temperature: agent.settings.temperature,
        ..session.request(&prompt.system, &prompt.tools, last)
    }
}

/// The event that a tool is called.
pub(crate) fn calling(agent: &Agent, actor: &Actor, call: &PlannedCall) -> EntryEvent {
    let spec = agent.catalog.spec(Agent::profiles(), actor, &call.tool);
    let definition = spec.map(|spec| {
        let definition: Value = spec.to_json();
        LoggedDigest::of_json(&definition)
    });
    EntryEvent::Calling {
        id: call.id.clone(),
        tool: call.tool.clone(),
        params: call.params.clone(),
        definition,
    }
}
