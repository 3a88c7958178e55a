//! A run in a sandbox as plain data: the command, the limits, the outcome.
//!
//! Knows no operating system: how a limit is enforced is the business of the port's implementation.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::change::{Artifact, Holding};
use crate::network::{Endpoint, Grantee, Proxies, ProxyServer, Rules};

/// The folder in which a run sees the workspace.
pub const WORKSPACE: &str = "/workspace";
/// The folder in which a run sees its skill.
pub const SKILL: &str = "/skill";
/// The folder in which runs see the long outputs of runs before them.
pub const LOGS: &str = "/runs";
/// The home of a run, which is empty and ends with it.
pub const HOME: &str = "/run/home";
/// The most bytes that runs leave beside all skills of an owner together.
pub const MAX_LAYER_BYTES: u64 = 1024 * 1024 * 1024;

/// A kind of sandbox, by the name that settings and answers give it. Which there are, and what they can do,
/// those know who make them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Level(&'static str);

impl Level {
    /// The kind of this name.
    pub const fn new(name: &'static str) -> Self {
        Self(name)
    }

    /// The name.
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for Level {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// A kind of sandbox, and whether it works on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BackendStatus {
    /// Its name.
    pub level: Level,
    /// A description for people.
    #[serde(skip)]
    pub about: &'static str,
    /// True if it is used only where settings name it, however well it works.
    #[serde(skip)]
    pub is_opt_in: bool,
    /// Why it doesn't work, and what to do about it, for people; `None` where it works.
    #[serde(rename = "obstacle")]
    pub unavailable_reason: Option<String>,
}

/// The limits of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Memory of all its processes and files in memory together, in bytes.
    pub memory: u64,
    /// The limit of processes and threads at once.
    pub processes: u32,
    /// Time on processors, of one process.
    pub cpu: Duration,
    /// Time from start to end.
    pub wall: Duration,
    /// Time without any output; `None` for as long as the run takes.
    pub idle: Option<Duration>,
    /// The bytes of each output that are given back: its head and its tail.
    pub shown: usize,
    /// The bytes of output that are kept; past that the run ends.
    pub output: u64,
    /// The longest file, in bytes.
    pub file: u64,
    /// The limit of everything written, in bytes.
    pub disk: u64,
    /// The limit of what is kept beside the skill, in bytes.
    pub layer: u64,
    /// The limit of new files and folders.
    pub files: u64,
    /// The limit of open files of one process.
    pub open_files: u64,
}

impl Default for Limits {
    /// The limits of the spec, for a script of a skill.
    fn default() -> Self {
        const MIB: u64 = 1024 * 1024;
        Self {
            memory: 1024 * MIB,
            processes: 128,
            cpu: Duration::from_mins(2),
            wall: Duration::from_mins(2),
            idle: None,
            shown: 1024 * 1024,
            output: 64 * MIB,
            file: 256 * MIB,
            disk: 256 * MIB,
            layer: MAX_LAYER_BYTES,
            files: 50_000,
            open_files: 256,
        }
    }
}

/// The command of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// A program with its arguments, looked for in `PATH`.
    Program(Vec<String>),
    /// A line for a shell.
    Line(String),
}

/// The access to a mounted folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// It can only be read.
    ReadOnly,
    /// Writes go to the folder itself.
    ReadWrite,
    /// Writes go to a layer of the run above the folder, which stays as it is.
    Layered,
}

/// A folder that the run sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// The folders of the host: several lie above each other, the first on top, where it is layered.
    pub sources: Vec<PathBuf>,
    /// The guest path, absolute.
    pub target: String,
    /// The access to it.
    pub mode: Mode,
    /// The folder that takes the writes of its layer in the end; `None` for none.
    pub keep: Option<PathBuf>,
}

/// Something that is read while a run goes on.
pub type Reader = Arc<Mutex<dyn Read + Send>>;

/// The standard input of a run.
#[derive(Clone, Default)]
pub enum Input {
    /// Nothing: it is at its end at once.
    #[default]
    Nothing,
    /// These bytes.
    Bytes(Vec<u8>),
    /// Input as it comes. It is read on a thread of its own, which may be left waiting for more
    /// when the run has ended.
    Reader(Reader),
}

impl fmt::Debug for Input {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => formatter.write_str("Nothing"),
            Self::Bytes(bytes) => write!(formatter, "Bytes({})", bytes.len()),
            Self::Reader(_) => formatter.write_str("Reader"),
        }
    }
}

/// A run that speaks with its caller: its standard output goes to the listener alone, and isn't kept.
#[derive(Clone)]
pub struct Dialogue {
    /// The time so far in which the caller let the run wait, which doesn't count.
    pub paused: Arc<dyn Fn() -> Duration + Send + Sync>,
}

impl Dialogue {
    /// The longest time from start to end, whatever doesn't count.
    pub const MAX_WALL: Duration = Duration::from_hours(48);
}

impl fmt::Debug for Dialogue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Dialogue")
    }
}

/// The part of the network that a run reaches: nothing without a rule.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reach {
    /// The hosts.
    pub rules: Rules,
    /// Those of them that may be of this machine or its network; all others are of the internet.
    pub private: Rules,
    /// Those of them that may besides be where those of `private` are.
    pub beside: Rules,
    /// The additions for the build of an environment. A run with a grant never has any.
    pub build: Option<BuildReach>,
    /// The skill that hosts are granted to, for what a refusal advises.
    pub grantee: Option<Grantee>,
}

impl Reach {
    /// Returns true if there is no network at all.
    pub fn is_off(&self) -> bool {
        let has_address = |build: &BuildReach| !build.addresses.is_empty();
        self.rules.is_empty() && !self.build.as_ref().is_some_and(has_address)
    }

