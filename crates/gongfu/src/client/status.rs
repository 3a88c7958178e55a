//! Whether gongfu is in a client's configuration, and whether that can work.

use std::path::{Path, PathBuf};

use gongfu_store::disk::{self, EntryKind};
use serde::Serialize;

use super::server::switched_off;
use super::{Client, NAME, Problem, Scope, Server, Snapshot};
use crate::environment::Environment;

/// What is known of one client.
#[derive(Debug, Serialize)]
pub(crate) struct Status {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// What people call it.
    pub(crate) title: &'static str,
    /// Whether it seems to be installed.
    pub(crate) found: bool,
    /// Its file, where it has one for this scope.
    pub(crate) file: Option<PathBuf>,
    /// Whether gongfu is entered.
    pub(crate) entered: bool,
    /// How it is reached.
    #[serde(flatten)]
    pub(crate) server: Option<Server>,
    /// Whether the command is there; none for an address.
    pub(crate) command_exists: Option<bool>,
    /// Whether the entry is there and switched off.
    pub(crate) switched_off: bool,
    /// Why it can't be told.
    pub(crate) problem: Option<Trouble>,
}

/// A problem, for programs.
#[derive(Debug, Serialize)]
pub(crate) struct Trouble {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) hint: String,
}

impl Client {
    /// Looks at its configuration.
    pub(crate) fn status(&self, scope: Scope, environment: &Environment) -> Status {
        let location = self.location(scope, environment);
        let mut status = Status {
            name: self.id,
            title: self.title,
            found: location.found,
            file: location.file,
            entered: false,
            server: None,
            command_exists: None,
            switched_off: false,
            problem: None,
        };
        let Some(file) = &status.file else {
            return status;
        };
        match self.entered(file) {
            Ok(None) => {}
            Ok(Some(entry)) => {
                status.entered = true;
                status.switched_off = switched_off(&entry);
                status.server = Server::read(&entry);
                if let Some(Server::Stdio { command, .. }) = &status.server {
                    status.command_exists = Some(is_there(command, environment));
                }
            }
            Err(problem) => {
                let Problem {
                    code,
                    message,
                    hint,
                } = problem;
                status.problem = Some(Trouble {
                    code,
                    message,
                    hint,
                });
            }
        }
        status
    }

    /// The entry of a file.
    pub(super) fn entered(&self, file: &Path) -> Result<Option<serde_json::Value>, Problem> {
        let snapshot = Snapshot::read(file)?;
        let path = self.path(snapshot.text())?;
        self.format.find(snapshot.text(), path, NAME)
    }
}

/// Whether a command would be found: by its path, else in the folders of `PATH`.
fn is_there(command: &str, environment: &Environment) -> bool {
    let is_file = |path: &Path| disk::kind_outside(path) == Some(EntryKind::File);
    let path = Path::new(command);
    if path.components().count() > 1 {
        return is_file(path);
    }
    environment.search_path.iter().any(|folder| {
        is_file(&folder.join(command))
            || (cfg!(windows) && is_file(&folder.join(format!("{command}.exe"))))
    })
}
