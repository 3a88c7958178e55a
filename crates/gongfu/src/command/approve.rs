//! `gongfu approve list|allow|deny`: what waits for a person, and what the person says.

use gongfu_core::account::Owner;
use gongfu_core::approval::{Approval, Ruling, Scope};
use gongfu_core::port::{ApprovalStore as _, Clock as _, Timestamp};
use gongfu_store::approvals::LocalApprovals;
use serde::Serialize;

use super::Outcome;
use crate::cli::ApproveCommand;
use crate::clock::SystemClock;
use crate::environment::Environment;
use crate::terminal::{Paint, Terminal, plain};
use crate::wiring;

/// Milliseconds of an hour.
const HOUR: i64 = 60 * 60 * 1000;

/// An approval as programs are shown it.
#[derive(Serialize)]
struct Shown<'a> {
    id: &'a str,
    tool: &'a str,
    what: &'a str,
    reason: &'a str,
    asked: Timestamp,
    ruling: Ruling,
    until: Option<Timestamp>,
}

impl<'a> From<&'a Approval> for Shown<'a> {
    fn from(approval: &'a Approval) -> Self {
        Self {
            id: &approval.id,
            tool: &approval.tool,
            what: &approval.what,
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
    let approvals = LocalApprovals::new(wiring::home(environment)?);
    let runtime = wiring::runtime()?;
    let now = SystemClock.now();
    let until = |hours: Option<u32>| hours.map(|hours| Timestamp(now.0 + i64::from(hours) * HOUR));
    let (id, ruling, until) = match command {
        ApproveCommand::List { json } => {
            let all = runtime.block_on(approvals.list(&Owner::Local, now))?;
            return list(&all, *json, terminal);
        }
        ApproveCommand::Allow { id, always, hours } => {
            let scope = if *always { Scope::Always } else { Scope::Once };
            (id, Ruling::Allowed(scope), until(*hours))
        }
        ApproveCommand::Deny { id, hours } => (id, Ruling::Denied, until(*hours)),
    };
    let answered = approvals.answer(&Owner::Local, id, ruling, until, now);
    let Some(approval) = runtime.block_on(answered)? else {
        anyhow::bail!(
            "APPROVAL_UNKNOWN: nothing that waits or was answered is called `{}`; see what there is by gongfu approve list",
            plain(id)
        );
    };
    terminal.line(&format!("{}  {}", said(&approval), plain(&approval.what)))?;
    Ok(Outcome::Good)
}

fn list(all: &[Approval], json: bool, terminal: &mut Terminal) -> anyhow::Result<Outcome> {
    if json {
        let shown: Vec<Shown<'_>> = all.iter().map(Shown::from).collect();
        terminal.json(&shown)?;
        return Ok(Outcome::Good);
    }
    for approval in all {
        let id = terminal.paint(Paint::Bold, &approval.id);
        let about = format!("{}, {}", plain(&approval.tool), said(approval));
        let about = terminal.paint(Paint::Dim, &about);
        terminal.line(&format!("{id}  {}  {about}", plain(&approval.what)))?;
        terminal.line(&format!("          {}", plain(&approval.reason)))?;
    }
    if all.is_empty() {
        terminal.note("nothing waits for a person, and nothing was answered that still holds");
    }
    Ok(Outcome::Good)
}

/// What a person said, in a few words.
fn said(approval: &Approval) -> String {
    let said = match approval.answer {
        Ruling::Waiting => {
            return format!("waits since {}", Timestamp(approval.asked).to_seconds());
        }
        Ruling::Allowed(Scope::Once) => "allowed once",
        Ruling::Allowed(Scope::Always) => "allowed always",
        Ruling::Denied => "denied",
    };
    match approval.until {
        Some(until) => format!("{said}, until {}", Timestamp(until).to_seconds()),
        None => said.to_owned(),
    }
}
