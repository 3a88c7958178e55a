//! What the child does, step by step, as plain data that crosses a socket.
//!
//! Everything that can be decided beforehand is decided here: the child looks nothing up, and has no
//! settings and no environment of its own.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A file or folder by what it is and not by its name, which may lead elsewhere by the time that it
/// is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileId {
    /// The file system.
    pub(crate) device: u64,
    /// The file in it.
    pub(crate) inode: u64,
}

/// A folder or file of the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Source {
    /// Where it lies.
    pub(crate) path: PathBuf,
    /// What must lie there.
    pub(crate) id: FileId,
    /// Whose it is, where the run takes it for its own.
    pub(crate) owner: Option<(Owner, Taken)>,
}

/// Whether a run takes what isn't its own for its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Taken {
    /// It can do nothing with it otherwise.
    Needed,
    /// Where the file system can do so.
    WherePossible,
}

/// Whom a file belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Owner {
    pub(crate) user: u32,
    pub(crate) group: u32,
}

/// A piece of what the run sees; each lies below those before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Piece {
    /// An empty folder.
    Folder(String),
    /// A link.
    Link { at: String, to: String },
    /// A file of this text.
    Text { at: String, text: String },
    /// A folder or a file of the machine.
    Bind {
        at: String,
        /// The number of the source.
        source: usize,
        writable: bool,
        /// Devices in it can be used.
        device: bool,
        /// A folder whose path on the machine isn't told, and in which nothing else is mounted.
        nameless: bool,
    },
    /// Folders above each other, and an empty one on top that takes what is written.
    Layer {
        at: String,
        /// The numbers of the sources, the top one first.
        sources: Vec<usize>,
    },
    /// An empty file that is filled before the program begins, as layers are.
    File(String),
    /// An empty folder that can be written.
    Scratch(String),
    /// The processes of the run.
    Processes(String),
}

/// The most that one process may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ceilings {
    pub(crate) memory: u64,
    pub(crate) processes: u64,
    /// How many processes watch over the run; the system counts them with those of the program.
    pub(crate) watching: u64,
    pub(crate) cpu: Duration,
    pub(crate) file: u64,
    pub(crate) open_files: u64,
}

/// What the sandbox is made with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Kind {
    /// Namespaces that the child makes.
    Namespaces {
        /// How many of the sources are the ground's, which come first.
        sources: usize,
        /// How many of the pieces are.
        pieces: usize,
    },
    /// Namespaces that bubblewrap makes.
    Bubblewrap {
        /// Where it lies.
        program: PathBuf,
        /// What it is told; the paths in it need not be text.
        options: Vec<Vec<u8>>,
    },
    /// A container that a Docker daemon made.
    Docker {
        /// Where files can be written that lie in memory, each a file system of its own.
        memories: Vec<String>,
    },
    /// Nothing: what the program may do is all that is held.
    Lite {
        /// The run's own folder.
        folder: String,
        /// What it may read.
        readable: Vec<PathBuf>,
    },
    /// Nothing: what the program may do is said by a profile, and held by macOS.
    #[cfg(target_os = "macos")]
    Seatbelt {
        /// What has the system hold it.
        program: PathBuf,
        /// The run's own folder.
        folder: String,
        /// What the program may do.
        profile: String,
    },
}

impl Kind {
    /// Whether nobody but the child can end the run.
    pub(crate) fn needs_its_child(&self) -> bool {
        match self {
            Self::Namespaces { .. } | Self::Bubblewrap { .. } | Self::Docker { .. } => false,
            Self::Lite { .. } => true,
            #[cfg(target_os = "macos")]
            Self::Seatbelt { .. } => true,
        }
    }

    /// How many processes watch over the run where a control group counts all of them.
    pub(crate) fn watching(&self) -> u64 {
        match self {
            // The outermost one, and the first one inside.
            Self::Namespaces { .. } => 2,
            // Bubblewrap's own between them.
            Self::Bubblewrap { .. } => 3,
            // The first one inside of a container counts with those of the program.
            Self::Docker { .. } | Self::Lite { .. } => 1,
            // The one outside, and the first one inside.
            #[cfg(target_os = "macos")]
            Self::Seatbelt { .. } => 2,
        }
    }
}

/// What the child does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// What the sandbox is made with.
    pub(crate) kind: Kind,
    /// Whom the run is on the machine; `None` for whoever started it.
    pub(crate) tenant: Option<Owner>,
    /// The folders and files of the machine that it is made of.
    pub(crate) sources: Vec<Source>,
    /// What it sees.
    pub(crate) view: Vec<Piece>,
    /// Whether its network leads to a proxy; else it leads nowhere.
    pub(crate) proxied: bool,
    /// What everything that it writes may take, in bytes.
    pub(crate) disk: u64,
    /// How many files and folders it may make.
    pub(crate) files: u64,
    /// The program and its arguments.
    pub(crate) arguments: Vec<String>,
    /// Its whole environment.
    pub(crate) environment: Vec<(String, String)>,
    /// Where it starts.
    pub(crate) folder: String,
    /// Where it may write, besides devices.
    pub(crate) writable: Vec<PathBuf>,
    pub(crate) ceilings: Ceilings,
    /// What all its processes and all that it writes may take in memory, in bytes.
    pub(crate) memory: u64,
    /// After how long it is ended, should nobody else have done so.
    pub(crate) wall: Duration,
}

