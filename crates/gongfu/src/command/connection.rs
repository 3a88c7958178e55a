//! `gongfu connection`: the connections to other MCP servers.

mod add;
mod approve;
mod login;
mod show;

use gongfu_core::connection::{ConnectionName, State};
use gongfu_core::port::ConnectionStatus;
use gongfu_hub::surface::connection::{ConnectionList, ConnectionRevoke};
use serde_json::{Value, json};

use super::Outcome;
use super::operate::operate;
use crate::cli::{ConnectionCommand, Places};
use crate::connection::{Connections, connections, file};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::table;
use crate::terminal::{Paint, Terminal, plain};
use crate::wiring::{self, Parts};

pub(crate) fn run(
    command: ConnectionCommand,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    match command {
        ConnectionCommand::List { no_start, json } => list(!no_start, json, environment, terminal),
        ConnectionCommand::Add(arguments) => add::run(*arguments, environment, terminal),
        ConnectionCommand::Show { name, json } => show::show(&name, json, environment, terminal),
        ConnectionCommand::Test { name, json } => show::test(&name, json, environment, terminal),
        ConnectionCommand::Approve { name, yes, json } => {
            approve::run(&name, yes, json, environment, terminal)
        }
        ConnectionCommand::Login {
            name,
            no_browser,
            json,
        } => login::login(&name, no_browser, json, environment, terminal),
        ConnectionCommand::Logout { name } => login::logout(&name, environment, terminal),
        ConnectionCommand::Revoke { name } => revoke(&name, environment, terminal),
        ConnectionCommand::Remove { name } => remove(&name, environment, terminal),
        ConnectionCommand::Import { from, json } => add::import(&from, json, environment, terminal),
    }
}

fn parts(environment: &Environment) -> anyhow::Result<Parts> {
    wiring::parts(environment, &Places::default())
}

/// Warns of everything in files of connections that is left out.
fn warn(connections: &Connections, terminal: &mut Terminal) {
    for diagnostic in &connections.diagnostics {
        terminal.warning(
            "CONNECTION_INVALID",
            &diagnostic.text(),
            "fix it, or remove it; the other connections are used",
        );
    }
}

/// A connection as JSON.
fn status_json(status: &ConnectionStatus) -> Value {
    json!({
        "name": status.connection.name,
        "state": status.state,
        "reason": status.reason,
        "tools": status.tools,
        "skills": status.skills,
        "approved": status.is_approved,
        "source": status.source,
    })
}

fn list(
    start: bool,
    json: bool,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let parts = parts(environment)?;
    let declared = connections(environment, &wiring::home(environment)?);
    let statuses = operate(ConnectionList { start }, &parts, json, terminal)?;
    if json {
        terminal.json(&statuses.iter().map(status_json).collect::<Vec<_>>())?;
    } else {
        for status in &statuses {
            line(status, terminal)?;
        }
        if statuses.is_empty() {
            terminal.note("no connections; add one: gongfu connection add NAME -- COMMAND");
        }
    }
    warn(&declared, terminal);
    Ok(Outcome::Good)
}

/// Prints a connection in one line, and why it isn't ready in another.
fn line(status: &ConnectionStatus, terminal: &mut Terminal) -> anyhow::Result<()> {
    let paint = match status.state {
        State::Ready => Paint::Green,
        State::Init => Paint::Dim,
        State::Degraded => Paint::Yellow,
        State::Dead => Paint::Red,
    };
    let name = table::pad(status.connection.name.as_str(), 20);
    let state = terminal.paint(paint, &table::pad(status.state.as_str(), 9));
    let count = offer(status.tools.len(), status.skills.len());
    terminal.line(&format!("{name} {state} {count}"))?;
    if let Some(reason) = &status.reason {
        terminal.line(&format!("    {}", plain(reason)))?;
    }
    if !status.is_approved {
        let name = &status.connection.name;
        terminal.line(&format!(
            "    see and approve it: gongfu connection approve {name}"
        ))?;
    }
    Ok(())
}

/// The offer of a server, as numbers.
fn offer(tools: usize, skills: usize) -> String {
    let tools = table::count(tools, "tool");
    match skills {
        0 => tools,
        skills => format!("{tools}, {}", table::count(skills, "skill")),
    }
}

fn revoke(
    name: &str,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let parts = parts(environment)?;
    let revoke = ConnectionRevoke {
        connection: name.to_owned(),
    };
    if !operate(revoke, &parts, false, terminal)? {
        return Err(not_approved(name).into());
    }
    terminal.line(&format!("no longer approved: {}", plain(name)))?;
    Ok(Outcome::Good)
}

fn not_approved(name: &str) -> Failure {
    let message = format!("the connection `{}` isn't approved", plain(name));
    Failure::new(
        "CONNECTION_NOT_APPROVED",
        message,
        "`gongfu connection list` shows the connections",
    )
}

fn remove(
    name: &str,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let home = wiring::home(environment)?;
    let known = ConnectionName::new(name).map_err(|error| {
        let hint = "`gongfu connection list` shows the connections";
        Failure::usage("INVALID_NAME", error.to_string(), hint)
    })?;
    if !file::has(&home, &known)? {
        let declared = connections(environment, &home).declared;
        let elsewhere = declared.iter().find(|one| one.connection.name == known);
        let (message, hint) = match elsewhere {
            Some(one) => (
                format!("`{known}` is declared in {}", one.source),
                "remove it there".to_owned(),
            ),
            None => (
                format!("there is no connection `{known}`"),
                "`gongfu connection list` shows the connections".to_owned(),
            ),
        };
        return Err(Failure::new("CONNECTION_NOT_FOUND", message, hint).into());
    }
    let parts = parts(environment)?;
    let revoke = ConnectionRevoke {
        connection: known.to_string(),
    };
    // First: an approval must not outlive the connection that a person saw.
    operate(revoke, &parts, false, terminal)?;
    file::remove(&home, &known)?;
    terminal.line(&format!("removed   {known}"))?;
    Ok(Outcome::Good)
}
