//! What the domain needs from the world, as traits.
//!
//! Other crates implement them; nothing here says how. Every method that touches somebody's data
//! takes its [`Owner`].

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde::Serialize;

use crate::account::{Owner, Role};
use crate::capability::Access;
use crate::library::{Library, Revision, Skill};
use crate::skill::SkillPath;

/// An answer that may take a while.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = Result<T, PortError>> + Send + 'a>>;

/// Why a port can't do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// It isn't there.
    #[error("not found")]
    NotFound,
    /// It is not what it was when it was last looked at.
    #[error("changed by somebody else: {0}")]
    Conflict(String),
    /// It is there and must not be touched: a link that leads out, a device.
    #[error("{0}")]
    Denied(String),
    /// What stands behind the port doesn't answer.
    #[error("{0}")]
    Unavailable(String),
    /// Anything else.
    #[error("{0}")]
    Other(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// The content of a file, up to the limit that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileContent {
    /// Its bytes, cut at the limit.
    pub bytes: Vec<u8>,
    /// Its whole length.
    pub size: u64,
}

impl FileContent {
    /// Whether the limit cut something off.
    pub fn is_cut(&self) -> bool {
        (self.bytes.len() as u64) < self.size
    }
}

/// The skills of an owner.
pub trait SkillStore: Send + Sync {
    /// The library as it is now.
    fn library<'a>(&'a self, owner: &'a Owner) -> Pending<'a, Arc<Library>>;

    /// Waits until the library is known to be another than at `since`; answers which it is then.
    ///
    /// Many changes at once are told once, so this may come a moment after the library shows them.
    /// [`Revision::default`] stands before the first reading. A store whose skills never change
    /// needs no method of its own: then this waits forever.
    fn changed<'a>(&'a self, owner: &'a Owner, since: Revision) -> Pending<'a, Revision> {
        let _ = (owner, since);
        Box::pin(std::future::pending())
    }

    /// A file of a skill as it is on disk now; at most `limit` bytes of it.
    fn read<'a>(
        &'a self,
        owner: &'a Owner,
        skill: &'a Skill,
        path: &'a SkillPath,
        limit: u64,
    ) -> Pending<'a, FileContent>;

    /// Switches a skill on or off; answers whether that changed anything.
    fn set_enabled<'a>(
        &'a self,
        owner: &'a Owner,
        skill: &'a Skill,
        enabled: bool,
    ) -> Pending<'a, bool>;
}

/// One line of the audit.
#[derive(Debug, Clone, Serialize)]
pub struct AuditEntry {
    /// When, by the clock of the gate.
    pub at: Timestamp,
    /// The call that it belongs to; unique in a process.
    pub call: u64,
    /// `begin` before something that changes or runs, `end` behind every call.
    pub phase: Phase,
    /// What was called.
    pub tool: String,
    /// What it may do.
    pub access: Access,
    /// Who called.
    pub role: Role,
    /// What the caller says it is.
    pub client: String,
    /// `ok`, or the code of the error.
    pub outcome: &'static str,
    /// The stage of the gate that refused the call, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused_by: Option<&'static str>,
    /// Digest of the arguments, which themselves may be private; empty for a call that was refused.
    pub arguments: String,
    /// How long it took, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub milliseconds: Option<u64>,
}

/// Which side of a call an audit entry is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// It is about to run.
    Begin,
    /// It ended, or was refused.
    End,
}

/// Where the audit goes.
pub trait AuditLog: Send + Sync {
    /// Adds an entry; when this fails, what changes or runs something must not go on.
    fn record<'a>(&'a self, owner: &'a Owner, entry: &'a AuditEntry) -> Pending<'a, ()>;
}

/// A moment, in milliseconds since 1970 (UTC); shown as RFC 3339.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(pub i64);

impl std::fmt::Display for Timestamp {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(moment) => write!(formatter, "{moment:.3}"),
            Err(_) => write!(formatter, "{} ms", self.0),
        }
    }
}

impl Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Tells the time, so that nothing asks the system for it.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> Timestamp;
}

#[cfg(test)]
mod tests {
    use super::Timestamp;

    #[test]
    fn moments_are_rfc_3339() {
        assert_eq!(
            Timestamp(1_795_253_400_000).to_string(),
            "2026-11-21T09:30:00.000Z"
        );
    }
}
