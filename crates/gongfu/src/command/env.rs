//! `gongfu env list|build|prune`: the environments of packages that scripts of skills need.

use gongfu_core::dependency::{Guess, Record};
use gongfu_core::port::InstalledEnvironment;
use gongfu_hub::surface::environment::{
    BuildReport, EnvironmentBuild, EnvironmentList, EnvironmentPrune,
};
use serde_json::{Value, json};

use super::Outcome;
use super::operate::{operate, operate_with};
use crate::cli::{Common, EnvCommand, Places};
use crate::environment::Environment;
use crate::terminal::{Paint, Terminal, plain};
use crate::{table, wiring};

/// The length of a key for people.
const SHORT_KEY: usize = 12;
/// The limit of packages in a line.
const MAX_SHOWN: usize = 12;

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
        } => list(verify, &places, json, environment, terminal),
        EnvCommand::Build {
            skill,
            inferred,
            allow,
            common,
        } => {
            let operation = EnvironmentBuild {
                skill,
                inferred,
                allow,
            };
            build(operation, &common, environment, terminal)
        }
        EnvCommand::Prune { days, all, common } => {
            let days = if all { 0 } else { days };
            prune(days, &common, environment, terminal)
        }
    }
}

fn list(
    verify: bool,
    places: &Places,
    json: bool,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let parts = wiring::parts(environment, places)?;
    let list = operate(EnvironmentList { verify }, &parts, json, terminal)?;
    let is_fine = list
        .iter()
        .all(|status| status.environment.record.is_ok() && status.is_changed != Some(true));
    let outcome = Outcome::of(is_fine);
    if json {
        let shown = list.iter().map(|status| {
            let mut shown = shown(&status.environment);
            if let Some(is_changed) = status.is_changed {
                shown["changed"] = is_changed.into();
            }
            shown
        });
        terminal.json(&shown.collect::<Vec<_>>())?;
        return Ok(outcome);
    }
    for status in &list {
        print(&status.environment, terminal)?;
        if status.is_changed == Some(true) {
            terminal.line("  its files have changed: remove it with `gongfu env prune --all` and build it again")?;
        }
    }
    if list.is_empty() {
        terminal.note("no environments yet");
    }
    Ok(outcome)
}

/// An environment as JSON.
fn shown(environment: &InstalledEnvironment) -> Value {
    match &environment.record {
        Ok((record, used)) => {
            let mut shown = json!(record);
            shown["used"] = used.to_seconds().into();
            shown["folder"] = environment.folder.to_string_lossy().into();
            shown
        }
        Err(why) => json!({ "key": environment.key, "error": why }),
    }
}

fn print(environment: &InstalledEnvironment, terminal: &mut Terminal) -> anyhow::Result<()> {
    let key = short(&environment.key, terminal);
    match &environment.record {
        Err(why) => terminal.line(&format!(
            "{key}  unusable: {}; remove it with `gongfu env prune`",
            plain(why)
        ))?,
        Ok((record, used)) => {
            terminal.line(&format!(
                "{key}  {}  {}  {}  {} MiB, used {}",
                record.language.title(),
                plain(&record.skill),
                plain(&origin(record)),
                record.bytes >> 20,
                used.to_seconds()
            ))?;
            let packages = terminal.paint(Paint::Dim, &plain(&packages(record)));
            terminal.line(&format!("  {packages}"))?;
        }
    }
    Ok(())
}

fn short(key: &str, terminal: &Terminal) -> String {
    let key: String = key.chars().take(SHORT_KEY).collect();
    terminal.paint(Paint::Bold, &key)
}

fn origin(record: &Record) -> String {
    if record.inferred {
        "imports of its scripts".to_owned()
    } else {
        record.from.join(", ")
    }
}

fn packages(record: &Record) -> String {
    let names = record.packages.iter().take(MAX_SHOWN);
    let names: Vec<String> = names
        .map(|package| format!("{} {}", package.name, package.version))
        .collect();
    match record.packages.len().checked_sub(MAX_SHOWN) {
        _ if names.is_empty() => "no packages".to_owned(),
        None | Some(0) => names.join(", "),
        Some(more) => format!("{} … and {more} more", names.join(", ")),
    }
}

