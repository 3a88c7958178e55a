//! The vocabulary that the watches share with the system's queue.

/// The kernel's number of a watched folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Mark(pub(super) i32);

/// The events of a folder that are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Interest {
    /// Everything about a folder itself; nothing where a link is in its place.
    Folder,
    /// Everything about a folder, links followed.
    Content,
    /// Entries that come, go or change their permissions, links followed.
    Names,
}

/// One event of the system.
pub(super) struct RawEvent<'a> {
    /// The folder; `None` when the system lost count.
    pub(super) mark: Option<Mark>,
    /// The entry of the folder; `None` for the folder itself.
    pub(super) name: Option<&'a str>,
    /// True if that entry is a folder.
    pub(super) is_folder: bool,
    /// True if something came or went under that name, or the folder itself did.
    pub(super) moved: bool,
    /// True if the folder is no longer watched.
    pub(super) ended: bool,
}

/// The reason why a folder can't be watched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unwatchable {
    /// It is missing, or no longer a folder.
    #[error("it is gone")]
    Gone,
    /// The system allows no more watches.
    #[error("the system's limit of watches is reached")]
    Exhausted,
    /// Other machines change its file system, and this one isn't told.
    #[error("it is on a network file system")]
    Remote,
    /// Anything else.
    #[error("{0}")]
    Other(String),
}
