//! `gongfu skill add`: shows what a source has, then places and locks it.

mod report;

use std::io::{self, IsTerminal as _};
use std::path::PathBuf;

use anyhow::Context as _;
use gongfu_core::port::Clock as _;
use gongfu_import::discover::FoundSkill;
use gongfu_import::error::{ImportCode, ImportError};
use gongfu_import::fetch::any::Delivery;
use gongfu_import::place::{Changes, place};
use gongfu_import::source::{Source, is_ref, shown};

use super::import::{Importer, clients, failure, scope};
use crate::cli::AddArguments;
use crate::clock::SystemClock;
use crate::command::Outcome;
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
    let is_shown_only = arguments.list || arguments.dry_run;
    if !is_shown_only && !arguments.yes && (arguments.json || !io::stdin().is_terminal()) {
        let message = "adding skills needs a confirmation";
        let hint = "pass --yes to add without a question, or --dry-run to see what would be added";
        return Err(Failure::usage("CONFIRMATION_REQUIRED", message, hint).into());
    }
    let importer = Importer::new(environment, &home, &scope)?;
    let clients = clients(&scope, environment);
    let mut reports = Vec::new();
    for text in &arguments.sources {
        let source = source(text, arguments, environment)?;
        let added = add(&source, arguments, &importer, &clients, terminal)?;
        reports.push(added);
    }
    if arguments.json {
        terminal.json(&reports)?;
    }
    Ok(Outcome::Good)
}

fn source(
    text: &str,
    arguments: &AddArguments,
    environment: &Environment,
) -> anyhow::Result<Source> {
    let current = environment.directory.as_deref();
    let current = current.context("there is no current folder")?;
    let mut source = Source::parse(text, current, environment.user.as_deref()).map_err(failure)?;
    match (&mut source, &arguments.reference) {
        (_, None) => {}
        (Source::Git(git), Some(reference)) if is_ref(reference) => {
            git.reference = Some(reference.clone());
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
    clients: &[PathBuf],
    terminal: &mut Terminal,
) -> anyhow::Result<serde_json::Value> {
    let mut names = arguments.skills.clone();
    if let Source::Git(git) = source {
        names.extend(git.skill.clone());
    }
    let scope = importer.scope;
    let download = importer.fetch(source, &names, arguments.full_depth);
    let mut download = download.map_err(failure)?;
    if arguments.list {
        return report::list(&download.delivery, arguments.json, terminal);
    }
    let chosen = chosen(&download.delivery, &names, arguments.all).map_err(failure)?;
    let staged = download.stage(chosen).map_err(failure)?;
    let delivery = &download.delivery;
    if !arguments.json {
        report::show(delivery, &staged, scope, clients, terminal)?;
    }
    if arguments.dry_run {
        return Ok(report::document(delivery, &staged, scope, None));
    }
    if !arguments.yes && !terminal.ask("add them?")? {
        terminal.note("nothing was added");
        return Ok(report::document(delivery, &staged, scope, None));
    }
    importer.remember(&download, &staged).map_err(failure)?;
    let put = staged.iter();
    let put = put.map(|skill| download.placement(&skill.folder, skill, scope));
    let changes = Changes {
        put: put.collect(),
        clients: clients.to_owned(),
        replace: arguments.replace,
        ..Changes::default()
    };
    let now = SystemClock.now().to_string();
    let done = place(importer.home, scope, &changes, &now).map_err(failure)?;
    if !arguments.json {
        report::done(&staged, scope, &done, terminal)?;
    }
    Ok(report::document(delivery, &staged, scope, Some(&done)))
}

/// The skills that a person means: all that aren't internal, without a name.
fn chosen(
    delivery: &Delivery,
    names: &[String],
    all: bool,
) -> Result<Vec<FoundSkill>, ImportError> {
    let skills = &delivery.discovery.skills;
    if names.is_empty() {
        let visible = skills.iter().filter(|skill| all || !skill.is_internal);
        return Ok(visible.cloned().collect());
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
            let hint = format!(
                "it has: {}",
                gongfu_core::text::clipped(&known.join(", "), 300, '…')
            );
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
