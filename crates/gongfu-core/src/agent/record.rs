//! Records of what happened in a session, as results and summaries show it.

use super::entry::{CallStatus, End};
use super::plan::PlannedCall;
use crate::port::Usage;

/// A call of a turn, as results show it.
#[derive(Debug, Clone, PartialEq)]
pub struct CallRecord {
    /// The call.
    pub call: PlannedCall,
    /// The way in which it ended.
    pub status: CallStatus,
    /// The start of its result.
    pub result: String,
    /// The time that it took.
    pub duration_ms: u64,
}

/// A turn: a prompt and what came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnRecord {
    /// The prompt.
    pub prompt: String,
    /// The calls that ended, in the order of the answers.
    pub calls: Vec<CallRecord>,
    /// The reply and the reason why the turn ended; `None` while it runs, and for an interrupted one.
    pub reply: Option<(String, End)>,
    /// The tokens.
    pub usage: Usage,
}

/// The instructions of a skill in the conversation.
#[derive(Debug, Clone)]
pub(super) struct LoadedSkill {
    pub(super) name: String,
    pub(super) text: String,
    /// The index of the message that holds them.
    pub(super) at: usize,
}
