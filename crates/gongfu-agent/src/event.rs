//! The events of models and calls, as those of a turn.

use std::sync::Arc;

use gongfu_core::port::{ModelEvents, ModelRetry};
use gongfu_hub::agent::AgentEvents;
use gongfu_hub::call::{Asking, Elicitation};
use gongfu_hub::{Event, EventSink, Question};
use serde_json::Value;

/// The events of a model, as those of the turn.
pub(crate) struct OfModel<'a>(pub(crate) &'a dyn AgentEvents);

impl ModelEvents for OfModel<'_> {
    fn text(&self, piece: &str) {
        self.0.text(piece);
    }

    fn retry(&self, retry: &ModelRetry<'_>) {
        self.0.retry(retry);
    }
}

/// The events of a call, as those of the turn.
pub(crate) struct OfCall {
    pub(crate) id: String,
    pub(crate) events: Arc<dyn AgentEvents>,
}

impl EventSink for OfCall {
    fn event(&self, event: Event<'_>) {
        self.events.during(&self.id, event);
    }

    fn ask<'a>(&'a self, question: &'a Question) -> Asking<'a> {
        self.events.ask(question)
    }

    fn elicit(&self, question: Value) -> Elicitation<'_> {
        self.events.elicit(question)
    }
}
