//! `gongfu client`: gongfu in the configuration of the programs that use it.

use gongfu_store::Home;
use serde::Serialize;

use super::Outcome;
use crate::cli::{ChangeArguments, Cli, ClientCommand, Reach, UrlOrClient};
use crate::client::{
    self, CLIENTS, Change, Client, DEFAULT_URL, Problem, Scope, Server, Status, Wish,
};
use crate::clock::SystemClock;
use crate::environment::Environment;
use crate::terminal::{Paint, Terminal, plain};
use crate::wiring;

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
            change.names.extend(behind_http(&reach));
            let Some(server) = server(&reach, environment, terminal) else {
                return Ok(Outcome::WrongUse);
            };
            changed(&Wish::Install(&server), &change, environment, terminal)
        }
        ClientCommand::Uninstall { change } => {
            changed(&Wish::Uninstall, &change, environment, terminal)
        }
        ClientCommand::Print { name, reach } => {
            let names: Vec<String> = name.into_iter().chain(behind_http(&reach)).collect();
            if !is_named(&names, terminal) {
                return Ok(Outcome::WrongUse);
            }
            let Some(server) = server(&reach, environment, terminal) else {
                return Ok(Outcome::WrongUse);
            };
            let snippet = named(&names).first().map(|client| client.snippet(&server));
            match snippet {
                Some(Ok(snippet)) => terminal.bytes(snippet.as_bytes())?,
                Some(Err(problem)) => {
                    tell(&problem, terminal);
                    return Ok(Outcome::Findings);
                }
                None => {}
            }
            Ok(Outcome::Good)
        }
    }
}

/// The clients of these names, each once; the command line lets no other name through.
fn named(names: &[String]) -> Vec<&'static Client> {
    let mut clients: Vec<&Client> = Vec::new();
    for client in names.iter().filter_map(|name| Client::of(name)) {
        if !clients.iter().any(|known| known.id == client.id) {
            clients.push(client);
        }
    }
    clients
}

/// A client that stands where an address could stand.
fn behind_http(reach: &Reach) -> Option<String> {
    match reach.http {
        Some(Some(UrlOrClient::Client(id))) => Some(id.to_owned()),
        _ => None,
    }
}

fn is_named(names: &[String], terminal: &mut Terminal) -> bool {
    if names.is_empty() {
        let known: Vec<&str> = CLIENTS.iter().map(|client| client.id).collect();
        terminal.note(&format!(
            "error: no client is named\n  name one or more of: {}",
            known.join(", ")
        ));
    }
    !names.is_empty()
}

/// How the client is to reach gongfu; arguments that `gongfu mcp` wouldn't take are refused here,
/// because a client would only say that the server ended.
fn server(reach: &Reach, environment: &Environment, terminal: &mut Terminal) -> Option<Server> {
    if let Some(url) = &reach.http {
        let url = match url {
            Some(UrlOrClient::Url(url)) => url.clone(),
            Some(UrlOrClient::Client(_)) | None => DEFAULT_URL.to_owned(),
        };
        return Some(Server::Http { url });
    }
    let mut arguments = vec!["mcp".to_owned()];
    arguments.extend(rooted(&reach.arguments, environment));
    let words = std::iter::once("gongfu").chain(arguments.iter().map(String::as_str));
    if let Err(error) = <Cli as clap::Parser>::try_parse_from(words) {
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default();
        terminal.note(&format!(
            "error: `gongfu mcp` would not take what stands behind `--`: {}\n  see `gongfu mcp --help`; nothing was written",
            first.trim_start_matches("error: ")
        ));
        return None;
    }
    Some(Server::Stdio {
        command: client::program(environment),
        arguments,
    })
}

