//! A run as plain data: what the server tells the child, and what the child reports back.
//!
//! Everything is decided in the plan. The child looks nothing up, and has no settings and no environment of
//! its own.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::PathBuf;
use std::time::Duration;

use gongfu_core::sandbox::{Exit, Limits, Reason};
use serde::{Deserialize, Serialize};

/// The proxy's address inside of a sandbox.
pub(crate) const PROXY_ADDRESS: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 3128);

/// Everything that the child does for a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The mechanism that isolates the run.
    pub(crate) kind: Kind,
    /// The user of the run on this machine; `None` for the server's own.
    pub(crate) tenant: Option<UnixId>,
    /// The files and folders of this machine that the view shows.
    pub sources: Vec<Source>,
    /// What the run sees; each piece lies below those before it.
    pub view: Vec<Piece>,
    /// Whether its network leads to a proxy; else it leads nowhere.
    pub(crate) proxied: bool,
    /// The program and its arguments.
    pub arguments: Vec<String>,
    /// Its whole environment.
    pub(crate) environment: Vec<(String, String)>,
    /// The folder that it starts in.
    pub(crate) folder: String,
    /// The places that it may write to, besides devices.
    pub writable: Vec<PathBuf>,
    pub(crate) limits: Limits,
    /// The number of our own processes that the kernel counts with those of the run.
    pub(crate) supervisors: u64,
}

/// The mechanism that isolates a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Kind {
    /// Namespaces that the child makes.
    Namespaces,
    /// Namespaces that bubblewrap makes.
    Bubblewrap {
        program: PathBuf,
        /// Its options; the paths in them need not be text.
        options: Vec<Vec<u8>>,
    },
    /// A container that somebody else made, with our init as its first process.
    Container {
        /// The writable file systems in memory.
        memories: Vec<String>,
    },
    /// No namespaces: only the restrictions of the program.
    Lite {
        /// The run's own folder.
        folder: String,
        readable: Vec<PathBuf>,
    },
    /// The sandbox of macOS.
    #[cfg(target_os = "macos")]
    Seatbelt {
        /// `sandbox-exec`.
        program: PathBuf,
        /// The run's own folder.
        folder: String,
        /// The program's rights, in the language of `sandbox-exec`.
        profile: String,
    },
}

impl Kind {
    /// Whether only the child can end every process of the run.
    pub(crate) fn needs_its_child(&self) -> bool {
        match self {
            Self::Namespaces | Self::Bubblewrap { .. } | Self::Container { .. } => false,
            Self::Lite { .. } => true,
            #[cfg(target_os = "macos")]
            Self::Seatbelt { .. } => true,
        }
    }

    /// Whether the program waits until the server has filled the layers.
    pub(crate) fn waits_for_layers(&self) -> bool {
        matches!(self, Self::Bubblewrap { .. } | Self::Container { .. })
    }

    /// The number of our own processes in the control group of a run.
    pub(crate) fn supervisors(&self) -> u64 {
        match self {
            // The supervisor and init.
            Self::Namespaces => 2,
            // bubblewrap as well.
            Self::Bubblewrap { .. } => 3,
            // Only one is there for the whole run.
            Self::Container { .. } | Self::Lite { .. } => 1,
            #[cfg(target_os = "macos")]
            Self::Seatbelt { .. } => 2,
        }
    }
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
    /// Whether the run fails where the file system can't map owners.
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

/// A piece of what a run sees.
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
        /// Whether it can be written.
        writable: bool,
        /// Whether it is a device that works.
        device: bool,
        /// Whether its path on this machine is hidden; nothing else can be mounted in it then.
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
    /// The run's processes (`/proc`).
    Processes(String),
}

/// The control group of a run, as the child must know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Grouping {
    pub(crate) join: Join,
    /// Whether it limits memory, so that nobody has to poll.
    pub(crate) memory: bool,
    /// Whether it limits processes.
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
    Bubblewrap,
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
    /// Carry out a run. Its control socket and its two outputs come with this.
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
    /// Whether nothing is left for certain.
    Cleaned(bool),
}
