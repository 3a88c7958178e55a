//! What the domain needs from the world, as traits.
//!
//! Other crates implement them; nothing here says how. Every method that touches somebody's data
//! takes its [`Owner`].

use std::any::Any;
use std::collections::BTreeMap;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use serde::Serialize;

use crate::account::{Owner, Role};
use crate::approval::{Approval, Decision, Request, Ruling};
use crate::capability::Access;
use crate::dependency::{Failure, Imported, Manifest, Record};
use crate::library::{Library, Revision, Skill};
use crate::place::Location;
use crate::sandbox::{Contact, Mount, Outcome, Reach, Spec, Standing, Stream};
use crate::search::{Answer, Query};
use crate::skill::{SkillName, SkillPath};

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
    /// It may be read and not written.
    #[error("`{place}` is read-only")]
    ReadOnly {
        /// The source of skills or the mount.
        place: String,
        /// Where such a thing can be written instead, for people.
        instead: Option<String>,
    },
    /// A folder stands where a file is meant.
    #[error("it is a folder")]
    IsAFolder,
    /// A file stands where a folder is meant.
    #[error("it is not a folder")]
    NotAFolder,
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

/// New content of a whole file.
#[derive(Debug, Clone, Copy)]
pub struct Change<'a> {
    /// What the file holds afterwards.
    pub bytes: &'a [u8],
    /// What it must hold before, so that nobody else's change is lost; `None` for a file that is
    /// written whatever it holds, or made.
    pub expected: Option<&'a [u8]>,
}

/// What lies in a folder of a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderEntry {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: FolderEntryKind,
}

/// What an entry of a folder is; a link that stays inside is what it leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FolderEntryKind {
    /// A regular file and its length in bytes.
    File(u64),
    /// A folder.
    Folder,
    /// Something that is neither and can't be reached: what it is, for people.
    Other(String),
}

/// Hears what a run says, as it says it.
pub type Listener = Arc<dyn Fn(Stream, &[u8]) + Send + Sync>;

/// Where what strangers wrote is run.
pub trait Sandbox: Send + Sync {
    /// What works on this machine, the strongest level first, and of every other why it doesn't.
    fn standing(&self) -> Pending<'_, Vec<Standing>>;

    /// Runs something to its end. Whoever no longer waits for that ends it.
    ///
    /// Unavailable where no sandbox of the level that is wanted works; nothing was run then.
    fn run<'a>(&'a self, owner: &'a Owner, spec: Spec, listener: Listener) -> Pending<'a, Outcome>;

    /// Hears that somebody is answered something that is no run: runs that wait make way for them.
    fn make_way(&self) {}
}

/// What a run is given of an owner's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grounds {
    /// The folders that it sees: the workspace, what the operator mounted, and the skill, where there
    /// is one.
    pub mounts: Vec<Mount>,
    /// Where programs are looked for before the system's, as the run sees them.
    pub programs: Vec<String>,
    /// What of the network it reaches.
    pub reach: Reach,
    /// Where its outputs are kept whole, once they are long.
    pub logs: PathBuf,
    /// The same folder as later runs and the tools for files see it, absolute.
    pub logs_seen: String,
}

/// The files of an owner as runs see them, and what runs left.
pub trait Runs: Send + Sync {
    /// What a run sees, with a skill or without.
    ///
    /// A skill is seen below a layer of the owner's, which takes what its runs write: the skill itself
    /// never changes.
    fn grounds<'a>(&'a self, owner: &'a Owner, skill: Option<&'a Skill>) -> Pending<'a, Grounds>;

    /// A file that runs left in the owner's layer of a skill; at most `limit` bytes of it. One that
    /// the skill itself changed since then is none.
    fn left<'a>(
        &'a self,
        owner: &'a Owner,
        skill: &'a Skill,
        path: &'a SkillPath,
        limit: u64,
    ) -> Pending<'a, FileContent>;

    /// Every file that runs left in the owner's layer of a skill, by path, with its length in bytes;
    /// none beyond a few thousand.
    fn listed<'a>(
        &'a self,
        owner: &'a Owner,
        skill: &'a Skill,
    ) -> Pending<'a, Vec<(SkillPath, u64)>>;
}

/// An environment that is there, as runs see it; nobody takes it away while this is held.
#[derive(Clone)]
pub struct Environment {
    /// What is known of it.
    pub record: Arc<Record>,
    /// What a run sees of it; `None` where nothing is installed.
    pub mount: Option<Mount>,
    /// Where it has programs, as a run sees them.
    pub programs: Vec<String>,
    /// What a run finds in its variables.
    pub variables: BTreeMap<String, String>,
    /// What keeps it there.
    pub held: Arc<dyn Any + Send + Sync>,
}

/// An environment that was just made.
pub struct Made {
    /// The environment.
    pub environment: Environment,
    /// The hosts that were asked for.
    pub contacts: Vec<Contact>,
}

