//! `gongfu init`: the first minutes.

use std::sync::Arc;

use gongfu_core::library::Library;
use gongfu_files::Home;
use serde_json::{Value, json};

use super::Outcome;
use crate::cli::Places;
use crate::client::{self, CLIENTS};
use crate::environment::Environment;
use crate::signal::Signals;
use crate::terminal::{Paint, Terminal, plain};
use crate::wiring::Parts;
use crate::{home, progress, table, wiring};

pub(crate) fn run(
    offline: bool,
    places: &Places,
    json: bool,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let home = wiring::home(environment)?;
    let new = home::create(&home)?;
    let parts = wiring::parts(environment, places)?;
    let library = progress::during("reading skills", || parts.skills.current())?;
    if json {
        let uv = uv(&parts, offline);
        let report = report(&home, new, &library, uv, environment);
        terminal.json(&report)?;
        return Ok(Outcome::Good);
    }
    let path = plain(&home.path().to_string_lossy());
    terminal.line(&format!(
        "{} {path} ({})",
        heading(terminal, "home"),
        if new { "created" } else { "exists" }
    ))?;
    terminal.line(&format!(
        "{} {} in {}",
        heading(terminal, "skills"),
        library.skills().len(),
        table::count(library.sources().len(), "source")
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
        terminal.line(&format!("  {errors} with errors: gongfu skill check"))?;
    }
    for left in library.unloadable() {
        for found in &left.diagnostics {
            terminal.line(&format!(
                "  not loaded: {}: {}",
                plain(&left.path),
                gongfu_core::text::finding(&found.finding).message
            ))?;
        }
    }

    let said = uv(&parts, offline).unwrap_or_else(|why| why);
    terminal.line(&format!("{} {}", heading(terminal, "uv"), plain(&said)))?;
    let found: Vec<_> = CLIENTS
        .iter()
        .filter_map(|client| client.found(environment).map(|path| (client.title, path)))
        .collect();
    if found.is_empty() {
        terminal.line(&format!("{} none found", heading(terminal, "clients")))?;
    } else {
        terminal.line(&format!("{} {}", heading(terminal, "clients"), found.len()))?;
        for (name, path) in &found {
            terminal.line(&format!("  {name:<20} {}", plain(&path.to_string_lossy())))?;
        }
    }
    terminal.line(&format!(
        "{} gongfu client install NAME, or paste this into a client's configuration:",
        heading(terminal, "connect")
    ))?;
    terminal.line(&client::snippet(environment))?;
    Ok(Outcome::Good)
}

/// The report for programs.
fn report(
    home: &Home,
    is_new: bool,
    library: &Library,
    uv: Result<String, String>,
    environment: &Environment,
) -> Value {
    let sources = library.sources().iter().map(|source| {
        let skills = library.skills().iter();
        let skills = skills.filter(|skill| skill.source == source.id).count();
        json!({ "id": source.id, "path": source.root, "skills": skills })
    });
    let clients = CLIENTS.iter().filter_map(|client| {
        let file = client.found(environment)?;
        Some(json!({ "name": client.id, "title": client.title, "file": file }))
    });
    json!({
        "home": home.path(),
        "created": is_new,
        "skills": library.skills().len(),
        "sources": sources.collect::<Vec<_>>(),
        "uv": uv.as_ref().ok(),
        "uv_problem": uv.as_ref().err(),
        "clients": clients.collect::<Vec<_>>(),
    })
}

/// Makes sure that Python packages can be installed; returns the path of uv, or why it is missing.
fn uv(parts: &Parts, offline: bool) -> Result<String, String> {
    if let Some(at) = parts.environments.uv() {
        return Ok(at.to_string_lossy().into_owned());
    }
    if offline {
        return Err("not found, so Python packages can't be installed: run `gongfu init` without --offline, or put uv on the PATH".to_owned());
    }
    let runtime = wiring::runtime().map_err(|error| error.to_string())?;
    let downloaded = progress::during("downloading uv, which installs Python packages", || {
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
    match downloaded {
        Ok(Some(at)) => Ok(at.to_string_lossy().into_owned()),
        Ok(None) => Err("not installed: interrupted".to_owned()),
        // Everything else works without it.
        Err(failure) => Err(format!(
            "not installed, so Python packages can't be installed: {}; {}",
            failure.why,
            failure.kind.advice()
        )),
    }
}

fn heading(terminal: &Terminal, word: &str) -> String {
    terminal.paint(Paint::Bold, &format!("{word:<8}"))
}
