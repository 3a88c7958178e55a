//! `gongfu skill add`: shows what a source has, then places and locks it.

mod report;

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use gongfu_core::port::Clock as _;
use gongfu_files::Home;
use gongfu_files::disk::Root;
use gongfu_import::candidate::{Candidate, StagedSkill, stage};
use gongfu_import::discover::FoundSkill;
use gongfu_import::error::{ImportCode, ImportError};
use gongfu_import::fetch::any::{Delivery, Fetcher};
use gongfu_import::fetch::git::GitSettings;
use gongfu_import::place::{Changes, Placement, place};
use gongfu_import::scope::Scope;
use gongfu_import::source::{Source, is_ref};
use gongfu_import::target::Targets;
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
    if !is_shown_only && !arguments.yes && (arguments.json || !io::stdin().is_terminal()) {
        let message = "adding skills needs a confirmation";
        let hint = "pass --yes to add without a question, or --dry-run to see what would be added";
        return Err(Failure::usage("CONFIRMATION_REQUIRED", message, hint).into());
    }
    let mut reports = Vec::new();
    for text in &arguments.sources {
        let source = source(text, arguments.reference.as_deref(), environment)?;
        let added = add(&source, arguments, environment, home, goal, terminal)?;
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

/// Fetches a source. Its files are read from the folder, so that it has to stay meanwhile.
pub(in crate::command) fn fetch(
    source: &Source,
    names: &[String],
    full_depth: bool,
    base: &Path,
    home: &Home,
    environment: &Environment,
) -> anyhow::Result<(Temporary, Delivery)> {
    let temporary = Temporary::new(home)?;
    let fetched = temporary.root.dir().create_dir("fetched");
    fetched.context("gongfu's home can't be written")?;
    let fetcher = Fetcher {
        git: GitSettings {
            has_ssh_command: environment.git_ssh_command.is_some(),
        },
        tls: tls(environment.packages.certificates.as_deref())?,
        temporary: &Root::open(&temporary.root.path().join("fetched"))?,
        base,
    };
    let delivery = fetcher.fetch(source, names, full_depth).map_err(failure)?;
    Ok((temporary, delivery))
}

fn add(
    source: &Source,
    arguments: &AddArguments,
    environment: &Environment,
    home: &Home,
    goal: &Goal,
    terminal: &mut Terminal,
) -> anyhow::Result<serde_json::Value> {
    let Goal { scope, targets, .. } = goal;
    let mut names = arguments.skills.clone();
    if let Source::Git(git) = source {
        names.extend(git.skill.clone());
    }
    let full_depth = arguments.full_depth;
    let fetched = fetch(source, &names, full_depth, &scope.base, home, environment)?;
    let (temporary, mut delivery) = fetched;
    if goal.declared_only {
        delivery.discovery.skills.retain(|skill| skill.is_declared);
    }
    if arguments.list {
        return report::list(&delivery, arguments.json, terminal);
    }
    let chosen = chosen(&delivery, &names, arguments.all).map_err(failure)?;
    let candidates = candidates(&delivery, chosen).map_err(failure)?;
    let root = Root::open(temporary.root.path())?;
    let staged = stage(&mut delivery.content, candidates, &root);
    let mut staged = staged.map_err(failure)?;
    for skill in &mut staged {
        skill.findings = findings(skill);
    }
    if !arguments.json {
        report::show(&delivery, &staged, targets, terminal)?;
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
            .flat_map(|skill| placements(&delivery, skill, goal))
            .collect(),
        clients: targets.links.clone(),
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
pub(in crate::command) fn chosen(
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
            let message = format!("{} has no skill `{name}`", delivery.origin.source);
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
pub(in crate::command) fn candidates(
    delivery: &Delivery,
    chosen: Vec<FoundSkill>,
) -> Result<Vec<Candidate>, ImportError> {
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
pub(in crate::command) fn findings(skill: &StagedSkill) -> Vec<String> {
    use gongfu_core::skill::Severity;

    let verdicts = gongfu_library::check::check(&skill.staged, &[], NAMED, false);
    let found = verdicts.iter().flat_map(|verdict| &verdict.diagnostics);
    let found = found.filter(|found| found.severity() != Severity::Info);
    let mut codes: Vec<String> = found.map(|found| found.finding.code().to_owned()).collect();
    codes.sort();
    codes.dedup();
    codes
}

/// The placements of a skill: one for each folder that gets its files.
fn placements(
    delivery: &Delivery,
    skill: &StagedSkill,
    goal: &Goal,
) -> impl Iterator<Item = Placement> {
    let scope = &goal.scope;
    let npx = scope.npx_lock.as_ref().and_then(|(kind, _)| {
        let entry = delivery.origin.npx_entry(*kind, skill, &scope.base)?;
        Some((skill.found.name.clone(), entry))
    });
    let locked = delivery.origin.locked(skill);
    goal.targets.folders.iter().map(move |folder| Placement {
        key: scope.key(folder, &skill.folder),
        staged: skill.staged.clone(),
        locked: locked.clone(),
        npx: npx.clone(),
    })
}

/// A folder of gongfu's home that ends with the command.
pub(in crate::command) struct Temporary {
    pub(in crate::command) root: Root,
    parent: Root,
    name: String,
}

impl Temporary {
    pub(in crate::command) fn new(home: &Home) -> anyhow::Result<Self> {
        let parent = home
            .folder("imports")
            .context("gongfu's home can't be written")?;
        let random = RandomState::new().build_hasher().finish();
        let name = format!("fetch-{random:016x}");
        let path: PathBuf = parent.path().join(&name);
        let root = Root::create_private(&path).context("gongfu's home can't be written")?;
        Ok(Self { root, parent, name })
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = self.parent.dir().remove_dir_all(&self.name);
    }
}