/// What can be made of a sandbox before it is known what is run in it: the same for every run of
/// somebody's, and nothing in it is anybody's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ground {
    /// Whom the run is on the machine; `None` for whoever started it.
    pub(crate) tenant: Option<Owner>,
    /// The folders and files of the machine's own that it is made of.
    pub(crate) sources: Vec<Source>,
    /// What of it is seen.
    pub(crate) view: Vec<Piece>,
    /// Whether its network leads to a proxy; else it leads nowhere.
    pub(crate) proxied: bool,
    /// What everything that is written may take, in bytes.
    pub(crate) disk: u64,
    /// How many files and folders may be made.
    pub(crate) files: u64,
}

impl Plan {
    /// What can be made of it beforehand, in the kind of sandbox that has such a part.
    pub(crate) fn ground(&self) -> Option<Ground> {
        let Kind::Namespaces { sources, pieces } = self.kind else {
            return None;
        };
        Some(Ground {
            tenant: self.tenant,
            sources: self.sources.get(..sources)?.to_vec(),
            view: self.view.get(..pieces)?.to_vec(),
            proxied: self.proxied,
            disk: self.disk,
            files: self.files,
        })
    }

    /// Whose files besides its own the tenant takes for its own.
    pub(crate) fn foreign_owners(&self, tenant: Owner) -> Vec<Owner> {
        let owners = self.sources.iter().filter_map(|source| source.owner);
        let owners = owners.map(|(owner, _)| owner);
        let owners: BTreeSet<Owner> = owners.filter(|owner| *owner != tenant).collect();
        owners.into_iter().collect()
    }
}

/// What the child is told to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Order {
    /// To make this, to say in which user namespaces these owners are the tenant, and to wait for the
    /// plan that the ground is of. With it come the handles of a network, where the run is to be in one
    /// that is there already.
    Ground(Ground, Vec<Owner>),
    /// To carry out this.
    Plan(Box<Plan>),
}

/// A control group, as far as the child must know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Grouped {
    /// How it comes into it.
    pub(crate) entrance: Entrance,
    /// Memory is counted there, and nobody else has to.
    pub(crate) memory: bool,
    /// Processes are counted there.
    pub(crate) processes: bool,
    /// It has its share of the processors.
    pub(crate) processors: bool,
}

/// How the child comes into its control group; the handles for it come with the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Entrance {
    /// Its only thread goes, by each of so many handles.
    Threads(usize),
    /// A new process is begun there, by one handle; this one stays outside and waits for it.
    Fork,
}

/// The step at which something went wrong.
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
    Ceilings,
    Privileges,
    Landlock,
    Seccomp,
    Seatbelt,
    Folder,
    Program,
}

/// What the child tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Told {
    /// In these namespaces, of which a handle each comes with it, these owners are the tenant.
    Mapped(Vec<Owner>),
    /// The run is in a new network, of which a handle comes with it, and one of the user namespace that
    /// it is of, where only those in that may come into it.
    Network,
    /// The network of the run leads to whoever listens by the handle that comes with it.
    Proxied,
    /// The first process of the run is there; with it comes a handle of it. Its end is that of all.
    First,
    /// Everything stands; with it comes a handle of each layer, in the order of the view.
    Ready,
    /// A step failed; the number is the system's.
    Failed(Step, i32),
    /// It used too much memory, and is ended.
    Memory,
    /// It wrote too much, and is ended.
    Disk,
    /// It began too many processes, and is ended.
    Processes,
    /// The program ended.
    Ended {
        /// Its exit code, or the number of the signal that ended it.
        how: How,
        /// Whether nothing more could be written.
        full: bool,
        /// Whether there could be no more processes.
        crowded: bool,
        /// Time on processors, of everything that ran, in microseconds.
        cpu: u64,
        /// The most memory that one process had, in bytes.
        memory: u64,
    },
}

/// What the first process of a container is asked for.
#[cfg(target_os = "linux")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Errand {
    /// To carry out a run, counted so: the socket of its child comes with it, and its two outputs.
    Run(Grouped),
    /// To take away all that a run left.
    Clean,
}

/// What it answers.
#[cfg(target_os = "linux")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// It is there.
    Here,
    /// The run is over, and every process of it is dead.
    Over,
    /// Whether nothing is left for certain.
    Cleaned(bool),
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum How {
    Exit(i32),
    Signal(i32),
}
