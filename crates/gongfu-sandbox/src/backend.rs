//! The kinds of sandboxes: one file each, and a line in the list; what is the same in all of them lies
//! beside them.

#[cfg(target_os = "linux")]
mod bubblewrap;
mod carry;
mod copied;
#[cfg(target_os = "linux")]
pub(crate) mod docker;
mod environment;
mod folders;
mod keep;
#[cfg(target_os = "linux")]
mod lite;
#[cfg(target_os = "linux")]
mod namespaces;
pub(crate) mod obstacle;
#[cfg(any(target_os = "macos", test))]
mod profile;
#[cfg(target_os = "macos")]
mod seatbelt;

use std::io;
use std::os::fd::BorrowedFd;
#[cfg(target_os = "linux")]
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use gongfu_core::account;
use gongfu_core::sandbox::{Level, Mount, Outcome, Spec, Stream};

use crate::cgroup::Groups;
use crate::pace::Pace;
use crate::plan::Owner;
use crate::spare::Spares;
use crate::threads::Threads;

#[cfg(target_os = "linux")]
pub(crate) use docker::Containers;
#[cfg(target_os = "macos")]
pub(crate) use none::Containers;

/// Containers are Linux's.
#[cfg(target_os = "macos")]
mod none {
    use gongfu_core::sandbox::Docker;

    /// None.
    #[derive(Debug)]
    pub(crate) struct Containers;

    impl Containers {
        pub(crate) fn new(_settings: Docker) -> Self {
            Self
        }

        pub(crate) fn for_once(&self) -> Self {
            Self
        }

        pub(crate) fn close(&self) {}
    }
}

/// All that this system may have, the strongest first.
pub(crate) const BACKENDS: &[&dyn Backend] = &[
    #[cfg(target_os = "linux")]
    &namespaces::Namespaces,
    #[cfg(target_os = "linux")]
    &bubblewrap::Bubblewrap,
    #[cfg(target_os = "linux")]
    &docker::Contained,
    #[cfg(target_os = "linux")]
    &lite::Lite,
    #[cfg(target_os = "macos")]
    &seatbelt::Seatbelt,
];

/// The levels that this system may have, the strongest first; whether one works is for the runner to say.
pub fn levels() -> impl Iterator<Item = Level> {
    BACKENDS.iter().map(|backend| backend.level())
}

/// Where bubblewrap is, if it is installed.
#[cfg(target_os = "linux")]
pub(crate) fn bubblewrap() -> Option<&'static Path> {
    bubblewrap::found()
}

/// What a run is given besides what it is to do.
pub(crate) struct Surroundings<'a> {
    /// Whom it is on the machine, where it isn't whoever runs gongfu.
    pub(crate) tenant: Option<Owner>,
    /// Whose run it is.
    pub(crate) owner: &'a account::Owner,
    /// Where each run has a control group of its own, if it can have one.
    pub(crate) groups: Option<&'static Groups>,
    /// What is done besides is done on these.
    pub(crate) threads: &'a Arc<Threads>,
    /// Says when one more may be begun.
    pub(crate) pace: &'a Pace,
    /// Since when the run waits to be begun.
    pub(crate) since: Instant,
    /// What was begun ahead of time.
    pub(crate) spares: &'a Arc<Spares>,
    /// The containers of a daemon that are kept.
    #[cfg_attr(
        target_os = "macos",
        expect(dead_code, reason = "containers are Linux's")
    )]
    pub(crate) containers: &'a Containers,
    /// Readable once nobody wants the run any more.
    pub(crate) cancel: BorrowedFd<'a>,
    /// Hears what it says.
    pub(crate) listener: &'a dyn Fn(Stream, &[u8]),
}

/// Why nothing was run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The sandbox can't be made.
    #[error("the sandbox can't be made here: {0}")]
    Unavailable(String),
    /// What is asked for can't be.
    #[error("{0}")]
    Refused(String),
    /// Something else.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A kind of sandbox.
pub(crate) trait Backend: Sync {
    /// How strong it is.
    fn level(&self) -> Level;

    /// Runs something to its end.
    fn run(&self, spec: &Spec, surroundings: &Surroundings<'_>) -> Result<Outcome, Failure>;
}

/// Says of a mount that what it shows isn't there.
fn missing(mount: &Mount, error: &io::Error) -> Failure {
    let path = mount.sources.iter().map(|path| path.display().to_string());
    let path = path.collect::<Vec<_>>().join(", ");
    Failure::Refused(format!("`{path}` can't be seen in the sandbox: {error}"))
}
