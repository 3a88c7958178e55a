//! `gongfu approve list|ask|allow|deny|revoke`: calls that wait for a person, and the person's answers.

use std::io;

use gongfu_core::approval::{Answer, AnswerTarget, Approval, Approvals, Scope};
use gongfu_core::port::Timestamp;
use gongfu_hub::surface::approval::{ApprovalAnswer, ApprovalList, ApprovalRevoke, Reply};
use serde::Serialize;

use super::Outcome;
use super::operate::operate;
use crate::cli::{AllowedScope, ApproveCommand, Places};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::terminal::{Paint, Terminal, plain};
use crate::wiring::{self, Parts};

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
    any_arguments: bool,
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
            any_arguments: approval.is_for_any,
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
    let (id, answered, json) = match command {
        ApproveCommand::List { json } => {
            let all = operate(ApprovalList {}, &parts, *json, terminal)?;
            return list(&all, *json, terminal);
        }
        ApproveCommand::Ask {} => return ask(&parts, terminal),
        ApproveCommand::Allow {
            id,
            scope,
            always,
            any_arguments,
            expires,
            json,
        } => {
            let reply = match scope {
                AllowedScope::Once if !always => Reply::Once,
                AllowedScope::Session => Reply::Session,
                AllowedScope::Once | AllowedScope::Always => Reply::Always,
            };
            let answer = answer(id, reply, *any_arguments, *expires);
            (id, operate(answer, &parts, *json, terminal)?, *json)
        }
        ApproveCommand::Deny { id, expires, json } => {
            let answer = answer(id, Reply::Never, false, *expires);
            (id, operate(answer, &parts, *json, terminal)?, *json)
        }
        ApproveCommand::Revoke { id, json } => {
            let revoke = ApprovalRevoke {
                approval: id.clone(),
            };
            (id, operate(revoke, &parts, *json, terminal)?, *json)
        }
    };
    let Some(approval) = answered else {
        let message = format!("there is no approval `{}`", plain(id));
        let hint = "pass the ID of a call that waits: `gongfu approve list` shows them; one that was used or has expired is gone";
        return Err(Failure::new("APPROVAL_UNKNOWN", message, hint).into());
    };
    if json {
        terminal.json(&ApprovalJson::from(&approval))?;
        return Ok(Outcome::Good);
    }
    let said = match command {
        ApproveCommand::Revoke { .. } => "revoked".to_owned(),
        _ => said(&approval),
    };
    terminal.line(&format!("{said}  {}", plain(&approval.what)))?;
    Ok(Outcome::Good)
}

fn answer(id: &str, reply: Reply, any_arguments: bool, hours: Option<u32>) -> ApprovalAnswer {
    ApprovalAnswer {
        approval: id.to_owned(),
        target: AnswerTarget::Any,
        reply,
        any_arguments,
        hours,
    }
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
        show(approval, &approvals, terminal)?;
    }
    if all.is_empty() {
        terminal.note("no pending approvals, no saved decisions");
    }
    Ok(Outcome::Good)
}

/// Asks about each call that waits; a person who answers nothing leaves it.
fn ask(parts: &Parts, terminal: &mut Terminal) -> anyhow::Result<Outcome> {
    let mut all = operate(ApprovalList {}, parts, false, terminal)?;
    all.retain(|approval| approval.answer == Answer::Waiting);
    let approvals = Approvals {
        all,
        ..Approvals::default()
    };
    for approval in &approvals.all {
        show(approval, &approvals, terminal)?;
        let question = "o: allow once, s: for its session, a: always, d: deny, Enter: skip > ";
        let reply = match &*terminal.prompt(question)? {
            "o" | "once" => Reply::Once,
            "s" | "session" => Reply::Session,
            "a" | "always" => Reply::Always,
            "d" | "deny" => Reply::Never,
            _ => continue,
        };
        let is_for_any = reply != Reply::Never
            && approval.any.is_some()
            && terminal.ask("with any arguments?")?;
        let answer = answer(&approval.id, reply, is_for_any, None);
        if let Some(approval) = operate(answer, parts, false, terminal)? {
            terminal.line(&said(&approval))?;
        }
    }
    if approvals.all.is_empty() {
        terminal.note("no pending approvals");
    }
    Ok(Outcome::Good)
}

/// Prints a call that waits, or an answer.
fn show(approval: &Approval, approvals: &Approvals, terminal: &mut Terminal) -> io::Result<()> {
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
    Ok(())
}

/// The person's answer in a few words.
fn said(approval: &Approval) -> String {
    let said = match approval.answer {
        Answer::Waiting => {
            return format!("pending since {}", Timestamp(approval.asked).to_seconds());
        }
        Answer::Allowed(Scope::Once) => "allowed once",
        Answer::Allowed(Scope::Session) => "allowed for its session",
        Answer::Allowed(Scope::Always) => "allowed always",
        Answer::Denied => "denied",
    };
    let any = if approval.is_for_any {
        ", with any arguments"
    } else {
        ""
    };
    match approval.until {
        Some(until) => format!("{said}{any}, until {}", Timestamp(until).to_seconds()),
        None => format!("{said}{any}"),
    }
}
