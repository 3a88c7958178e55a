//! Watches the pieces of an answer on the wire, before genai reads them.
//!
//! genai puts the calls of `OpenAI`'s wire together in a list as long as the index that a server writes, drops pieces
//! without an index, and mixes Anthropic's blocks when they overlap. So those calls are put together here, and
//! overlapping blocks are refused.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use genai::chat::{ChatFrameSink, FrameCtx, RawFrameRef};
use gongfu_core::port::{MAX_ANSWER, ModelErrorKind};
use serde::Deserialize;
use serde_json::Value;

use crate::settings::ProviderKind;

/// The most calls in one answer.
const MAX_CALLS: usize = 128;

/// The most reads at once that end no frame. A frame of the longest answer takes some 200 packets.
const MAX_READS: u64 = 512;

/// The further reads of each second without a frame: a provider that thinks may send a blank line now and then.
const READS_PER_SECOND: u64 = 2;

/// A call of which all pieces are joined.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct JoinedCall {
    index: Option<u64>,
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: String,
}

/// The reason to end a request at once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Fault {
    pub(crate) kind: ModelErrorKind,
    pub(crate) message: &'static str,
}

/// The fault of an answer that is too large.
pub(crate) const TOO_LARGE: Fault = Fault {
    kind: ModelErrorKind::TooLarge,
    message: "the answer is longer than 256 KiB",
};

const ENDLESS: Fault = Fault {
    kind: ModelErrorKind::TooLarge,
    message: "a chunk of the answer never ends",
};

const TOO_MANY: Fault = Fault {
    kind: ModelErrorKind::TooLarge,
    message: "the answer has more than 128 calls",
};

const MIXED: Fault = Fault {
    kind: ModelErrorKind::Malformed,
    message: "the answer mixes the pieces of several blocks",
};

/// Watches one answer.
#[derive(Debug)]
pub(crate) struct Guard {
    kind: ProviderKind,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    calls: Vec<JoinedCall>,
    /// The length of all arguments.
    length: usize,
    /// The index of the block that has begun and not ended.
    block: Option<u64>,
    /// The reads since the last frame.
    reads: u64,
    /// The time of the last frame.
    since: Option<Instant>,
    /// The words of a refusal.
    refusal: String,
    /// The error that the provider sends instead of an answer, where genai drops it.
    error: Option<Value>,
    fault: Option<Fault>,
}

impl Guard {
    pub(crate) fn new(kind: ProviderKind) -> Self {
        let state = Mutex::default();
        Self { kind, state }
    }

    /// Returns true if each call arrives whole, and is not counted here.
    pub(crate) fn sees_whole_calls(&self) -> bool {
        matches!(self.kind, ProviderKind::Gemini | ProviderKind::Ollama)
    }

    /// The length of the arguments that arrived.
    ///
    /// # Errors
    /// The answer is unusable already.
    pub(crate) fn check(&self) -> Result<usize, Fault> {
        let state = self.state();
        state.fault.map_or(Ok(state.length), Err)
    }

    /// Counts a read that ended no frame, and returns true if there were too many.
    ///
    /// genai collects a frame, and the body of an error, for as long as something arrives.
    pub(crate) fn is_endless(&self) -> bool {
        let mut state = self.state();
        state.reads = state.reads.saturating_add(1);
        let since = *state.since.get_or_insert_with(Instant::now);
        if is_too_many(state.reads, since.elapsed()) {
            state.fault.get_or_insert(ENDLESS);
        }
        state.fault == Some(ENDLESS)
    }

    /// The words of a refusal, if the model refused.
    pub(crate) fn take_refusal(&self) -> Option<String> {
        let refusal = std::mem::take(&mut self.state().refusal);
        (!refusal.is_empty()).then_some(refusal)
    }

    /// The error that came instead of an answer, if genai dropped it.
    pub(crate) fn take_error(&self) -> Option<Value> {
        self.state().error.take()
    }

