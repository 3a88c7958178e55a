//! `gongfu client`: gongfu in the configuration of the programs that use it.

use std::io;
use std::path::Path;

use gongfu_files::Home;
use gongfu_server::Token;

use super::Outcome;
use crate::cli::{ChangeArguments, Cli, ClientCommand, Reach, UrlOrClient};
use crate::client::{
    self, Action, CLIENTS, Change, Client, DEFAULT_URL, Location, Problem, Scope, Status, Transport,
};
use crate::clock::SystemClock;
use crate::environment::Environment;
use crate::terminal::{Paint, Terminal, plain};
use crate::{token, wiring};

pub(crate) fn run(
    command: ClientCommand,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    match command {
        ClientCommand::List { scope, json } => list(scope, json, environment, terminal),
        ClientCommand::Status { names, scope, json } => {
            status(&names, scope, json, environment, terminal)
        }
        ClientCommand::Install { mut change, reach } => {
            change.names.extend(client_after_http(&reach));
            let Some(transport) = transport(&reach, environment, terminal) else {
                return Ok(Outcome::WrongUse);
            };
            install(&transport, &change, environment, terminal)
        }
        ClientCommand::Uninstall { change } => {
            let home = wiring::home(environment)?;
            change_all(&Action::Uninstall, &change, &home, environment, terminal)
        }
        ClientCommand::Print { name, reach } => {
            let names: Vec<String> = name.into_iter().chain(client_after_http(&reach)).collect();
            let clients = clients(&names, terminal);
            let Some(client) = clients.first() else {
                return Ok(Outcome::WrongUse);
            };
            let Some(transport) = transport(&reach, environment, terminal) else {
                return Ok(Outcome::WrongUse);
            };
            match client.snippet(&transport) {
                Ok(snippet) => {
                    terminal.bytes(snippet.as_bytes())?;
                    Ok(Outcome::Good)
                }
                Err(problem) => {
                    report(&problem, terminal);
                    Ok(Outcome::Findings)
                }
            }
        }
    }
}

/// The named clients; says so when there are none.
fn clients(names: &[String], terminal: &mut Terminal) -> Vec<&'static Client> {
    if names.is_empty() {
        let known: Vec<&str> = CLIENTS.iter().map(|client| client.id).collect();
        terminal.note(&format!(
            "error: no client is named\n  name one or more of: {}",
            known.join(", ")
        ));
    }
    names
        .iter()
        .filter_map(|name| Client::by_id(name))
        .collect()
}

/// The client in `--http CLIENT`, where an address could be.
fn client_after_http(reach: &Reach) -> Option<String> {
    match reach.http {
        Some(Some(UrlOrClient::Client(id))) => Some(id.to_owned()),
        _ => None,
    }
}

/// The transport to enter. Arguments that `gongfu mcp` wouldn't take are refused here, because a
/// client would only say that the server ended.
fn transport(
    reach: &Reach,
    environment: &Environment,
    terminal: &mut Terminal,
) -> Option<Transport> {
    if let Some(url) = &reach.http {
        let url = match url {
            Some(UrlOrClient::Url(url)) => url.clone(),
            Some(UrlOrClient::Client(_)) | None => DEFAULT_URL.to_owned(),
        };
        return Some(Transport::Http { url });
    }
    let mut arguments = vec!["mcp".to_owned()];
    arguments.extend(with_absolute_paths(&reach.arguments, environment));
    let words = std::iter::once("gongfu").chain(arguments.iter().map(String::as_str));
    if let Err(error) = <Cli as clap::Parser>::try_parse_from(words) {
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default();
        terminal.note(&format!(
            "error: `gongfu mcp` would not take what is after `--`: {}\n  see `gongfu mcp --help`; nothing was written",
            first.trim_start_matches("error: ")
        ));
        return None;
    }
    Some(Transport::Stdio {
        command: client::program(environment),
        arguments,
    })
}

/// The arguments with absolute paths: a client starts the server in a folder of its own choice.
fn with_absolute_paths(arguments: &[String], environment: &Environment) -> Vec<String> {
    const PATHS: [&str; 3] = ["--skills-dir", "--workspace", "--mount"];
    let absolute = |path: &str| match &environment.directory {
        Some(folder) if Path::new(path).is_relative() && !path.is_empty() => {
            folder.join(path).to_string_lossy().into_owned()
        }
        _ => path.to_owned(),
    };
    let mut is_path = false;
    let arguments = arguments.iter().map(|argument| {
        if std::mem::take(&mut is_path) {
            return absolute(argument);
        }
        is_path = PATHS.contains(&argument.as_str());
        match argument.split_once('=') {
            Some((name, path)) if PATHS.contains(&name) => format!("{name}={}", absolute(path)),
            _ => argument.clone(),
        }
    });
    arguments.collect()
}

