//! A run as plain data: the plan for the child, and the events that it reports.
//!
//! Everything is decided in the plan. The child looks nothing up, and has no settings and no environment of
//! its own.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::PathBuf;
use std::time::Duration;

use gongfu_core::sandbox::{Exit, Limits, Reason};
use serde::{Deserialize, Serialize};

use crate::file_time::Beginning;

mod raw_path;
mod raw_paths;

/// The proxy's address inside of a sandbox.
pub(crate) const PROXY_ADDRESS: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 3128);

/// Everything that the child does for a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The way to start it; `None` where an init is there already, as in a container.
    pub(crate) launch: Option<Launch>,
    /// The separation from the host, which Landlock and seccomp complete.
    pub(crate) isolation: Isolation,
    /// The user of the run on this machine; `None` for the server's own.
    pub(crate) tenant: Option<UnixId>,
    /// The files and folders of this machine that the view shows.
    pub sources: Vec<Source>,
    /// The pieces of the view; each lies below those before it.
    pub view: Vec<Piece>,
    /// The layers are copies, which the server fills before the program starts.
    pub(crate) has_copies: bool,
    /// The network leads to a proxy; else it leads nowhere.
    pub(crate) is_proxied: bool,
    /// The time at which the run began; its program starts when files that change get a later one.
    pub(crate) began: Beginning,
    /// The program and its arguments.
    pub arguments: Vec<String>,
    /// Its whole environment.
    pub(crate) environment: Vec<(String, String)>,
    /// The folder that it starts in.
    pub(crate) folder: String,
    /// The places that it may write to, besides devices.
    #[serde(with = "raw_paths")]
    pub writable: Vec<PathBuf>,
    /// The file systems of a fixed size that hold what it writes.
    pub(crate) file_systems: Vec<String>,
    pub(crate) limits: Limits,
    /// Processes of the same user besides the run's, which the kernel counts as well.
    pub(crate) other_processes: u64,
}

/// The way for the supervisor to start a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Launch {
    /// It makes namespaces, and init builds the view in them.
    Namespaces,
    /// Another program, such as bubblewrap, makes the namespaces and the view, and executes init in them.
    Launcher {
        #[serde(with = "raw_path")]
        program: PathBuf,
        /// Its options, which it reads from a file; the paths in them need not be text.
        options: Vec<Vec<u8>>,
    },
    /// It starts the program itself, and kills all its descendants in the end.
    Direct {
        /// The run's own folder, which is measured.
        folder: String,
    },
    /// It starts init by `sandbox-exec`.
    #[cfg(target_os = "macos")]
    Seatbelt {
        /// `sandbox-exec`.
        #[serde(with = "raw_path")]
        program: PathBuf,
        /// The run's own folder, which is measured.
        folder: String,
        /// The program's rights, in the language of `sandbox-exec`.
        profile: String,
    },
}

impl Launch {
    /// Returns whether only the supervisor can end every process of the run.
    pub(crate) fn needs_supervisor(&self) -> bool {
        !matches!(self, Self::Namespaces | Self::Launcher { .. })
    }

    /// The number of our own processes in the control group of a run.
    pub(crate) fn own_processes(&self) -> u64 {
        match self {
            // The supervisor and init.
            Self::Namespaces => 2,
            // The launcher as well.
            Self::Launcher { .. } => 3,
            Self::Direct { .. } => 1,
            #[cfg(target_os = "macos")]
            Self::Seatbelt { .. } => 2,
        }
    }
}

/// The separation of a run from the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Isolation {
    /// It has a view and a PID namespace of its own.
    Full,
    /// Another process of the same user is in its PID namespace: the init of a container, which serves the
    /// next run as well.
    SharedInit,
    /// It sees the host: only Landlock and seccomp protect the files and the processes there.
    Host {
        /// The files and folders that it may read.
        #[serde(with = "raw_paths")]
        readable: Vec<PathBuf>,
    },
}

/// A file by its identity; by the time that it is used, its path may lead elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileId {
    pub(crate) device: u64,
    pub(crate) inode: u64,
}

/// A file or folder of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Its real path.
    #[serde(with = "raw_path")]
    pub path: PathBuf,
    /// The file that must lie there.
    pub(crate) id: FileId,
    /// Its owner, where the run is to own it; `None` where it stays as it is.
    pub(crate) mapping: Option<Mapping>,
}

/// The owner of a source whose files appear as the run's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mapping {
    pub(crate) owner: UnixId,
    /// The run fails where the file system can't map owners.
    pub(crate) is_required: bool,
}

/// A user and a group of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct UnixId {
    /// The number of the user.
    pub user: u32,
    /// The number of the group.
    pub group: u32,
}

/// A request for a supervisor. Its standard input, its outputs, and the end of a pipe for its exit code come
/// with this.
#[cfg(target_os = "linux")]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ForkRequest {
    /// It makes namespaces of our own.
    pub(crate) makes_namespaces: bool,
    pub(crate) id_mappings: Vec<IdMapping>,
}

/// A request to the guard of a program that goes on. Its input and its two outputs come with this.
#[cfg(target_os = "linux")]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GuardRequest {
    /// The program and its arguments.
    pub(crate) arguments: Vec<String>,
    /// Its whole environment.
    pub(crate) environment: Vec<(String, String)>,
    /// The folder that it starts in.
    pub(crate) folder: String,
}

