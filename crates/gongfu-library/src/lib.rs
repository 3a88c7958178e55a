//! Skills on disk as one library.
//!
//! Walks folders, keeps an index, watches for changes, checks and repairs skills.
//! Reads no environment and no clock: both are passed in.

mod account;
mod blocking;
pub mod built_in;
pub mod check;
mod copy;
pub mod fix;
mod index;
mod joined;
mod left_out;
mod local;
mod reading;
mod revision;
pub mod scaffold;
mod scoped_pool;
pub mod source;
mod switches;
mod trust;
pub mod walk;
pub mod watch;

pub use account::{
    AccountSkills, SharedSkills, Shares, StoreLimits, StoreParts, StoredSkills, WeakSkills,
    changed_by_hand, contents_of,
};
pub use joined::JoinedSkills;
pub use local::{LocalSkills, WatchStatus};
pub use switches::SwitchRecord;
pub use trust::TrustRecord;
