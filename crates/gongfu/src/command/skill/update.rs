//! `gongfu skill update`, `outdated` and `diff`.

mod report;

use gongfu_core::port::Clock as _;
use gongfu_import::place::{Changes, Outcome as Placed, place};
use serde_json::{Value, json};

use super::examination::{Examination, ExaminedSkill, Newer, Verdict, examine};
use super::import::{Importer, failure, kept, scope};
use crate::cli::{LockedArguments, UpdateArguments};
use crate::clock::SystemClock;
use crate::command::{Outcome, check_answerable};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::table::count;
use crate::terminal::Terminal;
use crate::wiring;

pub(super) fn run(
    arguments: &UpdateArguments,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let home = wiring::home(environment)?;
    let scope = scope(&arguments.locked.place, environment, &home)?;
    let order = Update {
        names: arguments.locked.skills.clone(),
        dry_run: arguments.dry_run,
        replace: arguments.replace,
        yes: arguments.yes,
        json: arguments.locked.json,
    };
    order.check()?;
    let importer = Importer::new(environment, &home, &scope)?;
    let (document, outcome) = order.run(&importer, terminal)?;
    if order.json {
        terminal.json(&document)?;
    }
    Ok(outcome)
}

/// An update that a person asks for.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(in crate::command) struct Update {
    /// Only these skills; all without a name.
    pub(in crate::command) names: Vec<String>,
    pub(in crate::command) dry_run: bool,
    pub(in crate::command) replace: bool,
    pub(in crate::command) yes: bool,
    pub(in crate::command) json: bool,
}

impl Update {
    /// Refuses an update that has to ask, and can't.
    pub(in crate::command) fn check(&self) -> Result<(), Failure> {
        if self.dry_run || self.yes {
            return Ok(());
        }
        let hint = "pass --yes to update without a question, or --dry-run to see what would change";
        check_answerable("updating skills", hint, self.json)
    }

    /// Updates skills of one place; answers what it did, for programs.
    pub(in crate::command) fn run(
        &self,
        importer: &Importer<'_>,
        terminal: &mut Terminal,
    ) -> anyhow::Result<(Value, Outcome)> {
        let scope = importer.scope;
        let examination = examine(importer, &self.names)?;
        if !self.json {
            report::show(&examination.skills, terminal)?;
        }
        let wanted = wanted(&examination, self.replace);
        let is_wanted = !wanted.is_empty() && !self.dry_run;
        let question = format!("update {}?", count(wanted.len(), "skill"));
        let is_wanted = is_wanted && (self.yes || terminal.ask(&question)?);
        let mut done = Placed::default();
        if is_wanted {
            let changes = self.changes(&examination, &wanted, importer)?;
            let now = SystemClock.now().to_string();
            let placed = place(importer.home, scope, &changes, &now);
            done = placed.map_err(failure)?;
        }
        let updated: &[_] = if is_wanted { &wanted } else { &[] };
        if !self.json {
            kept(&done, terminal);
            terminal.line(&format!("updated {}", count(updated.len(), "skill")))?;
        }
        let keys = updated.iter().map(|(skill, _)| &skill.installed.key);
        let kept = done.kept.iter().map(|(_, kept)| kept.to_string_lossy());
        let document = json!({
            "lock": scope.own_lock.to_string_lossy(),
            "updated": keys.collect::<Vec<_>>(),
            "kept": kept.collect::<Vec<_>>(),
            "skills": report::documents(&examination.skills),
        });
        let is_left = |skill: &ExaminedSkill| match &skill.verdict {
            Verdict::Failed(_) => true,
            Verdict::Newer(_) => skill.installed.is_changed() && !self.replace,
            _ => false,
        };
        let is_good = !examination.skills.iter().any(is_left);
        Ok((document, Outcome::of(is_good)))
    }

    fn changes(
        &self,
        examination: &Examination,
        wanted: &[(&ExaminedSkill, &Newer)],
        importer: &Importer<'_>,
    ) -> Result<Changes, Failure> {
        let mut changes = Changes {
            replace: self.replace,
            ..Changes::default()
        };
        for (skill, newer) in wanted {
            let placement = examination.placement(importer, &skill.installed, newer);
            changes.put.extend(placement.map_err(failure)?);
            // A skill that has another name now isn't locked under the old one, too.
            if newer.staged.found.name != skill.installed.name {
                changes.removed_npx.push(skill.installed.name.clone());
            }
        }
        Ok(changes)
    }
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
        .filter(|(skill, _)| replace || !skill.installed.is_changed())
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
