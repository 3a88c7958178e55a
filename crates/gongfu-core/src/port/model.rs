//! The chat model: the only way to ask a model anything.
//!
//! Only the agent's driver holds this port. Knows no provider and no wire.

use std::future::Future;
use std::pin::Pin;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Price, Usage};

/// The longest answer of a model, text and arguments together, in bytes.
pub const MAX_ANSWER: usize = 256 * 1024;

/// A model that answers a conversation.
///
/// An implementation retries what is worth a retry, and ends every request: with an answer that is whole, or with an
/// error. Dropping the future ends the request.
pub trait ChatModel: Send + Sync {
    /// Its name for people and logs: `provider/model`.
    fn name(&self) -> &str;

    /// False for a model that can't call tools itself: it is told to write calls into its text.
    fn calls_tools(&self) -> bool {
        true
    }

    /// Its price, where that is known.
    fn price(&self) -> Option<Price> {
        None
    }

    /// Asks for the next message.
    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
        events: &'a dyn ModelEvents,
    ) -> PendingAnswer<'a>;
}

/// The answer of a model, in the future.
pub type PendingAnswer<'a> =
    Pin<Box<dyn Future<Output = Result<ModelAnswer, ModelError>> + Send + 'a>>;

/// Receives what happens while a model answers. Must not block.
pub trait ModelEvents: Send + Sync {
    /// A piece of the answer's text arrived.
    fn text(&self, _piece: &str) {}

    /// The request is made again: the pieces that arrived so far are void.
    fn retry(&self, _retry: &ModelRetry<'_>) {}
}

/// Events that nobody receives.
impl ModelEvents for () {}

/// A request that is made again.
#[derive(Debug, Clone, Copy)]
pub struct ModelRetry<'a> {
    /// The number of the next attempt; the first one is 1.
    pub attempt: u32,
    /// The wait before it, in milliseconds.
    pub wait_ms: u64,
    /// The failure of the last attempt.
    pub error: &'a ModelError,
}

/// A request to a model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelRequest {
    /// The instructions.
    pub system: String,
    /// The conversation; the last message isn't the model's.
    pub messages: Vec<Message>,
    /// The tools that it may call; without any, it can only answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ModelTool>,
    /// The longest answer, in tokens; `None` leaves it to the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// The sampling temperature; `None` leaves it to the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
}

/// A tool as a model sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelTool {
    /// Its name.
    pub name: String,
    /// Its purpose.
    pub description: String,
    /// The JSON schema of its arguments.
    pub schema: Map<String, Value>,
}

/// A message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// Of the person.
    User {
        /// The text.
        text: String,
    },
    /// Of the model.
    Assistant {
        /// The text.
        text: String,
        /// The calls that it asks for.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ModelCall>,
    },
    /// The result of a call, right after the message that asked for it.
    Tool {
        /// The id of the call.
        id: String,
        /// The tool.
        name: String,
        /// The result.
        text: String,
    },
}

/// A call that a model asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelCall {
    /// Its id, unique within the answer.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments: an object, or a string with what the model wrote where that isn't JSON.
    pub arguments: Value,
    /// Opaque tokens that some providers want back with the call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signatures: Vec<String>,
}

/// An answer that arrived whole.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelAnswer {
    /// The text.
    pub text: String,
    /// The calls, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ModelCall>,
    /// Why it ends here.
    pub stop: StopReason,
    /// The tokens that it took.
    pub usage: Usage,
}

/// The reason why an answer ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The model is done.
    #[default]
    End,
    /// It waits for the results of its calls.
    Calls,
    /// It reached the longest answer: the end is missing.
    Length,
    /// The provider's filter stopped it.
    Filter,
}

/// The failure of a request, after all retries.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{message}")]
pub struct ModelError {
    /// Its kind.
    pub kind: ModelErrorKind,
    /// The fault, for people: without the key, and without the request.
    pub message: String,
    /// The attempts that were made.
    pub attempts: u32,
}

impl ModelError {
    /// A failure of the first attempt.
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            attempts: 1,
        }
    }
}

/// The kinds of failures of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelErrorKind {
    /// There is no such provider, no key, or no model.
    NotConfigured,
    /// The provider refuses the key.
    Unauthorized,
    /// The provider has no such model.
    UnknownModel,
    /// The provider refuses the request.
    Rejected,
    /// The conversation is longer than the model takes.
    TooLong,
    /// The provider's limit of requests is reached.
    RateLimited,
    /// The provider can't be reached, or doesn't work right now.
    Unavailable,
    /// The provider stopped sending before the answer was whole.
    Stalled,
    /// The answer ended before it was whole.
    Incomplete,
    /// The answer can't be read.
    Malformed,
    /// The answer is longer than [`MAX_ANSWER`].
    TooLarge,
}

impl ModelErrorKind {
    /// Returns true if the same request may succeed a moment later.
    pub fn is_worth_a_retry(self) -> bool {
        matches!(
            self,
            Self::RateLimited | Self::Unavailable | Self::Stalled | Self::Incomplete
        )
    }
}
