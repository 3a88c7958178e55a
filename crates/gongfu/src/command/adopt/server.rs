//! MCP servers in the configurations of clients: found, and imported once.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use gongfu_core::connection::Entry;
use gongfu_files::Home;
use gongfu_import::adoption::Adoption;

use crate::client::{CLIENTS, Scope};
use crate::connection::{connections, of_client};
use crate::environment::Environment;
use crate::terminal::plain;

/// The servers of clients.
pub(super) struct Servers {
    /// All that were found, each with the file that names it.
    pub(super) found: Vec<(String, PathBuf)>,
    /// Those that gongfu doesn't know, and never imported.
    pub(super) new: Vec<Entry>,
    /// Files and entries that can't be understood.
    pub(super) problems: Vec<String>,
}

/// Finds the servers in the files of a person, and in those of a project.
pub(super) fn find(
    project: Option<&Path>,
    earlier: &[Adoption],
    environment: &Environment,
    home: &Home,
) -> Servers {
    let mut servers = Servers {
        found: Vec::new(),
        new: Vec::new(),
        problems: Vec::new(),
    };
    let mut known: BTreeSet<String> = connections(environment, home)
        .declared
        .iter()
        .map(|known| known.connection.name.to_string())
        .collect();
    // One that a person removed since isn't imported again.
    for adoption in earlier {
        known.extend(adoption.connections.keys().cloned());
    }
    for file in files(project, environment) {
        let (entries, diagnostics) = match of_client(&file) {
            Ok(read) => read,
            Err(failure) => {
                let shown = plain(&file.to_string_lossy());
                servers
                    .problems
                    .push(format!("{shown}: {}", failure.message));
                continue;
            }
        };
        let problems = diagnostics.iter().map(crate::connection::Diagnostic::text);
        servers.problems.extend(problems);
        for entry in entries {
            let name = entry.connection.name.to_string();
            servers.found.push((name.clone(), file.clone()));
            if known.insert(name) {
                servers.new.push(entry);
            }
        }
    }
    servers
}

/// The files of clients that are there.
fn files(project: Option<&Path>, environment: &Environment) -> Vec<PathBuf> {
    let mut there = environment.clone();
    there.directory = project.map(Path::to_owned);
    let scopes = [Some(Scope::User), project.map(|_| Scope::Project)];
    let mut files = Vec::new();
    for scope in scopes.into_iter().flatten() {
        for client in &CLIENTS {
            let location = client.location(scope, &there);
            let file = location.file.filter(|_| location.exists);
            files.extend(file.filter(|file| !files.contains(file)));
        }
    }
    files
}
