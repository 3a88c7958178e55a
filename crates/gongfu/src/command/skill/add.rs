//! `gongfu skill add`: shows what a source has, then places and locks it.

mod report;

use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _};

use anyhow::Context as _;
use gongfu_core::port::Clock as _;
use gongfu_files::disk::Root;
use gongfu_files::{HeldFolder, Home};
use gongfu_import::candidate::{Candidate, StagedSkill, stage};
use gongfu_import::discover::FoundSkill;
use gongfu_import::error::{ImportCode, ImportError};
use gongfu_import::fetch::any::{Delivery, Fetcher};
use gongfu_import::fetch::git::GitSettings;
use gongfu_import::place::{Changes, Placement, place};
use gongfu_import::scope::Scope;
use gongfu_import::source::{Source, is_ref, shown};
use gongfu_library::walk::NAMED;

use super::import::{clients, failure, scope};
use crate::accounts::tls;
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
    let mut reports = Vec::new();
    for text in &arguments.sources {
        let source = source(text, arguments, environment)?;
        let added = add(&source, arguments, environment, &home, &scope, terminal)?;
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
    environment: &Environment,
    home: &Home,
    scope: &Scope,
    terminal: &mut Terminal,
) -> anyhow::Result<serde_json::Value> {
    let temporary = home.folder("imports");
    let temporary = temporary.and_then(|imports| HeldFolder::new(&imports, "fetch-"));
    let temporary = temporary.context("gongfu's home can't be written")?;
    let root = temporary.root();
    let fetched = root.dir().create_dir("fetched");
    fetched.context("gongfu's home can't be written")?;
    let fetcher = Fetcher {
        git: GitSettings {
            has_ssh_command: environment.git_ssh_command.is_some(),
        },
        tls: tls(environment.packages.certificates.as_deref())?,
        temporary: &Root::open(&root.path().join("fetched"))?,
        base: &scope.base,
    };
    let mut names = arguments.skills.clone();
    if let Source::Git(git) = source {
        names.extend(git.skill.clone());
    }
    let delivery = fetcher.fetch(source, &names, arguments.full_depth);
    let mut delivery = delivery.map_err(failure)?;
    if arguments.list {
        return report::list(&delivery, arguments.json, terminal);
    }
    let chosen = chosen(&delivery, &names, arguments.all).map_err(failure)?;
    let candidates = candidates(&delivery, chosen).map_err(failure)?;
    let staged = stage(&mut delivery.content, candidates, root);
    let mut staged = staged.map_err(failure)?;
    for skill in &mut staged {
        skill.findings = findings(skill);
    }
    let clients = clients(scope, environment);
    if !arguments.json {
        report::show(&delivery, &staged, scope, &clients, terminal)?;
    }
    if arguments.dry_run {
        return Ok(report::document(&delivery, &staged, scope, None));
    }
    if !arguments.yes && !terminal.ask("add them?")? {
        terminal.note("nothing was added");
        return Ok(report::document(&delivery, &staged, scope, None));
    }
    let changes = Changes {
        put: staged
            .iter()
            .map(|skill| placement(&delivery, skill, scope))
            .collect(),
        clients,
        replace: arguments.replace,
        ..Changes::default()
    };
    let now = SystemClock.now().to_string();
    let done = place(home, scope, &changes, &now).map_err(failure)?;
    if !arguments.json {
        report::done(&staged, scope, &done, terminal)?;
    }
    Ok(report::document(&delivery, &staged, scope, Some(&done)))
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
        let visible: Vec<FoundSkill> = visible.cloned().collect();
        if visible.is_empty() {
            let source = shown(&delivery.origin.source);
            let message = format!("{source} has no skill that can be added as it is");
            let hint = "--list shows what it has; --all adds internal skills, and --full-depth those elsewhere";
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

/// The files of the chosen skills; no two go to one folder.
fn candidates(delivery: &Delivery, chosen: Vec<FoundSkill>) -> Result<Vec<Candidate>, ImportError> {
    let mut folders: BTreeMap<String, String> = BTreeMap::new();
    let mut candidates = Vec::with_capacity(chosen.len());
    for found in chosen {
        let name = found.name.clone();
        let candidate = Candidate::of(&delivery.content, found, delivery.choice)?;
        if let Some(other) = folders.insert(candidate.folder.clone(), name.clone()) {
            let message = format!(
                "the skills `{other}` and `{name}` would both go to the folder `{}`",
                candidate.folder
            );
            let hint = "choose one with --skill and its folder in the source";
            return Err(ImportError::new(ImportCode::SkillNameTaken, message, hint));
        }
        candidates.push(candidate);
    }
    Ok(candidates)
}

/// The codes of what is wrong with a staged skill, errors and warnings alone.
fn findings(skill: &StagedSkill) -> Vec<String> {
    use gongfu_core::skill::Severity;

    let verdicts = gongfu_library::check::check(&skill.staged, &[], NAMED, false);
    let found = verdicts.iter().flat_map(|verdict| &verdict.diagnostics);
    let found = found.filter(|found| found.severity() != Severity::Info);
    let mut codes: Vec<String> = found.map(|found| found.finding.code().to_owned()).collect();
    codes.sort();
    codes.dedup();
    codes
}

fn placement(delivery: &Delivery, skill: &StagedSkill, scope: &Scope) -> Placement {
    let npx = scope.npx_lock.as_ref().and_then(|(kind, _)| {
        let entry = delivery.origin.npx_entry(*kind, skill, &scope.base)?;
        Some((skill.found.name.clone(), entry))
    });
    Placement {
        folder: skill.folder.clone(),
        staged: skill.staged.clone(),
        locked: delivery.origin.locked(skill),
        npx,
    }
}
