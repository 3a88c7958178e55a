//! The entries of a session's log.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::limits::AgentLimits;
use crate::port::{Message, ModelAnswer, ModelError};
use crate::skill::Digest;

/// The version of the log's format.
pub const FORMAT: u32 = 1;

/// An entry of the log. Each model call and each tool call writes one before it starts and one after it ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Its number; the first one is 0, and none is missing.
    pub n: u64,
    /// The time (RFC 3339).
    pub at: String,
    /// The event.
    #[serde(flatten)]
    pub event: EntryEvent,
}

/// Something that happened in a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum EntryEvent {
    /// The session begins.
    Started {
        /// The version of the format.
        format: u32,
        /// The session that it was forked from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        forked_from: Option<String>,
    },
    /// The conversation before the session, as its client tells it.
    History {
        /// The messages.
        messages: Vec<Message>,
    },
    /// The person says something: a turn begins.
    Prompt {
        /// The text.
        text: String,
        /// The limits of the turn.
        limits: AgentLimits,
        /// The skills that the instructions list, where there is room for a part of them alone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        skills: Option<Vec<String>>,
    },
    /// The model is asked.
    Asking {
        /// The model.
        model: String,
        /// True if it must answer now, without tools.
        last: bool,
        /// The digest of the instructions.
        system: LoggedDigest,
        /// The digest of the tools' definitions.
        tools: LoggedDigest,
        /// The digest of the whole request.
        request: LoggedDigest,
    },
    /// The model answered.
    Answered {
        /// The answer.
        answer: ModelAnswer,
        /// Its digest.
        digest: LoggedDigest,
        /// The time that it took.
        duration_ms: u64,
    },
    /// The model didn't answer, and the turn waits.
    Failed {
        /// The failure.
        error: ModelError,
    },
    /// A tool is called.
    Calling {
        /// The id of the call.
        id: String,
        /// The tool.
        tool: String,
        /// The arguments.
        params: Map<String, Value>,
        /// The digest of the tool's definition, where there is such a tool.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        definition: Option<LoggedDigest>,
    },
    /// The call ended.
    Called {
        /// The id of the call.
        id: String,
        /// The way in which it ended.
        status: CallStatus,
        /// The result as the model sees it.
        text: String,
        /// The digest of the status and the text.
        digest: LoggedDigest,
        /// The skill whose instructions it loaded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        skill: Option<String>,
        /// The time that it took.
        duration_ms: u64,
    },
    /// The turn ends.
    Finished {
        /// The reply to the person.
        reply: String,
        /// The reason.
        end: End,
    },
    /// The person stopped the turn.
    Interrupted,
    /// The first messages are summarised.
    Compacted {
        /// The number of messages that the summary stands for.
        through: usize,
        /// The summary.
        summary: String,
    },
}

/// The way in which a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallStatus {
    /// The tool did it.
    Ok,
    /// The tool failed, or says that it failed.
    Failed,
    /// The call wasn't allowed.
    Refused,
    /// There is no such tool, or the arguments are wrong.
    Invalid,
    /// The person stopped it.
    Interrupted,
}

impl CallStatus {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::Refused => "refused",
            Self::Invalid => "invalid",
            Self::Interrupted => "interrupted",
        }
    }
}

/// The reason why a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The model answered.
    Answered,
    /// The limit of steps was reached, and the model answered with what it had.
    Steps,
    /// The answer was cut at its longest.
    Length,
    /// The provider's filter stopped the answer.
    Filter,
    /// The tokens of the session are used up.
    Budget,
}

impl End {
    /// Returns true if the reply is an answer, whole or not.
    pub fn has_answer(self) -> bool {
        self != Self::Budget
    }
}

/// A digest, in logs as text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct LoggedDigest(Digest);

impl LoggedDigest {
    /// The digest of a text.
    pub fn of(text: &str) -> Self {
        Self(Digest::of(text.as_bytes()))
    }

    /// The digest of a value as JSON.
    pub fn of_json(value: &impl Serialize) -> Self {
        Self(Digest::of(&serde_json::to_vec(value).unwrap_or_default()))
    }

    /// The digest of the end of a call.
    pub fn of_result(status: CallStatus, text: &str) -> Self {
        Self::of(&format!("{}\n{text}", status.as_str()))
    }
}

impl fmt::Debug for LoggedDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, formatter)
    }
}

impl Serialize for LoggedDigest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for LoggedDigest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Self).map_err(serde::de::Error::custom)
    }
}
