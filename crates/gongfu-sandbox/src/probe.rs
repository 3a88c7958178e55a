//! Probes: what a stranger's program would try in order to get out of a sandbox, tried.
//!
//! Each is tried outside first, where it must reach what it wants, or it proves nothing; then in each
//! kind of sandbox. A probe is a process of its own, which is this very program, begun anew; so is the
//! careless server that begins them all, with a secret in its environment and files that it forgot to
//! close. Everything that is reached for was laid out for it and is taken away again.

#[cfg(target_os = "linux")]
mod bait;
#[cfg(target_os = "linux")]
mod files;
#[cfg(target_os = "linux")]
mod fuzz;
#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_os = "linux")]
mod list;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
mod network;
#[cfg(target_os = "linux")]
mod outside;
#[cfg(target_os = "linux")]
mod privilege;
#[cfg(target_os = "linux")]
pub(crate) mod process;
#[cfg(target_os = "linux")]
mod resources;
#[cfg(target_os = "linux")]
mod server;
#[cfg(target_os = "linux")]
mod tenancy;
#[cfg(target_os = "linux")]
mod tool;
#[cfg(target_os = "linux")]
mod writing;

use std::collections::BTreeMap;

use gongfu_core::sandbox::{Docker, Level};
use serde::{Deserialize, Serialize};

#[cfg(target_os = "linux")]
pub use crate::backend::docker::plain as docker;
#[cfg(target_os = "linux")]
pub use fuzz::{Fuzz, Fuzzed, fuzz};
#[cfg(target_os = "linux")]
pub use server::run;

/// The argument by which a program is told to be a probe.
#[cfg(target_os = "linux")]
pub(crate) const ARGUMENT: &str = "sandbox-probe";

/// What came of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It got what it wanted.
    Reached,
    /// It didn't.
    Refused,
    /// It proves nothing: it couldn't be tried, or fails where nothing stands in its way.
    Void,
}

impl Verdict {
    /// What it is called.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reached => "reached",
            Self::Refused => "refused",
            Self::Void => "void",
        }
    }
}

/// What was seen of a probe in one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// What came of it.
    pub verdict: Verdict,
    /// What stood in its way, for people; empty where nothing did.
    pub why: String,
}

/// What was seen of a probe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// What it is called: its group and its name.
    pub name: String,
    /// What it tries, in a sentence.
    pub about: String,
    /// What came of it outside of any sandbox.
    pub outside: Seen,
    /// What comes of it in what `bwrap` makes by itself, as it is mostly used; `None` without it.
    pub bwrap_alone: Option<Seen>,
    /// What comes of it in a container as `docker run` makes it by itself; `None` without a daemon.
    pub docker_alone: Option<Seen>,
    /// What came of it in each level.
    pub inside: BTreeMap<Level, Seen>,
    /// The levels that can't refuse it, and why.
    pub by_design: BTreeMap<Level, String>,
    /// What not every machine has, without which it proves nothing.
    pub depends_on: Option<String>,
}

impl Row {
    /// Whether it got through a level that should have refused it.
    pub fn got_through(&self, level: Level) -> bool {
        let reached = self.inside.get(&level);
        reached.is_some_and(|seen| seen.verdict == Verdict::Reached)
            && !self.by_design.contains_key(&level)
    }
}

/// What is to be tried.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// In which levels.
    pub levels: Vec<Level>,
    /// Whether in what `bwrap` makes by itself as well.
    pub bwrap_alone: bool,
    /// Whether in a container as `docker run` makes it by itself as well.
    pub docker_alone: bool,
    /// The daemon that makes containers.
    pub docker: Docker,
    /// The probes by name; all of them where there is none.
    pub names: Vec<String>,
}

/// A probe, before it is tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its group and its name.
    pub name: &'static str,
    /// What it tries, in a sentence.
    pub about: &'static str,
    /// What its control lacks here, for people; `None` when it has all that it needs.
    pub lacks: Option<String>,
}

/// All probes, in the order in which they are tried.
#[cfg(target_os = "linux")]
pub fn list() -> Vec<Listed> {
    let root = tool::is_root();
    let each = list::all().map(|probe| Listed {
        name: probe.name,
        about: probe.about,
        lacks: probe.lacks(root),
    });
    each.collect()
}

/// There are none for this system.
#[cfg(not(target_os = "linux"))]
pub fn list() -> Vec<Listed> {
    Vec::new()
}

/// Tries nothing: no probe is written for this system.
///
/// # Errors
/// There are none.
#[cfg(not(target_os = "linux"))]
pub fn run(_request: &Request, _progress: impl FnMut(&Row)) -> std::io::Result<Vec<Row>> {
    Ok(Vec::new())
}
