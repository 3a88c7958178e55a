//! A turn of the agent that runs beside its request, and is stopped once nobody waits for it.

use std::sync::Arc;

use gongfu_core::account::Actor;
use gongfu_core::agent::{CallRecord, PlannedCall};
use gongfu_core::port::ModelRetry;
use gongfu_hub::ToolError;
use gongfu_hub::agent::{AgentEvents, ChatRequest, ChatResult};
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::Instrument as _;

use super::context::Context;
use crate::problem::Problem;

/// An event of a turn.
pub(super) enum TurnEvent {
    /// The id of the session.
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
    /// A call ended.
    Called(CallRecord),
    /// The turn ended; nothing follows.
    Ended(Box<Result<ChatResult, ToolError>>),
}

/// A turn that runs. Dropped, it stops the turn, whose log says so.
pub(super) struct RunningTurn {
    events: mpsc::UnboundedReceiver<TurnEvent>,
    _guard: DropGuard,
}

impl RunningTurn {
    /// Starts a turn of a caller.
    ///
    /// # Errors
    /// The agent isn't for the callers of this server.
    pub(super) fn start(
        context: &Context,
        request: ChatRequest,
        actor: Actor,
    ) -> Result<Self, Problem> {
        let agent = Arc::clone(context.agent()?);
        let cancel: CancellationToken = context.api.turns.child_token();
        let (sender, events) = mpsc::unbounded_channel();
        let request = ChatRequest {
            events: Arc::new(Sender(sender.clone())),
            cancel: cancel.clone(),
            ..request
        };
        let turn = async move {
            let ended = agent.chat(request, &actor).await;
            // Nobody may wait any longer.
            let _ = sender.send(TurnEvent::Ended(Box::new(ended)));
        };
        tokio::spawn(turn.in_current_span());
        Ok(Self {
            events,
            _guard: cancel.drop_guard(),
        })
    }

    /// The next event; `None` after the last one. No event is lost if the future is dropped.
    pub(super) async fn next(&mut self) -> Option<TurnEvent> {
        self.events.recv().await
    }

    /// Waits for the end.
    ///
    /// # Errors
    /// The turn failed.
    pub(super) async fn end(mut self) -> Result<ChatResult, Problem> {
        while let Some(event) = self.next().await {
            if let TurnEvent::Ended(ended) = event {
                return Ok((*ended)?);
            }
        }
        Err(Problem::Fault)
    }
}

/// The sending end of the channel. Events are dropped once nobody receives them.
struct Sender(mpsc::UnboundedSender<TurnEvent>);

impl AgentEvents for Sender {
    fn session(&self, id: &str) {
        let _ = self.0.send(TurnEvent::Session(id.to_owned()));
    }

    fn text(&self, piece: &str) {
        let _ = self.0.send(TurnEvent::Text(piece.to_owned()));
    }

    fn retry(&self, retry: &ModelRetry<'_>) {
        let _ = self.0.send(TurnEvent::Retry {
            attempt: retry.attempt,
            wait_ms: retry.wait_ms,
            message: retry.error.to_string(),
        });
    }

    fn answered(&self) {
        let _ = self.0.send(TurnEvent::Answered);
    }

    fn calling(&self, call: &PlannedCall) {
        let _ = self.0.send(TurnEvent::Calling(call.clone()));
    }

    fn called(&self, record: &CallRecord, _text: &str) {
        let _ = self.0.send(TurnEvent::Called(record.clone()));
    }
}
