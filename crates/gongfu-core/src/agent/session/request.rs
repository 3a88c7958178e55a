//! Requests to the model, made of the state of a session.

use super::{Session, compaction};
use crate::agent::entry::{EntryEvent, LoggedDigest};
use crate::port::{Message, ModelRequest, ModelTool};

/// Asks for the answer when the steps are used up.
const LAST_STEP: &str = "You have used all steps of this turn. Don't call any tool now: answer with what you have, \
    and say what isn't finished.";

impl Session {
    /// Estimates the tokens of the next request, without instructions and tools.
    pub fn tokens(&self) -> u64 {
        const BYTES_PER_TOKEN: usize = 4;
        let (from, summary) = self
            .compacted
            .as_ref()
            .map_or((0, 0), |(through, summary)| {
                let skills = self.skills.iter().filter(|skill| skill.at < *through);
                let skills = skills.map(|skill| skill.text.len()).sum::<usize>();
                (*through, summary.len() + skills)
            });
        let messages = self
            .messages
            .iter()
            .skip(from)
            .map(|message| match message {
                Message::User { text } | Message::Tool { text, .. } => text.len(),
                Message::Assistant { text, calls } => {
                    let calls = calls.iter().map(|call| call.arguments.to_string().len());
                    text.len() + calls.sum::<usize>()
                }
            });
        let prompt = match self.summarised_prompt() {
            Some(Message::User { text }) => text.len(),
            _ => 0,
        };
        let bytes = summary + prompt + messages.sum::<usize>();
        u64::try_from(bytes / BYTES_PER_TOKEN).unwrap_or(u64::MAX)
    }

    /// The request that the model is sent now.
    pub fn request(&self, system: &str, tools: &[ModelTool], last: bool) -> ModelRequest {
        let mut messages = Vec::new();
        let mut from = 0;
        if let Some((through, summary)) = &self.compacted {
            from = *through;
            let skills = self.skills.iter().filter(|skill| skill.at < from);
            messages.push(Message::User {
                text: compaction::message(summary, skills),
            });
            messages.extend(self.summarised_prompt().cloned());
        }
        messages.extend(self.messages.iter().skip(from).cloned());
        if last {
            messages.push(Message::User {
                text: LAST_STEP.to_owned(),
            });
        }
        ModelRequest {
            system: system.to_owned(),
            messages: joined(messages),
            tools: tools.to_vec(),
            ..ModelRequest::default()
        }
    }

    /// The prompt of the running turn if the summary covers it: the prompt is sent whole as well.
    fn summarised_prompt(&self) -> Option<&Message> {
        let (through, _) = self.compacted.as_ref()?;
        self.turn.as_ref()?;
        let at = self.last_prompt;
        self.messages.get(at).filter(|_| at < *through)
    }

    /// The event that the model is asked with a request.
    pub fn asking(model: &str, request: &ModelRequest, last: bool) -> EntryEvent {
        EntryEvent::Asking {
            model: model.to_owned(),
            last,
            system: LoggedDigest::of(&request.system),
            tools: LoggedDigest::of_json(&request.tools),
            request: LoggedDigest::of_json(request),
        }
    }
}

/// Joins consecutive user messages: some models refuse two in a row.
fn joined(messages: Vec<Message>) -> Vec<Message> {
    let mut all: Vec<Message> = Vec::with_capacity(messages.len());
    for message in messages {
        match (all.last_mut(), message) {
            (Some(Message::User { text: before }), Message::User { text }) => {
                before.push_str("\n\n");
                before.push_str(&text);
            }
            (_, message) => all.push(message),
        }
    }
    all
}
