//! The events of a turn, for its surface.

use std::sync::Arc;

use gongfu_core::agent::{CallRecord, PlannedCall};
use gongfu_core::port::{ModelEvents, ModelRetry};
use gongfu_hub::call::{Asking, Elicitation};
use gongfu_hub::{Event, EventSink, Question};
use serde_json::Value;

/// The surface's end of a turn. Must not block, but where it asks a person.
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

    /// Asks the person about a call, and records the answer as that person's; see [`EventSink::ask`].
    fn ask<'a>(&'a self, _question: &'a Question) -> Asking<'a> {
        Box::pin(std::future::ready(false))
    }

    /// Shows the person a question of another server; see [`EventSink::elicit`].
    fn elicit(&self, _question: Value) -> Elicitation<'_> {
        Box::pin(std::future::ready(None))
    }
}

/// Events that nobody receives.
impl AgentEvents for () {}

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
