//! `gongfu env list|build|prune`: the environments of packages that scripts of skills need.

use std::fmt::Write as _;

use gongfu_core::account::{Actor, Role};
use gongfu_core::dependency::Record;
use gongfu_core::port::Kept;
use gongfu_hub::surface::Operation;
use gongfu_hub::surface::environment::{
    Built, EnvironmentBuild, EnvironmentList, EnvironmentPrune, Listed,
};
use serde_json::{Value, json};

use super::{Outcome, skill};
use crate::cli::{EnvCommand, Places};
use crate::environment::Environment;
use crate::signal::Signals;
use crate::terminal::{Paint, Terminal, plain};
use crate::wiring::{self, Parts};

/// How much of a key people are shown.
const KEY: usize = 12;
/// How many packages a line names.
const NAMED: usize = 12;
/// What a command ends with that a person interrupted.
const INTERRUPTED: u8 = 130;

pub(crate) fn run(
    command: EnvCommand,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    match command {
        EnvCommand::List {
            places,
            verify,
            json,
        } => list(&places, verify, json, environment, terminal),
        EnvCommand::Build {
            skill,
            inferred,
            places,
            json,
        } => build(skill, inferred, &places, json, environment, terminal),
        EnvCommand::Prune {
            days,
            all,
            places,
            json,
        } => {
            let days = if all { 0 } else { days };
            prune(days, &places, json, environment, terminal)
        }
    }
}

/// Has an operation be done; where it isn't, that was told, and this is how the command ends.
fn done<O: Operation>(
    operation: O,
    parts: &Parts,
    json: bool,
    terminal: &mut Terminal,
) -> anyhow::Result<Result<O::Output, Outcome>> {
    let actor = Actor::local(Role::Developer, "cli");
    let runtime = wiring::runtime()?;
    let outcome = runtime.block_on(async {
        let mut signals = Signals::listen();
        tokio::select! {
            outcome = parts.catalog.operate(operation, &actor) => Some(outcome),
            () = signals.next() => None,
        }
    });
    drop(runtime);
    parts.sandbox.end();
    Ok(match outcome {
        Some(Ok(answer)) => Ok(answer),
        Some(Err(error)) => {
            skill::tell(&error, json, terminal)?;
            Err(Outcome::Findings)
        }
        None => Err(Outcome::Code(INTERRUPTED)),
    })
}

fn list(
    places: &Places,
    verify: bool,
    json: bool,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let parts = wiring::parts(environment, places)?;
    let listed = match done(EnvironmentList { verify }, &parts, json, terminal)? {
        Ok(listed) => listed,
        Err(outcome) => return Ok(outcome),
    };
    let is_wrong = |one: &Listed| one.changed == Some(true) || one.kept.known.is_err();
    let wrong = listed.iter().any(is_wrong);
    if json {
        let shown = listed.iter().map(|one| {
            let mut shown = of_kept(&one.kept);
            if let (Some(changed), Value::Object(shown)) = (one.changed, &mut shown) {
                shown.insert("changed".to_owned(), changed.into());
            }
            shown
        });
        terminal.json(&shown.collect::<Vec<_>>())?;
    } else {
        for one in &listed {
            line(&one.kept, terminal)?;
            if one.changed == Some(true) {
                terminal.line("  its files aren't as they were made: remove it by gongfu env prune --all, it is made again")?;
            }
        }
        if listed.is_empty() {
            terminal.note("no environment was made yet");
        }
    }
    Ok(if wrong {
        Outcome::Findings
    } else {
        Outcome::Good
    })
}

fn of_kept(kept: &Kept) -> Value {
    match &kept.known {
        Ok((record, used)) => {
            let mut shown = of_record(record);
            if let Value::Object(shown) = &mut shown {
                shown.insert("used".to_owned(), used.to_seconds().into());
                shown.insert("folder".to_owned(), kept.folder.to_string_lossy().into());
            }
            shown
        }
        Err(why) => json!({ "key": kept.key, "error": why }),
    }
}

fn of_record(record: &Record) -> Value {
    serde_json::to_value(record).unwrap_or_default()
}

