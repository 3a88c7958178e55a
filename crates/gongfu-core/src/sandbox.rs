//! What is to be run in a sandbox, what it may use, and how it ended: plain data.
//!
//! Knows no operating system: how a limit is enforced is the business of whoever implements the port.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::network::Rules;

/// Where a run sees the workspace.
pub const WORKSPACE: &str = "/workspace";
/// Where a run sees the skill that it belongs to.
pub const SKILL: &str = "/skill";
/// Where runs see the long outputs of runs before them.
pub const LOGS: &str = "/runs";

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
    /// Whether it is used only where settings name it, however well it works.
    #[serde(skip)]
    pub is_opt_in: bool,
    /// Why it doesn't work, and what to do about it, for people; `None` where it works.
    pub obstacle: Option<String>,
}

/// What a run may use at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Memory of all its processes and files in memory together, in bytes.
    pub memory: u64,
    /// How many processes and threads there may be at once.
    pub processes: u32,
    /// Time on processors, of one process.
    pub cpu: Duration,
    /// Time from start to end.
    pub wall: Duration,
    /// Time without any output; `None` for as long as the run takes.
    pub idle: Option<Duration>,
    /// How many bytes of each output are given back: its head and its tail.
    pub shown: usize,
    /// How many bytes of output are kept; past that the run ends.
    pub output: u64,
    /// The longest file, in bytes.
    pub file: u64,
    /// What all that is written may take, in bytes.
    pub disk: u64,
    /// How many files and folders may be made.
    pub files: u64,
    /// How many files one process may have open.
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
            files: 50_000,
            open_files: 256,
        }
    }
}

/// What is run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// A program with its arguments, looked for in `PATH`.
    Program(Vec<String>),
    /// A line for a shell.
    Line(String),
}

/// How a folder is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// It can only be read.
    ReadOnly,
    /// What is written goes to the folder itself.
    ReadWrite,
    /// What is written goes to a layer of the run above it; the folder stays as it is.
    Layered,
}

/// A folder that the run sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// Where it lies: several lie above each other, the first on top, where it is layered.
    pub sources: Vec<PathBuf>,
    /// Where the run sees it, absolute.
    pub target: String,
    /// How.
    pub mode: Mode,
    /// Where what is written to its layer comes to in the end; `None` for nowhere.
    pub keep: Option<PathBuf>,
}

/// Something that is read while a run goes on.
pub type Reader = Arc<Mutex<dyn Read + Send>>;

/// What a run reads from standard input.
#[derive(Clone, Default)]
pub enum Input {
    /// Nothing: it is at its end at once.
    #[default]
    Nothing,
    /// These bytes.
    Bytes(Vec<u8>),
    /// What comes, as it comes. It is read on a thread of its own, which may be left waiting for more
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

/// What of the network a run reaches: nothing, where there is no rule.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reach {
    /// The hosts.
    pub rules: Rules,
    /// Those of them that may be of this machine or its network; all others are of the internet.
    pub private: Rules,
    /// Those of them that may besides be where those of `private` are.
    pub beside: Rules,
}

impl Reach {
    /// Whether there is no network at all.
    pub fn is_off(&self) -> bool {
        self.rules.is_empty()
    }
}

/// A host that a run asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contact {
    /// The host and the port.
    pub host: String,
    /// Why it wasn't reached; `None` where it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// What is to be run, and what it sees.
#[derive(Debug, Clone)]
pub struct Spec {
    /// What is run.
    pub command: Command,
    /// The folder that it starts in, as it sees it.
    pub folder: String,
    /// The folders that it sees, besides the system's programs.
    pub mounts: Vec<Mount>,
    /// Where programs are looked for before the system's, as the run sees them.
    pub programs: Vec<String>,
    /// Its whole environment, besides what every run has.
    pub environment: BTreeMap<String, String>,
    /// What it reads from standard input.
    pub input: Input,
    /// What of the network it reaches.
    pub reach: Reach,
    /// What it may use.
    pub limits: Limits,
    /// The folder in which outputs are kept whole once they are longer than what is given back;
    /// `None` for nowhere.
    pub logs: Option<PathBuf>,
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
    /// Whoever asked for it no longer wants it.
    Cancelled,
    /// It did what a sandbox kills for.
    Denied,
}

impl Reason {
    /// What it is called in answers.
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

/// How a program ended.
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

/// What a program said on one of its outputs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Said {
    /// The beginning; the whole, where nothing is left out.
    pub head: Vec<u8>,
    /// The end, where something is left out before it.
    pub tail: Vec<u8>,
    /// How many bytes stand between them.
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
    /// What it is called in answers.
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
/// or by whoever listens to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Enforcement {
    /// [`Limits::memory`].
    pub memory: Means,
    /// [`Limits::processes`].
    pub processes: Means,
    /// [`Limits::disk`] and [`Limits::files`].
    pub disk: Means,
}

/// What a run did to a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It has this length now, in bytes.
    Written(u64),
    /// It is a link now.
    Linked,
    /// It is gone.
    Removed,
    /// It stays behind, and why, for people.
    Refused(String),
}

/// A file that a run changed, as the run saw it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// Its path, absolute.
    pub path: String,
    /// What became of it.
    pub change: Change,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// In what it ran.
    pub level: Level,
    /// How its limits were held.
    pub enforcement: Enforcement,
    /// How the program ended; `None` when it was ended with all that it had begun.
    pub exit: Option<Exit>,
    /// Why.
    pub reason: Reason,
    /// What it said.
    pub stdout: Said,
    /// What it said of errors.
    pub stderr: Said,
    /// What it changed, by path.
    pub artifacts: Vec<Artifact>,
    /// How many files it changed; more than are listed, perhaps.
    pub changed: usize,
    /// The hosts that it asked for, each once; at most a hundred.
    pub contacts: Vec<Contact>,
    /// How long it took.
    pub took: Duration,
    /// Its time on processors.
    pub cpu: Duration,
    /// The most memory that one of its processes had, in bytes.
    pub memory: u64,
}