/// Files that appear as those of another owner.
#[cfg(target_os = "linux")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct IdMapping {
    /// The owner of the files.
    pub(crate) from: UnixId,
    /// The owner that they appear to have.
    pub(crate) to: UnixId,
}

#[cfg(target_os = "linux")]
impl Plan {
    /// The request for the supervisor of this plan.
    pub(crate) fn fork_request(&self) -> ForkRequest {
        let mappings = self
            .sources
            .iter()
            .filter_map(|source| source.id_mapping(self.tenant));
        let mut id_mappings: Vec<IdMapping> = mappings.collect();
        id_mappings.sort_unstable();
        id_mappings.dedup();
        ForkRequest {
            makes_namespaces: self.launch == Some(Launch::Namespaces),
            id_mappings,
        }
    }
}

#[cfg(target_os = "linux")]
impl Source {
    /// The mapping that makes its files the tenant's, if they are not.
    pub(crate) fn id_mapping(&self, tenant: Option<UnixId>) -> Option<IdMapping> {
        let (from, to) = (self.mapping?.owner, tenant?);
        (from != to).then_some(IdMapping { from, to })
    }
}

/// A piece of a view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Piece {
    /// An empty folder.
    Folder(String),
    /// A symbolic link.
    Link {
        /// Its path.
        at: String,
        /// Its target.
        to: String,
    },
    /// A file with this text.
    Text {
        /// Its path.
        at: String,
        /// Its content.
        text: String,
    },
    /// A file or folder of this machine.
    Bind {
        /// Its path in the view.
        at: String,
        /// The number of the source.
        source: usize,
        /// It can be written.
        writable: bool,
        /// It is a device that works.
        device: bool,
        /// Its path on this machine is hidden; nothing else can be mounted in it then.
        nameless: bool,
    },
    /// An overlay of folders with an empty one on top that takes what is written.
    Layer {
        /// Its path in the view.
        at: String,
        /// The numbers of the sources, the top one first.
        sources: Vec<usize>,
    },
    /// An empty file that the server fills before the program starts.
    File(String),
    /// An empty folder that can be written.
    Scratch(String),
    /// Nothing, in the place of a file or folder of a piece before it, if that is there.
    Hidden(String),
    /// The run's processes (`/proc`).
    Processes(String),
    /// Pseudo-terminals of its own (`/dev/pts`).
    Terminals(String),
}

/// The control group of a run, as the child must know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Grouping {
    pub(crate) join: Join,
    /// It limits memory, so that no watchdog has to poll.
    pub(crate) memory: bool,
    /// It limits processes.
    pub(crate) processes: bool,
}

/// The way for a process to join its control group; the handles for it come with the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Join {
    /// Its only thread moves itself, through each of so many files.
    Threads(usize),
    /// It forks into the group, a folder, and waits outside for that process.
    Fork,
}

/// A step of building a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Step {
    Group,
    Tenant,
    Launcher,
    Namespaces,
    Identity,
    Source(usize),
    Root,
    View(usize),
    Init,
    Limits,
    Privileges,
    Landlock,
    Seccomp,
    Seatbelt,
    Folder,
    Program,
}

/// A message from the child to the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Event {
    /// The run's network leads to the listener that comes with this.
    Listening,
    /// Init has started, and its handle comes with this. Its end is the end of every process of the run.
    Init,
    /// The program can start. A handle of each layer comes with this, in the order of the view.
    Ready,
    /// A step failed with this error number of the system.
    Failed(Step, i32),
    /// The run is over.
    Ended {
        /// The program's own end; `None` where it was killed for a limit.
        exit: Option<Exit>,
        reason: Reason,
        /// Processor time of all its processes.
        cpu: Duration,
        /// The most memory that one process had, in bytes.
        memory: u64,
    },
}

impl Event {
    /// The end of a program: whether nothing more could be written, or no more processes started, counts
    /// only where it failed.
    pub(crate) fn ended(
        exit: Exit,
        is_full: bool,
        is_crowded: bool,
        cpu: Duration,
        memory: u64,
    ) -> Self {
        let reason = match exit {
            Exit::Code(0) => Reason::Ok,
            Exit::Signal(libc::SIGSYS) => Reason::Denied,
            Exit::Signal(libc::SIGXCPU) => Reason::Timeout,
            Exit::Signal(libc::SIGXFSZ) => Reason::Disk,
            _ if is_full => Reason::Disk,
            _ if is_crowded => Reason::Pids,
            _ => Reason::Ok,
        };
        Self::Ended {
            exit: Some(exit),
            reason,
            cpu,
            memory,
        }
    }

    /// The end of a run that is killed for a limit.
    pub(crate) fn killed(reason: Reason) -> Self {
        Self::Ended {
            exit: None,
            reason,
            cpu: Duration::ZERO,
            memory: 0,
        }
    }
}

/// A request to the init of a container.
#[cfg(target_os = "linux")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Request {
    /// Execute a run. Its control socket and its two outputs come with this.
    Run(Grouping),
    /// Remove everything that a run left.
    Clean,
}

/// The answer of the init of a container.
#[cfg(target_os = "linux")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Reply {
    /// It has started.
    Started,
    /// The run is over, and every process of it is dead.
    Over,
    /// Cleaned; `true` if nothing is left for certain.
    Cleaned(bool),
}
