//! The audit: who called what, and how it ended.

use serde::Serialize;

use crate::account::Role;
use crate::capability::Access;
use crate::port::{PortError, RecordKey, RecordKeyError, Records, Timestamp};
use crate::sandbox::Contact;

/// One line of the audit.
#[derive(Debug, Clone, Serialize)]
pub struct AuditEntry {
    /// The time, by the clock of the gate.
    pub at: Timestamp,
    /// The number of the call; unique in a process.
    pub call: u64,
    /// The call that caused this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<u64>,
    /// `begin` before a change or a run, `end` after every call.
    pub phase: Phase,
    /// The name of the tool or operation.
    pub tool: String,
    /// Its access.
    pub access: Access,
    /// The role of the caller.
    pub role: Role,
    /// The caller's name for itself.
    pub client: String,
    /// `ok`, or the code of the error.
    pub outcome: &'static str,
    /// The stage of the gate that refused the call, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused_by: Option<&'static str>,
    /// The digest of the arguments, which themselves may be private; empty for a refused call.
    pub arguments: String,
    /// The duration, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub milliseconds: Option<u64>,
    /// The hosts that a run contacted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<Contact>,
}

/// The side of a call that an audit entry is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// It is about to run.
    Begin,
    /// It ended, or was refused.
    End,
}

/// Appends an entry to the audit of a space.
///
/// # Errors
/// The log can't be written; a change or a run must not go on then.
pub async fn append(records: &dyn Records, entry: &AuditEntry) -> Result<(), PortError> {
    let line = serde_json::to_vec(entry).map_err(|error| PortError::Other(error.into()))?;
    let written = records.append(&key()?, &line).await;
    written.map_err(|error| PortError::Unavailable(format!("the audit can't be written: {error}")))
}

fn key() -> Result<RecordKey, PortError> {
    Ok(RecordKey::new("audit")?)
}

impl From<RecordKeyError> for PortError {
    fn from(error: RecordKeyError) -> Self {
        Self::Other(Box::new(error))
    }
}
