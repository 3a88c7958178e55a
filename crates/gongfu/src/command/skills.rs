//! `gongfu skills`: the words of `npx skills`, translated to what `gongfu skill` does.
//!
//! Chooses the folders of agents as that program does. Fetches, places and locks nothing by itself.

mod init;
mod listing;
mod prompt;
mod removal;

use anyhow::Context as _;
use gongfu_core::project::NoProject;
use gongfu_files::{Home, refusal_of};
use gongfu_import::agents::Machine;
use gongfu_import::scope::Scope;
use gongfu_import::target::{AgentChoice, Targets};
use gongfu_import::update::installed;

use super::skill::add::{Goal, add_to};
use super::skill::import::{Importer, failure, machine, recover};
use super::skill::update::Update;
use super::{Outcome, search};
use crate::cli::{
    AddArguments, AgentArguments, NewTarget, PlaceArguments, SkillsAddArguments, SkillsCommand,
    SkillsUpdateArguments,
};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::terminal::{Terminal, plain};
use crate::wiring;

pub(super) fn run(
    command: SkillsCommand,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    match command {
        SkillsCommand::Add(arguments) => add(arguments, environment, terminal),
        SkillsCommand::Use(arguments) => prompt::run(&arguments, environment, terminal),
        SkillsCommand::List(arguments) => listing::run(&arguments, environment, terminal),
        SkillsCommand::Find(arguments) => {
            terminal.note("searching the skills that gongfu has; no site is asked");
            search::run(arguments, environment, terminal)
        }
        SkillsCommand::Update(arguments) => update(arguments, environment, terminal),
        SkillsCommand::Remove(arguments) => removal::run(arguments, environment, terminal),
        SkillsCommand::Init { name, json } => {
            init::run(name.as_deref(), json, environment, terminal)
        }
    }
}

fn add(
    arguments: SkillsAddArguments,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let home = wiring::home(environment)?;
    let mut agents = arguments.agents;
    if arguments.all {
        agents.agents = vec!["*".to_owned()];
    }
    let place = Place::of(&agents, environment, &home)?;
    let targets = Targets::of(&place.scope, &place.choice, arguments.copy, place.machine);
    if targets.folders.is_empty() {
        let message = format!("{} has no folder in a home", agents.agents.join(", "));
        let hint = "leave --global out, or name another agent";
        return Err(Failure::usage("INVALID_VALUE", message, hint).into());
    }
    let goal = Goal {
        targets,
        scope: place.scope,
        declared_only: true,
    };
    let is_any = arguments.all || arguments.skills.iter().any(|name| name == "*");
    let order = AddArguments {
        sources: arguments.sources,
        skills: if is_any { Vec::new() } else { arguments.skills },
        all: false,
        list: arguments.list,
        reference: None,
        full_depth: arguments.full_depth,
        dry_run: false,
        replace: arguments.replace,
        link: false,
        yes: arguments.yes || arguments.all,
        place: PlaceArguments {
            target: NewTarget::Project,
            workspace: None,
        },
        json: arguments.json,
    };
    add_to(&goal, &order, &home, environment, terminal)
}

/// Updates skills of the current folder, of the person's home, or of both.
fn update(
    arguments: SkillsUpdateArguments,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let home = wiring::home(environment)?;
    let scope = |global| {
        let agents = AgentArguments {
            global,
            agents: Vec::new(),
        };
        Place::of(&agents, environment, &home).map(|place| place.scope)
    };
    let is_both =
        arguments.global == arguments.project && (arguments.global || !arguments.skills.is_empty());
    let scopes = if is_both {
        vec![scope(false)?, scope(true)?]
    } else if arguments.global {
        vec![scope(true)?]
    } else {
        let project = scope(false)?;
        let is_used = arguments.project || !installed(&project).map_err(failure)?.is_empty();
        vec![if is_used { project } else { scope(true)? }]
    };
    let mut order = Update {
        names: Vec::new(),
        dry_run: false,
        replace: arguments.replace,
        yes: arguments.yes,
        json: arguments.json,
    };
    order.check()?;
    let (mut documents, mut outcome) = (Vec::new(), Outcome::Good);
    let mut missing = arguments.skills.clone();
    for scope in &scopes {
        let known = installed(scope).map_err(failure)?;
        let is_known = |name: &String| {
            let mut known = known.iter();
            known.any(|skill| skill.key == *name || skill.name == *name)
        };
        order.names = arguments
            .skills
            .iter()
            .filter(|name| is_known(name))
            .cloned()
            .collect();
        missing.retain(|name| !is_known(name));
        if order.names.is_empty() && !arguments.skills.is_empty() {
            continue;
        }
        let importer = Importer::new(environment, &home, scope)?;
        let (document, end) = order.run(&importer, terminal)?;
        documents.push(document);
        if end != Outcome::Good {
            outcome = end;
        }
    }
    if let Some(name) = missing.first() {
        let message = format!("{} isn't here", plain(name));
        let hint =
            "`gongfu skills list` shows the skills of this folder, and with -g those of your home";
        return Err(Failure::new("NOT_LOCKED", message, hint).into());
    }
    if arguments.json {
        terminal.json(&documents)?;
    }
    Ok(outcome)
}

/// The place of a command, and the agents that it is about.
struct Place<'a> {
    scope: Scope,
    choice: AgentChoice,
    machine: Machine<'a>,
    /// The current folder.
    current: &'a std::path::Path,
}

impl<'a> Place<'a> {
    /// The current folder itself, also within a project, or the person's home.
    fn of(
        agents: &AgentArguments,
        environment: &'a Environment,
        home: &Home,
    ) -> anyhow::Result<Self> {
        let current = environment.directory.as_deref();
        let current = current.context("there is no current folder")?;
        let machine = machine(environment).context("there is no home folder")?;
        let scope = if agents.global {
            Scope::user(machine.home, environment.state.as_deref())
        } else {
            let why = refusal_of(current, Some(machine.home), home);
            if let Some(why @ (NoProject::Root | NoProject::System | NoProject::Own)) = why {
                let shown = plain(&current.to_string_lossy());
                let message = format!("{shown} can't be used: {why}");
                let hint = "go to a project, or use --global";
                return Err(Failure::new("NO_PROJECT", message, hint).into());
            }
            Scope::project(current)
        };
        recover(&scope, home);
        Ok(Self {
            choice: AgentChoice::of(&agents.agents, machine, current),
            scope,
            machine,
            current,
        })
    }
}
