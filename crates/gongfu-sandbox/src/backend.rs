//! The backends: one file each, and a line in `all`. The other files hold their shared parts. Only its own file
//! knows a backend; everything else reads its [`Profile`] and its plans.
//!
//! A backend that needs a library of its own is a crate of its own: it implements [`Backend`] with the public
//! items here, and is added to a runner by [`Runner::with_backend`](crate::Runner::with_backend).

#[cfg(target_os = "linux")]
mod bubblewrap;
#[cfg(target_os = "linux")]
mod container;
pub(crate) mod copy;
pub(crate) mod execute;
pub(crate) mod folders;
pub(crate) mod layer;
#[cfg(target_os = "linux")]
mod lite;
#[cfg(target_os = "linux")]
mod namespaces;
mod program;
pub(crate) mod unavailable;

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Instant;

use gongfu_core::account;
use gongfu_core::sandbox::{Level, Means, Mount, Outcome, Spec, Stream};

use crate::file_time::Beginning;
use crate::platform::cgroup::Groups;
use crate::threads::Threads;
use crate::throttle::Throttle;

#[cfg(target_os = "linux")]
pub use crate::child::container_init::{ARGUMENT as INIT_ARGUMENT, SOCKET as INIT_SOCKET};
pub use crate::child_handle::ChildHandle;
pub use crate::copier::Before;
pub use crate::locked_folder::clear;
pub use crate::plan::{Piece, Plan, Source, UnixId};
pub use crate::random::bytes as random;
pub use crate::run_as::give;
pub use crate::run_dir::RunDir;
#[cfg(target_os = "linux")]
pub use crate::seccomp::table as refused_calls;
#[cfg(target_os = "linux")]
pub use crate::system::{View, place};
#[cfg(target_os = "linux")]
pub use bubblewrap::hidden as hidden_in_proc;
#[cfg(target_os = "linux")]
pub use container::{ContainerInit, plan};
pub use copy::{Exposure, MAX_COPIED_BYTES, MAX_COPIED_FILES, MountCopies, MountedBy, exposure};
pub use execute::{RunResult, execute_in};
pub use layer::merge_layers;
#[cfg(target_os = "linux")]
pub use namespaces::{PLACES, SCRATCH};
pub use program::{Places, view_variables};

/// The backends of this crate, the strongest first.
#[cfg(target_os = "linux")]
pub(crate) fn all() -> Vec<Arc<dyn Backend>> {
    vec![
        Arc::new(namespaces::Namespaces),
        Arc::new(bubblewrap::Bubblewrap),
        Arc::new(lite::Lite),
    ]
}

/// The parts of the host that a run can see besides the system's programs and its own folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostView {
    /// Nothing.
    Hidden,
    /// The paths of its folders, which are in its list of mounts.
    Paths,
    /// Everything is visible, though it can't be read. The run's folders keep their paths, which are in variables
    /// (`GONGFU_SKILL`); in other sandboxes they are mounted at their targets.
    Open,
}

/// The properties of a backend.
#[derive(Debug)]
pub struct Profile {
    /// Its name in settings and answers.
    pub level: Level,
    /// A description for people.
    pub about: &'static str,
    /// Runs of several users could see or hinder each other.
    pub is_single_tenant: bool,
    /// It is used only where settings name it, however well it works.
    pub is_opt_in: bool,
    /// A run can reach hosts, by the proxy.
    pub reaches_hosts: bool,
    /// The parts of the host that a run can see.
    pub host: HostView,
    /// The means that limits the number of processes, where no control group does.
    pub processes: Means,
    /// The means that limits disk space.
    pub disk: Means,
}

/// Everything that a run needs besides its job.
pub struct RunContext<'a> {
    /// The user of the run on the host; `None` for gongfu's own.
    pub tenant: Option<UnixId>,
    /// The account that the run belongs to.
    pub owner: &'a account::Owner,
    /// The run only tries the backend: nothing is kept warm for later runs.
    pub is_trial: bool,
    /// Readable once the run is cancelled.
    pub cancel: BorrowedFd<'a>,
    /// Makes a control group for the run, if it can have one.
    pub(crate) groups: Option<&'static Groups>,
    /// The threads for work in the background.
    pub(crate) threads: &'a Arc<Threads>,
    pub(crate) throttle: &'a Throttle,
    /// When the run was asked for.
    pub(crate) since: Instant,
    /// The time from which on changes by others count, unless it waits for long.
    pub(crate) began: Beginning,
    /// Receives the output.
    pub(crate) listener: &'a dyn Fn(Stream, &[u8]),
}

impl RunContext<'_> {
    /// The user of the run on the host; it is never root.
    ///
    /// # Errors
    /// gongfu is root and can't become another user.
    pub fn tenant_but_root(&self) -> Result<Option<UnixId>, Failure> {
        if rustix::process::geteuid().is_root() && self.tenant.is_none() {
            let why =
                "gongfu runs as root and can't switch to another user; run it as a different user";
            return Err(Failure::Unavailable(why.to_owned()));
        }
        Ok(self.tenant)
    }
}

/// The reason why nothing was run.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The sandbox can't be made.
    #[error("can't create the sandbox: {0}")]
    Unavailable(String),
    /// The job can't be run in it.
    #[error("{0}")]
    Refused(String),
    /// Something else.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Failure {
    /// The failure of a sandbox that was ended from outside.
    pub(crate) fn lost() -> Self {
        let why = "the sandbox was killed from outside; the machine may have run out of memory";
        Self::Io(io::Error::other(why))
    }
}

/// A way to make sandboxes. The runner tries whether it works here, by a run that changes a file.
pub trait Backend: Send + Sync {
    /// Its properties.
    fn profile(&self) -> &'static Profile;

    /// Runs a job to its end.
    ///
    /// # Errors
    /// The sandbox can't be made, or the job can't be run in it.
    fn execute(&self, job: &Spec, context: &RunContext<'_>) -> Result<Outcome, Failure>;

    /// Explains that the sandbox ended before its program did. The program could start if it `is_ready`, and
    /// `stderr` is the beginning of the standard error.
    fn lost(&self, is_ready: bool, stderr: &str) -> Failure {
        let _ = (is_ready, stderr);
        Failure::lost()
    }

    /// Ends the warm sandboxes; none is kept after it.
    fn close(&self) {}
}

/// The failure of a mount whose source isn't there.
pub fn missing(mount: &Mount, error: &io::Error) -> Failure {
    let path = mount.sources.iter().map(|path| path.display().to_string());
    let path = path.collect::<Vec<_>>().join(", ");
    Failure::Refused(format!("`{path}` can't be shown in the sandbox: {error}"))
}
