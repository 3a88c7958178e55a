//! Runs a command in the sandbox, for all tools that execute.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use gongfu_core::change::{Change, Holding};
use gongfu_core::grant::Grants;
use gongfu_core::library::Skill;
use gongfu_core::network::{Grantee, HostFailure, host_failure};
use gongfu_core::port::{Listener, PortError};
use gongfu_core::sandbox::{
    CapturedOutput, Command, Contact, Dialogue, Exit, Input, Limits, Outcome, Reach, Reason, SKILL,
    Spec, WORKSPACE,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::call::{Call, Event, Proposal};
use crate::error::ToolError;
use crate::problem::{Problem, clipped};
use crate::shelf;
use dependency::{EnvironmentReport, PackageProposal};

pub(crate) mod dependency;
mod plain;
mod policy;
mod proposal;
mod words;

pub use plain::Plain;
pub(crate) use proposal::RUN_COMMAND;
pub(crate) use words::artifact_words;

/// The bytes of each output in an answer of gongfu's own tools, unless more are asked for.
pub(crate) const SHOWN: usize = 64 * 1024;
/// The most that can be asked for, and what the tools of dialects carry.
pub(crate) const MAX_SHOWN: usize = 1024 * 1024;
/// The limit of different files that are named of a version.
const DIFFERENCES: usize = 5;
/// The limit of files in an answer.
const LISTED: usize = 200;

/// A request to run something.
pub(crate) struct RunRequest {
    /// The programs that need no approval; `None` for all that aren't refused by name.
    pub(crate) programs: Option<&'static [&'static str]>,
    /// The skill that it belongs to, if it belongs to one.
    pub(crate) skill: Option<Arc<Skill>>,
    /// The command.
    pub(crate) command: Command,
    /// The folder that it starts in, as it sees it; `None` for the skill's, else the workspace.
    pub(crate) folder: Option<String>,
    /// The longest time that it may take, in seconds.
    pub(crate) seconds: u32,
    /// The standard input.
    pub(crate) input: Input,
    /// The number of bytes of each output that are given back.
    pub(crate) shown: usize,
    /// Every change waits for a person, not only those that always do.
    pub(crate) holds_all: bool,
    /// Set for a program that speaks with its caller.
    pub(crate) conversation: Option<Conversation>,
}

/// The caller's end of a run that speaks with it. The standard error is the output of such a run.
pub(crate) struct Conversation {
    pub(crate) dialogue: Dialogue,
    /// Receives the output.
    pub(crate) listener: Listener,
    /// The subject, for people, instead of the command.
    pub(crate) about: String,
}

impl RunRequest {
    /// A line for a shell in the folder of a skill, as the tools of dialects run it.
    pub(crate) fn of_skill(skill: Arc<Skill>, line: String, seconds: u32) -> Self {
        Self {
            programs: None,
            skill: Some(skill),
            command: Command::Line(line),
            folder: None,
            seconds,
            input: Input::Nothing,
            shown: MAX_SHOWN,
            holds_all: false,
            conversation: None,
        }
    }

    /// Its skill with the files that the library doesn't list: what a person allowed holds for these, too.
    async fn skill_with_unlisted(&self, call: &Call) -> Result<Option<Arc<Skill>>, ToolError> {
        match &self.skill {
            Some(skill) => shelf::with_unlisted(call, skill).await.map(Some),
            None => Ok(None),
        }
    }

    /// The command as a shell would read it.
    fn line(&self) -> Cow<'_, str> {
        match &self.command {
            Command::Line(line) => line.into(),
            Command::Program(words) => proposal::quoted(words).into(),
        }
    }

    /// The command and its skill, for people.
    fn about(&self) -> String {
        let command = match &self.conversation {
            Some(conversation) => clipped(&conversation.about),
            None => clipped(&self.line()),
        };
        match &self.skill {
            Some(skill) => format!("{}: {command}", skill.full_name),
            None => command,
        }
    }

    /// The folder that it starts in, as it sees it.
    fn folder(&self) -> &str {
        let default = if self.skill.is_some() {
            SKILL
        } else {
            WORKSPACE
        };
        self.folder.as_deref().unwrap_or(default)
    }
}

