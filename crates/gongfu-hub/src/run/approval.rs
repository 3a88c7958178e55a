//! Whether a command is run: what its policy says of it, and what people said.

use gongfu_core::account::Role;
use gongfu_core::approval::{Decision, Request};
use gongfu_core::command::{self, Policy, Verdict};
use gongfu_core::sandbox::{Command, Input, Mode, Mount};
use gongfu_core::skill::Digest;
use gongfu_core::skill::check::hidden;

use super::Task;
use crate::error::ToolError;
use crate::problem::Problem;
use crate::tool::Context;

/// How much of a command a person is shown, in characters: what somebody allows, they must have seen.
const MOST: usize = 8_192;
/// What stands at the end of what is longer.
const CUT: &str = "… (and more, which is too long to be shown)";
/// What the audit calls it.
const STAGE: &str = "command";

/// Lets a command pass, or says why not. A person at the command line needs nobody's approval, and is
/// refused what is refused to everybody.
///
/// # Errors
/// It is refused, nobody has allowed it yet, or what people said can't be read.
pub(super) async fn passed(
    context: &Context,
    task: &Task,
    folder: &str,
    mounts: &[Mount],
) -> Result<(), ToolError> {
    let is_writable = |mount: &&Mount| mount.mode != Mode::ReadOnly;
    let writable = mounts.iter().filter(is_writable);
    let writable: Vec<&str> = writable.map(|mount| mount.target.as_str()).collect();
    let input = match &task.input {
        Input::Bytes(bytes) => std::str::from_utf8(bytes).ok(),
        Input::Nothing | Input::Reader(_) => None,
    };
    let policy = Policy {
        programs: task.programs,
        folder,
        writable: &writable,
        input,
    };
    let verdict = match &task.command {
        Command::Line(line) => command::judge_line(line, &policy),
        Command::Program(words) => command::judge_program(words, &policy),
    };
    let reason = match verdict {
        Verdict::Allow => return Ok(()),
        Verdict::Block(reason) => {
            let reason = reason.to_string();
            return Err(refused(Problem::CommandBlocked { reason }));
        }
        Verdict::Ask(_) if context.actor.role == Role::Developer => return Ok(()),
        Verdict::Ask(reason) => reason.to_string(),
    };
    let request = request(task, folder, reason.clone());
    let (owner, now) = (&context.actor.owner, context.clock.now());
    let decision = context.approvals.decide(owner, &request, now).await;
    let decision =
        decision.map_err(|error| refused(Problem::broken("what people approved", &error)))?;
    match decision {
        Decision::Allowed => Ok(()),
        Decision::Denied => Err(refused(Problem::CommandDeclined { reason })),
        Decision::Waiting => {
            let id = request.id();
            let what = is_whole(&request.what).then_some(request.what);
            Err(refused(Problem::CommandWaits { reason, id, what }))
        }
    }
}

/// A command as a person sees it: its lines, and nothing that a screen would hide or obey.
fn shown(text: &str) -> String {
    let visible = |c: char| match c {
        '\n' | '\t' => c,
        c if c.is_control() || hidden::is_hidden(c) => char::REPLACEMENT_CHARACTER,
        c => c,
    };
    let mut shown: String = text.chars().take(MOST).map(visible).collect();
    if text.chars().nth(MOST).is_some() {
        shown.push_str(CUT);
    }
    shown
}

/// Whether a person sees all of a command.
fn is_whole(shown: &str) -> bool {
    !shown.ends_with(CUT)
}

fn refused(problem: Problem) -> ToolError {
    ToolError {
        refused_by: Some(STAGE),
        ..problem.error()
    }
}

/// What a person is asked: everything that decides what is run is a part of it.
fn request(task: &Task, folder: &str, reason: String) -> Request {
    let (kind, words) = match &task.command {
        Command::Line(line) => ("line", vec![line.clone()]),
        Command::Program(words) => ("program", words.clone()),
    };
    let skill = task.skill.as_ref().map(|skill| skill.full_name.to_string());
    let input = match &task.input {
        Input::Bytes(bytes) => Some(Digest::of(bytes).to_string()),
        Input::Nothing | Input::Reader(_) => None,
    };
    let all = serde_json::json!([skill, folder, kind, words, input]);
    Request {
        tool: task.tool.to_owned(),
        digest: Digest::of(all.to_string().as_bytes()),
        what: shown(&words.join(" ")),
        reason,
    }
}
