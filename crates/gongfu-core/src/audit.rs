//! The audit: who called what, and how it ended.

use std::sync::Arc;

use serde::Serialize;

use crate::account::{Role, UserId};
use crate::capability::Access;
use crate::port::{PortError, RecordKey, RecordKeyError, Records, Timestamp};
use crate::sandbox::Contact;
use crate::text::visible;

/// The most characters of a command that are kept.
const MAX_COMMAND: usize = 500;
/// The same for the name of a skill, and for a path.
const MAX_NAME: usize = 200;
/// The most skills of a search that are kept.
const MAX_FOUND: usize = 5;

/// The part of a call's arguments that an entry keeps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Detail {
    /// The skill, the path and the start of the command, beside the digest.
    #[default]
    Summary,
    /// Only their digest.
    Digest,
}

/// The subject of a call. Secrets in a command are kept with it; contents of files never are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// The full name of the skill; as the caller wrote it where no skill has that name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skill: Option<String>,
    /// The path of a file, as the caller wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The full names of the skills that a search found, the best first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub found: Vec<String>,
}

impl Summary {
    /// Sets the skill.
    pub fn set_skill(&mut self, name: &str) {
        self.skill = Some(clipped(name, MAX_NAME));
    }

    /// Sets the path.
    pub fn set_path(&mut self, path: &str) {
        self.path = Some(clipped(path, MAX_NAME));
    }

    /// Sets the skills that a search found.
    pub fn set_found(&mut self, names: &[&str]) {
        let names = names.iter().take(MAX_FOUND);
        self.found = names.map(|name| clipped(name, MAX_NAME)).collect();
    }

    /// Sets the command.
    pub fn set_command(&mut self, command: &str) {
        self.command = Some(clipped(command, MAX_COMMAND));
    }
}

/// The start of a text, without anything that a terminal would obey; its lines stay.
fn clipped(text: &str, limit: usize) -> String {
    let start: String = text.chars().take(limit).collect();
    let mut clipped = visible(&start).into_owned();
    if text.chars().nth(limit).is_some() {
        clipped.push('…');
    }
    clipped
}

/// One line of the audit.
#[derive(Debug, Clone, Serialize)]
pub struct AuditEntry {
    /// The time, by the clock of the gate.
    pub at: Timestamp,
    /// The number of the call; unique in a process.
    pub call: u64,
    /// The process of gongfu that the call passed through.
    pub process: u32,
    /// The call that caused this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<u64>,
    /// True for a call that a replay made again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub replay: bool,
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
    /// The user who acted for a team.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member: Option<UserId>,
    /// The credential of the caller, as its kind and its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credential: Option<Arc<str>>,
    /// `ok`, or the code of the error.
    pub outcome: &'static str,
    /// The stage of the gate that refused the call, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused_by: Option<&'static str>,
    /// The subject of the call.
    #[serde(flatten)]
    pub summary: Summary,
    /// The end of the command, such as `exit 0` or `timeout`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// The digest of the arguments, which themselves may be private; empty for a refused call.
    pub arguments: String,
    /// The duration, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub milliseconds: Option<u64>,
    /// The part of it before a person allowed the call, in milliseconds; `None` where nobody had to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waited: Option<u64>,
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

/// Appends an entry to the audit of a space. That of a read may come a little later.
///
/// # Errors
/// The log can't be written; a change or a run must not go on then.
pub async fn append(records: &dyn Records, entry: &AuditEntry) -> Result<(), PortError> {
    let line = serde_json::to_vec(entry).map_err(|error| PortError::Other(error.into()))?;
    if entry.access == Access::Read {
        records.append_soon(&key()?, &line).await
    } else {
        records.append(&key()?, &line).await
    }
}

/// The key of the log.
///
/// # Errors
/// None: the key is a fixed one.
pub fn key() -> Result<RecordKey, PortError> {
    Ok(RecordKey::new("audit")?)
}

impl From<RecordKeyError> for PortError {
    fn from(error: RecordKeyError) -> Self {
        Self::Other(Box::new(error))
    }
}
