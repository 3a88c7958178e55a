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
use crate::wiring::{self, Parts};

pub(crate) fn run(
    command: &GrantCommand,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    match command {
        GrantCommand::List { json, places } => {
            let (_, grants) = opened(places, environment)?;
            list(&grants, *json, terminal)
        }
        GrantCommand::Add { of, private } => add(of, *private, environment, terminal),
        GrantCommand::Remove { of } => remove(of, environment, terminal),
    }
}

/// The library and what was granted to its skills.
fn opened(places: &Places, environment: &Environment) -> anyhow::Result<(Parts, LocalGrants)> {
    let parts = wiring::parts(environment, places)?;
    let grants = LocalGrants::new(wiring::home(environment)?, Arc::clone(&parts.skills));
    Ok((parts, grants))
}

/// The skill that is meant; `None` where there is none, which was told.
fn found(
    of: &GrantArguments,
    parts: &Parts,
    terminal: &mut Terminal,
) -> anyhow::Result<Option<Arc<Skill>>> {
    let library = skill::library(parts)?;
    match library.resolve(&of.skill) {
        Ok(skill) => Ok(Some(Arc::clone(skill))),
        Err(why) => {
            let error = Problem::unresolved(&of.skill, why).error();
            skill::tell(&error, false, terminal)?;
            Ok(None)
        }
    }
}

fn add(
    of: &GrantArguments,
    private: bool,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let (parts, grants) = opened(&of.places, environment)?;
    let Some(skill) = found(of, &parts, terminal)? else {
        return Ok(Outcome::Findings);
    };
    let mut is_new = false;
    for host in &of.hosts {
        is_new |= grants.add(&skill, host.clone(), private)?;
    }
    let what = if is_new {
        "may now reach"
    } else {
        "could already reach"
    };
    told(&skill.full_name, what, of, terminal)
}

fn remove(
    of: &GrantArguments,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let (parts, grants) = opened(&of.places, environment)?;
    // A skill that was granted something needn't be there any more.
    let mut was_granted = false;
    for host in &of.hosts {
        was_granted |= grants.forget(&of.skill, host)?;
    }
    if was_granted {
        return told(&of.skill, "can no longer reach", of, terminal);
    }
    let Some(skill) = found(of, &parts, terminal)? else {
        return Ok(Outcome::Findings);
    };
    for host in &of.hosts {
        was_granted |= grants.remove(&skill, host)?;
    }
    let what = if was_granted {
        "can no longer reach"
    } else {
        "could not reach"
    };
    told(&skill.full_name, what, of, terminal)
}

fn told(
    skill: &str,
    what: &str,
    of: &GrantArguments,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let hosts: Vec<String> = of.hosts.iter().map(ToString::to_string).collect();
    terminal.line(&format!("{} {what} {}", plain(skill), hosts.join(", ")))?;
    Ok(Outcome::Good)
}

fn list(grants: &LocalGrants, json: bool, terminal: &mut Terminal) -> anyhow::Result<Outcome> {
    let grants = grants.all()?;
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
