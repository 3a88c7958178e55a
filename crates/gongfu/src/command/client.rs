//! `gongfu client`: gongfu in the configuration of MCP clients.

use std::io;
use std::path::Path;

use gongfu_files::{Home, project_of};
use gongfu_server::Token;
use serde_json::json;

use super::Outcome;
use crate::cli::{self, ChangeArguments, Cli, ClientCommand, Command, Reach, Refusal, UrlOrClient};
use crate::client::{
    self, Action, CLIENTS, Change, Client, DEFAULT_URL, Location, Scope, Status, Transport,
};
use crate::clock::SystemClock;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::table::wrap;
use crate::terminal::{Paint, Terminal, plain};
use crate::{project, token, wiring};

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
            let transport = transport(&reach, Some(change.scope), environment)?;
            install(&transport, &change, environment, terminal)
        }
        ClientCommand::Uninstall { change } => {
            let home = wiring::home(environment)?;
            change_all(&Action::Uninstall, &change, &home, environment, terminal)
        }
        ClientCommand::Print {
            name,
            link,
            reach,
            json,
        } => {
            let name = name.or_else(|| client_after_http(&reach));
            let client = name.as_deref().and_then(Client::by_id);
            let client = client.ok_or_else(|| no_client("name one of"))?;
            let transport = transport(&reach, None, environment)?;
            let snippet = client.snippet(&transport)?;
            let address = client.install_link(&transport);
            if link {
                let address = address.ok_or_else(|| client.no_link())?;
                terminal.line(&address)?;
            } else if json {
                let file = client.location(Scope::User, environment).file;
                terminal.json(
                    &json!({ "name": client.id, "file": file, "entry": snippet, "link": address }),
                )?;
            } else {
                terminal.bytes(snippet.as_bytes())?;
                if let Some(address) = address {
                    terminal.note(&format!(
                        "or open this link in {}:\n{address}",
                        client.title
                    ));
                }
            }
            Ok(Outcome::Good)
        }
    }
}

/// The named clients; there must be one.
fn clients(names: &[String]) -> Result<Vec<&'static Client>, Failure> {
    if names.is_empty() {
        return Err(no_client("name one or more of"));
    }
    let named = names.iter().filter_map(|name| Client::by_id(name));
    Ok(named.collect())
}

/// The failure of a command without a client.
fn no_client(hint: &str) -> Failure {
    let known: Vec<&str> = CLIENTS.iter().map(|client| client.id).collect();
    let hint = format!(
        "{hint}: {}; `gongfu client list` shows which are here",
        known.join(", ")
    );
    Failure::usage("MISSING_ARGUMENT", "missing the name of a client", hint)
}

/// The client in `--http CLIENT`, where an address could be.
fn client_after_http(reach: &Reach) -> Option<String> {
    match reach.http {
        Some(Some(UrlOrClient::Client(id))) => Some(id.to_owned()),
        _ => None,
    }
}

/// The transport to configure, for all projects or one; a snippet has no scope. Arguments that `gongfu mcp` wouldn't
/// take are refused here, because a client would only report that the server exited.
fn transport(
    reach: &Reach,
    scope: Option<Scope>,
    environment: &Environment,
) -> anyhow::Result<Transport> {
    if let Some(url) = &reach.http {
        let url = match url {
            Some(UrlOrClient::Url(url)) => url.clone(),
            Some(UrlOrClient::Client(_)) | None => DEFAULT_URL.to_owned(),
        };
        return Ok(Transport::Http { url });
    }
    let (command, mut arguments) = client::start(environment);
    let own = with_absolute_paths(&reach.arguments, scope, environment).map_err(|path| {
        Failure::usage(
            "RELATIVE_WORKSPACE",
            format!("`--workspace {}` would be another folder in each project", plain(&path)),
            "leave it out: gongfu works on the project that the client starts it in; or add --scope project, or use an absolute path; nothing was written",
        )
    })?;
    let words = ["gongfu", "mcp"].into_iter();
    let words = words.chain(own.iter().map(String::as_str));
    match cli::parse(words.map(Into::into).collect()) {
        Err((_, Refusal::Mistake(mistake))) => {
            return Err(Failure {
                message: format!(
                    "`gongfu mcp` can't take what follows `--`: {}",
                    mistake.message
                ),
                hint: format!("{}; nothing was written", mistake.hint),
                ..mistake
            }
            .into());
        }
        Err((_, Refusal::Help(_))) => {
            return Err(Failure::usage(
                "USAGE",
                "what follows `--` only prints help",
                "leave it out; nothing was written",
            )
            .into());
        }
        Ok(cli) => check_workspace(&cli, environment)?,
    }
    arguments.extend(own);
    Ok(Transport::Stdio { command, arguments })
}

