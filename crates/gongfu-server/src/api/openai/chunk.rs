//! The chunks of a chat completion that is streamed.
//!
//! Text goes out as the model writes it, and can't be taken back: where the model is asked again, the stream says so. What
//! a model writes between calls is part of the text; the calls that it writes into its text aren't.

use gongfu_core::agent::fence::Fences;
use gongfu_hub::agent::{ChatResult, TurnEvent};
use serde_json::{Map, Value, json};
use tokio::time::{Instant, timeout_at};

use super::super::event_stream::{EventSource, KEEP_ALIVE, event};
use super::super::work::TurnWork;
use super::completion::{CompletionUsage, Head, TurnReport, finish_reason};
use super::refusal::ErrorBody;
use crate::problem::Problem;

/// Stands between an answer that broke off and the one that takes its place.
const AGAIN: &str = "\n\n[The answer broke off, and the model was asked again:]";
/// Stands between two answers.
const BREAK: &str = "\n\n";

/// The chunks of a turn.
pub(super) struct Chunks {
    turn: TurnWork,
    head: Head,
    has_usage: bool,
    text: StreamText,
    has_begun: bool,
    /// The session, until a chunk named it.
    session: Option<String>,
    is_over: bool,
}

impl Chunks {
    pub(super) fn new(turn: TurnWork, head: Head, has_usage: bool) -> Self {
        Self {
            turn,
            head,
            has_usage,
            text: StreamText::default(),
            has_begun: false,
            session: None,
            is_over: false,
        }
    }

    /// The first chunks; empty if nothing happens for a while.
    ///
    /// # Errors
    /// The turn failed before there were any.
    pub(super) async fn first(&mut self) -> Result<String, Problem> {
        let until = Instant::now() + KEEP_ALIVE;
        while let Ok(event) = timeout_at(until, self.turn.next()).await {
            let chunks = if let Some(event) = event {
                self.chunks(&event)
            } else {
                let result = self.turn.end().await?;
                self.is_over = true;
                self.last(result)
            };
            if !chunks.is_empty() {
                return Ok(chunks);
            }
        }
        Ok(String::new())
    }

    fn chunks(&mut self, turn_event: &TurnEvent) -> String {
        let text = match turn_event {
            TurnEvent::Session(id) => {
                self.session = Some(id.clone()).filter(|_| self.head.is_kept);
                return String::new();
            }
            TurnEvent::Compacted => return String::new(),
            TurnEvent::Text(piece) => self.text.push(piece),
            TurnEvent::Answered => self.text.end_answer(),
            TurnEvent::Retry { .. } => self.text.retry(),
            TurnEvent::Calling(_) | TurnEvent::Called(_) => {
                let report = turn_event.json().map(|(name, data)| json!({ name: data }));
                return self.chunk(json!({}), None, report);
            }
        };
        self.content(&text)
    }

    /// The rest of the reply, and the end.
    fn last(&mut self, mut result: ChatResult) -> String {
        let rest = self.text.rest_of(&result.reply);
        let mut chunks = self.content(&rest);
        let (usage, reply) = (result.usage, std::mem::take(&mut result.reply));
        let reason = finish_reason(result.end);
        let mut report = TurnReport::new(result, self.head.is_kept);
        report.reply = Some(reply);
        let report = serde_json::to_value(report).ok();
        chunks.push_str(&self.chunk(json!({}), Some(reason), report));
        if self.has_usage {
            let mut chunk = self.head();
            chunk.insert("choices".to_owned(), json!([]));
            chunk.insert("usage".to_owned(), json!(CompletionUsage::from(usage)));
            chunks.push_str(&event(None, &chunk));
        }
        chunks.push_str("data: [DONE]\n\n");
        chunks
    }

    fn content(&mut self, text: &str) -> String {
        if text.is_empty() {
            return String::new();
        }
        self.chunk(json!({ "content": text }), None, None)
    }

    /// A chunk; the first one says who speaks, and names the session.
    fn chunk(&mut self, mut delta: Value, reason: Option<&str>, report: Option<Value>) -> String {
        let mut report = report;
        // Early: a stream that breaks off has no last chunk.
        if let Some(session) = self.session.take() {
            let report = report.get_or_insert_with(|| json!({}));
            if let Some(report) = report.as_object_mut() {
                report.insert("session".to_owned(), Value::String(session));
            }
        }
        if !self.has_begun
            && let Some(delta) = delta.as_object_mut()
        {
            self.has_begun = true;
            delta.insert("role".to_owned(), json!("assistant"));
            delta.entry("content").or_insert(json!(""));
        }
        let mut chunk = self.head();
        let choice = json!({
            "index": 0, "delta": delta, "logprobs": null, "finish_reason": reason,
        });
        chunk.insert("choices".to_owned(), json!([choice]));
        if self.has_usage {
            chunk.insert("usage".to_owned(), Value::Null);
        }
        if let Some(report) = report {
            chunk.insert("gongfu".to_owned(), report);
        }
        event(None, &chunk)
    }

