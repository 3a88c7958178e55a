//! `gongfu skill update`, `outdated` and `diff`.

mod report;

use std::io::{self, IsTerminal as _};

use gongfu_core::port::Clock as _;
use gongfu_import::place::{Changes, place};
use serde_json::json;

use super::examination::{Examination, ExaminedSkill, Newer, Verdict, examine};
use super::import::{Importer, failure, scope};
use crate::cli::{LockedArguments, UpdateArguments};
use crate::clock::SystemClock;
use crate::command::Outcome;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::table::count;
use crate::terminal::{Terminal, plain};
use crate::wiring;

pub(super) fn run(
    arguments: &UpdateArguments,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let json = arguments.locked.json;
    if !arguments.dry_run && !arguments.yes && (json || !io::stdin().is_terminal()) {
        let message = "updating skills needs a confirmation";
        let hint = "pass --yes to update without a question, or --dry-run to see what would change";
        return Err(Failure::usage("CONFIRMATION_REQUIRED", message, hint).into());
    }
    let home = wiring::home(environment)?;
    let scope = scope(&arguments.locked.place, environment, &home)?;
    let importer = Importer::new(environment, &home, &scope)?;
    let examination = examine(&importer, &arguments.locked.skills)?;
    if !json {
        report::show(&examination.skills, terminal)?;
    }
    let wanted: Vec<(&ExaminedSkill, &Newer)> = wanted(&examination, arguments.replace);
    let is_wanted = !wanted.is_empty()
        && !arguments.dry_run
        && (arguments.yes || terminal.ask(&format!("update {}?", count(wanted.len(), "skill")))?);
    let mut kept = Vec::new();
    if is_wanted {
        let mut changes = Changes {
            replace: arguments.replace,
            ..Changes::default()
        };
        for (skill, newer) in &wanted {
            let placement = examination.placement(&importer, &skill.installed, newer);
            changes.put.extend(placement.map_err(failure)?);
            // A skill that has another name now isn't locked under the old one, too.
            if newer.staged.found.name != skill.installed.name {
                changes.removed_npx.push(skill.installed.name.clone());
            }
        }
        let now = SystemClock.now().to_string();
        kept = place(&home, &scope, &changes, &now).map_err(failure)?.kept;
    }
    if json {
        let updated: &[_] = if is_wanted { &wanted } else { &[] };
        let updated = updated.iter().map(|(skill, _)| &skill.installed.key);
        terminal.json(&json!({
            "lock": scope.own_lock.to_string_lossy(),
            "updated": updated.collect::<Vec<_>>(),
            "kept": kept.iter().map(|(_, kept)| kept.to_string_lossy()).collect::<Vec<_>>(),
            "skills": report::documents(&examination.skills),
        }))?;
    } else {
        for (_, kept) in &kept {
            let kept = plain(&kept.to_string_lossy());
            terminal.note(&format!("your version is kept: {kept}"));
        }
        if is_wanted {
            let skills = count(wanted.len(), "skill");
            terminal.line(&format!("updated {skills}"))?;
        } else {
            terminal.note("nothing was updated");
        }
    }
    let is_left = |skill: &ExaminedSkill| match &skill.verdict {
        Verdict::Failed(_) => true,
        Verdict::Newer(_) => Newer::is_blocked(&skill.installed) && !arguments.replace,
        _ => false,
    };
    Ok(Outcome::of(!examination.skills.iter().any(is_left)))
}

/// The skills that an update replaces. One that a person changed isn't among them, unless they say so.
fn wanted(examination: &Examination, replace: bool) -> Vec<(&ExaminedSkill, &Newer)> {
    let newer = examination
        .skills
        .iter()
        .filter_map(|skill| match &skill.verdict {
            Verdict::Newer(newer) => Some((skill, &**newer)),
            _ => None,
        });
    newer
        .filter(|(skill, _)| replace || !Newer::is_blocked(&skill.installed))
        .collect()
}

/// `gongfu skill outdated`.
pub(super) fn outdated(
    arguments: &LockedArguments,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let home = wiring::home(environment)?;
    let scope = scope(&arguments.place, environment, &home)?;
    let importer = Importer::new(environment, &home, &scope)?;
    let examination = examine(&importer, &arguments.skills)?;
    if arguments.json {
        terminal.json(&json!({
            "lock": scope.own_lock.to_string_lossy(),
            "skills": report::documents(&examination.skills),
        }))?;
    } else {
        report::table(&examination.skills, terminal)?;
    }
    let is_good =
        |skill: &ExaminedSkill| matches!(skill.verdict, Verdict::Current | Verdict::NotAsked(_));
    Ok(Outcome::of(examination.skills.iter().all(is_good)))
}

/// `gongfu skill diff`.
pub(super) fn diff(
    arguments: &LockedArguments,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let home = wiring::home(environment)?;
    let scope = scope(&arguments.place, environment, &home)?;
    let importer = Importer::new(environment, &home, &scope)?;
    let examination = examine(&importer, &arguments.skills)?;
    if arguments.json {
        let documents = examination.skills.iter().map(|skill| {
            let mut document = report::document(skill);
            if let (Verdict::Newer(newer), Some(members)) =
                (&skill.verdict, document.as_object_mut())
            {
                let text = report::text(&importer, &skill.installed, newer);
                members.insert("diff".to_owned(), text.into());
            }
            document
        });
        terminal.json(&json!({ "skills": documents.collect::<Vec<_>>() }))?;
        return Ok(Outcome::Good);
    }
    report::show(&examination.skills, terminal)?;
    for skill in &examination.skills {
        if let Verdict::Newer(newer) = &skill.verdict {
            let text = report::text(&importer, &skill.installed, newer);
            report::paint(&text, terminal)?;
        }
    }
    Ok(Outcome::Good)
}
