//! `gongfu mcp`: the server on standard input and output.

use std::io::IsTerminal as _;
use std::sync::Arc;

use gongfu_library::watch::Limit;
use gongfu_mcp::{Server, Settings, serve_stdio};

use super::Outcome;
use crate::cli::{Places, Profiles};
use crate::client;
use crate::environment::Environment;
use crate::signal::Signals;
use crate::telemetry;
use crate::terminal::Terminal;
use crate::wiring::{self, Parts};

pub(crate) fn run(
    profiles: &Profiles,
    places: &Places,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    wiring::home_of_server(environment)?;
    let parts = wiring::parts_of(environment, places, &profiles.mounts, None)?;
    parts.warn();
    // The client asks for the list of tools first, which needs no skills: meanwhile they are read.
    parts.skills.watch(Limit::default());
    if std::io::stdin().is_terminal() {
        let library = parts.skills.current();
        let found = library.map_or(0, |library| library.skills().len());
        greet(found, parts.skills.places().len(), environment, terminal);
    }
    let sandbox = Arc::clone(&parts.sandbox);
    let server = Server::new(
        parts.catalog,
        Settings {
            profiles: profiles.list.clone(),
            catalogue: parts.budget,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            adopt: Some(telemetry::adopt),
        },
    );
    let runtime = wiring::runtime()?;
    let search = Arc::clone(&parts.search);
    runtime.spawn(Parts::settle(search));
    let outcome = runtime.block_on(async {
        let mut signals = Signals::listen();
        tokio::select! {
            served = serve_stdio(server) => served.map_err(anyhow::Error::from),
            () = signals.next() => Ok(()),
        }
    });
    // Standard input may still be read by a thread that nothing can wake.
    runtime.shutdown_background();
    sandbox.end();
    outcome.map(|()| Outcome::Good)
}

/// A person who started the server by hand sees that it works, and what to do with it.
fn greet(skills: usize, places: usize, environment: &Environment, terminal: &mut Terminal) {
    terminal.note(&format!(
        "gongfu {} is ready: {skills} skills from {places} places.",
        env!("CARGO_PKG_VERSION")
    ));
    terminal.note("It speaks MCP over stdio and is started by a client: run `gongfu client install NAME`, or paste this into one:");
    terminal.note(&client::snippet(environment));
    terminal.note("Press Ctrl-D to stop.");
}
