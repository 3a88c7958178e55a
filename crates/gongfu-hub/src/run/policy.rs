//! The command policy: whether a command is refused, or needs a person.

use gongfu_core::command::{self, Policy, Verdict};
use gongfu_core::sandbox::{Command, Input};
use gongfu_core::skill::Digest;
use gongfu_core::skill::check::hidden;

use super::RunRequest;
use crate::call::{Call, Proposal};
use crate::error::ToolError;
use crate::problem::Problem;

/// The longest command that is shown to a person, in characters: they must see all that they allow.
const MAX_SHOWN: usize = 8_192;
/// The end of a command that is longer.
const CUT: &str = "… (and more, which is too long to be shown)";
/// The action of a proposal.
pub(crate) const RUN_COMMAND: &str = "run this command";

/// The command as a proposal where a person must allow it.
///
/// # Errors
/// The command is refused to everybody.
pub(super) fn review(call: &Call, request: &RunRequest) -> Result<Option<Proposal>, ToolError> {
    let writable = call.space.run_folders().writable(request.skill.is_some());
    let writable: Vec<&str> = writable.iter().map(String::as_str).collect();
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
        Verdict::Ask(reason) => Ok(Some(proposal(request, reason.to_string()))),
    }
}

/// A command as a person sees it: its lines, and nothing that a screen would hide or obey.
fn shown(text: &str) -> String {
    let visible = |c: char| match c {
        '\n' | '\t' => c,
        c if c.is_control() || hidden::is_hidden(c) => char::REPLACEMENT_CHARACTER,
        c => c,
    };
    let mut shown: String = text.chars().take(MAX_SHOWN).map(visible).collect();
    if text.chars().nth(MAX_SHOWN).is_some() {
        shown.push_str(CUT);
    }
    shown
}

/// Everything that decides what is run is a part of the digest.
fn proposal(request: &RunRequest, reason: String) -> Proposal {
    let (kind, words) = match &request.command {
        Command::Line(line) => ("line", vec![line.clone()]),
        Command::Program(words) => ("program", words.clone()),
    };
    let skill = request.skill.as_ref();
    let skill = skill.map(|skill| skill.full_name.to_string());
    let input = match &request.input {
        Input::Bytes(bytes) => Some(Digest::of(bytes).to_string()),
        Input::Nothing | Input::Reader(_) => None,
    };
    let all = serde_json::json!([skill, request.folder(), kind, words, input]);
    let what = shown(&words.join(" "));
    Proposal {
        action: RUN_COMMAND,
        is_whole: !what.ends_with(CUT),
        what,
        reason,
        digest: Digest::of(all.to_string().as_bytes()),
    }
}
