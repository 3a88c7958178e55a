//! The events of a turn as messages, for the owner of the terminal.

use gongfu_hub::agent::{AgentEvents, CallEvents, TurnEvent};
use gongfu_hub::call::{Asking, Elicitation, Event, Question};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

/// A message to the owner of the terminal.
pub(super) enum Message {
    /// Something happened in the turn.
    Event(TurnEvent),
    /// A call tells how far it is.
    Progress(String, String),
    /// The person is asked about a call; true once their answer is recorded.
    Ask(Question, oneshot::Sender<bool>),
    /// Another server asks the person.
    Elicit(Value, oneshot::Sender<Option<Value>>),
}

/// Sends messages.
pub(super) struct EventSender(pub(super) mpsc::UnboundedSender<Message>);

impl EventSender {
    fn send(&self, message: Message) {
        // Nobody receives it once the chat ended.
        let _ = self.0.send(message);
    }
}

impl AgentEvents for EventSender {
    fn event(&self, event: TurnEvent) {
        self.send(Message::Event(event));
    }
}

impl CallEvents for EventSender {
    fn during(&self, call: &str, event: Event<'_>) {
        if let Event::Progress(progress) = event {
            let said = match (&progress.message, progress.total) {
                (Some(message), _) => message.clone(),
                (None, Some(total)) => format!("{} of {total}", progress.done),
                (None, None) => progress.done.to_string(),
            };
            self.send(Message::Progress(call.to_owned(), said));
        }
    }

    fn ask<'a>(&'a self, question: &'a Question) -> Asking<'a> {
        let (answer, answered) = oneshot::channel();
        self.send(Message::Ask(question.clone(), answer));
        Box::pin(async { answered.await.unwrap_or(false) })
    }

    fn elicit(&self, question: Value) -> Elicitation<'_> {
        let (answer, answered) = oneshot::channel();
        self.send(Message::Elicit(question, answer));
        Box::pin(async { answered.await.unwrap_or(None) })
    }
}
