//! `gongfu skill add`: shows what a source has, then places and locks it.

mod namesakes;
mod report;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use gongfu_core::port::Clock as _;
use gongfu_core::text::clipped;
use gongfu_files::Home;
use gongfu_files::disk::{self, EntryKind};
use gongfu_import::candidate::StagedSkill;
use gongfu_import::discover::FoundSkill;
use gongfu_import::error::{ImportCode, ImportError};
use gongfu_import::fetch::any::Delivery;
use gongfu_import::lock::own::LockedSkill;
use gongfu_import::place::{Changes, Placement, place};
use gongfu_import::scope::Scope;
use gongfu_import::source::{Source, is_ref, shown};
use gongfu_import::target::Targets;

use super::import::{Importer, clients, failure, scope};
use crate::cli::AddArguments;
use crate::clock::SystemClock;
use crate::command::{Outcome, check_answerable};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::terminal::Terminal;
use crate::wiring;

pub(super) fn run(
    arguments: &AddArguments,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let home = wiring::home(environment)?;
    let scope = scope(&arguments.place, environment, &home)?;
    let goal = Goal {
        targets: Targets::shared(&scope, clients(&scope, environment)),
        scope,
        declared_only: false,
    };
    add_to(&goal, arguments, &home, environment, terminal)
}

/// The place of added skills.
pub(in crate::command) struct Goal {
    pub(in crate::command) scope: Scope,
    pub(in crate::command) targets: Targets,
    /// True to take only skills that declare their name and their description.
    pub(in crate::command) declared_only: bool,
}

/// Adds skills to a place; that of the arguments doesn't count.
pub(in crate::command) fn add_to(
    goal: &Goal,
    arguments: &AddArguments,
    home: &Home,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let is_shown_only = arguments.list || arguments.dry_run;
    if !is_shown_only && !arguments.yes {
        let hint = "pass --yes to add without a question, or --dry-run to see what would be added";
        check_answerable("adding skills", hint, arguments.json)?;
    }
    let importer = Importer::new(environment, home, &goal.scope)?;
    let mut reports = Vec::new();
    for text in &arguments.sources {
        let source = source(text, arguments.reference.as_deref(), environment)?;
        let added = add(&source, arguments, &importer, goal, environment, terminal)?;
        reports.push(added);
    }
    if arguments.json {
        terminal.json(&reports)?;
    }
    Ok(Outcome::Good)
}

pub(in crate::command) fn source(
    text: &str,
    reference: Option<&str>,
    environment: &Environment,
) -> anyhow::Result<Source> {
    let current = environment.directory.as_deref();
    let current = current.context("there is no current folder")?;
    let mut source = Source::parse(text, current, environment.user.as_deref()).map_err(failure)?;
    match (&mut source, reference) {
        (_, None) => {}
        (Source::Git(git), Some(reference)) if is_ref(reference) => {
            git.reference = Some(reference.to_owned());
        }
        (Source::Git(_), Some(_)) => {
            let message = "--ref is not a branch, a tag or a commit";
            return Err(Failure::usage("INVALID_VALUE", message, "pass its plain name").into());
        }
        (_, Some(_)) => {
            let message = "--ref is for repositories, and this source isn't one";
            let hint = "omit it; a package is written npm:NAME@VERSION";
            return Err(Failure::usage("INVALID_VALUE", message, hint).into());
        }
    }
    Ok(source)
}

