//! The limits of the agent's loop.

use serde::{Deserialize, Serialize};

/// The limits of a turn, written into the log with each prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentLimits {
    /// The answers in which a model may call tools; after them it must answer without.
    pub steps: u32,
    /// The calls of one answer.
    pub calls: usize,
    /// The characters of a result that the model sees; instructions of skills are never cut.
    pub observation: usize,
    /// The tokens of a request from which the conversation before it is summarised.
    pub context_tokens: u64,
    /// The tokens of a whole session; `None` for any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_tokens: Option<u64>,
}

impl Default for AgentLimits {
    fn default() -> Self {
        Self {
            steps: 6,
            calls: 16,
            observation: 4_000,
            context_tokens: 96_000,
            session_tokens: None,
        }
    }
}
