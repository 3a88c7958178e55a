//! The network of a run: hosts that an operator granted it, and nothing else (spec, "network").
//!
//! Pure: texts become hosts, and addresses are judged. Resolving and connecting is done elsewhere.

mod address;
mod grantee;
mod host;
mod host_failure;
mod proxy;
mod rule;

pub use address::{is_of_a_host, is_public};
pub use grantee::Grantee;
pub use host::{Destination, Endpoint, Host, HostError};
pub use host_failure::{HostFailure, host_failure};
pub use proxy::{Bypass, Proxies, ProxyServer, Secret};
pub use rule::{Rule, RuleError, Rules};
