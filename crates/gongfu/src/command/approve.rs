//! `gongfu approve list|allow|deny`: calls that wait for a person, and the person's answers.

use gongfu_core::approval::{Answer, AnswerTarget, Approval, Approvals, Scope};
use gongfu_core::port::Timestamp;
use gongfu_hub::surface::approval::{ApprovalAnswer, ApprovalList, Reply};
use serde::Serialize;

use super::Outcome;
use super::operate::operate;
use crate::cli::{ApproveCommand, Places};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::terminal::{Paint, Terminal, plain};
use crate::wiring;

/// An approval as JSON.
#[derive(Serialize)]
struct ApprovalJson<'a> {
    id: &'a str,
    tool: &'a str,
    what: &'a str,
    details: &'a [String],
    skill: Option<&'a str>,
    reason: &'a str,
    asked: Timestamp,
    ruling: Answer,
    until: Option<Timestamp>,
}

impl<'a> From<&'a Approval> for ApprovalJson<'a> {
    fn from(approval: &'a Approval) -> Self {
        Self {
            id: &approval.id,
            tool: &approval.tool,
            what: &approval.what,
            details: &approval.details,
            skill: approval.skill.as_ref().map(|skill| &*skill.name),
            reason: &approval.reason,
            asked: Timestamp(approval.asked),
            ruling: approval.answer,
            until: approval.until.map(Timestamp),
        }
    }
}

pub(crate) fn run(
    command: &ApproveCommand,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let parts = wiring::parts(environment, &Places::default())?;
    let (id, reply, hours, json) = match command {
        ApproveCommand::List { json } => {
            let all = operate(ApprovalList {}, &parts, *json, terminal)?;
            return list(&all, *json, terminal);
        }
        ApproveCommand::Allow {
            id,
            always,
            hours,
            json,
        } => {
            let reply = if *always { Reply::Always } else { Reply::Once };
            (id, reply, *hours, *json)
        }
        ApproveCommand::Deny { id, hours, json } => (id, Reply::Never, *hours, *json),
    };
    let answer = ApprovalAnswer {
        approval: id.clone(),
        target: AnswerTarget::Any,
        reply,
        hours,
    };
    let Some(approval) = operate(answer, &parts, json, terminal)? else {
        let message = format!("there is no approval `{}`", plain(id));
        let hint = "pass the ID of a call that waits: `gongfu approve list` shows them; one that was used or has expired is gone";
        return Err(Failure::new("APPROVAL_UNKNOWN", message, hint).into());
    };
    if json {
        terminal.json(&ApprovalJson::from(&approval))?;
        return Ok(Outcome::Good);
    }
    terminal.line(&format!("{}  {}", said(&approval), plain(&approval.what)))?;
    Ok(Outcome::Good)
}

fn list(all: &[Approval], json: bool, terminal: &mut Terminal) -> anyhow::Result<Outcome> {
    if json {
        let shown: Vec<ApprovalJson<'_>> = all.iter().map(ApprovalJson::from).collect();
        terminal.json(&shown)?;
        return Ok(Outcome::Good);
    }
    let approvals = Approvals {
        all: all.to_vec(),
        ..Approvals::default()
    };
    for approval in all {
        let id = terminal.paint(Paint::Bold, approvals.short_id(&approval.id));
        let about = format!("{}, {}", plain(&approval.tool), said(approval));
        let about = terminal.paint(Paint::Dim, &about);
        terminal.line(&format!("{id}  {about}"))?;
        // Each line of a command is visible as one.
        for line in approval.what.lines() {
            terminal.line(&format!("  $ {}", plain(line)))?;
        }
        for line in &approval.details {
            terminal.line(&format!("  {}", plain(line)))?;
        }
        terminal.line(&format!("  reason: {}", plain(&approval.reason)))?;
    }
    if all.is_empty() {
        terminal.note("no pending approvals, no saved decisions");
    }
    Ok(Outcome::Good)
}

/// The person's answer in a few words.
fn said(approval: &Approval) -> String {
    let said = match approval.answer {
        Answer::Waiting => {
            return format!("pending since {}", Timestamp(approval.asked).to_seconds());
        }
        Answer::Allowed(Scope::Once) => "allowed once",
        Answer::Allowed(Scope::Always) => "allowed always",
        Answer::Denied => "denied",
    };
    match approval.until {
        Some(until) => format!("{said}, until {}", Timestamp(until).to_seconds()),
        None => said.to_owned(),
    }
}