/// The report of a run: its end, its outputs, its files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct RunReport {
    /// The program's exit code; missing when a signal ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) exit_code: Option<i32>,
    /// The number of the signal that ended it; missing when it ended by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) signal: Option<i32>,
    /// Why the run ended: `ok` if by itself, else the limit that ended it, `cancelled`, or `denied`
    /// for a forbidden system call.
    #[schemars(with = "String", extend("enum" = ["ok", "timeout", "oom", "pids", "output", "disk", "cancelled", "denied"]))]
    pub(crate) reason: Reason,
    /// Its standard output, without escape sequences.
    pub(crate) stdout: String,
    /// Its standard error, without escape sequences.
    pub(crate) stderr: String,
    /// Whether something is left out of the two; they say where the whole output is.
    pub(crate) truncated: bool,
    /// The sandbox that it ran in.
    pub(crate) level: &'static str,
    /// How its limits were enforced.
    pub(crate) enforcement: EnforcementReport,
    /// How long it took, in milliseconds.
    pub(crate) duration_ms: u64,
    /// The files that it wrote or removed, by the path that it saw.
    pub(crate) artifacts: Vec<Artifact>,
    /// How many there are, which may be more than are listed.
    pub(crate) artifacts_total: usize,
    /// The changes that wait for a person; missing if none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) held: Option<HeldReport>,
    /// The hosts that it contacted, and why one wasn't reached; missing if none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) network: Option<Vec<ContactReport>>,
    /// The hosts that a person granted to another version of the skill; missing if none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stale_grants: Option<Vec<StaleGrant>>,
    /// The host that it wanted to reach, and how to allow it; missing unless it failed for want of a network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) no_network: Option<NoNetwork>,
    /// The package environments that it used; missing if none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) environments: Option<Vec<EnvironmentReport>>,
    /// What the run lacked, and what would fix that; missing if nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lacks: Option<Vec<PackageProposal>>,
}

impl RunReport {
    /// The end of the command in a word or two.
    fn how_it_ended(&self) -> String {
        match (self.reason, self.exit_code, self.signal) {
            (Reason::Ok, Some(code), _) => format!("exit {code}"),
            (Reason::Ok, None, Some(signal)) => format!("signal {signal}"),
            (reason, ..) => reason.as_str().to_owned(),
        }
    }
}

/// A host that a person granted to another version of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct StaleGrant {
    /// The host and the port.
    pub(crate) host: String,
    /// The difference, and what the person can do.
    pub(crate) advice: String,
}

/// The network that a run failed without.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct NoNetwork {
    /// The host that it wanted, by what it printed; missing where nothing names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) host: Option<String>,
    /// Advice: the command that allows it.
    pub(crate) advice: String,
}

/// The changes of a run that wait for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct HeldReport {
    /// The id of their set.
    pub(crate) id: String,
    /// Advice: what to say to the person, and what they can do.
    pub(crate) advice: String,
}

/// A host that a run contacted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct ContactReport {
    /// The host and the port.
    pub(crate) host: String,
    /// Why it wasn't reached; missing if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) refused: Option<String>,
}

/// By what limits were held: `control_group`, `watchdog`, `process_limit` or `sized_file_system`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct EnforcementReport {
    /// The limit on memory.
    pub(crate) memory: &'static str,
    /// The limit on processes.
    pub(crate) processes: &'static str,
    /// The limit on what it may write.
    pub(crate) disk: &'static str,
}

/// A file that a run wrote or removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Artifact {
    /// Its path, as the run saw it.
    pub(crate) path: String,
    /// `written`, `linked`, `removed`, `held` if a person must allow it first, `refused` if it
    /// couldn't be kept, or `conflict` if somebody else changed the file during the run: their
    /// version stays.
    pub(crate) change: &'static str,
    /// Its length in bytes, if it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bytes: Option<u64>,
    /// Why it waits or couldn't be kept, or where the run's version is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) why: Option<String>,
}

/// The action that a person must allow before something is run; `None` where it may run at once.
///
/// # Errors
/// The command is refused to everybody.
pub(crate) async fn review(
    call: &Call,
    request: &RunRequest,
) -> Result<Option<Proposal>, ToolError> {
    call.events.send(Event::Command(&request.line()));
    policy::review(call, request).await
}

