//! A folder on disk as a handle that nothing leads out of.
//!
//! On Linux every access is one `openat2` with `RESOLVE_BENEATH` (by cap-std, which resolves step
//! by step elsewhere).

mod entry;
mod error;
mod listing;
mod listing_cache;
mod lock;
mod root;
mod tree;
mod writing;

pub use entry::{Entry, EntryKind, FolderStamp, Stamp, described};
pub use error::{
    error_at, home_error, is_escape, is_loop, port_error, put_error, reason, write_error,
    write_reason,
};
pub use listing_cache::{Listing, Listings};
pub use lock::{lock, lock_at_once};
pub use root::{
    FileStatus, FolderId, Root, id_outside, is_at, kind_outside, mode_outside, owner_outside,
    real_outside, status_at,
};
pub use tree::{TreeEntry, TreeKind};
pub use writing::{PutError, is_temporary, random_name, temporary_name};

#[cfg(test)]
mod tests;