    fn head(&self) -> Map<String, Value> {
        Map::from_iter([
            ("id".to_owned(), json!(self.head.id)),
            ("object".to_owned(), json!("chat.completion.chunk")),
            ("created".to_owned(), json!(self.head.created)),
            ("model".to_owned(), json!(self.head.model)),
        ])
    }
}

impl EventSource for Chunks {
    async fn next(&mut self) -> Option<String> {
        while !self.is_over {
            let chunks = if let Some(event) = self.turn.next().await {
                self.chunks(&event)
            } else {
                let ended = self.turn.end().await;
                self.is_over = true;
                match ended {
                    Ok(result) => self.last(result),
                    Err(problem) => event(None, &ErrorBody::of(&problem)),
                }
            };
            if !chunks.is_empty() {
                return Some(chunks);
            }
        }
        None
    }
}

/// The text of a stream so far.
#[derive(Default)]
struct StreamText {
    /// The running answer, or the last one, as far as it went out.
    answer: String,
    /// The start of a line that may open or close a block.
    held: String,
    fences: Fences,
    line: Line,
    /// True after a whole answer.
    is_whole: bool,
    /// True once anything went out.
    has_begun: bool,
}

/// The place of the next piece.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Line {
    /// The start of a line, which may be held back.
    #[default]
    Start,
    /// A line that goes out.
    Within,
    /// After a line that opened a block with a call: the rest of the answer isn't for people.
    Hidden,
}

impl StreamText {
    /// Takes a piece of the running answer, and gives what goes out.
    fn push(&mut self, piece: &str) -> String {
        if self.is_whole {
            self.start_answer();
        }
        let mut out = String::new();
        for part in piece.split_inclusive('\n') {
            let is_whole = part.ends_with('\n');
            let next = if is_whole { Line::Start } else { Line::Within };
            match self.line {
                Line::Hidden => break,
                Line::Within => {
                    out.push_str(part);
                    self.line = next;
                }
                Line::Start => {
                    self.held.push_str(part);
                    if is_whole || !may_be_fence(&self.held) {
                        let line = std::mem::take(&mut self.held);
                        self.fences.take(&line);
                        if self.fences.is_call() {
                            self.line = Line::Hidden;
                        } else {
                            out.push_str(&line);
                            self.line = next;
                        }
                    }
                }
            }
        }
        self.give(out)
    }

    /// Notes that the answer is whole, and gives the text that was held back.
    fn end_answer(&mut self) -> String {
        if self.is_whole {
            self.start_answer();
        }
        self.is_whole = true;
        let held = std::mem::take(&mut self.held);
        self.fences.take(&held);
        if self.fences.is_call() {
            return String::new();
        }
        self.give(held)
    }

    /// Notes that the answer is void, and returns a notice if part of it was already sent.
    fn retry(&mut self) -> String {
        if self.is_whole {
            return String::new();
        }
        let is_seen = !self.answer.is_empty();
        self.start_answer();
        if is_seen {
            AGAIN.to_owned()
        } else {
            String::new()
        }
    }

    /// The part of the reply that the text lacks.
    fn rest_of(&mut self, reply: &str) -> String {
        let gone = self.answer.trim();
        let Some(rest) = reply.trim_start().strip_prefix(gone) else {
            self.start_answer();
            return self.give(reply.to_owned());
        };
        // The space at the end of the text needn't be there twice.
        let has_space = self.answer.ends_with(char::is_whitespace);
        let rest = if has_space { rest.trim_start() } else { rest };
        self.give(rest.trim_end().to_owned())
    }

    fn start_answer(&mut self) {
        *self = Self {
            has_begun: self.has_begun,
            ..Self::default()
        };
    }

    /// Notes what goes out; the first text of an answer after others is parted from them.
    fn give(&mut self, text: String) -> String {
        if text.is_empty() {
            return text;
        }
        let is_parted = self.answer.is_empty() && self.has_begun;
        self.answer.push_str(&text);
        self.has_begun = true;
        if is_parted {
            format!("{BREAK}{text}")
        } else {
            text
        }
    }
}

/// Returns true if a line that isn't whole may open or close a block.
fn may_be_fence(start: &str) -> bool {
    let start = start.trim_start();
    let rest = start.trim_start_matches(['`', '~']);
    rest.is_empty() || start.len() - rest.len() >= 3
}

#[cfg(test)]
mod tests;
