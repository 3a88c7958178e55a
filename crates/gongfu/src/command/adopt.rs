//! `gongfu adopt`: what is on this machine already, in one table and under one lock.

mod effect;
mod report;
mod server;
mod undo;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use gongfu_core::port::Clock as _;
use gongfu_files::disk;
use gongfu_files::{Home, project_of};
use gongfu_import::adoption::{Adoption, LockChange, plan};
use gongfu_import::agents::{AGENTS, Machine};
use gongfu_import::error::ImportError;
use gongfu_import::inventory::{Inventory, Standing, Territory};
use gongfu_import::scope::ScopeKind;

use super::{Outcome, check_answerable};
use crate::cli::{AdoptArguments, AdoptedProject, Places};
use crate::clock::SystemClock;
use crate::config::Config;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::table::count;
use crate::terminal::{Terminal, plain};
use crate::{progress, wiring};

use server::Servers;

/// Everything that an adoption would write.
struct Plan {
    locks: Vec<LockChange>,
    /// Folders that gongfu doesn't read yet, and that are added to the settings.
    folders: Vec<PathBuf>,
    /// Folders that earlier adoptions added, and that are gone.
    gone: Vec<PathBuf>,
    /// The same in a project, which only its own person adds: a folder in the settings is trusted.
    untold: Vec<PathBuf>,
    servers: Servers,
}

impl Plan {
    fn is_empty(&self) -> bool {
        self.locks.is_empty()
            && self.folders.is_empty()
            && self.gone.is_empty()
            && self.servers.new.is_empty()
    }

    fn skills(&self) -> usize {
        self.locks.iter().map(|lock| lock.skills.len()).sum()
    }

    /// The question, and the answer to it afterwards.
    fn text(&self) -> String {
        let mut parts = Vec::new();
        if self.skills() > 0 {
            parts.push(format!("lock {}", count(self.skills(), "skill")));
        }
        if !self.folders.is_empty() {
            let folders = count(self.folders.len(), "folder");
            parts.push(format!("add {folders} to the settings"));
        }
        let gone: usize = self.locks.iter().map(|lock| lock.gone.len()).sum();
        if gone + self.gone.len() > 0 {
            parts.push("remove the entries of folders that are gone".to_owned());
        }
        if !self.servers.new.is_empty() {
            let servers = count(self.servers.new.len(), "MCP server");
            parts.push(format!("import {servers} without approving any"));
        }
        parts.join(", ")
    }
}

pub(super) fn run(
    arguments: &AdoptArguments,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let home = wiring::home(environment)?;
    if arguments.undo {
        return undo::run(arguments.json, &home, environment, terminal);
    }
    if !arguments.dry_run && !arguments.yes {
        let hint =
            "pass --yes to adopt without a question, or --dry-run to see what would be adopted";
        check_answerable("adopting skills", hint, arguments.json)?;
    }
    let user = environment.user.as_deref();
    let user = user.context("there is no home folder, so there is nothing to look into")?;
    let project = project(arguments.project.as_ref(), environment, &home)?;
    let territory = Territory {
        machine: Machine {
            home: user,
            variable: &Environment::folder_of_agent,
        },
        state: environment.state.as_deref(),
        project: project.as_deref(),
    };
    let inventory = progress::during("looking for skills", || Inventory::of(territory));
    let earlier = Adoption::all(&home).map_err(failure)?;
    let locks = match plan(&inventory, territory, &earlier) {
        Ok(locks) => locks,
        // The problem is among those of the inventory.
        Err(_) if arguments.dry_run => Vec::new(),
        Err(error) => return Err(failure(error).into()),
    };
    let mut plan = Plan {
        locks,
        folders: Vec::new(),
        untold: Vec::new(),
        gone: gone(&earlier, &home)?,
        servers: server::find(project.as_deref(), &earlier, environment, &home),
    };
    (plan.folders, plan.untold) = unread(&inventory, project.as_deref(), environment)?;
    if project.is_none()
        && !arguments.json
        && let Some(root) = environment.directory.as_deref()
        && let Ok(root) = project_of(root, Some(user), &home)
        && AGENTS.iter().any(|agent| {
            agent.project.starts_with('.')
                && disk::kind_outside(&root.join(agent.project)).is_some()
        })
    {
        terminal.note("this project has skills, too: gongfu adopt --project current");
    }
    let shown = report::AdoptionReport {
        inventory: &inventory,
        plan: &plan,
        user,
        project: project.as_deref(),
    };
    if !arguments.json {
        shown.table(terminal)?;
    }
    let is_wanted = !plan.is_empty() && !arguments.dry_run;
    let is_wanted = is_wanted && (arguments.yes || terminal.ask(&format!("{}?", plan.text()))?);
    let mut imported = None;
    if is_wanted {
        let adoption = Adoption::new(SystemClock.now().to_string(), plan.locks.clone());
        imported = Some(effect::apply(
            adoption,
            &plan,
            environment,
            &home,
            terminal,
        )?);
    }
    if arguments.json {
        terminal.json(&shown.document(imported.as_deref()))?;
    } else if plan.is_empty() {
        terminal.note("nothing new to adopt");
    } else if let Some(imported) = &imported {
        shown.done(imported, terminal)?;
    } else if arguments.dry_run {
        terminal.note(&format!("would {}", plan.text()));
    } else {
        terminal.note("nothing was adopted");
    }
    Ok(Outcome::Good)
}

