//! The places of clients' configurations, and whether clients are installed.

use std::path::{Path, PathBuf};

use gongfu_files::{disk, project_of};
use serde::Serialize;

use super::folders::Folders;
use super::known::Client;
use crate::environment::Environment;
use crate::home;

/// The owner of a configuration: a person, or a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Scope {
    /// Yours, for all projects
    #[default]
    User,
    /// The current project's
    Project,
}

/// The place of a client's configuration.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Location {
    /// The client's id.
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    scope: Scope,
    /// The client seems to be installed.
    pub(crate) found: bool,
    /// The file; none where the client has none for projects.
    pub(crate) file: Option<PathBuf>,
    pub(crate) exists: bool,
    /// The person's or the project's folder.
    #[serde(skip)]
    pub(super) base: PathBuf,
}

impl Location {
    /// True for a file of a project.
    pub(crate) fn is_of_project(&self) -> bool {
        self.scope == Scope::Project
    }
}

impl Client {
    /// The place of its configuration.
    pub(crate) fn location(&self, scope: Scope, environment: &Environment) -> Location {
        self.location_in(scope, &Folders::current(environment))
    }

    pub(super) fn location_in(&self, scope: Scope, folders: &Folders<'_>) -> Location {
        let exists = |path: &PathBuf| disk::kind_outside(path).is_some();
        let folder = (self.folder)(folders);
        let has_folder = folder != folders.user && exists(&folder);
        let below = |folder: &Path, files: &[&str]| -> Vec<PathBuf> {
            files.iter().map(|file| folder.join(file)).collect()
        };
        let own = below(&folder, self.files);
        let found = has_folder || own.iter().any(exists);
        let (base, candidates) = match scope {
            Scope::User => (folders.user.clone(), own),
            Scope::Project => {
                let environment = folders.environment;
                let folder = environment.directory.clone().unwrap_or_default();
                let user = environment.user.as_deref();
                let home = home::home(environment).ok();
                let root = home.and_then(|home| project_of(&folder, user, &home).ok());
                let root = root.unwrap_or(folder);
                let files = below(&root, self.project);
                (root, files)
            }
        };
        let existing: Vec<&PathBuf> = candidates.iter().filter(|path| exists(path)).collect();
        // A newer file must not hide the one with the entry.
        let entered = existing
            .iter()
            .find(|path| matches!(self.entry_in(path), Ok(Some(_))));
        let file = entered.or(existing.first()).copied();
        Location {
            name: self.id,
            title: self.title,
            scope,
            found,
            exists: file.is_some(),
            file: file.or(candidates.first()).cloned(),
            base,
        }
    }

    /// The file of an installed client.
    pub(crate) fn found(&self, environment: &Environment) -> Option<PathBuf> {
        let location = self.location(Scope::User, environment);
        location.file.filter(|_| location.found)
    }
}
