//! `gongfu mcp`: the server on standard input and output.

use std::io::IsTerminal as _;
use std::sync::Arc;

use gongfu_files::{Home, project_of};
use gongfu_library::watch::Limit;
use gongfu_mcp::{AdoptRoots, Server, Settings, serve_stdio};
use gongfu_upstream::refreshes_ended;

use super::Outcome;
use crate::cli::{Places, Profiles};
use crate::client;
use crate::environment::Environment;
use crate::project::Workspace;
use crate::sets;
use crate::signal::Signals;
use crate::telemetry;
use crate::terminal::{Terminal, plain};
use crate::wiring::{self, FlagsOf, Parts};

pub(crate) fn run(
    profiles: &Profiles,
    places: &Places,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let home = wiring::home_of_server(environment)?;
    let set = sets::choice(profiles.set.as_deref(), &home)?;
    let parts = wiring::parts_that_wait(FlagsOf::Client, environment, places, &profiles.mounts)?;
    parts.warn();
    let folder = parts.workspace.folder().display();
    tracing::info!(%folder, "the workspace");
    if let Some(note) = parts.workspace.note() {
        tracing::warn!("{note}");
    }
    // The client asks for the list of tools first, which needs no skills: meanwhile they are read.
    parts.skills.watch(Limit::default());
    if std::io::stdin().is_terminal() {
        let library = parts.skills.current();
        let found = library.map_or(0, |library| library.skills().len());
        greet(found, &parts, environment, terminal);
    }
    let roots = adopt_roots(&parts, environment, home);
    let sandbox = Arc::clone(&parts.sandbox);
    let catalog = Arc::clone(&parts.catalog);
    let work = wiring::runtime()?;
    let server = Server::new(
        parts.catalog,
        Settings {
            profiles: profiles.list.clone(),
            set,
            catalogue: parts.budget,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            adopt: Some(telemetry::adopt),
            work: Some(work.handle().clone()),
            roots,
        },
    );
    let search = Arc::clone(&parts.search);
    work.spawn(Parts::settle(search));
    let runtime = wiring::message_runtime()?;
    runtime.block_on(wiring::offer_own_servers(&parts.space, &catalog));
    let outcome = runtime.block_on(async {
        let mut signals = Signals::listen();
        tokio::select! {
            served = serve_stdio(server) => served.map_err(anyhow::Error::from),
            () = signals.next() => Ok(()),
        }
    });
    runtime.block_on(refreshes_ended());
    // Standard input may still be read by a thread that nothing can wake.
    runtime.shutdown_background();
    work.shutdown_background();
    sandbox.end();
    outcome.map(|()| Outcome::Good)
}

/// Moves the workspace of a server without a project into the first root of its client that is one.
fn adopt_roots(parts: &Parts, environment: &Environment, home: Home) -> Option<AdoptRoots> {
    let Workspace::Private { .. } = parts.workspace else {
        return None;
    };
    let (files, skills) = (Arc::clone(&parts.files), Arc::clone(&parts.skills));
    let user = environment.user.clone();
    Some(Arc::new(move |roots| {
        let projects = roots.iter().filter_map(|root| {
            match project_of(root, user.as_deref(), &home) {
                Ok(project) => Some((root, project)),
                Err(why) => {
                    tracing::warn!(root = %root.display(), "a root of the client is not a project: {why}");
                    None
                }
            }
        });
        let projects: Vec<_> = projects.collect();
        let current = files.path();
        let is_current = projects.iter().any(|(_, project)| *project == current);
        let Some((root, project)) = projects.into_iter().next().filter(|_| !is_current) else {
            return;
        };
        let logs = home.logs_of(&project);
        match files.move_to(project.clone(), logs) {
            Ok(()) => {
                skills.set_project(Some(root.clone()));
                tracing::info!(folder = %project.display(), "the workspace is a root of the client");
            }
            Err(error) => tracing::warn!(%error, "a root of the client can't be the workspace"),
        }
    }))
}

/// A person who started the server by hand sees that it works, and what to do with it.
fn greet(skills: usize, parts: &Parts, environment: &Environment, terminal: &mut Terminal) {
    let places = parts.skills.places().len();
    terminal.note(&format!(
        "gongfu {} is ready: {skills} skills from {places} places.",
        env!("CARGO_PKG_VERSION")
    ));
    let workspace = plain(&parts.workspace.folder().to_string_lossy());
    terminal.note(&format!("Its workspace is {workspace}."));
    terminal.note("It speaks MCP over stdio and is started by a client: run `gongfu client install NAME`, or paste this into one:");
    terminal.note(&client::snippet(environment));
    terminal.note("Press Ctrl-D to stop.");
}