/// Runs something to its end.
///
/// # Errors
/// The skill isn't the one of the review, no sandbox works here, the folder isn't there, or a part of gongfu
/// fails. A program that fails or is ended is no error.
pub(crate) async fn run(call: &Call, request: RunRequest) -> Result<RunReport, ToolError> {
    policy::confirm_run(call, &request).await?;
    let space = &call.space;
    let skill = request.skill.as_deref();
    let (reach, stale_grants) = reach(call, &request).await?;
    let is_off = reach.is_off() && stale_grants.is_empty();
    let provided = dependency::provide(call, &request).await?;
    let prepared = space.run_folders().prepare(skill).await;
    let prepared =
        prepared.map_err(|error| Problem::broken("the folders of a run", &error).error())?;
    let wall = Duration::from_secs(request.seconds.into());
    let (mut mounts, mut programs) = (prepared.mounts.clone(), Vec::new());
    let mut environment = BTreeMap::new();
    for one in &provided.environments {
        mounts.extend(one.mount.clone());
        programs.extend(one.programs.iter().cloned());
        environment.extend(one.variables.clone());
    }
    programs.extend(prepared.programs.iter().cloned());
    let (limits, conversation) = (space.limits(), request.conversation.as_ref());
    let listener = match conversation {
        Some(conversation) => Arc::clone(&conversation.listener),
        None => call.events.listener(),
    };
    let spec = Spec {
        command: request.command.clone(),
        folder: request.folder().to_owned(),
        mounts,
        programs,
        environment,
        input: request.input.clone(),
        dialogue: conversation.map(|one| one.dialogue.clone()),
        reach,
        limits: Limits {
            wall,
            cpu: wall,
            shown: request.shown,
            layer: prepared.room,
            // It is silent while it waits for an answer.
            idle: limits.idle.filter(|_| conversation.is_none()),
            ..limits
        },
        logs: Some(prepared.logs.clone()),
        links: prepared.links.clone(),
        hidden: prepared.hidden.clone(),
        holding: prepared.holding.clone().map(|holding| Holding {
            holds_all: request.holds_all,
            about: request.about(),
            ..holding
        }),
    };
    let outcome = space.sandbox().run(spec, listener).await;
    let logs_seen = prepared.logs_seen.clone();
    let finished = space.run_folders().finish(skill, prepared).await;
    let mut outcome = outcome.map_err(|error| match error {
        PortError::Unavailable(reason) => Problem::SandboxUnavailable { reason }.error(),
        PortError::Denied(reason) => Problem::RunRefused { reason }.error(),
        error => Problem::broken("the sandbox", &error).error(),
    })?;
    finished.map_err(|error| Problem::broken("the folder for what runs write", &error).error())?;
    if let Some(skill) = skill {
        shelf::record_use(call, skill).await;
    }
    call.events.send(Event::Contacts(&outcome.contacts));
    if conversation.is_some() {
        outcome.stdout = std::mem::take(&mut outcome.stderr);
    }
    let mut report = report(outcome, &logs_seen, call.space.has_account());
    call.events.send(Event::Ended(&report.how_it_ended()));
    if let Some(skill) = request
        .skill
        .as_ref()
        .filter(|_| report.exit_code != Some(0))
    {
        let proposals = provided.proposals(call, skill, &report.stderr).await;
        report.lacks = (!proposals.is_empty()).then_some(proposals);
        if is_off && let Some(failure) = host_failure(&report.stderr, &request.line()) {
            report.no_network = Some(no_network(failure, &grantee(call, skill).await));
        }
    }
    report.stale_grants = (!stale_grants.is_empty()).then_some(stale_grants);
    report.environments = (!provided.reports.is_empty()).then_some(provided.reports);
    Ok(report)
}

/// The hosts that a run may reach, and the grants that it can't use.
async fn reach(call: &Call, request: &RunRequest) -> Result<(Reach, Vec<StaleGrant>), ToolError> {
    let Some(skill) = &request.skill else {
        return Ok((Reach::default(), Vec::new()));
    };
    let grants = grants_for(call, skill).await;
    let grants = grants.map_err(|error| Problem::broken("the grants", &error).error())?;
    // The files that aren't listed are only looked at for a grant.
    if !grants.are_any(skill) {
        return Ok((Reach::default(), Vec::new()));
    }
    let skill = shelf::with_unlisted(call, skill).await?;
    let grantee = grantee(call, &skill).await;
    let stale = stale(&grants, &skill, &grantee);
    let reach = Reach {
        grantee: Some(grantee),
        ..grants.reach(&skill)
    };
    Ok((reach, stale))
}

/// The grants of the caller, and those that come with a skill that is shared with them.
async fn grants_for(call: &Call, skill: &Skill) -> Result<Grants, PortError> {
    let mut grants = Grants::read(call.space.records()).await?;
    if let Some(records) = call.space.skills().records_of_sharer(skill) {
        grants.all.extend(Grants::read(&*records).await?.all);
    }
    Ok(grants)
}

/// A skill, as the advice about its grants names it.
async fn grantee(call: &Call, skill: &Skill) -> Grantee {
    Grantee {
        skill: name(call, skill).await,
        has_account: call.space.has_account(),
    }
}