fn report(problem: &Problem, terminal: &mut Terminal) {
    terminal.note(&format!(
        "error[{}]: {}\n  {}",
        problem.code, problem.message, problem.hint
    ));
}

/// Installs with the token of the server on this machine: for a person alone, as others may read the
/// files of a project.
fn install(
    transport: &Transport,
    arguments: &ChangeArguments,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let home = wiring::home(environment)?;
    let has_token = transport.is_local() && arguments.scope == Scope::User;
    let token = match (has_token, arguments.dry_run) {
        (false, _) => None,
        (true, false) => Some(token::read_or_make(&home)?),
        // The diff has a word in its place.
        (true, true) => Some(token::read(&home)?.unwrap_or_else(|| Token::of(&[0; 32]))),
    };
    let action = Action::Install(transport, token.as_ref());
    change_all(&action, arguments, &home, environment, terminal)
}

fn change_all(
    action: &Action<'_>,
    arguments: &ChangeArguments,
    home: &Home,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let clients = clients(&arguments.names, terminal);
    if clients.is_empty() {
        return Ok(Outcome::WrongUse);
    }
    let ChangeArguments {
        scope,
        force,
        dry_run,
        ..
    } = *arguments;
    let mut outcome = Outcome::Good;
    for client in clients {
        let plan = client.plan(action, scope, force, environment, home);
        let applied = plan.and_then(|change| {
            let applied = (!dry_run).then(|| change.apply(&SystemClock)).transpose()?;
            Ok((change, applied.flatten()))
        });
        match applied {
            Ok((change, _)) if dry_run && change.is_change() => {
                let mut diff = change.diff();
                if let Action::Install(_, Some(token)) = action {
                    diff = diff.replace(token.as_str(), "TOKEN");
                }
                terminal.file(diff.as_bytes())?;
            }
            Ok((change, backup)) => {
                print_effect(client, &change, terminal)?;
                let backup = backup.map(|backup| format!("as it was: {}", shown(&backup)));
                let notes = notes(client, &change, action, scope);
                for note in notes.into_iter().chain(backup) {
                    terminal.line(&format!("  {note}"))?;
                }
            }
            Err(problem) => {
                report(&problem, terminal);
                outcome = Outcome::Findings;
            }
        }
    }
    Ok(outcome)
}

fn print_effect(client: &Client, change: &Change<'_>, terminal: &mut Terminal) -> io::Result<()> {
    use client::Outcome::{Absent, Added, Removed, Replaced, Restored, Unchanged, Updated};
    let (paint, effect) = match change.outcome {
        Added => (Paint::Green, "added"),
        Updated => (Paint::Green, "updated"),
        Replaced => (Paint::Yellow, "replaced"),
        Unchanged => (Paint::Dim, "already there"),
        Removed => (Paint::Green, "removed"),
        Restored => (Paint::Green, "restored"),
        Absent => (Paint::Dim, "not there"),
    };
    let effect = terminal.paint(paint, &format!("{effect:<13}"));
    let file = shown(&change.file);
    print_row(client.id, &format!("{effect} {file}"), terminal)
}

/// Facts and advice for a person after a change.
fn notes(client: &Client, change: &Change<'_>, action: &Action<'_>, scope: Scope) -> Vec<String> {
    let title = client.title;
    let mut notes = Vec::new();
    if let Some(real) = change.link() {
        notes.push(format!("a link to {}", shown(real)));
    }
    if let Some(other) = &change.foreign {
        notes.push(format!("it was for something else: {}", plain(other)));
    }
    if !change.dropped.is_empty() {
        let names = plain(&change.dropped.join(", "));
        notes.push(format!(
            "left out, as it belongs to the other way to be reached: {names}"
        ));
    }
    if change.switched_off {
        notes.push(format!(
            "it is switched off there and stays so: switch it on in {title}"
        ));
    }
    if let Action::Install(transport, token) = action {
        if let Some(note) = token_note(change, transport, token.is_some()) {
            notes.push(note.to_owned());
        }
        if change.is_change() && scope == Scope::Project && transport.is_stdio() {
            notes.push("it names where gongfu is on this machine: others of the project may have it elsewhere".to_owned());
        }
        if !change.is_installed {
            notes.push(format!(
                "{title} was not found here: its file is ready for when it is installed"
            ));
        }
    }
    if change.is_change() && change.is_installed {
        notes.push(format!("restart {title} to have it take effect"));
    }
    notes
}

