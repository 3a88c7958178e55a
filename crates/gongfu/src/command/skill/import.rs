//! The parts that `gongfu skill add`, `verify` and `remove` share.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use gongfu_files::Home;
use gongfu_import::agents::{AGENTS, Machine};
use gongfu_import::error::{ImportCode, ImportError};
use gongfu_import::scope::{Scope, ScopeKind};

use crate::cli::{NewTarget, PlaceArguments};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::project;
use crate::terminal::plain;

/// The place that a person names.
///
/// # Errors
/// There is no project or no home folder.
pub(super) fn scope(
    place: &PlaceArguments,
    environment: &Environment,
    home: &Home,
) -> anyhow::Result<Scope> {
    let user = environment.user.as_deref();
    match place.target {
        NewTarget::Home => Ok(Scope::home(home)),
        NewTarget::User => {
            let user = user.context("there is no home folder; use --in project or --in home")?;
            Ok(Scope::user(user, environment.state.as_deref()))
        }
        NewTarget::Project => {
            let root = project::root(place.workspace.as_deref(), environment, home)?;
            Ok(Scope::project(&root))
        }
    }
}

/// Finishes what an import that was killed left in a place, so that its locks agree with its skills.
///
/// Where that can't be done, what is there is read as it is.
pub(super) fn recover(scope: &Scope, home: &Home) {
    let _ = gongfu_files::transaction::recover(home, scope.staging());
}

/// The folders of agents that get links: those that a project has, or that are installed.
pub(super) fn clients(scope: &Scope, environment: &Environment) -> Vec<PathBuf> {
    let Some(user) = environment.user.as_deref() else {
        return Vec::new();
    };
    let machine = Machine {
        home: user,
        variable: &Environment::folder_of_agent,
    };
    let others = AGENTS.iter().filter(|agent| !agent.is_shared());
    let mut folders: Vec<PathBuf> = match scope.kind {
        // A folder such as `skills` can be anything.
        ScopeKind::Project => others
            .filter(|agent| agent.project.starts_with('.') && agent.is_used_in(&scope.base))
            .map(|agent| scope.base.join(agent.project))
            .collect(),
        ScopeKind::User => others
            .filter(|agent| agent.is_installed(machine, Path::new("/")))
            .filter_map(|agent| agent.user_folder(machine))
            .collect(),
        ScopeKind::Home => Vec::new(),
    };
    folders.sort();
    folders.dedup();
    folders
}

/// A failure of an import, for people and programs.
pub(super) fn failure(error: ImportError) -> Failure {
    let (code, message, hint) = (
        error.code.as_str(),
        plain(&error.message),
        plain(&error.hint),
    );
    match error.code {
        ImportCode::SourceInvalid => Failure::usage(code, message, hint),
        _ => Failure::new(code, message, hint),
    }
}