    /// Returns true if a host may be reached: by its name, or at one of the addresses of a build.
    pub fn allows(&self, endpoint: &Endpoint) -> bool {
        match endpoint {
            Endpoint::Name(destination) => self.rules.allow(destination),
            Endpoint::Address(address) => {
                let addresses = self.build.as_ref().map(|build| &build.addresses);
                addresses.is_some_and(|addresses| addresses.contains(address))
            }
        }
    }

    /// Returns true if a host may be spoken to without TLS.
    pub fn allows_plain(&self, endpoint: &Endpoint) -> bool {
        let build = self.build.as_ref();
        build.is_some_and(|build| build.plain.contains(endpoint)) && self.allows(endpoint)
    }

    /// The operator's proxy by which a host is reached; `None` where it is reached directly.
    pub fn proxy(&self, endpoint: &Endpoint) -> Option<&ProxyServer> {
        let proxies = &self.build.as_ref()?.proxies;
        proxies.server(endpoint, self.allows_plain(endpoint))
    }
}

/// The ways to an index of the operator that only builds have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BuildReach {
    /// The addresses of indexes that have no name.
    pub addresses: Vec<SocketAddr>,
    /// The indexes by plain HTTP, and the hosts of their files.
    pub plain: Vec<Endpoint>,
    /// The operator's proxies.
    pub proxies: Proxies,
}

/// A host that a run contacted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contact {
    /// The host and the port.
    pub host: String,
    /// Why it wasn't reached; `None` where it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// A run: its command, and everything that it sees.
#[derive(Debug, Clone)]
pub struct Spec {
    /// The command.
    pub command: Command,
    /// The folder that it starts in, as it sees it.
    pub folder: String,
    /// The folders that it sees, besides the system's programs.
    pub mounts: Vec<Mount>,
    /// The guest paths in them that it must not see.
    pub hidden: Vec<String>,
    /// The folders of the guest that are searched for programs before the system's.
    pub programs: Vec<String>,
    /// Links that it sees besides, with their targets: other names of programs in mounts.
    pub links: Vec<(String, String)>,
    /// Its whole environment, besides what every run has.
    pub environment: BTreeMap<String, String>,
    /// The standard input.
    pub input: Input,
    /// Set where the run speaks with its caller by its input and output.
    pub dialogue: Option<Dialogue>,
    /// The part of the network that it reaches.
    pub reach: Reach,
    /// The limits of the run.
    pub limits: Limits,
    /// The folder in which outputs are kept whole once they are longer than what is given back;
    /// `None` for nowhere.
    pub logs: Option<PathBuf>,
    /// The terms on which changes wait for a person; `None` where all are applied.
    pub holding: Option<Holding>,
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// By itself.
    Ok,
    /// It took too long, or was silent for too long.
    Timeout,
    /// It used too much memory.
    Oom,
    /// It made too many processes.
    Pids,
    /// It said too much.
    Output,
    /// It wrote too much.
    Disk,
    /// The caller cancelled it.
    Cancelled,
    /// It did what a sandbox kills for.
    Denied,
}

impl Reason {
    /// Returns its name in answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Timeout => "timeout",
            Self::Oom => "oom",
            Self::Pids => "pids",
            Self::Output => "output",
            Self::Disk => "disk",
            Self::Cancelled => "cancelled",
            Self::Denied => "denied",
        }
    }
}

/// The end of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// With this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// One of the two outputs of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// The text that a program wrote to one of its outputs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CapturedOutput {
    /// The beginning; the whole, where nothing is left out.
    pub head: Vec<u8>,
    /// The end, where something is left out before it.
    pub tail: Vec<u8>,
    /// The number of bytes between head and tail that are left out.
    pub left_out: u64,
    /// The file that holds the whole, where something is left out and there was a place for it.
    pub log: Option<PathBuf>,
}

/// By what a limit is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Means {
    /// A control group: the system counts everything, shared memory as well.
    ControlGroup,
    /// Somebody looks every so often and ends the run; what comes and goes between two looks isn't
    /// seen, and in memory neither is what no process has mapped.
    Watchdog,
    /// A limit of the system for each process or user (`setrlimit(2)`).
    ProcessLimit,
    /// A file system of a fixed size.
    SizedFileSystem,
}

impl Means {
    /// Returns its name in answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ControlGroup => "control_group",
            Self::Watchdog => "watchdog",
            Self::ProcessLimit => "process_limit",
            Self::SizedFileSystem => "sized_file_system",
        }
    }
}

/// By what the limits of a run were held; the others are always held by the system for each process,
/// or by the reader of its output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Enforcement {
    /// [`Limits::memory`].
    pub memory: Means,
    /// [`Limits::processes`].
    pub processes: Means,
    /// [`Limits::disk`] and [`Limits::files`].
    pub disk: Means,
}

/// The outcome of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// In what it ran.
    pub level: Level,
    /// The enforcement of its limits.
    pub enforcement: Enforcement,
    /// The end of the program; `None` when it was killed with everything that it had started.
    pub exit: Option<Exit>,
    /// Why.
    pub reason: Reason,
    /// The standard output.
    pub stdout: CapturedOutput,
    /// The standard error.
    pub stderr: CapturedOutput,
    /// The changed files, by path; where not all are listed, those that were refused, wait or conflict are.
    pub artifacts: Vec<Artifact>,
    /// The number of changed files; perhaps more than are listed.
    pub changed: usize,
    /// The id of the change set with those that wait for a person.
    pub held: Option<String>,
    /// The hosts that it asked for, each once; at most a hundred.
    pub contacts: Vec<Contact>,
    /// The duration of the run.
    pub took: Duration,
    /// Its time on processors.
    pub cpu: Duration,
    /// The most memory that one of its processes had, in bytes.
    pub memory: u64,
}
