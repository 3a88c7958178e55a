//! `gongfu changes list|show|apply|drop`: changes of runs that wait for a person.

use gongfu_core::change::{ApplyReport, Change, ChangeSet};
use gongfu_core::port::Timestamp;
use gongfu_hub::surface::change::{ChangeApply, ChangeDrop, ChangeList, ChangeShow};
use serde_json::json;

use super::Outcome;
use super::operate::operate;
use crate::cli::{ChangesCommand, Places};
use crate::environment::Environment;
use crate::terminal::{Paint, Terminal, plain};
use crate::wiring;

/// The most changes of a set that a list names.
const NAMED: usize = 5;

pub(crate) fn run(
    command: ChangesCommand,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let parts = wiring::parts(environment, &Places::default())?;
    match command {
        ChangesCommand::List { json } => {
            let sets = operate(ChangeList {}, &parts, json, terminal)?;
            list(&sets, json, terminal)
        }
        ChangesCommand::Show { id, json } => {
            let shown = operate(ChangeShow { id }, &parts, json, terminal)?;
            if json {
                terminal.json(&json!({ "set": shown.set, "diffs": shown.diffs }))?;
                return Ok(Outcome::Good);
            }
            head(&shown.set, terminal)?;
            terminal.text(&shown.text())?;
            let id = &shown.set.id;
            terminal.note(&format!(
                "to apply: gongfu changes apply {id}; to discard: gongfu changes drop {id}"
            ));
            Ok(Outcome::Good)
        }
        ChangesCommand::Apply { id, json } => {
            let applied = operate(ChangeApply { id }, &parts, json, terminal)?;
            told(&applied, json, terminal)
        }
        ChangesCommand::Drop { id, json } => {
            operate(ChangeDrop { id: id.clone() }, &parts, json, terminal)?;
            if json {
                terminal.json(&json!({ "dropped": id }))?;
            } else {
                terminal.line(&format!("discarded {}", plain(&id)))?;
            }
            Ok(Outcome::Good)
        }
    }
}

/// Writes the line about a set.
fn head(set: &ChangeSet, terminal: &mut Terminal) -> anyhow::Result<()> {
    let id = terminal.paint(Paint::Bold, &plain(&set.id));
    let made =
        i64::try_from(set.made).map_or_else(|_| String::new(), |made| Timestamp(made).to_seconds());
    let about = format!("{made}, by {}", plain(&set.about));
    terminal.line(&format!("{id}  {}", terminal.paint(Paint::Dim, &about)))?;
    Ok(())
}

fn list(sets: &[ChangeSet], json: bool, terminal: &mut Terminal) -> anyhow::Result<Outcome> {
    if json {
        terminal.json(&sets)?;
        return Ok(Outcome::Good);
    }
    for set in sets {
        head(set, terminal)?;
        for change in set.changes.iter().take(NAMED) {
            let line = format!("  {}: {}", plain(&change.host), plain(&change.why));
            terminal.line(&line)?;
        }
        let more = set.changes.len().saturating_sub(NAMED);
        if more > 0 {
            terminal.line(&format!("  … and {more} more"))?;
        }
    }
    if sets.is_empty() {
        terminal.note("no pending changes");
    }
    Ok(Outcome::Good)
}

/// Reports what was applied; exit 1 if some of it couldn't be.
fn told(applied: &ApplyReport, json: bool, terminal: &mut Terminal) -> anyhow::Result<Outcome> {
    let outcome = if applied.is_partial {
        Outcome::Findings
    } else {
        Outcome::Good
    };
    if json {
        let artifacts = &applied.artifacts;
        terminal.json(&json!({
            "artifacts": artifacts,
            "total": applied.total,
            "partial": applied.is_partial,
        }))?;
        return Ok(outcome);
    }
    for artifact in &applied.artifacts {
        let what = match &artifact.change {
            Change::Written(bytes) => format!("written, {bytes} bytes"),
            Change::Linked => "linked".to_owned(),
            Change::Removed => "removed".to_owned(),
            Change::Held(why) => why.clone(),
            Change::Refused(why) => format!("not applied: {why}"),
            Change::Conflict(Some(beside)) => {
                format!("changed since the run, so it was kept; the run's version is in {beside}")
            }
            Change::Conflict(None) => "changed since the run, so it wasn't removed".to_owned(),
        };
        terminal.line(&format!("{}: {}", plain(&artifact.path), plain(&what)))?;
    }
    if applied.is_partial {
        terminal.note("what wasn't applied is still pending");
    }
    Ok(outcome)
}
