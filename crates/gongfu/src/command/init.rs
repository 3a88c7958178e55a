//! `gongfu init`: the first minutes.

use std::sync::Arc;

use anyhow::Context as _;

use super::Outcome;
use crate::cli::Places;
use crate::client::{self, CLIENTS};
use crate::environment::Environment;
use crate::signal::Signals;
use crate::terminal::{Paint, Terminal, plain};
use crate::wiring::Parts;
use crate::{progress, wiring};

pub(crate) fn run(
    offline: bool,
    places: &Places,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let home = wiring::home(environment)?;
    let new = home.create().with_context(|| {
        format!(
            "the home {} can't be made; set GONGFU_HOME to a folder that you may write to",
            home.path().display()
        )
    })?;
    let path = plain(&home.path().to_string_lossy());
    terminal.line(&format!(
        "{} {path} ({})",
        heading(terminal, "home"),
        if new { "made" } else { "there already" }
    ))?;

    let parts = wiring::parts(environment, places)?;
    let library = progress::during("reading the skills folders", || parts.skills.current())?;
    terminal.line(&format!(
        "{} {} in {} sources",
        heading(terminal, "skills"),
        library.skills().len(),
        library.sources().len()
    ))?;
    for source in library.sources() {
        let count = library
            .skills()
            .iter()
            .filter(|skill| skill.source == source.id)
            .count();
        terminal.line(&format!(
            "  {:<20} {count:>5}  {}",
            source.id,
            plain(&source.root)
        ))?;
    }
    let errors = library
        .skills()
        .iter()
        .filter(|skill| skill.findings.errors > 0)
        .count();
    if errors > 0 {
        terminal.line(&format!(
            "  {errors} of them have errors: gongfu skill check"
        ))?;
    }
    for left in library.unloadable() {
        for found in &left.diagnostics {
            terminal.line(&format!(
                "  left out: {}: {}",
                plain(&left.path),
                gongfu_core::text::finding(&found.finding).message
            ))?;
        }
    }

    uv(&parts, offline, terminal)?;
    let found: Vec<_> = CLIENTS
        .iter()
        .filter_map(|client| client.found(environment).map(|path| (client.title, path)))
        .collect();
    if found.is_empty() {
        terminal.line(&format!(
            "{} none of those that gongfu knows is installed here",
            heading(terminal, "clients")
        ))?;
    } else {
        terminal.line(&format!("{} {}", heading(terminal, "clients"), found.len()))?;
        for (name, path) in &found {
            terminal.line(&format!("  {name:<20} {}", plain(&path.to_string_lossy())))?;
        }
    }
    terminal.line(&format!(
        "{} gongfu client install NAME; or paste this into a client's configuration:",
        heading(terminal, "connect")
    ))?;
    terminal.line(&client::snippet(&client::program(environment)))?;
    Ok(Outcome::Good)
}

/// Sees to it that packages of Python can be installed.
fn uv(parts: &Parts, offline: bool, terminal: &mut Terminal) -> anyhow::Result<()> {
    let name = heading(terminal, "uv");
    if let Some(at) = parts.environments.uv() {
        let at = plain(&at.to_string_lossy());
        return Ok(terminal.line(&format!("{name} {at}"))?);
    }
    if offline {
        let told = "not there, so no packages of Python are installed: begin again without --offline, or put it into the search path";
        return Ok(terminal.line(&format!("{name} {told}"))?);
    }
    let runtime = wiring::runtime()?;
    let got = progress::during("getting uv, which installs what scripts need", || {
        runtime.block_on(async {
            let mut signals = Signals::listen();
            let listener = Arc::new(|_, _: &[u8]| {});
            tokio::select! {
                got = parts.environments.download_uv(listener) => got.map(Some),
                () = signals.next() => Ok(None),
            }
        })
    });
    drop(runtime);
    parts.sandbox.end();
    let told = match got {
        Ok(Some(at)) => format!(
            "{name} {} (from the package index)",
            plain(&at.to_string_lossy())
        ),
        Ok(None) => format!("{name} not there: interrupted"),
        // Everything else works without it.
        Err(failure) => format!(
            "{name} not there, so no packages of Python are installed: {}; {}",
            plain(&failure.why),
            failure.kind.advice()
        ),
    };
    Ok(terminal.line(&told)?)
}

fn heading(terminal: &Terminal, word: &str) -> String {
    terminal.paint(Paint::Bold, &format!("{word:<8}"))
}
