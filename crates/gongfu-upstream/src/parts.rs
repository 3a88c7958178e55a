//! The connections of a space, and all that their servers need from outside.

use std::collections::BTreeMap;
use std::sync::Arc;

use gongfu_core::capability::Safety;
use gongfu_core::connection::Connection;
use gongfu_core::port::{Locks, PortError, Processes, Records, Secrets};

/// A connection, and the place that declares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionEntry {
    /// The connection.
    pub connection: Connection,
    /// The file or setting, for people.
    pub source: String,
}

/// Gives a key when it is needed: the first need creates it.
pub type SecretsSource = Arc<dyn Fn() -> Result<Arc<dyn Secrets>, PortError> + Send + Sync>;

/// All that the servers of a space need from outside.
#[derive(Clone)]
pub struct ServerParts {
    /// The approvals of the person.
    pub records: Arc<dyn Records>,
    /// Gives the key that encrypts sign-ins, once it is needed.
    pub secrets: SecretsSource,
    /// Keeps two processes from refreshing one sign-in at once.
    pub locks: Arc<dyn Locks>,
    /// Starts programs.
    pub processes: Arc<dyn Processes>,
    /// The environment that every program gets.
    pub environment: BTreeMap<String, String>,
    /// The folder that programs start in, where a connection doesn't say.
    pub folder: String,
    /// The safety level of connections that don't say.
    pub default_safety: Safety,
}
