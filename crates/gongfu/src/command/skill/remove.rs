//! `gongfu skill remove`.

use gongfu_core::port::Clock as _;
use gongfu_files::Home;
use gongfu_import::lock::own::OwnLock;
use gongfu_import::place::{Changes, place};
use gongfu_import::scope::Scope;
use serde_json::json;

use super::import::{failure, kept, not_locked, scope};
use crate::cli::RemoveArguments;
use crate::clock::SystemClock;
use crate::command::{Outcome, check_answerable};
use crate::environment::Environment;
use crate::terminal::{Terminal, plain};
use crate::wiring;

pub(super) fn run(
    arguments: &RemoveArguments,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let home = wiring::home(environment)?;
    let scope = scope(&arguments.place, environment, &home)?;
    let lock = OwnLock::read(&scope.own_lock).map_err(failure)?;
    let mut changes = Changes {
        replace: arguments.replace,
        ..Changes::default()
    };
    for name in &arguments.skills {
        let Some(locked) = lock.skills.get(name) else {
            let hint = "--in names another place; a skill that no lock of gongfu has is removed by gongfu skills remove";
            return Err(not_locked(name, &scope, hint).into());
        };
        changes.removed.push(name.clone());
        changes
            .removed_npx
            .push(locked.name.clone().unwrap_or_else(|| name.clone()));
        if !arguments.json {
            terminal.line(&plain(&scope.folder(name).to_string_lossy()))?;
        }
    }
    let (yes, json) = (arguments.yes, arguments.json);
    finish(&home, &scope, &changes, yes, json, terminal)
}

/// Asks, then removes.
pub(in crate::command) fn finish(
    home: &Home,
    scope: &Scope,
    changes: &Changes,
    yes: bool,
    json: bool,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    if !yes {
        let hint = "pass --yes to remove without a question";
        check_answerable("removing skills", hint, json)?;
        if !terminal.ask("remove them?")? {
            terminal.note("nothing was removed");
            return Ok(Outcome::Good);
        }
    }
    let now = SystemClock.now().to_string();
    let done = place(home, scope, changes, &now).map_err(failure)?;
    if json {
        let kept = done.kept.iter().map(|(_, kept)| kept.to_string_lossy());
        terminal.json(&json!({ "removed": changes.removed, "kept": kept.collect::<Vec<_>>() }))?;
        return Ok(Outcome::Good);
    }
    kept(&done, terminal);
    Ok(Outcome::Good)
}