/// Checks the workspace of an entry as `gongfu mcp` will; a relative one is below the project.
fn check_workspace(cli: &Cli, environment: &Environment) -> anyhow::Result<()> {
    let Command::Mcp { places, .. } = &cli.command else {
        return Ok(());
    };
    let Some(named) = &places.workspace else {
        return Ok(());
    };
    let home = wiring::home(environment)?;
    let start = environment.directory.clone().unwrap_or_default();
    let project = project_of(&start, environment.user.as_deref(), &home);
    let folder = project.unwrap_or(start).join(named);
    project::check_named(named, &folder, environment, &home)
}

/// The arguments with absolute paths: a client starts the server in a folder of its own choice. A workspace of a
/// project's entry stays relative: the client starts the server in the project.
///
/// # Errors
/// The workspace is relative in an entry for all projects.
fn with_absolute_paths(
    arguments: &[String],
    scope: Option<Scope>,
    environment: &Environment,
) -> Result<Vec<String>, String> {
    const WORKSPACE: &str = "--workspace";
    const PATHS: [&str; 3] = ["--skills-dir", WORKSPACE, "--mount"];
    let absolute = |name: &str, path: &str| match &environment.directory {
        Some(folder) if Path::new(path).is_relative() && !path.is_empty() => match (name, scope) {
            (WORKSPACE, Some(Scope::User)) => Err(path.to_owned()),
            (WORKSPACE, _) => Ok(path.to_owned()),
            _ => Ok(folder.join(path).to_string_lossy().into_owned()),
        },
        _ => Ok(path.to_owned()),
    };
    let mut path_of = None;
    let arguments = arguments.iter().map(|argument| {
        if let Some(name) = path_of.take() {
            return absolute(name, argument);
        }
        path_of = PATHS.into_iter().find(|name| name == argument);
        match argument.split_once('=') {
            Some((name, path)) if PATHS.contains(&name) => {
                Ok(format!("{name}={}", absolute(name, path)?))
            }
            _ => Ok(argument.clone()),
        }
    });
    arguments.collect()
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
    let clients = clients(&arguments.names)?;
    let ChangeArguments {
        scope,
        force,
        dry_run,
        json,
        ..
    } = *arguments;
    let mut outcome = Outcome::Good;
    let mut shown_as_json = Vec::new();
    for client in clients {
        let plan = client.plan(action, scope, force, environment, home);
        let applied = plan.and_then(|change| {
            let applied = (!dry_run).then(|| change.apply(&SystemClock)).transpose()?;
            Ok((change, applied.flatten()))
        });
        match applied {
            Ok((change, backup)) if json => {
                let diff = (dry_run && change.is_change()).then(|| diff(&change, action));
                shown_as_json.push(json!({
                    "name": client.id,
                    "file": change.file,
                    "outcome": effect(&change).1.replace(' ', "-"),
                    "backup": backup,
                    "diff": diff,
                    "notes": notes(client, &change, action, scope),
                }));
            }
            Ok((change, _)) if dry_run && change.is_change() => {
                terminal.file(diff(&change, action).as_bytes())?;
            }
            Ok((change, backup)) => {
                let (paint, effect) = effect(&change);
                let effect = terminal.paint(paint, &format!("{effect:<14}"));
                print_row(
                    client.id,
                    &format!("{effect} {}", shown(&change.file)),
                    terminal,
                )?;
                let backup = backup.map(|backup| format!("backup: {}", shown(&backup)));
                let notes = notes(client, &change, action, scope);
                for note in backup.into_iter().chain(notes) {
                    print_note(&note, terminal)?;
                }
            }
            Err(problem) => {
                outcome = Outcome::Findings;
                if json {
                    shown_as_json.push(json!({ "name": client.id, "error": problem }));
                } else {
                    terminal.problem(problem.code, &problem.message, &problem.hint);
                }
            }
        }
    }
    if json {
        terminal.json(&shown_as_json)?;
    }
    Ok(outcome)
}

