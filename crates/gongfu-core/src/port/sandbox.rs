//! The sandbox, and the local folders that a run sees.

use std::path::PathBuf;
use std::sync::Arc;

use super::{Lease, Pending};
use crate::change::Holding;
use crate::library::Skill;
use crate::place::Location;
use crate::sandbox::{BackendStatus, Mount, Outcome, Spec, Stream};
use crate::skill::SkillPath;

/// Receives the output of a run while it goes on.
pub type Listener = Arc<dyn Fn(Stream, &[u8]) + Send + Sync>;

/// Runs untrusted programs for one space.
pub trait Sandbox: Send + Sync {
    /// The backends of this machine, the strongest first, with the reason why one doesn't work.
    fn statuses(&self) -> Pending<'_, Vec<BackendStatus>>;

    /// Runs something to its end; dropping the answer kills it.
    ///
    /// [`super::PortError::Unavailable`] where no wanted backend works; nothing was run then.
    fn run(&self, spec: Spec, listener: Listener) -> Pending<'_, Outcome>;
}

/// The local folders that a run sees.
#[derive(Clone)]
pub struct RunMounts {
    /// The workspace, the folders that the operator mounted, and the skill, where there is one.
    pub mounts: Vec<Mount>,
    /// The folders in which programs are looked for before the system's, as the run sees them.
    pub programs: Vec<String>,
    /// Links that the run sees, with their targets.
    pub links: Vec<(String, String)>,
    /// The folder that long outputs are kept in.
    pub logs: PathBuf,
    /// The same folder as later runs and the file tools see it, absolute.
    pub logs_seen: String,
    /// The layer that takes what the run writes beside the skill.
    pub layer: Option<Lease>,
    /// The guest paths that the run must not see.
    pub hidden: Vec<String>,
    /// The bytes that may still be kept beside skills.
    pub room: u64,
    /// The terms on which changes wait for a person; the run itself adds what it is. `None` where none does.
    pub holding: Option<Holding>,
    /// Keeps the folders in place.
    pub holds: Vec<Lease>,
}

/// A folder that a run sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFolder {
    /// Its guest path.
    pub guest: String,
    /// Its path on the machine, for people; `None` where only the run has it.
    pub host: Option<String>,
    /// A run can't write to it.
    pub is_read_only: bool,
}

/// Prepares the local folders of runs.
pub trait RunFolders: Send + Sync {
    /// The folders that a run sees, without preparing anything: the skill's where there is one, the workspace, and
    /// the mounts.
    fn folders(&self, with_skill: bool) -> Vec<RunFolder>;

    /// Why a person must allow a write at a place, where that is so: programs of the machine obey what is there.
    fn obeyed(&self, place: &Location) -> Option<&'static str>;

    /// The same for a file of a skill.
    fn obeyed_in_skill(&self, skill: &Skill, path: &SkillPath) -> Option<&'static str>;

    /// Prepares what a run sees, with a skill or without.
    fn prepare<'a>(&'a self, skill: Option<&'a Skill>) -> Pending<'a, RunMounts>;

    /// Keeps what a run wrote beside its skill.
    fn finish<'a>(&'a self, skill: Option<&'a Skill>, mounts: RunMounts) -> Pending<'a, ()>;
}