fn add(
    source: &Source,
    arguments: &AddArguments,
    importer: &Importer<'_>,
    goal: &Goal,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<serde_json::Value> {
    let (scope, targets) = (&goal.scope, &goal.targets);
    let is_folder = |path: &PathBuf| disk::kind_outside(path) == Some(EntryKind::Folder);
    if arguments.link && !matches!(source, Source::Local(path) if is_folder(path)) {
        let message = "--link is for folders of this machine, and this source isn't one";
        return Err(Failure::usage("INVALID_VALUE", message, "omit it").into());
    }
    let mut names = arguments.skills.clone();
    if let Source::Git(git) = source {
        names.extend(git.skill.clone());
    }
    let download = importer.fetch(source, &names, arguments.full_depth);
    let mut download = download.map_err(failure)?;
    if goal.declared_only {
        let skills = &mut download.delivery.discovery.skills;
        skills.retain(FoundSkill::is_found_elsewhere);
    }
    if arguments.list {
        return report::list(&download.delivery, arguments.json, terminal);
    }
    let chosen = chosen(&download.delivery, &names, arguments.all).map_err(failure)?;
    let staged = download.stage(chosen).map_err(failure)?;
    let delivery = &download.delivery;
    // In a project, gongfu follows no link that leads out of its folder of skills.
    let namesakes = if arguments.link {
        BTreeMap::new()
    } else {
        namesakes::of(&staged, goal, environment)
    };
    let document = |done| report::document(delivery, &staged, &namesakes, scope, done);
    if !arguments.json {
        report::show(delivery, &staged, &namesakes, targets, terminal)?;
    }
    if arguments.dry_run {
        return Ok(document(None));
    }
    if !arguments.yes && !terminal.ask("add them?")? {
        terminal.note("nothing was added");
        return Ok(document(None));
    }
    if !arguments.link {
        importer.remember(&download, &staged).map_err(failure)?;
    }
    // One for each folder that gets its files.
    let put = staged.iter().flat_map(|skill| {
        let keys = targets.folders.iter();
        let keys = keys.map(|folder| scope.key(folder, &skill.folder));
        keys.map(|key| {
            let placement = download.placement(&key, skill, scope);
            match source {
                Source::Local(folder) if arguments.link => linked(placement, folder, skill),
                _ => placement,
            }
        })
    });
    let changes = Changes {
        put: put.collect(),
        clients: targets.links.clone(),
        replace: arguments.replace,
        ..Changes::default()
    };
    let now = SystemClock.now().to_string();
    let done = place(importer.home, scope, &changes, &now).map_err(failure)?;
    if !arguments.json {
        report::done(&staged, scope, &done, terminal)?;
    }
    Ok(document(Some(&done)))
}

/// The same placement as a link to the skill's own folder.
fn linked(placement: Placement, source: &Path, skill: &StagedSkill) -> Placement {
    Placement {
        staged: source
            .join(skill.found.folder.as_str())
            .components()
            .collect(),
        locked: LockedSkill {
            linked: true,
            digest: None,
            files: BTreeMap::new(),
            ..placement.locked
        },
        // That program knows no links to a source.
        npx: None,
        ..placement
    }
}

/// The skills that a person means: all that aren't internal, without a name.
pub(in crate::command) fn chosen(
    delivery: &Delivery,
    names: &[String],
    all: bool,
) -> Result<Vec<FoundSkill>, ImportError> {
    let skills = &delivery.discovery.skills;
    if names.is_empty() {
        let visible = skills.iter().filter(|skill| all || !skill.is_internal);
        let visible: Vec<FoundSkill> = visible.cloned().collect();
        if visible.is_empty() {
            let source = shown(&delivery.origin.source);
            let message = format!("{source} has no skill that can be added as it is");
            let hint = match delivery.discovery.elsewhere.first() {
                Some(plugin) if skills.is_empty() => format!(
                    "its plugins are in other places, which --list shows: gongfu skill add {}",
                    plugin.source
                ),
                _ => "--list shows what it has; --all adds internal skills, and --full-depth those elsewhere in it".to_owned(),
            };
            return Err(ImportError::new(
                ImportCode::SkillNotInSource,
                message,
                hint,
            ));
        }
        return Ok(visible);
    }
    let mut chosen: Vec<FoundSkill> = Vec::new();
    for name in names {
        let lower = name.to_lowercase();
        let is_meant = |skill: &&FoundSkill| {
            skill.name.to_lowercase() == lower || skill.folder.as_str() == name
        };
        let Some(skill) = skills.iter().find(is_meant) else {
            let message = format!("{} has no skill `{name}`", shown(&delivery.origin.source));
            let known: Vec<&str> = skills.iter().map(|skill| skill.name.as_str()).collect();
            let mut elsewhere = delivery.discovery.elsewhere.iter();
            let hint = match elsewhere.find(|plugin| plugin.name == *name) {
                Some(plugin) => format!(
                    "it lists a plugin of this name in another place: gongfu skill add {}",
                    plugin.source
                ),
                None => format!("it has: {}", clipped(&known.join(", "), 300, '…')),
            };
            return Err(ImportError::new(
                ImportCode::SkillNotInSource,
                message,
                hint,
            ));
        };
        if !chosen.contains(skill) {
            chosen.push(skill.clone());
        }
    }
    Ok(chosen)
}
