//! `gongfu skill verify`.

use gongfu_import::place::verify_all;
use serde_json::json;

use super::import::{failure, not_locked, scope};
use crate::cli::LockedArguments;
use crate::command::Outcome;
use crate::environment::Environment;
use crate::table::count;
use crate::terminal::{Paint, Terminal, plain};
use crate::wiring;

pub(super) fn run(
    arguments: &LockedArguments,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let home = wiring::home(environment)?;
    let scope = scope(&arguments.place, environment, &home)?;
    let mut verified = verify_all(&scope).map_err(failure)?;
    if let Some(name) = arguments
        .skills
        .iter()
        .find(|name| !verified.contains_key(*name))
    {
        let hint = "`gongfu skill verify` without a name lists the skills that differ; --in names another place";
        return Err(not_locked(name, &scope, hint).into());
    }
    if !arguments.skills.is_empty() {
        verified.retain(|name, _| arguments.skills.contains(name));
    }
    let is_good = verified.values().all(Vec::is_empty);
    let outcome = Outcome::of(is_good);
    if arguments.json {
        terminal.json(&json!({ "lock": scope.own_lock.to_string_lossy(), "valid": is_good, "skills": verified }))?;
        return Ok(outcome);
    }
    for (name, differences) in &verified {
        for difference in differences {
            let path = match difference.path.as_str() {
                "" => plain(name),
                path => format!("{}/{}", plain(name), plain(path)),
            };
            let words = terminal.paint(Paint::Dim, difference.kind.as_str());
            terminal.line(&format!("{path}  {words}"))?;
        }
    }
    let differing = verified.values().filter(|found| !found.is_empty()).count();
    let files: usize = verified.values().map(Vec::len).sum();
    let all = count(verified.len(), "skill");
    terminal.note(&if is_good {
        format!("{all}, as locked")
    } else {
        let differences = count(files, "difference");
        format!("{all}, {differing} not as locked: {differences}")
    });
    Ok(outcome)
}
