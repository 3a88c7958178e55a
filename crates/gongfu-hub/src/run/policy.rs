//! The command policy: whether a command is refused, or needs a person.

use gongfu_core::command::{self, Policy, Verdict};
use gongfu_core::sandbox::{Command, Input};

use super::RunRequest;
use super::proposal::proposal;
use crate::call::{Call, Proposal};
use crate::error::ToolError;
use crate::problem::Problem;

/// The command as a proposal where a person must allow it.
///
/// # Errors
/// The command is refused to everybody.
pub(super) async fn review(
    call: &Call,
    request: &RunRequest,
) -> Result<Option<Proposal>, ToolError> {
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
    match verdict {
        Verdict::Allow => Ok(None),
        Verdict::Block(reason) => {
            let reason = reason.to_string();
            Err(Problem::CommandBlocked { reason }.error())
        }
        Verdict::Ask(reason) => proposal(call, request, &folders, reason.to_string())
            .await
            .map(Some),
    }
}
