//! `gongfu skill enable|disable`.

use gongfu_core::library::Library;
use gongfu_hub::surface::switch::{SkillSwitch, SwitchChange};
use serde_json::{Map, Value, json};

use super::Outcome;
use super::operate::operate;
use crate::cli::SwitchArguments;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::terminal::{Terminal, plain};
use crate::wiring;

pub(super) fn run(
    arguments: &SwitchArguments,
    enabled: bool,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let json = arguments.common.json;
    let parts = wiring::parts(environment, &arguments.common.places)?;
    let mut wanted = vec![arguments.name.clone()];
    if ["all", "*"].contains(&arguments.name.as_str())
        && parts.library()?.named(&arguments.name).is_empty()
    {
        let (verb, list) = if enabled {
            ("enable", "gongfu list --disabled")
        } else {
            ("disable", "gongfu list")
        };
        let message = format!("there is no skill `{}`", arguments.name);
        let hint =
            format!("one skill at a time: `gongfu skill {verb} NAME`; `{list}` shows the names");
        return Err(Failure::new("SKILL_NOT_FOUND", message, hint).into());
    }
    if arguments.all {
        let library = parts.library()?;
        let named = library.named(&arguments.name).into_iter();
        let full_names: Vec<String> = named.map(|skill| skill.full_name.to_string()).collect();
        // Without one, the operation says why.
        if !full_names.is_empty() {
            wanted = full_names;
        }
    }
    let mut changes = Vec::new();
    for skill in wanted {
        let switch = SkillSwitch { skill, enabled };
        changes.push(operate(switch, &parts, json, terminal)?);
    }
    let library = parts.library()?;
    if json {
        let mut all: Vec<Value> = changes
            .iter()
            .map(|change| as_json(change, enabled, &library))
            .collect();
        match all.pop() {
            Some(only) if !arguments.all => terminal.json(&only)?,
            last => {
                all.extend(last);
                terminal.json(&all)?;
            }
        }
        return Ok(Outcome::Good);
    }
    let state = if enabled { "enabled" } else { "disabled" };
    for change in &changes {
        let already = if change.is_changed { "" } else { "already " };
        let name = plain(&change.skill);
        terminal.line(&format!("{name} is {already}{state}"))?;
    }
    if let Some(change) = changes.first()
        && let Some((name, holder)) = other_holder(change, &library)
    {
        let (name, holder) = (plain(&name), plain(&holder));
        terminal.line(&if enabled {
            format!("{name} is still {holder}; use the full name to reach this one")
        } else {
            format!("{name} is now {holder}; to disable every skill of that name: gongfu skill disable --all {name}")
        })?;
    }
    Ok(Outcome::Good)
}

/// The bare name of a skill that was switched, and the enabled skill that it means now, where that is another one.
fn other_holder(change: &SwitchChange, library: &Library) -> Option<(String, String)> {
    let mut skills = library.skills().iter();
    let skill = skills.find(|skill| skill.full_name == change.skill)?;
    let holder = library.shadowed_by(skill)?;
    let is_other = holder.enabled;
    is_other.then(|| (skill.name.to_string(), holder.full_name.to_string()))
}

fn as_json(change: &SwitchChange, enabled: bool, library: &Library) -> Value {
    let mut members = Map::new();
    members.insert("full_name".to_owned(), json!(&*change.skill));
    members.insert("enabled".to_owned(), enabled.into());
    members.insert("changed".to_owned(), change.is_changed.into());
    if let Some((_, holder)) = other_holder(change, library) {
        members.insert("shadowed_by".to_owned(), holder.into());
    }
    members.into()
}
