//! The agent's loop as a state machine: a session is a log, and its state is a fold over the log.
//!
//! [`Session::apply`] takes an entry, [`Session::next`] says what must be done now. Whatever asks a model, calls tools
//! and writes the log is elsewhere: nothing here does IO or knows a provider.

mod compaction;
mod entry;
pub mod fence;
mod limits;
mod observation;
mod plan;
mod record;
pub mod replay;
mod session;

pub use entry::{CallStatus, End, Entry, EntryEvent, FORMAT, LoggedDigest};
pub use limits::AgentLimits;
pub use observation::{block, capped};
pub use plan::{PlannedCall, as_logged};
pub use record::{CallRecord, TurnRecord};
pub use session::{Effect, MAX_TRACED, Session, SessionError};
