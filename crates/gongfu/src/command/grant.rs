//! `gongfu grant list|add|remove`: which hosts the scripts of a skill may reach.

use std::sync::Arc;

use gongfu_core::library::Skill;
use gongfu_hub::Problem;
use gongfu_store::grants::LocalGrants;
use serde_json::json;

use super::{Outcome, skill};
use crate::cli::{GrantArguments, GrantCommand, Places};
use crate::environment::Environment;
use crate::terminal::{Paint, Terminal, plain};
use crate::wiring;

pub(crate) fn run(
    command: &GrantCommand,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    match command {
        GrantCommand::List { json, places } => list(places, *json, environment, terminal),
        GrantCommand::Add { of, private } => {
            let Some((grants, skill)) = found(of, environment, terminal)? else {
                return Ok(Outcome::Findings);
            };
            let mut changed = false;
            for host in &of.hosts {
                changed |= grants.add(&skill, host.clone(), *private)?;
            }
            told(
                &skill,
                of,
                changed,
                "may now reach",
                "could already reach",
                terminal,
            )
        }
        GrantCommand::Remove { of } => {
            if forgotten(of, environment)? {
                let name = plain(&of.skill);
                terminal.line(&format!("{name} can no longer reach {}", hosts(of)))?;
                return Ok(Outcome::Good);
            }
            let Some((grants, skill)) = found(of, environment, terminal)? else {
                return Ok(Outcome::Findings);
            };
            let mut changed = false;
            for host in &of.hosts {
                changed |= grants.remove(&skill, host)?;
            }
            told(
                &skill,
                of,
                changed,
                "can no longer reach",
                "could not reach",
                terminal,
            )
        }
    }
}

/// The grants, and the skill that is meant; `None` where there is none, which was told.
fn found(
    of: &GrantArguments,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Option<(LocalGrants, Arc<Skill>)>> {
    let parts = wiring::parts(environment, &of.places)?;
    let library = skill::library(&parts)?;
    match library.resolve(&of.skill) {
        Ok(skill) => {
            let grants = LocalGrants::new(wiring::home(environment)?, Arc::clone(&parts.skills));
            Ok(Some((grants, Arc::clone(skill))))
        }
        Err(why) => {
            let error = Problem::unresolved(&of.skill, why).error();
            skill::tell(&error, false, terminal)?;
            Ok(None)
        }
    }
}

/// Takes away what was granted to a skill that was called so, or lay there; answers whether there was
/// anything. It needn't be there any more.
fn forgotten(of: &GrantArguments, environment: &Environment) -> anyhow::Result<bool> {
    let parts = wiring::parts(environment, &of.places)?;
    let grants = LocalGrants::new(wiring::home(environment)?, Arc::clone(&parts.skills));
    let mut is_any = false;
    for host in &of.hosts {
        is_any |= grants.forget(&of.skill, host)?;
    }
    Ok(is_any)
}

fn hosts(of: &GrantArguments) -> String {
    let hosts: Vec<String> = of.hosts.iter().map(ToString::to_string).collect();
    hosts.join(", ")
}

fn told(
    skill: &Skill,
    of: &GrantArguments,
    changed: bool,
    done: &str,
    already: &str,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let what = if changed { done } else { already };
    let name = plain(&skill.full_name);
    terminal.line(&format!("{name} {what} {}", hosts(of)))?;
    Ok(Outcome::Good)
}

fn list(
    places: &Places,
    json: bool,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let parts = wiring::parts(environment, places)?;
    let grants = LocalGrants::new(wiring::home(environment)?, Arc::clone(&parts.skills)).all()?;
    if json {
        let shown = grants.all.iter().map(|grant| {
            json!({
                "skill": grant.skill,
                "folder": grant.folder,
                "host": grant.host,
                "private": grant.private,
            })
        });
        terminal.json(&shown.collect::<Vec<_>>())?;
        return Ok(Outcome::Good);
    }
    for grant in &grants.all {
        let name = terminal.paint(Paint::Bold, &plain(&grant.skill));
        let kind = if grant.private {
            ", on this network"
        } else {
            ""
        };
        let folder = terminal.paint(Paint::Dim, &plain(&grant.folder));
        terminal.line(&format!("{name}  {}{kind}  {folder}", grant.host))?;
    }
    if grants.all.is_empty() {
        terminal.note("no skill may reach any host");
    }
    Ok(Outcome::Good)
}