    /// The calls that were put together.
    pub(crate) fn take_calls(&self) -> Vec<JoinedCall> {
        std::mem::take(&mut self.state().calls)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns true if these are too many reads since the last frame.
fn is_too_many(reads: u64, time: Duration) -> bool {
    let more = time.as_secs().saturating_mul(READS_PER_SECOND);
    reads > MAX_READS.saturating_add(more)
}

impl ChatFrameSink for Guard {
    fn on_frame(&self, _: &FrameCtx, frame: RawFrameRef<'_>) {
        let mut state = self.state();
        state.reads = 0;
        state.since = None;
        if state.fault.is_some() {
            return;
        }
        let has = |name: &str| frame.data.contains(&format!("\"{name}\""));
        let looked_at = match self.kind {
            ProviderKind::OpenAi if has("tool_calls") || has("refusal") => state.join(frame.data),
            ProviderKind::Anthropic => state.follow(frame.event.unwrap_or_default(), frame.data),
            ProviderKind::Gemini if has("blockReason") => {
                state.keep_error(frame.data, "/promptFeedback/blockReason");
                Ok(())
            }
            ProviderKind::Ollama if has("error") => {
                state.keep_error(frame.data, "/error");
                Ok(())
            }
            _ => Ok(()),
        };
        state.fault = looked_at.err();
    }
}

/// A frame of `OpenAI`'s wire, as far as it is about calls.
#[derive(Deserialize)]
struct Frame {
    #[serde(default)]
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    delta: Option<Delta>,
}

#[derive(Deserialize)]
struct Delta {
    tool_calls: Option<Vec<Piece>>,
    refusal: Option<Value>,
}

/// A piece of a call.
#[derive(Deserialize)]
struct Piece {
    index: Option<u64>,
    id: Option<String>,
    function: Option<Function>,
}

#[derive(Deserialize, Default)]
struct Function {
    name: Option<String>,
    arguments: Option<Value>,
}

/// An event of Anthropic's wire, as far as it is about blocks.
#[derive(Deserialize)]
struct BlockEvent {
    #[serde(default)]
    index: u64,
    #[serde(default)]
    delta: BlockDelta,
}

#[derive(Deserialize, Default)]
struct BlockDelta {
    #[serde(default)]
    partial_json: String,
}

impl State {
    /// Joins the pieces of calls in a frame of `OpenAI`'s wire.
    fn join(&mut self, data: &str) -> Result<(), Fault> {
        // genai says what is wrong with a frame that isn't JSON; calls of another shape are refused here.
        let Ok(value) = serde_json::from_str::<Value>(data) else {
            return Ok(());
        };
        let frame: Frame = serde_json::from_value(value).map_err(|_| Fault {
            kind: ModelErrorKind::Malformed,
            message: "the answer has a call that can't be read",
        })?;
        let first = frame.choices.into_iter().next();
        let Some(delta) = first.and_then(|choice| choice.delta) else {
            return Ok(());
        };
        if let Some(Value::String(words)) = delta.refusal {
            self.refusal.push_str(&words);
            self.grow(words.len())?;
        }
        let pieces = delta.tool_calls.unwrap_or_default();
        pieces.into_iter().try_for_each(|piece| self.add(piece))
    }

    fn add(&mut self, piece: Piece) -> Result<(), Fault> {
        let function = piece.function.unwrap_or_default();
        let id = piece.id.filter(|id| !id.is_empty());
        let call = self.call_of(piece.index, id.as_deref())?;
        if let Some(id) = id {
            call.id = id;
        }
        if let Some(name) = function.name.filter(|name| !name.is_empty()) {
            call.name = name;
        }
        let before = call.arguments.len();
        match function.arguments {
            None | Some(Value::Null) => {}
            Some(Value::String(piece)) => call.arguments.push_str(&piece),
            // Some servers write the arguments as an object, all at once.
            Some(whole) => call.arguments.push_str(&whole.to_string()),
        }
        let longer = call.arguments.len() - before;
        self.grow(longer)
    }

    /// The call that a piece belongs to: by its index, else by its id, else the last one.
    fn call_of(&mut self, index: Option<u64>, id: Option<&str>) -> Result<&mut JoinedCall, Fault> {
        // Some servers give each call the index 0, and an id of its own.
        let is_same = |call: &JoinedCall| id.is_none_or(|id| call.id.is_empty() || call.id == id);
        let found = match (index, id) {
            (Some(_), _) => self
                .calls
                .iter()
                .rposition(|call| call.index == index && is_same(call)),
            (None, Some(id)) => self.calls.iter().position(|call| call.id == id),
            (None, None) => self.calls.len().checked_sub(1),
        };
        let at = found.unwrap_or(self.calls.len());
        if at >= MAX_CALLS {
            return Err(TOO_MANY);
        }
        if found.is_none() {
            let call = JoinedCall {
                index,
                ..JoinedCall::default()
            };
            self.calls.push(call);
        }
        self.calls.get_mut(at).ok_or(TOO_MANY)
    }

    /// Keeps a frame that has an error at this place.
    fn keep_error(&mut self, data: &str, place: &str) {
        let frame = serde_json::from_str::<Value>(data).ok();
        self.error =
            frame.filter(|frame| frame.pointer(place).is_some_and(|error| !error.is_null()));
    }

    /// Follows the blocks of Anthropic's wire.
    fn follow(&mut self, event: &str, data: &str) -> Result<(), Fault> {
        if !event.starts_with("content_block_") {
            return Ok(());
        }
        let Ok(block) = serde_json::from_str::<BlockEvent>(data) else {
            return Ok(());
        };
        match event {
            "content_block_start" => match self.block.replace(block.index) {
                None => Ok(()),
                Some(_) => Err(MIXED),
            },
            "content_block_delta" if self.block != Some(block.index) => Err(MIXED),
            "content_block_delta" => self.grow(block.delta.partial_json.len()),
            "content_block_stop" if self.block.take() != Some(block.index) => Err(MIXED),
            _ => Ok(()),
        }
    }

    fn grow(&mut self, longer: usize) -> Result<(), Fault> {
        self.length = self.length.saturating_add(longer);
        if self.length > MAX_ANSWER {
            Err(TOO_LARGE)
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests;
