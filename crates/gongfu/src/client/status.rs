//! Checks that gongfu is in a client's configuration and that its program is there.

use std::path::Path;

use gongfu_files::disk::{self, EntryKind};
use serde::Serialize;

use super::known::Client;
use super::location::{Location, Scope};
use super::transport::{Transport, is_switched_off};
use crate::environment::Environment;
use crate::failure::Failure;

/// One client's configuration.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Status {
    #[serde(flatten)]
    pub(crate) location: Location,
    /// There is an entry for gongfu.
    pub(crate) entered: bool,
    #[serde(flatten)]
    pub(crate) transport: Option<Transport>,
    /// The command is there; none for an address.
    pub(crate) command_exists: Option<bool>,
    /// The entry is disabled.
    pub(crate) switched_off: bool,
    /// The reason that the file can't be read.
    pub(crate) problem: Option<Failure>,
}

impl Client {
    /// Looks at the client's configuration.
    pub(crate) fn status(&self, scope: Scope, environment: &Environment) -> Status {
        let location = self.location(scope, environment);
        let entry = match &location.file {
            Some(file) => self.entry_in(file),
            None => Ok(None),
        };
        let (entry, problem) = match entry {
            Ok(entry) => (entry, None),
            Err(problem) => (None, Some(problem)),
        };
        let transport = entry.as_ref().and_then(Transport::from_entry);
        let command_exists = match &transport {
            Some(Transport::Stdio { command, .. }) => Some(exists(command, environment)),
            _ => None,
        };
        Status {
            location,
            entered: entry.is_some(),
            transport,
            command_exists,
            switched_off: entry.as_ref().is_some_and(is_switched_off),
            problem,
        }
    }
}

/// Looks for a command: by its path, else in the folders of `PATH`.
fn exists(command: &str, environment: &Environment) -> bool {
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
