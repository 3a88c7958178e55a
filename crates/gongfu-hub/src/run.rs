//! Running something in the sandbox: what the tools that execute share.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use gongfu_core::library::Skill;
use gongfu_core::port::PortError;
use gongfu_core::sandbox::{
    Change, Command, Contact, Exit, Input, Limits, Outcome, Reason, SKILL, Said, Spec, WORKSPACE,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::ToolError;
use crate::problem::Problem;
use crate::tool::Context;
use dependency::{Proposed, Used};

mod approval;
pub(crate) mod dependency;
mod plain;
mod words;

pub use dependency::Installs;
pub use plain::Plain;

/// How many bytes of each output an answer of gongfu's own tools carries, unless more are asked for.
pub(crate) const SHOWN: usize = 64 * 1024;
/// The most that can be asked for, and what the tools of dialects carry.
pub(crate) const MOST_SHOWN: usize = 1024 * 1024;
/// How many files an answer lists.
const LISTED: usize = 200;

/// Something to be run.
pub(crate) struct Task {
    /// The tool that runs it.
    pub(crate) tool: &'static str,
    /// The programs that need no approval; `None` for all that aren't refused by name.
    pub(crate) programs: Option<&'static [&'static str]>,
    /// The skill that it belongs to, if it belongs to one.
    pub(crate) skill: Option<Arc<Skill>>,
    /// What is run.
    pub(crate) command: Command,
    /// The folder that it starts in, as it sees it; without one the skill's, else the workspace.
    pub(crate) folder: Option<String>,
    /// How long it may take, in seconds.
    pub(crate) seconds: u32,
    /// What it reads from standard input.
    pub(crate) input: Input,
    /// How many bytes of each output are given back.
    pub(crate) shown: usize,
}

impl Task {
    /// A line for a shell in the folder of a skill, as the tools of dialects run it.
    pub(crate) fn of_skill(
        tool: &'static str,
        skill: Arc<Skill>,
        line: String,
        seconds: u32,
    ) -> Self {
        Self {
            tool,
            programs: None,
            skill: Some(skill),
            command: Command::Line(line),
            folder: None,
            seconds,
            input: Input::Nothing,
            shown: MOST_SHOWN,
        }
    }
}

/// How a run ended and what it said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Ran {
    /// The program's exit code; missing when a signal ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) exit_code: Option<i32>,
    /// The number of the signal that ended it; missing when it ended by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) signal: Option<i32>,
    /// Why the run ended: `ok` by itself, else the limit that ended it, or `cancelled`, or `denied` for
    /// a system call that no program here may make.
    #[schemars(with = "String", extend("enum" = ["ok", "timeout", "oom", "pids", "output", "disk", "cancelled", "denied"]))]
    pub(crate) reason: Reason,
    /// What it said on standard output, without escape sequences.
    pub(crate) stdout: String,
    /// What it said on standard error, without escape sequences.
    pub(crate) stderr: String,
    /// Whether something is left out of the two; they say where the whole is.
    pub(crate) truncated: bool,
    /// The sandbox that it ran in.
    pub(crate) level: &'static str,
    /// How its limits were held.
    pub(crate) enforcement: Held,
    /// How long it took, in milliseconds.
    pub(crate) duration_ms: u64,
    /// The files that it wrote or removed, by the path that it saw.
    pub(crate) artifacts: Vec<Left>,
    /// How many there are; more than are listed, perhaps.
    pub(crate) artifacts_total: usize,
    /// The hosts that it asked for, and why one wasn't reached; missing where it asked for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) network: Option<Vec<Contacted>>,
    /// The environments of packages that it had; missing where it had none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) environments: Option<Vec<Used>>,
    /// What it lacks, and what would mend that; missing where it lacks nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lacks: Option<Vec<Proposed>>,
}

/// A host that a run asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Contacted {
    /// The host and the port.
    pub(crate) host: String,
    /// Why it wasn't reached; missing where it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) refused: Option<String>,
}

/// By what limits were held: `control_group`, `watchdog`, `process_limit` or `sized_file_system`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Held {
    /// The limit of memory.
    pub(crate) memory: &'static str,
    /// The limit of processes.
    pub(crate) processes: &'static str,
    /// The limit of what is written.
    pub(crate) disk: &'static str,
}

/// A file that a run left or took away.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Left {
    /// Where, as the run saw it.
    pub(crate) path: String,
    /// `written`, `linked`, `removed`, or `refused` when it couldn't be kept.
    pub(crate) change: &'static str,
    /// Its length in bytes, where it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bytes: Option<u64>,
    /// Why it couldn't be kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) why: Option<String>,
}

