//! The driver of the agent: it asks models, calls tools through the gate and writes the log of sessions.
//!
//! The loop itself is a state machine of the core. This crate alone holds the chat-model port; it knows no provider, no
//! surface and no file.

mod agent;
mod calling;
mod chat;
mod log;
pub mod pipeline;
mod prompt;
mod replay;
mod session;
mod sink;
mod span;
mod store;
mod surface;
mod turn;

#[cfg(test)]
mod tests;

pub use agent::{Agent, AgentSettings, Models};
pub use chat::MAX_PROMPT;
pub use session::{
    SessionCompact, SessionFork, SessionList, SessionRemove, SessionReplay, SessionShow,
    SessionStop,
};
