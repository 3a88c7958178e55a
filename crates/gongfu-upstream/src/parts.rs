//! The connections of a space, and all that their servers need from outside.

use std::collections::BTreeMap;
use std::sync::Arc;

use gongfu_core::capability::Safety;
use gongfu_core::connection::Connection;
use gongfu_core::port::{Processes, Records};

/// A connection, and the place that declares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionEntry {
    /// The connection.
    pub connection: Connection,
    /// The file or setting, for people.
    pub source: String,
}

/// All that the servers of a space need from outside.
#[derive(Clone)]
pub struct ServerParts {
    /// The approvals of the person.
    pub records: Arc<dyn Records>,
    /// Starts programs.
    pub processes: Arc<dyn Processes>,
    /// The environment that every program gets.
    pub environment: BTreeMap<String, String>,
    /// The folder that programs start in, where a connection doesn't say.
    pub folder: String,
    /// The safety level of connections that don't say.
    pub default_safety: Safety,
}