/// The change as a diff, without the token.
fn diff(change: &Change<'_>, action: &Action<'_>) -> String {
    match action {
        Action::Install(_, Some(token)) => change.diff().replace(token.as_str(), "TOKEN"),
        _ => change.diff(),
    }
}

/// The effect of a change, in a word or two.
fn effect(change: &Change<'_>) -> (Paint, &'static str) {
    use client::Outcome::{Absent, Added, Removed, Replaced, Restored, Unchanged, Updated};
    match change.outcome {
        Added => (Paint::Green, "added"),
        Updated => (Paint::Green, "updated"),
        Replaced => (Paint::Yellow, "replaced"),
        Unchanged => (Paint::Dim, "already added"),
        Removed => (Paint::Green, "removed"),
        Restored => (Paint::Green, "restored"),
        Absent => (Paint::Dim, "not configured"),
    }
}

/// Prints a note below a row, broken at the edge of the terminal. A path stays whole.
fn print_note(note: &str, terminal: &mut Terminal) -> io::Result<()> {
    let room = terminal.width().map(|width| width.saturating_sub(4));
    for (number, line) in wrap(note, room).iter().enumerate() {
        let indent = if number == 0 { "  " } else { "    " };
        terminal.line(&format!("{indent}{line}"))?;
    }
    Ok(())
}

/// Facts and advice for a person after a change.
fn notes(client: &Client, change: &Change<'_>, action: &Action<'_>, scope: Scope) -> Vec<String> {
    let title = client.title;
    let mut notes = Vec::new();
    if let Some(real) = change.link() {
        notes.push(format!("symlink to {}", shown(real)));
    }
    if let Some(other) = &change.foreign {
        notes.push(format!(
            "replaced the entry of another program: {}",
            plain(other)
        ));
    }
    if !change.dropped.is_empty() {
        let names = plain(&change.dropped.join(", "));
        notes.push(format!(
            "removed settings that don't apply to this transport: {names}"
        ));
    }
    if change.switched_off {
        notes.push(format!(
            "the entry is disabled and stays disabled; enable it in {title}"
        ));
    }
    if let Action::Install(transport, token) = action {
        if let Some(note) = token_note(change, transport, token.is_some()) {
            notes.push(note.to_owned());
        }
        if change.is_change() && scope == Scope::Project && transport.is_stdio() {
            notes.push("the entry holds the path of gongfu on this machine; it may differ for others in the project".to_owned());
        }
        if !change.is_installed {
            notes.push(format!(
                "{title} doesn't seem to be installed here; it will find the entry once it is"
            ));
        }
    }
    if change.is_change() && change.is_installed {
        notes.push(format!("restart {title} to apply"));
    }
    notes
}

/// A fact or advice about the token of the server.
fn token_note(change: &Change<'_>, transport: &Transport, was_meant: bool) -> Option<&'static str> {
    if !change.is_change() || transport.is_stdio() {
        None
    } else if change.has_token {
        Some("it contains your server's token, so only you can read the file")
    } else if was_meant {
        Some("your own `Authorization` header was kept; your server's token was not added")
    } else if transport.is_local() {
        Some(
            "without your server's token, because others in the project can read the file; on Linux your own programs need none, elsewhere omit --scope project",
        )
    } else {
        Some("without a token: add that server's own as the header `Authorization: Bearer TOKEN`")
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
            None => "no project configuration".to_owned(),
            Some(file) if location.exists => shown(file),
            Some(file) => format!("{} (no file yet)", shown(file)),
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
        clients(names)?
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
    if let Some(Failure { message, hint, .. }) = &status.problem {
        let message = plain(message);
        return (Paint::Red, format!("broken: {message} ({hint})"));
    }
    let Some(transport) = &status.transport else {
        let (paint, text) = match (status.entered, &status.location.file, status.location.found) {
            (true, ..) => (
                Paint::Yellow,
                "its entry `gongfu` belongs to another program",
            ),
            (_, None, _) => (Paint::Dim, "no project configuration"),
            (_, _, true) => (Paint::Dim, "not configured"),
            (_, _, false) => (Paint::Dim, "not installed"),
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
        (Paint::Red, format!("{entry}  (program not found: {fix})"))
    } else if status.switched_off {
        (Paint::Yellow, format!("{entry}  (disabled)"))
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
