//! Attacks: probes that try to get out of a sandbox as a stranger's program would.
//!
//! Each is tried outside first, where it must reach its goal, or it proves nothing; then in each kind of
//! sandbox. A probe is a process of its own: this program, started again. So is the careless server that
//! starts the probes, with a secret in its environment and files that it forgot to close. Everything that
//! probes reach for is made for them and removed again.
//!
//! A guest of `gongfu-sandbox`: it runs that crate's kinds of sandboxes, and makes system calls by it. The
//! program that it is part of says which other kinds and which baselines there are ([`Arena`]).
#![cfg(target_os = "linux")]

mod answer;
mod argument;
mod bait;
mod decoys;
mod fuzz;
mod goal;
mod inside;
mod outside;
mod probe;
mod process;
mod server;
mod system;

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use gongfu_core::sandbox::Level;
use gongfu_sandbox::Runner;
use serde::{Deserialize, Serialize};

pub use fuzz::{Fuzz, FuzzReport, fuzz};
pub use outside::BareBubblewrap;
pub use process::become_probe;
pub use server::run;

/// The sandboxes that a program has, for probes to be tried in.
pub trait Arena: Sync {
    /// A runner of this kind alone, or of all.
    fn runner(&self, wanted: Option<Level>) -> Runner;

    /// The baselines, besides bare bubblewrap.
    fn baselines(&self) -> Vec<Box<dyn Baseline>> {
        Vec::new()
    }
}

/// Another way to confine a program, for comparison with the sandboxes.
pub trait Baseline: Send + Sync {
    /// Its name in reports.
    fn name(&self) -> &'static str;

    /// Runs a probe to its end; `None` when the baseline isn't installed.
    ///
    /// # Errors
    /// The program can't be started.
    fn run(&self, attempt: &Attempt) -> io::Result<Option<ProbeExit>>;
}

/// A program that tries a probe.
#[derive(Debug, Clone)]
pub struct Attempt {
    /// Its path.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its working folder, which it may write to.
    pub workspace: PathBuf,
    /// A folder that it may read.
    pub shown: PathBuf,
}

/// The exit of a program that tried a probe.
#[derive(Debug, Clone, Default)]
pub struct ProbeExit {
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Its output.
    pub output: Vec<u8>,
}

/// A verdict about a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It reached its goal.
    Reached,
    /// It was refused.
    Refused,
    /// It proves nothing: it couldn't be tried, or fails outside as well.
    Void,
}

impl Verdict {
    /// The name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reached => "reached",
            Self::Refused => "refused",
            Self::Void => "void",
        }
    }
}

/// The outcome of a probe in one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The verdict.
    pub verdict: Verdict,
    /// The reason why it failed, for people; empty when it reached its goal.
    pub why: String,
}

impl Finding {
    fn void(why: String) -> Self {
        let verdict = Verdict::Void;
        Self { verdict, why }
    }
}

/// The outcomes of a probe in all places.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Its group and its name.
    pub name: String,
    /// A sentence about its goal.
    pub about: String,
    /// The finding outside of any sandbox.
    pub outside: Finding,
    /// The finding in each baseline.
    #[serde(flatten)]
    pub baselines: BTreeMap<String, Finding>,
    /// The finding in each kind of sandbox.
    pub inside: BTreeMap<String, Finding>,
    /// The kinds that can't refuse it by design, each with the reason.
    pub by_design: BTreeMap<String, String>,
    /// A feature that not every machine has, without which it proves nothing.
    pub depends_on: Option<String>,
}

impl Row {
    /// True when it got through a kind that should have refused it.
    pub fn got_through(&self, level: Level) -> bool {
        let reached = self.inside.get(level.as_str());
        reached.is_some_and(|finding| finding.verdict == Verdict::Reached)
            && !self.by_design.contains_key(level.as_str())
    }
}

/// A request to try probes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The kinds of sandboxes in which they are tried.
    pub levels: Vec<String>,
    /// The baselines in which they are tried as well.
    pub baselines: Vec<String>,
    /// The probes by name; all of them if there is no name.
    pub names: Vec<String>,
}

/// A probe, before it is tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeInfo {
    /// Its group and its name.
    pub name: &'static str,
    /// A sentence about its goal.
    pub about: &'static str,
    /// The missing requirement of its control, for people; `None` when all are met.
    pub lacks: Option<String>,
}

/// All probes, in the order in which they are tried.
pub fn list() -> Vec<ProbeInfo> {
    let root = system::is_root();
    let each = probe::all().map(|probe| ProbeInfo {
        name: probe.name,
        about: probe.about,
        lacks: probe.lacks(root),
    });
    each.collect()
}
