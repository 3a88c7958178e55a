//! The events of a turn as messages, for the owner of the terminal.

use gongfu_core::agent::{CallRecord, PlannedCall};
use gongfu_core::port::ModelRetry;
use gongfu_hub::agent::AgentEvents;
use gongfu_hub::call::{Asking, Elicitation, Event, Question};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

/// Something that happens in a turn.
pub(super) enum Happening {
    /// The session has this id.
    Session(String),
    /// A piece of an answer arrived.
    Text(String),
    /// The model is asked again, for this reason.
    Retry(String),
    /// An answer is whole.
    Answered,
    /// A call begins.
    Calling(PlannedCall),
    /// A call tells how far it is.
    Progress(String, String),
    /// A call ended, with this result as the model sees it.
    Called(CallRecord, String),
    /// The conversation was summarised.
    Compacted,
    /// The person is asked about a call; true once their answer is recorded.
    Ask(Question, oneshot::Sender<bool>),
    /// Another server asks the person.
    Elicit(Value, oneshot::Sender<Option<Value>>),
}

/// Sends what happens.
pub(super) struct Sending(pub(super) mpsc::UnboundedSender<Happening>);

impl Sending {
    fn send(&self, happening: Happening) {
        // Nobody receives it once the chat ended.
        let _ = self.0.send(happening);
    }
}

impl AgentEvents for Sending {
    fn session(&self, id: &str) {
        self.send(Happening::Session(id.to_owned()));
    }

    fn text(&self, piece: &str) {
        self.send(Happening::Text(piece.to_owned()));
    }

    fn retry(&self, retry: &ModelRetry<'_>) {
        let seconds = f64::from(u32::try_from(retry.wait_ms).unwrap_or(u32::MAX)) / 1000.0;
        self.send(Happening::Retry(format!(
            "in {seconds:.1} s: {}",
            retry.error
        )));
    }

    fn answered(&self) {
        self.send(Happening::Answered);
    }

    fn calling(&self, call: &PlannedCall) {
        self.send(Happening::Calling(call.clone()));
    }

    fn during(&self, call: &str, event: Event<'_>) {
        if let Event::Progress(progress) = event {
            let said = match (&progress.message, progress.total) {
                (Some(message), _) => message.clone(),
                (None, Some(total)) => format!("{} of {total}", progress.done),
                (None, None) => progress.done.to_string(),
            };
            self.send(Happening::Progress(call.to_owned(), said));
        }
    }

    fn called(&self, record: &CallRecord, text: &str) {
        self.send(Happening::Called(record.clone(), text.to_owned()));
    }

    fn compacted(&self) {
        self.send(Happening::Compacted);
    }

    fn ask<'a>(&'a self, question: &'a Question) -> Asking<'a> {
        let (answer, answered) = oneshot::channel();
        self.send(Happening::Ask(question.clone(), answer));
        Box::pin(async { answered.await.unwrap_or(false) })
    }

    fn elicit(&self, question: Value) -> Elicitation<'_> {
        let (answer, answered) = oneshot::channel();
        self.send(Happening::Elicit(question, answer));
        Box::pin(async { answered.await.unwrap_or(None) })
    }
}
