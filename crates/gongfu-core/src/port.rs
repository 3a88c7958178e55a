//! The ports: traits by which the domain says what it needs from outside.
//!
//! Other crates implement them. No method takes an owner: an implementation belongs to one [`Space`],
//! and a space is the only way to an owner's data.

mod blobs;
mod change_sets;
mod client_documents;
mod credentials;
mod environments;
mod files;
mod identity_provider;
mod limited;
mod locks;
mod log_chain;
mod log_hold;
mod model;
mod records;
mod sandbox;
mod servers;
mod skills;
mod space;
mod time;
mod usage;

use std::any::Any;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

pub use blobs::Blobs;
pub use change_sets::ChangeSets;
pub use client_documents::{ClientDocuments, MAX_CLIENT_DOCUMENT};
pub use credentials::{Comparison, Passwords, Secrets};
pub use environments::{BuiltEnvironment, Environment, Environments, InstalledEnvironment};
pub use files::{Files, FolderEntry, FolderEntryKind, LayerInfo, Layers};
pub use identity_provider::{IdentityProvider, ProviderPerson, ProviderRequest};
pub use limited::SkillReach;
pub use locks::Locks;
pub use log_chain::{ChainBreak, ChainEntry, ChainHead, LogChain};
pub use log_hold::{LogHold, LogHolds};
pub use model::{
    ChatModel, MAX_ANSWER, Message, ModelAnswer, ModelCall, ModelError, ModelErrorKind,
    ModelEvents, ModelRequest, ModelRetry, ModelTool, PendingAnswer, StopReason,
};
pub use records::{
    LogEntry, MAX_ENTRY, MAX_VALUE, Record, RecordChange, RecordKey, RecordKeyError, Records,
    Transactions, Version, check_commit, check_entry, check_value, read_newer_record, read_record,
    update_record,
};
pub use sandbox::{Listener, RunFolder, RunFolders, RunMounts, Sandbox};
pub use servers::{
    Asker, ConnectionStatus, Discovery, NoServers, Process, ProcessSpec, Processes, Progress,
    ProgressListener, ServerAnswer, ServerCall, ServerContents, ServerMethod, ServerReply,
    ServerRequest, ServerSkills, ServerTools, Servers, SignIn,
};
pub use skills::{FileEdit, Materialize, SkillSearch, SkillStore, TextIndex};
pub use space::{LocalSpaces, Space, SpaceParts, Spaces};
pub use time::{Clock, Timestamp};
pub use usage::{Price, Usage};

/// An answer that may take a while.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = Result<T, PortError>> + Send + 'a>>;

/// An answer that is there already.
pub fn ready<'a, T: Send + 'a>(answer: Result<T, PortError>) -> Pending<'a, T> {
    Box::pin(std::future::ready(answer))
}

/// Why a port can't do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// It isn't there, or belongs to another space.
    #[error("not found")]
    NotFound,
    /// It changed since the caller last read it.
    #[error("changed by another process: {0}")]
    Conflict(String),
    /// It exists and must not be touched: a link that leads out, a device.
    #[error("{0}")]
    Denied(String),
    /// The credential doesn't reach so far.
    #[error("{0}")]
    OutOfReach(String),
    /// It can be read but not written.
    #[error("`{place}` is read-only")]
    ReadOnly {
        /// The source of skills or the mount.
        place: String,
        /// A place where such a thing can be written instead, for people.
        instead: Option<String>,
    },
    /// Its owner has as much as they may.
    #[error("{0}")]
    Full(String),
    /// A folder stands where a file is expected.
    #[error("it is a folder")]
    IsAFolder,
    /// A file stands where a folder is expected.
    #[error("it is not a folder")]
    NotAFolder,
    /// The storage or service behind the port doesn't answer.
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
    /// Returns true if the limit cut something off.
    pub fn is_cut(&self) -> bool {
        (self.bytes.len() as u64) < self.size
    }
}

/// New content of a whole file.
#[derive(Debug, Clone, Copy)]
pub struct Change<'a> {
    /// The content afterwards.
    pub bytes: &'a [u8],
    /// The content that the caller last read, so that nobody else's change is lost; `None` writes
    /// the file whatever it holds, and creates it where it is missing.
    pub expected: Option<&'a [u8]>,
}

/// A local folder that stays in place while the lease is held.
///
/// Stores know content and not paths; whatever needs a path leases one.
#[derive(Clone)]
pub struct Lease {
    /// The folder, absolute.
    pub folder: PathBuf,
    /// Keeps the folder in place.
    pub hold: Arc<dyn Any + Send + Sync>,
}

impl Lease {
    /// A lease of a folder that stays in place by itself.
    pub fn permanent(folder: PathBuf) -> Self {
        Self {
            folder,
            hold: Arc::new(()),
        }
    }
}