/// An environment in a list.
#[derive(Debug, Clone)]
pub struct Kept {
    /// What it is called by.
    pub key: String,
    /// Where it lies.
    pub folder: PathBuf,
    /// What is known of it, and when it was used last; or why that can't be told, for people.
    pub known: Result<(Record, Timestamp), String>,
}

/// The packages that scripts of skills need: installed once, and only read by runs.
pub trait Environments: Send + Sync {
    /// The environment of a manifest, where it was made.
    fn find<'a>(
        &'a self,
        owner: &'a Owner,
        manifest: &'a Manifest,
    ) -> Pending<'a, Option<Environment>>;

    /// Makes it, and answers once it is there; the listener hears how that goes on. Whoever no longer waits
    /// doesn't end it.
    fn make<'a>(
        &'a self,
        owner: &'a Owner,
        skill: &'a Skill,
        manifest: Manifest,
        listener: Listener,
    ) -> Pending<'a, Result<Made, Failure>>;

    /// What the scripts of a manifest import that neither the language nor the skill itself has.
    fn imports<'a>(
        &'a self,
        owner: &'a Owner,
        skill: &'a Skill,
        manifest: &'a Manifest,
    ) -> Pending<'a, Result<Imported, Failure>>;

    /// All that are there.
    fn list<'a>(&'a self, owner: &'a Owner) -> Pending<'a, Vec<Kept>>;

    /// Takes one away, unless it is used right now or isn't there; answers whether it did.
    fn remove<'a>(&'a self, owner: &'a Owner, key: &'a str) -> Pending<'a, bool>;

    /// Whether its files are otherwise than when it was made.
    fn changed<'a>(&'a self, owner: &'a Owner, key: &'a str) -> Pending<'a, bool>;

    /// Takes away what those left who were interrupted while they made one.
    fn sweep<'a>(&'a self, owner: &'a Owner) -> Pending<'a, ()>;
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

    /// Makes a skill of this SKILL.md in the owner's writable source; the folder is called by its
    /// name. A conflict when the folder is there already.
    fn create<'a>(
        &'a self,
        owner: &'a Owner,
        name: &'a SkillName,
        document: &'a [u8],
    ) -> Pending<'a, Arc<Skill>>;

    /// Writes a file of a skill as a whole; makes it and the folders above it where they are
    /// missing. Answers whether the file is new.
    fn write<'a>(
        &'a self,
        owner: &'a Owner,
        skill: &'a Skill,
        path: &'a SkillPath,
        change: Change<'a>,
    ) -> Pending<'a, bool>;
}

/// The files that an owner works on: a workspace, and what the operator mounted beside it.
pub trait Workspace: Send + Sync {
    /// What lies in a folder, by name; a workspace that nobody wrote to yet is empty.
    fn list<'a>(&'a self, owner: &'a Owner, place: &'a Location) -> Pending<'a, Vec<FolderEntry>>;

    /// A file as it is now; at most `limit` bytes of it.
    fn read<'a>(
        &'a self,
        owner: &'a Owner,
        place: &'a Location,
        limit: u64,
    ) -> Pending<'a, FileContent>;

    /// Writes a file as a whole; makes it and the folders above it where they are missing. Answers
    /// whether the file is new.
    fn write<'a>(
        &'a self,
        owner: &'a Owner,
        place: &'a Location,
        change: Change<'a>,
    ) -> Pending<'a, bool>;
}

/// Finding skills by words.
///
/// Every space is ranked by its own skills alone: whatever another owner keeps never changes an
/// answer.
pub trait SkillSearch: Send + Sync {
    /// The skills of the owner that fit a query best, as the library is now.
    fn search<'a>(&'a self, owner: &'a Owner, query: &'a Query) -> Pending<'a, Answer>;
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
    /// The hosts that what was run asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<Contact>,
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

/// What people said about calls that need one.
pub trait ApprovalStore: Send + Sync {
    /// What becomes of a call; it is remembered, so that a person can be shown it. When this fails, the
    /// call must not go on.
    fn decide<'a>(
        &'a self,
        owner: &'a Owner,
        request: &'a Request,
        now: Timestamp,
    ) -> Pending<'a, Decision>;

    /// All that waits, and all answers that still hold, the oldest first.
    fn list<'a>(&'a self, owner: &'a Owner, now: Timestamp) -> Pending<'a, Vec<Approval>>;

    /// Writes down what a person says, and until when that holds; answers about what, or `None` where no
    /// such call is known.
    fn answer<'a>(
        &'a self,
        owner: &'a Owner,
        id: &'a str,
        answer: Ruling,
        until: Option<Timestamp>,
        now: Timestamp,
    ) -> Pending<'a, Option<Approval>>;
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

impl Timestamp {
    /// The moment as RFC 3339 without a fraction of the second.
    pub fn to_seconds(self) -> String {
        match jiff::Timestamp::from_second(self.0.div_euclid(1_000)) {
            Ok(moment) => moment.to_string(),
            Err(_) => self.to_string(),
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
        assert_eq!(
            Timestamp(1_795_253_400_999).to_seconds(),
            "2026-11-21T09:30:00Z"
        );
    }
}