fn line(kept: &Kept, terminal: &mut Terminal) -> anyhow::Result<()> {
    let key: String = kept.key.chars().take(KEY).collect();
    let key = terminal.paint(Paint::Bold, &key);
    match &kept.known {
        Err(why) => terminal.line(&format!(
            "{key}  can't be used: {}; gongfu env prune removes it",
            plain(why)
        )),
        Ok((record, used)) => {
            let size = format!("{} MiB", record.bytes >> 20);
            let about = format!(
                "{}  {}  {}  {size}, used {}",
                record.language.title(),
                plain(&record.skill),
                plain(&from(record)),
                used.to_seconds()
            );
            terminal.line(&format!("{key}  {about}"))?;
            let packages = packages(record);
            terminal.line(&format!(
                "  {}",
                terminal.paint(Paint::Dim, &plain(&packages))
            ))
        }
    }?;
    Ok(())
}

fn from(record: &Record) -> String {
    if record.inferred {
        "what its scripts import".to_owned()
    } else {
        record.from.join(", ")
    }
}

fn packages(record: &Record) -> String {
    let named = record.packages.iter().take(NAMED);
    let named: Vec<String> = named
        .map(|one| format!("{} {}", one.name, one.version))
        .collect();
    let mut shown = if named.is_empty() {
        "no packages".to_owned()
    } else {
        named.join(", ")
    };
    let more = record.packages.len().saturating_sub(NAMED);
    if more > 0 {
        let _ = write!(shown, " … and {more} more");
    }
    shown
}

fn build(
    name: String,
    inferred: bool,
    places: &Places,
    json: bool,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let parts = wiring::parts(environment, places)?;
    parts.warn();
    let operation = EnvironmentBuild {
        skill: name,
        inferred,
        listener: Some(super::run::streaming()),
    };
    let built = match done(operation, &parts, json, terminal)? {
        Ok(built) => built,
        Err(outcome) => return Ok(outcome),
    };
    if json {
        let shown = built.iter().map(|one| match one {
            Built::Environment(record, is_new) => {
                json!({ "environment": of_record(record), "new": is_new })
            }
            Built::Proposed {
                language,
                packages,
                imported,
            } => json!({
                "proposed": packages,
                "language": language,
                "modules": imported.modules,
                "unread": imported.unread,
            }),
        });
        terminal.json(&shown.collect::<Vec<_>>())?;
        return Ok(Outcome::Good);
    }
    for one in &built {
        match one {
            Built::Environment(record, is_new) => {
                let key: String = record.key.chars().take(KEY).collect();
                let what = if *is_new { "made" } else { "there already" };
                terminal.line(&format!(
                    "{}  {}  {} ({what})",
                    terminal.paint(Paint::Bold, &key),
                    record.language.title(),
                    plain(&from(record))
                ))?;
                terminal.line(&format!("  {}", plain(&packages(record))))?;
                for left_out in &record.left_out {
                    terminal.line(&format!("  left out: {}", plain(left_out)))?;
                }
            }
            Built::Proposed { packages, .. } => {
                terminal.line(&format!(
                    "nothing says what it needs; its scripts import what these packages have: {}",
                    plain(&packages.join(", "))
                ))?;
                terminal.line("install them by the same command with --inferred, or write them into its requirements.txt or package.json")?;
            }
        }
    }
    if built.is_empty() {
        terminal.note("it needs no packages: it names none, and imports none");
    }
    Ok(Outcome::Good)
}

fn prune(
    days: u32,
    places: &Places,
    json: bool,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let parts = wiring::parts(environment, places)?;
    let pruned = match done(EnvironmentPrune { days }, &parts, json, terminal)? {
        Ok(pruned) => pruned,
        Err(outcome) => return Ok(outcome),
    };
    if json {
        let removed: Vec<&str> = pruned
            .removed
            .iter()
            .map(|kept| kept.key.as_str())
            .collect();
        terminal
            .json(&json!({ "removed": removed, "used": pruned.used, "recent": pruned.recent }))?;
        return Ok(Outcome::Good);
    }
    let known = pruned
        .removed
        .iter()
        .filter_map(|kept| kept.known.as_ref().ok());
    let bytes: u64 = known.map(|(record, _)| record.bytes).sum();
    terminal.line(&format!(
        "removed {} environments, {} MiB",
        pruned.removed.len(),
        bytes >> 20
    ))?;
    for (count, why) in [
        (pruned.used, "are used right now"),
        (pruned.recent, "were used since"),
    ] {
        if count > 0 {
            terminal.line(&format!("{count} stay: they {why}"))?;
        }
    }
    Ok(Outcome::Good)
}
