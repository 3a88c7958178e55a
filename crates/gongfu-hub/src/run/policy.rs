//! The command policy: whether a command is refused, or needs a person.

use std::sync::Arc;

use gongfu_core::command::{self, Policy, Verdict};
use gongfu_core::sandbox::{Command, Input};

use super::RunRequest;
use super::proposal::proposal;
use crate::call::{Call, Proposal};
use crate::confirmation::confirm;
use crate::error::ToolError;
use crate::problem::Problem;
use crate::shelf;

/// The command as a proposal where a person must allow it.
///
/// # Errors
/// The command is refused to everybody.
pub(super) async fn review(
    call: &Call,
    request: &RunRequest,
) -> Result<Option<Proposal>, ToolError> {
    if let Some(skill) = &request.skill {
        shelf::check_local(call, skill).await?;
    }
    let folders = call.space.run_folders().folders(request.skill.is_some());
    let writable = folders.iter().filter(|folder| !folder.is_read_only);
    let writable: Vec<&str> = writable.map(|folder| &*folder.guest).collect();
    let input = match &request.input {
        Input::Bytes(bytes) => std::str::from_utf8(bytes).ok(),
        Input::Nothing | Input::Reader(_) => None,
    };
    let policy = Policy {
        programs: request.programs,
        folder: request.folder(),
        writable: &writable,
        input,
    };
    let verdict = match &request.command {
        Command::Line(line) => command::judge_line(line, &policy),
        Command::Program(words) => command::judge_program(words, &policy),
    };
    let reason = match verdict {
        Verdict::Allow => None,
        Verdict::Block(reason) => {
            let reason = reason.to_string();
            return Err(Problem::CommandBlocked { reason }.error());
        }
        Verdict::Ask(reason) => Some(reason.to_string()),
    };
    let untrusted = untrusted_project(call, request).await?;
    if let (Some((skill, project)), true) = (&untrusted, call.actor.role.is_person()) {
        return Err(Problem::ProjectUntrusted {
            skill: skill.clone(),
            project: project.to_string(),
        }
        .error());
    }
    let trust = untrusted.map(|(_, project)| project);
    let untrusted = trust
        .as_ref()
        .map(|project| format!("the skill is from the project {project}, which isn't trusted yet"));
    let reason = reason.or_else(|| call.level_reason());
    let reasons: Vec<String> = reason.clone().into_iter().chain(untrusted).collect();
    if reasons.is_empty() {
        return Ok(None);
    }
    let proposal = proposal(call, request, &folders, reasons.join("; ")).await?;
    Ok(Some(Proposal {
        // Trust covers no command that always needs a person.
        trust: trust.filter(|_| reason.is_none()),
        ..proposal
    }))
}

/// Refuses a run of which another skill, another version or another project was reviewed.
///
/// # Errors
/// A person didn't allow this one.
pub(super) async fn confirm_run(call: &Call, request: &RunRequest) -> Result<(), ToolError> {
    // The command itself is still the same, so a verdict that asked nobody stands.
    if call.allowed.is_none() && untrusted_project(call, request).await?.is_none() {
        return Ok(());
    }
    let proposal = review(call, request).await?;
    confirm(call, proposal.map(|proposal| proposal.digest))
}

/// The full name of the skill, and its project that nobody trusted yet.
async fn untrusted_project(
    call: &Call,
    request: &RunRequest,
) -> Result<Option<(String, Arc<str>)>, ToolError> {
    let Some(skill) = &request.skill else {
        return Ok(None);
    };
    let library = shelf::library(call).await?;
    let project = library.untrusted_project(skill).cloned();
    Ok(project.map(|project| (skill.full_name.to_string(), project)))
}
