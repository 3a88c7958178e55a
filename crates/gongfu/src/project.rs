//! The folder that gongfu works in: one that a person named, the project, or a private one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use gongfu_core::project::NoProject;
use gongfu_files::disk::{self, EntryKind};
use gongfu_files::{Home, project_of, refusal_of};
use gongfu_library::source::TrustedElsewhere;

use crate::client;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::terminal::plain;

/// The workspace of a command.
#[derive(Debug, Clone)]
pub(crate) enum Workspace {
    /// A person named it.
    Named(PathBuf),
    /// The project that the current folder belongs to.
    Project(PathBuf),
    /// A folder of gongfu's home, because the current folder is no project.
    Private {
        folder: PathBuf,
        start: PathBuf,
        why: NoProject,
    },
    /// A folder of gongfu's home, because a server takes no folder from anybody.
    Server(PathBuf),
}

impl Workspace {
    /// The workspace of a command; a server has its own folder unless a person names one.
    ///
    /// # Errors
    /// The named folder is missing, or nobody should work on it.
    pub(crate) fn of(
        named: Option<&Path>,
        is_server: bool,
        environment: &Environment,
        home: &Home,
    ) -> anyhow::Result<Self> {
        if let Some(named) = named {
            let folder = std::path::absolute(named)?;
            check_named(named, &folder, environment, home)?;
            return Ok(Self::Named(folder));
        }
        let user = environment.user.as_deref();
        let start = environment.directory.clone().unwrap_or_default();
        let project = project_of(&start, user, home);
        Ok(match project {
            Ok(project) if is_server => Self::Server(home.workspace_of(&project)),
            Err(_) if is_server => Self::Server(home.workspace_of(&start)),
            Ok(project) => Self::Project(project),
            Err(why) => Self::Private {
                folder: home.workspace_of(&start),
                start,
                why,
            },
        })
    }

    /// The folder.
    pub(crate) fn folder(&self) -> &Path {
        match self {
            Self::Named(folder)
            | Self::Project(folder)
            | Self::Server(folder)
            | Self::Private { folder, .. } => folder,
        }
    }

    /// A note for a person where there is no project.
    pub(crate) fn note(&self) -> Option<String> {
        let Self::Private { start, why, .. } = self else {
            return None;
        };
        let start = start.to_string_lossy();
        let start = if start.is_empty() {
            "the current folder".into()
        } else {
            plain(&start)
        };
        Some(format!(
            "{start} is not a project ({why}); /workspace is a private folder. Use --workspace DIR for another"
        ))
    }
}

/// Checks a folder that a person named as the workspace.
///
/// # Errors
/// It is missing, or nobody should work on it.
pub(crate) fn check_named(
    named: &Path,
    folder: &Path,
    environment: &Environment,
    home: &Home,
) -> anyhow::Result<()> {
    let shown = plain(&named.to_string_lossy());
    if disk::kind_outside(folder) != Some(EntryKind::Folder) {
        let message = format!("--workspace {shown}: there is no such folder");
        let hint = "check the path, or create the folder";
        return Err(Failure::new("FOLDER_NOT_FOUND", message, hint).into());
    }
    let why = refusal_of(folder, environment.user.as_deref(), home);
    if let Some(why @ (NoProject::Root | NoProject::System | NoProject::Own)) = why {
        let message = format!("--workspace {shown}: {why}");
        let hint = "pass a folder of your own, such as a project";
        return Err(Failure::new("NO_PROJECT", message, hint).into());
    }
    Ok(())
}

/// The project of a folder that a person named, else of the current one.
///
/// # Errors
/// There is no current folder, or the folder is in no project.
pub(crate) fn root(
    named: Option<&Path>,
    environment: &Environment,
    home: &Home,
) -> anyhow::Result<PathBuf> {
    let start = named.or(environment.directory.as_deref());
    let start = start.context("there is no current folder; pass --workspace DIR")?;
    let root = project_of(
        &std::path::absolute(start)?,
        environment.user.as_deref(),
        home,
    );
    let root = root.map_err(|why| {
        let message = format!("{} can't be used: {why}", plain(&start.to_string_lossy()));
        Failure::new("NO_PROJECT", message, "go to a project, or use --in user")
    })?;
    Ok(root)
}

/// Asks the files of clients whether their person trusts a project, once for each project.
pub(crate) fn trusted_elsewhere(environment: &Environment) -> TrustedElsewhere {
    let environment = environment.clone();
    let known: Mutex<BTreeMap<PathBuf, bool>> = Mutex::default();
    Arc::new(move |project| {
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        *known
            .entry(project.to_owned())
            .or_insert_with(|| client::answers(project, &environment).trusting().is_some())
    })
}
