//! The parts that the spaces of a server share.

use std::path::PathBuf;
use std::sync::Arc;

use gongfu_core::dependency::Installs;
use gongfu_core::port::Clock;
use gongfu_core::sandbox::Limits;
use gongfu_environments::{self as environments, Interpreters};
use gongfu_files::{Home, PrivatePaths};
use gongfu_library::{SharedSkills, StoreLimits};
use gongfu_records::Database;
use gongfu_sandbox::Runner;
use gongfu_upstream::UserServers;

/// The parts that all spaces of a server share.
pub(crate) struct SharedParts {
    /// The server's home.
    pub(crate) home: Home,
    /// The folder of the accounts' skills.
    pub(crate) skill_dir: PathBuf,
    pub(crate) database: Arc<dyn Database>,
    /// The skills that the operator shares with all.
    pub(crate) skills: SharedSkills,
    pub(crate) runner: Arc<Runner>,
    /// The sandbox in which environments are built.
    pub(crate) builder: Arc<Runner>,
    pub(crate) interpreters: Arc<Interpreters>,
    pub(crate) environments: environments::Settings,
    pub(crate) private: PrivatePaths,
    pub(crate) limits: Limits,
    pub(crate) installs: Installs,
    pub(crate) store_limits: StoreLimits,
    /// The other servers that the operator offers to users.
    pub(crate) servers: Arc<UserServers>,
    pub(crate) clock: Arc<dyn Clock>,
}
