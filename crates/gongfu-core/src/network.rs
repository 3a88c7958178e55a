//! The network of a run: hosts that an operator granted it, and nothing else (spec, "network").
//!
//! Pure: texts become hosts that hold nothing odd, and addresses are judged. Who resolves and connects,
//! others know.

mod address;
mod host;
mod rule;

pub use address::{is_of_a_host, is_public};
pub use host::{Destination, Host, HostError};
pub use rule::{Rule, RuleError, Rules};
