//! Everything that gongfu keeps on disk: skills folders, the index, switches, the audit.
//!
//! Implements the ports of `gongfu-core`. Every path is reached through a [`disk::Root`], a handle
//! that nothing below it can lead out of. Reads no environment and no clock: both are passed in.

pub mod approvals;
pub mod audit;
pub mod built_in;
pub mod check;
pub mod copy;
pub mod disk;
pub mod environments;
pub mod grants;
pub mod home;
pub mod index;
mod interpreter;
pub mod local;
pub mod mend;
mod passing;
pub mod reading;
mod record;
pub mod runs;
pub mod search;
pub mod source;
pub mod switches;
pub mod walk;
pub mod watch;
pub mod workspace;

pub use environments::LocalEnvironments;
pub use home::Home;
pub use interpreter::Interpreters;
pub use local::LocalSkills;
pub use runs::LocalRuns;
pub use search::Search;
pub use workspace::LocalWorkspace;