/// The name that a person calls a skill by: its full one when the library can't be read.
async fn name(call: &Call, skill: &Skill) -> String {
    match shelf::library(call).await {
        Ok(library) => library.name_of(skill).to_owned(),
        Err(_) => skill.full_name.to_string(),
    }
}

/// The advice after a run that wanted a network.
fn no_network(failure: HostFailure, grantee: &Grantee) -> NoNetwork {
    let host = failure.host.map(|host| host.to_string());
    let with = grantee.with(host.as_deref().unwrap_or("HOST"));
    NoNetwork {
        advice: format!("a run has no network; a person can allow a host {with}"),
        host,
    }
}

/// The grants that a skill can't use, because they are for another version of it.
fn stale(grants: &Grants, skill: &Skill, grantee: &Grantee) -> Vec<StaleGrant> {
    let stale = grants.stale(skill).map(|grant| {
        let host = grant.host.to_string();
        let mut changed = grant.difference(skill);
        let more = changed.len().saturating_sub(DIFFERENCES);
        changed.truncate(DIFFERENCES);
        if more > 0 {
            changed.push(format!("and {more} more"));
        }
        let (with, changed) = (grantee.with(&host), changed.join(", "));
        StaleGrant {
            advice: format!(
                "{host} was granted to another version of the skill ({changed}), so the grant no longer applies; a person can review the change and grant it again {with}"
            ),
            host,
        }
    });
    stale.collect()
}

fn report(outcome: Outcome, logs: &str, has_account: bool) -> RunReport {
    let (exit_code, signal) = match outcome.exit {
        Some(Exit::Code(code)) => (Some(code), None),
        Some(Exit::Signal(signal)) => (None, Some(signal)),
        // All of it was killed.
        None => (None, Some(9)),
    };
    let said = |said: &CapturedOutput| {
        let name = said.log.as_ref().and_then(|log| log.file_name());
        let log = name.map(|name| format!("{logs}/{}", name.to_string_lossy()));
        plain::of(said, log.as_deref())
    };
    let enforcement = outcome.enforcement;
    RunReport {
        exit_code,
        signal,
        reason: outcome.reason,
        stdout: said(&outcome.stdout),
        stderr: said(&outcome.stderr),
        truncated: outcome.stdout.left_out + outcome.stderr.left_out > 0,
        level: outcome.level.as_str(),
        enforcement: EnforcementReport {
            memory: enforcement.memory.as_str(),
            processes: enforcement.processes.as_str(),
            disk: enforcement.disk.as_str(),
        },
        duration_ms: u64::try_from(outcome.took.as_millis()).unwrap_or(u64::MAX),
        artifacts_total: outcome.changed,
        held: outcome.held.map(|id| HeldReport {
            advice: if has_account {
                "tell the person that changes wait for approval: `change_settle` shows them the diff and asks".to_owned()
            } else {
                format!(
                    "tell the person that changes wait for approval: `change_settle` shows them the diff and asks; on the command line it is `gongfu changes show {id}`"
                )
            },
            id,
        }),
        network: (!outcome.contacts.is_empty()).then(|| {
            let contacts = outcome.contacts.into_iter();
            let contacts =
                contacts.map(|Contact { host, refused }| ContactReport { host, refused });
            contacts.collect()
        }),
        stale_grants: None,
        no_network: None,
        environments: None,
        lacks: None,
        artifacts: by_rank(outcome.artifacts)
            .into_iter()
            .take(LISTED)
            .map(artifact)
            .collect(),
    }
}

/// The changed files in the order in which they are told: those first that somebody has to know about.
pub(crate) fn by_rank(
    mut artifacts: Vec<gongfu_core::change::Artifact>,
) -> Vec<gongfu_core::change::Artifact> {
    artifacts.sort_by_key(|artifact| artifact.change.rank());
    artifacts
}

/// A changed file for programs.
pub(crate) fn artifact(artifact: gongfu_core::change::Artifact) -> Artifact {
    let (change, bytes, why) = match artifact.change {
        Change::Written(bytes) => ("written", Some(bytes), None),
        Change::Linked => ("linked", None, None),
        Change::Removed => ("removed", None, None),
        Change::Refused(why) => ("refused", None, Some(why)),
        Change::Held(why) => ("held", None, Some(why)),
        Change::Conflict(Some(beside)) => {
            let why = format!("it was changed during the run; the run's version is `{beside}`");
            ("conflict", None, Some(why))
        }
        Change::Conflict(None) => {
            let why = "it was changed during the run, so it wasn't removed";
            ("conflict", None, Some(why.to_owned()))
        }
    };
    Artifact {
        path: artifact.path,
        change,
        bytes,
        why,
    }
}