/// A fact or advice about the token of the server.
fn token_note(change: &Change<'_>, transport: &Transport, was_meant: bool) -> Option<&'static str> {
    if !change.is_change() || transport.is_stdio() {
        None
    } else if change.has_token {
        Some("it holds the token of your server, so only you may read the file")
    } else if was_meant {
        Some("it is left without the token of your server, because its `Authorization` is yours")
    } else if transport.is_local() {
        Some(
            "it is left without the token of your server, as others of the project may read it: on Linux your own programs need none, elsewhere leave --scope project out",
        )
    } else {
        Some(
            "it is left without a token, as that server has its own: add it as the header `Authorization: Bearer TOKEN`",
        )
    }
}

fn list(
    scope: Scope,
    json: bool,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let clients = CLIENTS.iter();
    let locations = clients.map(|client| client.location(scope, environment));
    let locations: Vec<Location> = locations.collect();
    if json {
        terminal.json(&locations)?;
        return Ok(Outcome::Good);
    }
    for location in &locations {
        let found = if location.found {
            terminal.paint(Paint::Green, "found    ")
        } else {
            terminal.paint(Paint::Dim, "not found")
        };
        let file = match &location.file {
            None => "no file for projects".to_owned(),
            Some(file) if location.exists => shown(file),
            Some(file) => format!("{} (not there yet)", shown(file)),
        };
        print_row(location.name, &format!("{found} {file}"), terminal)?;
    }
    Ok(Outcome::Good)
}

fn status(
    names: &[String],
    scope: Scope,
    json: bool,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let clients = if names.is_empty() {
        CLIENTS.iter().collect()
    } else {
        clients(names, terminal)
    };
    let clients = clients.into_iter();
    let all: Vec<Status> = clients
        .map(|client| client.status(scope, environment))
        .collect();
    if json {
        terminal.json(&all)?;
    } else {
        for status in &all {
            let (paint, text) = summary(status);
            let text = terminal.paint(paint, &text);
            print_row(status.location.name, &text, terminal)?;
            if let (Some(file), true) = (
                &status.location.file,
                status.entered || status.problem.is_some(),
            ) {
                let line = format!("{:15}{}", "", shown(file));
                let line = terminal.paint(Paint::Dim, &line);
                terminal.line(&line)?;
            }
        }
    }
    let is_good = all.iter().all(|status| {
        (status.entered || names.is_empty())
            && status.problem.is_none()
            && status.command_exists != Some(false)
    });
    Ok(Outcome::of(is_good))
}

/// One line about a client.
fn summary(status: &Status) -> (Paint, String) {
    if let Some(Problem { message, hint, .. }) = &status.problem {
        let message = plain(message);
        return (Paint::Red, format!("can't be told: {message} ({hint})"));
    }
    let Some(transport) = &status.transport else {
        let (paint, text) = match (status.entered, &status.location.file, status.location.found) {
            (true, ..) => (Paint::Yellow, "an entry `gongfu` that gongfu did not make"),
            (_, None, _) => (Paint::Dim, "no file for projects"),
            (_, _, true) => (Paint::Dim, "not entered"),
            (_, _, false) => (Paint::Dim, "not found on this machine"),
        };
        return (paint, text.to_owned());
    };
    let kind = if transport.is_stdio() {
        "stdio"
    } else {
        "http"
    };
    let entry = format!("{kind}  {}", plain(&transport.to_string()));
    if status.command_exists == Some(false) {
        let fix = format!("gongfu client install {}", status.location.name);
        (Paint::Red, format!("{entry}  (no such program: {fix})"))
    } else if status.switched_off {
        (Paint::Yellow, format!("{entry}  (switched off there)"))
    } else {
        (Paint::Green, entry)
    }
}

/// Prints the name of a client and a text.
fn print_row(name: &str, text: &str, terminal: &mut Terminal) -> io::Result<()> {
    let name = terminal.paint(Paint::Bold, &format!("{name:<14}"));
    terminal.line(&format!("{name} {text}"))
}

fn shown(path: &Path) -> String {
    plain(&path.to_string_lossy())
}
