//! Sinks that pass on the events of models and calls.

use std::sync::Arc;

use gongfu_core::port::{ModelEvents, ModelRetry};
use gongfu_hub::agent::{AgentEvents, CallEvents, TurnEvent};
use gongfu_hub::call::{Asking, Elicitation};
use gongfu_hub::{Event, EventSink, Question};
use serde_json::Value;

/// Passes the events of a model to those of a turn.
pub(crate) struct ModelSink<'a>(pub(crate) &'a dyn AgentEvents);

impl ModelEvents for ModelSink<'_> {
    fn text(&self, piece: &str) {
        self.0.event(TurnEvent::Text(piece.to_owned()));
    }

    fn retry(&self, retry: &ModelRetry<'_>) {
        self.0.event(TurnEvent::Retry {
            attempt: retry.attempt,
            wait_ms: retry.wait_ms,
            message: retry.error.to_string(),
        });
    }
}

/// Passes the events of a call to those of a turn or a run.
pub(crate) struct CallSink {
    /// The id of the call, or its step.
    pub(crate) call: String,
    pub(crate) events: Arc<dyn CallEvents>,
}

impl EventSink for CallSink {
    fn event(&self, event: Event<'_>) {
        self.events.during(&self.call, event);
    }

    fn ask<'a>(&'a self, question: &'a Question) -> Asking<'a> {
        self.events.ask(question)
    }

    fn elicit(&self, question: Value) -> Elicitation<'_> {
        self.events.elicit(question)
    }
}