/// The root of the project that a person names.
fn project(
    named: Option<&AdoptedProject>,
    environment: &Environment,
    home: &Home,
) -> anyhow::Result<Option<PathBuf>> {
    let user = environment.user.as_deref();
    let start = match named {
        None => return Ok(None),
        Some(AdoptedProject::Current) => environment.directory.clone(),
        Some(AdoptedProject::At(folder)) => {
            Some(std::path::absolute(wiring::expanded(folder, user))?)
        }
    };
    let start = start.context("there is no current folder; pass --project DIR")?;
    let root = project_of(&start, user, home).map_err(|why| {
        let message = format!("{} is not a project: {why}", shown(&start));
        let hint = "pass a folder of a project, or omit --project";
        Failure::new("NO_PROJECT", message, hint)
    })?;
    Ok(Some(root))
}

/// The folders with skills that gongfu doesn't read yet: a person's, and a project's.
fn unread(
    inventory: &Inventory,
    project: Option<&Path>,
    environment: &Environment,
) -> anyhow::Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    let places = Places {
        workspace: project.map(Path::to_owned),
        ..Places::default()
    };
    let parts = wiring::unwarned_parts(environment, &places, &[])?;
    let read = parts.skills.places().into_iter();
    let read: Vec<PathBuf> = read.map(|place| disk::real_outside(&place.path)).collect();
    let (mut own, mut of_project) = (Vec::new(), Vec::new());
    for copy in inventory.skills.iter().filter(|copy| copy.is_in_use()) {
        let real = match &copy.target {
            Some(target) => target.clone(),
            None => disk::real_outside(&copy.folder),
        };
        // Its content is read elsewhere, or a newer one of its source.
        if matches!(copy.standing, Standing::Duplicate(_) | Standing::Older(_)) {
            continue;
        }
        let is_read = |place: &PathBuf| real.starts_with(place);
        // A link in a person's own folder is followed there.
        let root = disk::real_outside(&copy.root);
        if read.iter().any(is_read) || read.contains(&root) {
            continue;
        }
        let list = match copy.scope {
            ScopeKind::Project => &mut of_project,
            _ => &mut own,
        };
        if !list.contains(&copy.root) {
            list.push(copy.root.clone());
        }
    }
    Ok((own, of_project))
}

/// The folders in the settings that earlier adoptions added, and that aren't there any more.
fn gone(earlier: &[Adoption], home: &Home) -> anyhow::Result<Vec<PathBuf>> {
    let added: Vec<&String> = earlier.iter().flat_map(|one| &one.folders).collect();
    if added.is_empty() {
        return Ok(Vec::new());
    }
    let mut gone = Config::read(home)?.discovery.adopted;
    gone.retain(|folder| {
        let is_added = added.iter().any(|added| Path::new(added) == folder);
        is_added && disk::kind_outside(folder).is_none()
    });
    Ok(gone)
}

/// A failure of an import, for people and programs.
fn failure(error: ImportError) -> Failure {
    let (message, hint) = (plain(&error.message), plain(&error.hint));
    Failure::new(error.code.as_str(), message, hint)
}

fn shown(path: &Path) -> String {
    plain(&path.to_string_lossy())
}