/// The arguments with whole paths: a client starts the server in a folder of its own choice.
fn rooted(arguments: &[String], environment: &Environment) -> Vec<String> {
    const PATHS: [&str; 3] = ["--skills-dir", "--workspace", "--mount"];
    let whole = |path: &str| match &environment.directory {
        Some(folder) if std::path::Path::new(path).is_relative() && !path.is_empty() => {
            folder.join(path).to_string_lossy().into_owned()
        }
        _ => path.to_owned(),
    };
    let mut is_path = false;
    let rooted = arguments.iter().map(|argument| {
        if std::mem::take(&mut is_path) {
            return whole(argument);
        }
        is_path = PATHS.contains(&argument.as_str());
        match argument.split_once('=') {
            Some((name, path)) if PATHS.contains(&name) => format!("{name}={}", whole(path)),
            _ => argument.clone(),
        }
    });
    rooted.collect()
}

fn tell(problem: &Problem, terminal: &mut Terminal) {
    terminal.note(&format!(
        "error[{}]: {}\n  {}",
        problem.code, problem.message, problem.hint
    ));
}

fn changed(
    wish: &Wish<'_>,
    arguments: &ChangeArguments,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    if !is_named(&arguments.names, terminal) {
        return Ok(Outcome::WrongUse);
    }
    let home = wiring::home(environment)?;
    let mut outcome = Outcome::Good;
    for client in named(&arguments.names) {
        let done = change(client, wish, arguments, environment, &home, terminal)?;
        if let Err(problem) = done {
            tell(&problem, terminal);
            outcome = Outcome::Findings;
        }
    }
    Ok(outcome)
}

/// Changes the configuration of one client, and says so.
fn change(
    client: &Client,
    wish: &Wish<'_>,
    arguments: &ChangeArguments,
    environment: &Environment,
    home: &Home,
    terminal: &mut Terminal,
) -> anyhow::Result<Result<(), Problem>> {
    let plan = client.plan(wish, arguments.scope, arguments.force, environment, home);
    let plan = match plan {
        Ok(plan) => plan,
        Err(problem) => return Ok(Err(problem)),
    };
    if arguments.dry_run && plan.is_change() {
        terminal.file(plan.diff().as_bytes())?;
        return Ok(Ok(()));
    }
    let backup = match plan.make(&SystemClock) {
        Ok(backup) => backup,
        Err(problem) => return Ok(Err(problem)),
    };
    said(client, &plan, terminal)?;
    if let Some(backup) = backup {
        let line = format!("  as it was: {}", plain(&backup.to_string_lossy()));
        let line = terminal.paint(Paint::Dim, &line);
        terminal.line(&line)?;
    }
    if let (Wish::Install(Server::Stdio { .. }), Scope::Project, true) =
        (wish, arguments.scope, plan.is_change())
    {
        terminal.line("  it names where gongfu is on this machine: others of the project may have it elsewhere")?;
    }
    let location = client.location(arguments.scope, environment);
    if !location.found && matches!(wish, Wish::Install(_)) {
        terminal.line(&format!(
            "  {} was not found here: its file is ready for when it is installed",
            client.title
        ))?;
    } else if plan.is_change() {
        terminal.line(&format!(
            "  restart {} to have it take effect",
            client.title
        ))?;
    }
    Ok(Ok(()))
}

fn said(client: &Client, plan: &Change<'_>, terminal: &mut Terminal) -> std::io::Result<()> {
    use client::Outcome::{Absent, Added, Already, Removed, Replaced, Restored, Updated};
    let (word, how) = match plan.outcome {
        Added => (Paint::Green, "added"),
        Updated => (Paint::Green, "updated"),
        Replaced => (Paint::Yellow, "replaced"),
        Already => (Paint::Dim, "already there"),
        Removed => (Paint::Green, "removed"),
        Restored => (Paint::Green, "restored"),
        Absent => (Paint::Dim, "not there"),
    };
    let name = terminal.paint(Paint::Bold, &format!("{:<14}", client.id));
    let how = terminal.paint(word, &format!("{how:<13}"));
    let file = plain(&plan.file.to_string_lossy());
    terminal.line(&format!("{name} {how} {file}"))?;
    if let Some(real) = &plan.link {
        terminal.line(&format!("  a link to {}", plain(&real.to_string_lossy())))?;
    }
    if let Some(other) = &plan.replaced {
        terminal.line(&format!("  it was for something else: {}", plain(other)))?;
    }
    if !plan.left_out.is_empty() {
        let names = plain(&plan.left_out.join(", "));
        terminal.line(&format!(
            "  left out, as it belongs to the other way to be reached: {names}"
        ))?;
    }
    if plan.switched_off {
        let title = client.title;
        terminal.line(&format!(
            "  it is switched off there and stays so: switch it on in {title}"
        ))?;
    }
    Ok(())
}

