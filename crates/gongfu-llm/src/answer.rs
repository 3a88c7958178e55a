//! Collects an answer piece by piece, and decides if it is whole.
//!
//! Knows nothing of requests.

use genai::chat::{StopReason as GenaiStop, StreamEnd, ToolCall, Usage as GenaiUsage};
use gongfu_core::port::{MAX_ANSWER, ModelAnswer, ModelCall, ModelErrorKind, StopReason, Usage};
use serde_json::{Map, Value};

use crate::guard::{Fault, JoinedCall, TOO_LARGE};

/// The reasons of an ordinary end that genai doesn't know.
const ENDS: &[&str] = &["eos", "eos_token", "end", "done"];

/// The deepest nesting of arguments.
const MAX_DEPTH: usize = 64;

/// An answer that is not whole yet.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    text: String,
    /// The length of calls that arrived whole.
    calls: usize,
    /// The model refused to answer.
    is_refusal: bool,
}

impl Draft {
    /// Adds the words of a refusal.
    ///
    /// # Errors
    /// The answer is too large.
    pub(crate) fn refuse(&mut self, words: &str, arguments: usize) -> Result<(), Fault> {
        self.is_refusal = true;
        self.add_text(words, arguments)
    }

    /// Adds a piece of text, beside arguments of this length.
    ///
    /// # Errors
    /// The answer is too large.
    pub(crate) fn add_text(&mut self, piece: &str, arguments: usize) -> Result<(), Fault> {
        self.text.push_str(piece);
        self.check(arguments)
    }

    /// Counts a call that arrived whole; genai keeps it until the end.
    ///
    /// # Errors
    /// The answer is too large.
    pub(crate) fn count(&mut self, call: &ToolCall) -> Result<(), Fault> {
        self.calls = self.calls.saturating_add(call.size());
        self.check(0)
    }

    fn check(&self, arguments: usize) -> Result<(), Fault> {
        let length = self
            .text
            .len()
            .saturating_add(self.calls)
            .saturating_add(arguments);
        if length > MAX_ANSWER {
            Err(TOO_LARGE)
        } else {
            Ok(())
        }
    }

    /// The whole answer. `joined` are the calls that genai didn't put together.
    ///
    /// # Errors
    /// It is not whole.
    pub(crate) fn finish(
        self,
        mut end: StreamEnd,
        joined: Vec<JoinedCall>,
    ) -> Result<ModelAnswer, Fault> {
        let usage = end.captured_usage.take().map(usage).unwrap_or_default();
        let stop = stop(end.captured_stop_reason.take())?;
        let is_cut = stop == StopReason::Length;
        let whole = end.captured_into_tool_calls().unwrap_or_default();
        let whole = whole.into_iter().map(|call| ModelCall {
            id: call.call_id,
            name: call.fn_name,
            arguments: arguments(call.fn_arguments, is_cut),
            signatures: call.thought_signatures.unwrap_or_default(),
        });
        let joined = joined.into_iter().map(|call| ModelCall {
            id: call.id,
            name: call.name,
            arguments: arguments(Value::String(call.arguments), is_cut),
            signatures: Vec::new(),
        });
        let mut calls: Vec<ModelCall> = whole.chain(joined).collect();
        if calls.iter().any(|call| call.name.is_empty()) {
            return Err(incomplete("the answer has a call without a name"));
        }
        tell_apart(&mut calls);
        let is_empty = self.text.trim().is_empty() && calls.is_empty();
        let stop = match stop {
            _ if self.is_refusal => StopReason::Filter,
            // There is nothing to go by, and the next attempt mostly has something.
            StopReason::End | StopReason::Calls if is_empty => {
                return Err(incomplete("the answer is empty"));
            }
            StopReason::Calls if calls.is_empty() => {
                return Err(incomplete(
                    "the answer announces tool calls but contains none",
                ));
            }
            StopReason::End if !calls.is_empty() => StopReason::Calls,
            stop => stop,
        };
        Ok(ModelAnswer {
            text: self.text,
            calls,
            stop,
            usage,
        })
    }
}

fn incomplete(message: &'static str) -> Fault {
    Fault {
        kind: ModelErrorKind::Incomplete,
        message,
    }
}

/// The reason of the end. Without one that is known, something may be missing.
fn stop(reason: Option<GenaiStop>) -> Result<StopReason, Fault> {
    match reason {
        Some(GenaiStop::Completed(_) | GenaiStop::StopSequence(_)) => Ok(StopReason::End),
        Some(GenaiStop::ToolCall(_)) => Ok(StopReason::Calls),
        Some(GenaiStop::MaxTokens(_)) => Ok(StopReason::Length),
        Some(GenaiStop::ContentFilter(_)) => Ok(StopReason::Filter),
        Some(GenaiStop::Other(reason)) if ENDS.contains(&reason.as_str()) => Ok(StopReason::End),
        Some(GenaiStop::Other(_)) => {
            Err(incomplete("the answer ends for a reason that is not known"))
        }
        None => Err(incomplete("the answer ends without a reason")),
    }
}

/// The arguments as an object, or as the text that the model wrote. No text means no arguments, unless it was cut.
///
/// Those that nest too deeply stay text: a log whose entries hold them couldn't be read again.
fn arguments(written: Value, is_cut: bool) -> Value {
    let text = match written {
        Value::Object(_) if !is_deeper(&written, MAX_DEPTH) => return written,
        Value::Null => String::new(),
        Value::String(text) => text,
        other => other.to_string(),
    };
    if text.trim().is_empty() && !is_cut {
        return Value::Object(Map::new());
    }
    match serde_json::from_str(&text) {
        Ok(object @ Value::Object(_)) if !is_deeper(&object, MAX_DEPTH) => object,
        Ok(Value::Null) if !is_cut => Value::Object(Map::new()),
        _ => Value::String(text),
    }
}

/// Returns true if objects and arrays nest deeper than this many levels.
fn is_deeper(value: &Value, levels: usize) -> bool {
    let is_deeper = |inner| match levels.checked_sub(1) {
        Some(levels) => is_deeper(inner, levels),
        None => true,
    };
    match value {
        Value::Array(items) => levels == 0 || items.iter().any(is_deeper),
        Value::Object(fields) => levels == 0 || fields.values().any(is_deeper),
        _ => false,
    }
}

/// Gives a new id to calls without one, and to those that share one.
fn tell_apart(calls: &mut [ModelCall]) {
    for at in 0..calls.len() {
        let (before, rest) = calls.split_at_mut(at);
        let Some(call) = rest.first_mut() else {
            continue;
        };
        if call.id.is_empty() {
            "call".clone_into(&mut call.id);
        }
        let mut number = at;
        while before.iter().any(|other| other.id == call.id) {
            call.id = format!("{}#{number}", call.id);
            number += 1;
        }
    }
}

fn usage(usage: GenaiUsage) -> Usage {
    let count = |tokens: Option<i32>| {
        tokens
            .and_then(|tokens| u64::try_from(tokens).ok())
            .unwrap_or_default()
    };
    Usage {
        input: count(usage.prompt_tokens),
        cached: count(
            usage
                .prompt_tokens_details
                .and_then(|details| details.cached_tokens),
        ),
        output: count(usage.completion_tokens),
        cost: 0,
    }
}
