//! `gongfu skills remove`: from all agents, or from some.

use std::collections::BTreeSet;
use std::path::Path;

use gongfu_core::skill::{SKILL_FILE, SkillPath};
use gongfu_files::disk::{EntryKind, Root};
use gongfu_import::agents::AGENTS;
use gongfu_import::candidate::folder_name;
use gongfu_import::lock::own::OwnLock;
use gongfu_import::place::Changes;
use gongfu_import::target::{AgentChoice, Removal, folder};
use gongfu_import::verify::verify;

use super::Place;
use crate::cli::SkillsRemoveArguments;
use crate::command::Outcome;
use crate::command::skill::import::failure;
use crate::command::skill::remove::finish;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::terminal::{Terminal, plain};
use crate::wiring;

pub(super) fn run(
    arguments: SkillsRemoveArguments,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let home = wiring::home(environment)?;
    let mut names = arguments.names;
    names.extend(arguments.skills);
    let is_all = arguments.all || names.iter().any(|name| name == "*");
    names.retain(|name| name != "*");
    if is_all != names.is_empty() {
        let message = if is_all {
            "all skills are meant, and some are named"
        } else {
            "no skill is named"
        };
        let hint = "name the skills, or pass --all; `gongfu skills list` shows them";
        return Err(Failure::usage("MISSING_ARGUMENT", message, hint).into());
    }
    let place = Place::of(&arguments.agents, environment, &home)?;
    let scope = &place.scope;
    let lock = OwnLock::read(&scope.own_lock).map_err(failure)?;
    let locked = npx_names(&place)?;
    let known = known(&place, &lock, &locked);
    let wanted: BTreeSet<String> = if is_all {
        known
    } else {
        let wanted: BTreeSet<String> = names.iter().map(|name| folder_name(name)).collect();
        if let Some(name) = names
            .iter()
            .find(|name| !known.contains(&folder_name(name)))
        {
            let message = format!("{} isn't here", plain(name));
            let hint = "`gongfu skills list` shows the skills of this folder, and with -g those of your home";
            return Err(Failure::new("NOT_LOCKED", message, hint).into());
        }
        wanted
    };
    // Without a name, all agents are meant, also those that aren't installed.
    let choice = if arguments.agents.agents.is_empty() {
        AgentChoice::of(&["*".to_owned()], place.machine, place.current)
    } else {
        place.choice.clone()
    };
    let mut changes = Changes::default();
    for name in &wanted {
        let removal = Removal::of(name, scope, &lock, &choice, place.machine, place.current);
        if removal.is_whole {
            let same = locked.iter().filter(|locked| folder_name(locked) == *name);
            changes.removed_npx.extend(same.cloned());
        }
        changes.removed.extend(removal.keys);
        changes.unlinked.extend(removal.links);
    }
    // What no lock of gongfu knows was asked for by name: a copy of it is kept. What differs from its lock stops.
    changes.replace = arguments.replace
        || changes.removed.iter().all(|key| {
            let locked = lock.skills.get(key);
            locked.is_none_or(|locked| verify(&scope.folder(key), locked).is_empty())
        });
    if wanted.is_empty() {
        terminal.note("there is no skill to remove");
        return Ok(Outcome::Good);
    }
    if !arguments.json {
        for key in &changes.removed {
            terminal.line(&plain(&scope.folder(key).to_string_lossy()))?;
        }
        for (key, client) in &changes.unlinked {
            terminal.line(&plain(&client.join(key).to_string_lossy()))?;
        }
    }
    let yes = arguments.yes || arguments.all;
    finish(&home, scope, &changes, yes, arguments.json, terminal)
}

/// The names in the lock of `npx skills`.
fn npx_names(place: &Place<'_>) -> anyhow::Result<Vec<String>> {
    let Some((kind, path)) = &place.scope.npx_lock else {
        return Ok(Vec::new());
    };
    let lock = kind.read(path).map_err(failure)?;
    let entries = kind.entries(&lock).map_err(failure)?;
    Ok(entries.into_iter().map(|(name, _)| name).collect())
}

/// The folders of skills that are here, or in a lock.
fn known(place: &Place<'_>, lock: &OwnLock, npx: &[String]) -> BTreeSet<String> {
    let mut known: BTreeSet<String> = npx.iter().map(|name| folder_name(name)).collect();
    let own = lock.skills.keys().filter(|key| !key.contains('/'));
    known.extend(own.cloned());
    let folders = AGENTS.iter();
    let folders = folders.filter_map(|agent| folder(agent, &place.scope, place.machine));
    for folder in folders.chain([place.scope.skills.clone()]) {
        known.extend(skills(&folder));
    }
    known
}

fn skills(folder: &Path) -> Vec<String> {
    let Ok(root) = Root::open(folder) else {
        return Vec::new();
    };
    let entries = root.list(&SkillPath::root()).unwrap_or_default();
    let folders = entries
        .into_iter()
        .filter(|entry| entry.kind == EntryKind::Folder);
    let names = folders.map(|entry| entry.name);
    names
        .filter(|name| {
            let file = SkillPath::new(&format!("{name}/{SKILL_FILE}"));
            !name.starts_with('.') && file.is_ok_and(|file| root.stat(&file).is_ok())
        })
        .collect()
}