#[derive(Serialize)]
struct Listed {
    name: &'static str,
    title: &'static str,
    scope: Scope,
    #[serde(flatten)]
    location: client::Location,
}

fn list(
    scope: Scope,
    json: bool,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let listed: Vec<Listed> = CLIENTS
        .iter()
        .map(|client| Listed {
            name: client.id,
            title: client.title,
            scope,
            location: client.location(scope, environment),
        })
        .collect();
    if json {
        terminal.json(&listed)?;
        return Ok(Outcome::Good);
    }
    for one in &listed {
        let found = if one.location.found {
            terminal.paint(Paint::Green, "found    ")
        } else {
            terminal.paint(Paint::Dim, "not found")
        };
        let file = match &one.location.file {
            None => "no file for projects".to_owned(),
            Some(file) if one.location.exists => plain(&file.to_string_lossy()),
            Some(file) => format!("{} (not there yet)", plain(&file.to_string_lossy())),
        };
        let name = terminal.paint(Paint::Bold, &format!("{:<14}", one.name));
        terminal.line(&format!("{name} {found} {file}"))?;
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
        named(names)
    };
    let all: Vec<Status> = clients
        .into_iter()
        .map(|client| client.status(scope, environment))
        .collect();
    let broken = all.iter().any(|status| {
        let missing = !names.is_empty() && !status.entered;
        missing || status.problem.is_some() || status.command_exists == Some(false)
    });
    if json {
        terminal.json(&all)?;
    } else {
        for one in &all {
            let (paint, words) = words(one);
            let name = terminal.paint(Paint::Bold, &format!("{:<14}", one.name));
            let words = terminal.paint(paint, &words);
            terminal.line(&format!("{name} {words}"))?;
            if let (Some(file), true) = (&one.file, one.entered || one.problem.is_some()) {
                let line = format!("{:15}{}", "", plain(&file.to_string_lossy()));
                let line = terminal.paint(Paint::Dim, &line);
                terminal.line(&line)?;
            }
        }
    }
    Ok(if broken {
        Outcome::Findings
    } else {
        Outcome::Good
    })
}

/// What is to be said of a client in a line.
fn words(status: &Status) -> (Paint, String) {
    if let Some(trouble) = &status.problem {
        let (message, hint) = (plain(&trouble.message), &trouble.hint);
        return (Paint::Red, format!("can't be told: {message} ({hint})"));
    }
    let Some(server) = &status.server else {
        return match (status.entered, &status.file, status.found) {
            (true, ..) => (
                Paint::Yellow,
                "an entry `gongfu` that gongfu did not make".to_owned(),
            ),
            (_, None, _) => (Paint::Dim, "no file for projects".to_owned()),
            (_, _, true) => (Paint::Dim, "not entered".to_owned()),
            (_, _, false) => (Paint::Dim, "not found on this machine".to_owned()),
        };
    };
    let how = match server {
        Server::Stdio { .. } => "stdio",
        Server::Http { .. } => "http",
    };
    let shown = plain(&server.shown());
    if status.command_exists == Some(false) {
        let mend = format!("gongfu client install {}", status.name);
        return (
            Paint::Red,
            format!("{how}  {shown}  (no such program: {mend})"),
        );
    }
    if status.switched_off {
        return (
            Paint::Yellow,
            format!("{how}  {shown}  (switched off there)"),
        );
    }
    (Paint::Green, format!("{how}  {shown}"))
}
