//! `gongfu grant list|add|remove`: which hosts the scripts of a skill may reach.

use gongfu_hub::surface::Operation;
use gongfu_hub::surface::grant::{GrantAdd, GrantChange, GrantList, GrantRemove, ListedGrant};
use serde_json::json;

use super::Outcome;
use super::operate::operate;
use crate::cli::{GrantArguments, GrantCommand};
use crate::environment::Environment;
use crate::terminal::{Paint, Terminal, plain};
use crate::wiring;

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
            change(add, of, words, environment, terminal)
        }
        GrantCommand::Remove { of } => {
            let remove = GrantRemove {
                skill: of.skill.clone(),
                hosts: of.hosts.clone(),
            };
            let words = ["can no longer reach", "had no grant for"];
            change(remove, of, words, environment, terminal)
        }
    }
}

/// Changes grants, and says what changed.
fn change<O: Operation<Output = GrantChange>>(
    operation: O,
    of: &GrantArguments,
    [changed, unchanged]: [&str; 2],
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let parts = wiring::parts(environment, &of.places)?;
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

fn list(all: &[ListedGrant], json: bool, terminal: &mut Terminal) -> anyhow::Result<Outcome> {
    if json {
        let shown = all.iter().map(|ListedGrant { grant, difference }| {
            json!({
                "skill": grant.skill,
                "folder": grant.folder,
                "host": grant.host,
                "private": grant.private,
                "difference": difference,
            })
        });
        terminal.json(&shown.collect::<Vec<_>>())?;
        return Ok(Outcome::Good);
    }
    for ListedGrant { grant, difference } in all {
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