/// Runs it to its end.
///
/// # Errors
/// No sandbox works here, the folder isn't there, or something of gongfu's own fails. A program that
/// fails or is ended is no error.
pub(crate) async fn run(context: &Context, task: Task) -> Result<Ran, ToolError> {
    let owner = &context.actor.owner;
    let grounds = context.runs.grounds(owner, task.skill.as_deref()).await;
    let grounds =
        grounds.map_err(|error| Problem::broken("making the folders of a run", &error).error())?;
    let home = if task.skill.is_some() {
        SKILL
    } else {
        WORKSPACE
    };
    let folder = task.folder.clone().unwrap_or_else(|| home.to_owned());
    approval::passed(context, &task, &folder, &grounds.mounts).await?;
    let given = dependency::given(context, &task).await?;
    let wall = Duration::from_secs(task.seconds.into());
    let (mut mounts, mut programs) = (grounds.mounts, Vec::new());
    let mut environment = BTreeMap::new();
    for one in &given.environments {
        mounts.extend(one.mount.clone());
        programs.extend(one.programs.iter().cloned());
        environment.extend(one.variables.clone());
    }
    programs.extend(grounds.programs);
    let spec = Spec {
        command: task.command,
        folder: folder.clone(),
        mounts,
        programs,
        environment,
        input: task.input,
        reach: grounds.reach,
        limits: Limits {
            wall,
            cpu: wall,
            shown: task.shown,
            ..context.limits
        },
        logs: Some(grounds.logs),
    };
    let heard = Arc::clone(&context.talk.heard);
    let outcome = context.sandbox.run(owner, spec, heard).await;
    let outcome = outcome.map_err(|error| match error {
        PortError::Unavailable(reason) => Problem::SandboxUnavailable { reason }.error(),
        PortError::Denied(reason) => Problem::RunRefused { reason }.error(),
        error => Problem::broken("the sandbox", &error).error(),
    })?;
    context.hosts.leave(&outcome.contacts);
    let mut ran = ran(outcome, &grounds.logs_seen);
    if let Some(skill) = task.skill.filter(|_| ran.exit_code != Some(0)) {
        let proposed = given.proposed(context, &skill, &ran.stderr).await;
        ran.lacks = (!proposed.is_empty()).then_some(proposed);
    }
    ran.environments = (!given.used.is_empty()).then_some(given.used);
    Ok(ran)
}

fn ran(outcome: Outcome, logs: &str) -> Ran {
    let (exit_code, signal) = match outcome.exit {
        Some(Exit::Code(code)) => (Some(code), None),
        Some(Exit::Signal(signal)) => (None, Some(signal)),
        // All of it was killed.
        None => (None, Some(9)),
    };
    let said = |said: &Said| {
        let name = said.log.as_ref().and_then(|log| log.file_name());
        let log = name.map(|name| format!("{logs}/{}", name.to_string_lossy()));
        plain::of(said, log.as_deref())
    };
    let enforcement = outcome.enforcement;
    Ran {
        exit_code,
        signal,
        reason: outcome.reason,
        stdout: said(&outcome.stdout),
        stderr: said(&outcome.stderr),
        truncated: outcome.stdout.left_out + outcome.stderr.left_out > 0,
        level: outcome.level.as_str(),
        enforcement: Held {
            memory: enforcement.memory.as_str(),
            processes: enforcement.processes.as_str(),
            disk: enforcement.disk.as_str(),
        },
        duration_ms: u64::try_from(outcome.took.as_millis()).unwrap_or(u64::MAX),
        artifacts_total: outcome.changed,
        network: (!outcome.contacts.is_empty()).then(|| {
            let contacts = outcome.contacts.into_iter();
            let told = contacts.map(|Contact { host, refused }| Contacted { host, refused });
            told.collect()
        }),
        environments: None,
        lacks: None,
        artifacts: outcome
            .artifacts
            .into_iter()
            .take(LISTED)
            .map(left)
            .collect(),
    }
}

fn left(artifact: gongfu_core::sandbox::Artifact) -> Left {
    let (change, bytes, why) = match artifact.change {
        Change::Written(bytes) => ("written", Some(bytes), None),
        Change::Linked => ("linked", None, None),
        Change::Removed => ("removed", None, None),
        Change::Refused(why) => ("refused", None, Some(why)),
    };
    Left {
        path: artifact.path,
        change,
        bytes,
        why,
    }
}