fn build(
    operation: EnvironmentBuild,
    common: &Common,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let parts = wiring::parts(environment, &common.places)?;
    parts.warn();
    let events = super::run::streaming();
    let reports = operate_with(operation, events, &parts, common.json, terminal)?;
    let is_proposal = |report: &BuildReport| matches!(report, BuildReport::Proposal { .. });
    let outcome = Outcome::of(!reports.iter().any(is_proposal));
    if common.json {
        let shown = reports.iter().map(|report| match report {
            BuildReport::Environment { record, is_new } => {
                json!({ "environment": record, "new": is_new })
            }
            BuildReport::Proposal {
                language,
                packages,
                imports,
            } => json!({
                "proposed": names(packages, |_| true),
                "unknown": names(packages, |guess| !guess.is_known),
                "language": language,
                "modules": imports.modules,
                "unread": imports.unread,
            }),
        });
        terminal.json(&shown.collect::<Vec<_>>())?;
        return Ok(outcome);
    }
    for report in &reports {
        match report {
            BuildReport::Environment { record, is_new } => {
                let state = if *is_new {
                    "installed"
                } else {
                    "already installed"
                };
                let key = short(&record.key, terminal);
                let (language, origin) = (record.language.title(), plain(&origin(record)));
                terminal.line(&format!("{key}  {language}  {origin} ({state})"))?;
                terminal.line(&format!("  {}", plain(&packages(record))))?;
                for import in &record.left_out {
                    // It is said to agents, too.
                    terminal.line(&format!(
                        "  not installed: {}",
                        plain(&import.replace("a person can ", ""))
                    ))?;
                }
            }
            BuildReport::Proposal { packages, .. } => {
                let shown = plain(&names(packages, |_| true).join(", "));
                terminal.line(&format!(
                    "nothing was installed: the skill declares no packages, but its scripts import {shown}"
                ))?;
                let unknown = names(packages, |guess| !guess.is_known);
                let mut options = "--inferred".to_owned();
                if !unknown.is_empty() {
                    let shown = plain(&unknown.join(", "));
                    terminal.line(&format!(
                        "unknown to gongfu: {shown}; anyone can publish a package under an import's name, so check it before you allow it"
                    ))?;
                    options.extend(
                        unknown
                            .iter()
                            .map(|name| format!(" --allow {}", plain(name))),
                    );
                }
                terminal.line(&format!("to install them, run this command again with {options}, or declare them in requirements.txt or package.json"))?;
            }
        }
    }
    if reports.is_empty() {
        terminal.note(
            "nothing to install: the skill declares no packages, and its scripts import none",
        );
    }
    Ok(outcome)
}

/// The names of packages.
fn names(guesses: &[Guess], is_shown: impl Fn(&&Guess) -> bool) -> Vec<&str> {
    let shown = guesses.iter().filter(is_shown);
    shown.map(|guess| guess.package.as_str()).collect()
}

fn prune(
    days: u32,
    common: &Common,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let parts = wiring::parts(environment, &common.places)?;
    let report = operate(EnvironmentPrune { days }, &parts, common.json, terminal)?;
    let (in_use, recent) = (report.in_use, report.recent);
    if common.json {
        let removed = report.removed.iter().map(|environment| &environment.key);
        let removed: Vec<&String> = removed.collect();
        terminal.json(&json!({ "removed": removed, "used": in_use, "recent": recent }))?;
        return Ok(Outcome::Good);
    }
    let records = report
        .removed
        .iter()
        .flat_map(|environment| &environment.record);
    let bytes: u64 = records.map(|(record, _)| record.bytes).sum();
    let (count, size) = (report.removed.len(), bytes >> 20);
    let count = table::count(count, "environment");
    terminal.line(&format!("removed {count}, {size} MiB"))?;
    for (count, why) in [(in_use, "in use"), (recent, "used recently")] {
        if count > 0 {
            terminal.line(&format!("kept {count} {why}"))?;
        }
    }
    Ok(Outcome::Good)
}
