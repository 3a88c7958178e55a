//! `gongfu grant list|add|remove`: which hosts the scripts of a skill may reach.

use gongfu_core::network::Rule;
use gongfu_hub::surface::Operation;
use gongfu_hub::surface::grant::{GrantAdd, GrantChange, GrantList, GrantRemove, ListedGrant};
use serde_json::json;

use super::Outcome;
use super::operate::operate;
use crate::cli::{GrantArguments, GrantCommand, command_line, quoted};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::terminal::{Paint, Terminal, plain};
use crate::wiring::{self, Parts};

pub(crate) fn run(
    command: &GrantCommand,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    match command {
        GrantCommand::List { common } => {
            let parts = wiring::parts(environment, &common.places)?;
            let grants = operate(GrantList {}, &parts, common.json, terminal)?;
            list(&grants, common.json, terminal)
        }
        GrantCommand::Add { of, private } => {
            let add = GrantAdd {
                skill: of.skill.clone(),
                hosts: of.hosts.clone(),
                private: *private,
            };
            let words = ["can now reach", "could already reach"];
            change(add, of, "add", words, environment, terminal)
        }
        GrantCommand::Remove { of } => {
            let remove = GrantRemove {
                skill: of.skill.clone(),
                hosts: of.hosts.clone(),
            };
            let words = ["can no longer reach", "had no grant for"];
            change(remove, of, "remove", words, environment, terminal)
        }
    }
}

/// Changes grants, and says what changed.
fn change<O: Operation<Output = GrantChange>>(
    operation: O,
    of: &GrantArguments,
    verb: &str,
    [changed, unchanged]: [&str; 2],
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let parts = wiring::parts(environment, &of.places)?;
    check_order(of, verb, &parts)?;
    let change = operate(operation, &parts, of.json, terminal)?;
    let hosts: Vec<String> = of.hosts.iter().map(ToString::to_string).collect();
    let what = if change.is_changed {
        changed
    } else {
        unchanged
    };
    let skill = plain(&change.skill);
    if of.json {
        let (skill, changed) = (&*change.skill, change.is_changed);
        terminal.json(&json!({ "skill": skill, "hosts": hosts, "changed": changed }))?;
        return Ok(Outcome::Good);
    }
    terminal.line(&format!("{skill} {what} {}", hosts.join(", ")))?;
    Ok(Outcome::Good)
}

/// Checks that the skill comes before its hosts.
fn check_order(of: &GrantArguments, verb: &str, parts: &Parts) -> anyhow::Result<()> {
    let library = parts.library()?;
    // Of a URL, the host.
    let host = of
        .skill
        .split_once("://")
        .map_or(&*of.skill, |(_, rest)| rest);
    let host = host.split(['/', '?', '#']).next().unwrap_or_default();
    if !host.contains('.') || host.parse::<Rule>().is_err() || library.resolve(&of.skill).is_ok() {
        return Ok(());
    }
    let hosts: Vec<String> = of.hosts.iter().map(ToString::to_string).collect();
    let Some(at) = hosts.iter().position(|word| library.resolve(word).is_ok()) else {
        return Ok(());
    };
    let mut words = hosts;
    let skill = words.remove(at);
    words.insert(0, host.to_owned());
    let message = format!(
        "the skill comes first, and `{}` is a host",
        plain(&of.skill)
    );
    let hint = format!(
        "did you mean `gongfu grant {verb} {} {}`?",
        quoted(&skill),
        command_line(&words)
    );
    Err(Failure::usage("INVALID_SKILL_NAME", message, hint).into())
}

fn list(all: &[ListedGrant], json: bool, terminal: &mut Terminal) -> anyhow::Result<Outcome> {
    if json {
        let shown = all.iter().map(
            |ListedGrant {
                 grant, difference, ..
             }| {
                json!({
                    "skill": grant.skill,
                    "folder": grant.folder,
                    "host": grant.host,
                    "private": grant.private,
                    "difference": difference,
                })
            },
        );
        terminal.json(&shown.collect::<Vec<_>>())?;
        return Ok(Outcome::Good);
    }
    for ListedGrant {
        grant, difference, ..
    } in all
    {
        let name = terminal.paint(Paint::Bold, &plain(&grant.skill));
        let kind = if grant.private {
            ", also on this network"
        } else {
            ""
        };
        let folder = terminal.paint(Paint::Dim, &plain(&grant.folder));
        terminal.line(&format!("{name}  {}{kind}  {folder}", grant.host))?;
        if !difference.is_empty() {
            let difference = plain(&difference.join(", "));
            terminal.line(&format!(
                "  not in effect: the skill has changed since ({difference}); grant it again"
            ))?;
        }
    }
    if all.is_empty() {
        terminal.note("no grants: scripts can't reach any host");
    }
    Ok(Outcome::Good)
}
