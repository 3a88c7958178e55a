//! `gongfu connection add|import`: new connections in gongfu's own file.

use std::collections::BTreeMap;
use std::io::{BufRead as _, Read as _};
use std::path::{Path, PathBuf};

use gongfu_core::capability::Safety;
use gongfu_core::connection::{
    Confinement, Connection, ConnectionName, FileKind, OAuthClient, Program, Target, Url, read,
    sandbox_folder,
};
use gongfu_core::network::{Rule, Rules};
use serde_json::json;

use super::super::Outcome;
use crate::cli::{ConnectionAddArguments, SandboxArguments};
use crate::client::{Client, Scope};
use crate::connection::{self, Diagnostic, connections, file, of_client, problem};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::terminal::{Terminal, plain};
use crate::wiring;

/// The next step for a folder that the sandbox can't show.
const FOLDER_HINT: &str = "pass other folders by --read, --write or --workdir";
/// The longest secret of a client, in bytes.
const MAX_SECRET: u64 = 8_192;

pub(super) fn run(
    arguments: ConnectionAddArguments,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let home = wiring::home(environment)?;
    let is_replaced = arguments.replace;
    let connection = connection(arguments, environment)?;
    if let Some(why) = problem(&connection, environment, &home) {
        return Err(Failure::usage("INVALID_ARGUMENT", why, FOLDER_HINT).into());
    }
    let name = &connection.name;
    // What the file's reader would leave out is not written.
    let file = json!({ "connections": { name.as_str(): file::entry(&connection) } });
    let reading = read(&file, FileKind::Own(&Environment::variable));
    if let Some(mistake) = reading.mistakes.first() {
        let message = format!("`{name}`: {}", plain(&mistake.what));
        let hint = "gongfu connection add --help shows every form";
        return Err(Failure::usage("INVALID_ARGUMENT", message, hint).into());
    }
    let known = connections(environment, &home).declared;
    let own = plain(&home.connections().to_string_lossy());
    if let Some(known) = known.iter().find(|known| known.connection.name == *name)
        && (!is_replaced || known.source != own)
    {
        let message = format!(
            "there is a connection `{name}` already, in {}",
            known.source
        );
        let hint = if known.source == own {
            "use another name, or --replace"
        } else {
            "use another name"
        };
        return Err(Failure::new("CONNECTION_EXISTS", message, hint).into());
    }
    file::put(&home, &connection)?;
    terminal.line(&format!("added     {name}"))?;
    terminal.note(&format!(
        "note: nothing is started before you approve it: gongfu connection approve {name}"
    ));
    Ok(Outcome::Good)
}

fn connection(
    arguments: ConnectionAddArguments,
    environment: &Environment,
) -> Result<Connection, Failure> {
    let name = ConnectionName::new(&arguments.name).map_err(|error| {
        let hint = match ConnectionName::nearest(&arguments.name) {
            Some(nearest) => format!("for example: {nearest}"),
            None => "for example: github".to_owned(),
        };
        Failure::usage("INVALID_NAME", error.to_string(), hint)
    })?;
    let safety = arguments.safety.as_deref().map(|level| {
        Safety::from_name(level).ok_or_else(|| {
            let message = format!("there is no safety level `{}`", plain(level));
            Failure::usage(
                "INVALID_ARGUMENT",
                message,
                "use low, medium, high or critical",
            )
        })
    });
    let client = client(&arguments)?;
    let sandbox = sandbox(&arguments.sandbox, environment)?;
    let mut words = arguments.command.into_iter();
    let target = match (arguments.url, words.next()) {
        (Some(url), _) => Target::Url(Url {
            url,
            headers: pairs(&arguments.headers, ':', "--header \"NAME: VALUE\"")?,
            is_private: arguments.private,
            client,
        }),
        (None, Some(command)) => Target::Program(Program {
            command,
            arguments: words.collect(),
            environment: pairs(&arguments.environment, '=', "--env NAME=VALUE")?,
            folder: arguments
                .workdir
                .map(|folder| absolute(&folder, environment)),
            sandbox,
        }),
        (None, None) => {
            return Err(Failure::usage(
                "MISSING_ARGUMENT",
                "a connection needs a command or an address",
                format!("gongfu connection add {name} -- COMMAND, or --url URL"),
            ));
        }
    };
    let tools = (!arguments.tools.is_empty()).then_some(arguments.tools);
    Ok(Connection {
        name,
        target,
        safety: safety.transpose()?,
        tools,
        is_shared: !arguments.not_shared,
    })
}

/// The sandbox, where there is a flag of one.
fn sandbox(
    arguments: &SandboxArguments,
    environment: &Environment,
) -> Result<Option<Confinement>, Failure> {
    let SandboxArguments {
        sandbox,
        read,
        write,
        hosts,
    } = arguments;
    if !sandbox && read.is_empty() && write.is_empty() && hosts.is_empty() {
        return Ok(None);
    }
    let folders = |folders: &[PathBuf]| {
        let folders = folders.iter();
        let folders = folders.map(|folder| {
            let folder = sandbox_folder(&absolute(folder, environment));
            folder.map_err(|why| Failure::usage("INVALID_ARGUMENT", plain(&why), FOLDER_HINT))
        });
        folders.collect::<Result<Vec<_>, _>>()
    };
    let hosts = hosts.iter().map(|host| {
        host.parse::<Rule>().map_err(|error| {
            let message = format!("`{}`: {error}", plain(host));
            let hint = "write it as example.com or example.com:8443";
            Failure::usage("INVALID_ARGUMENT", message, hint)
        })
    });
    Ok(Some(Confinement {
        read: folders(read)?,
        write: folders(write)?,
        hosts: Rules(hosts.collect::<Result<_, _>>()?),
    }))
}

/// The client as which the person is registered.
fn client(arguments: &ConnectionAddArguments) -> Result<Option<OAuthClient>, Failure> {
    if arguments.client_id.is_none() && arguments.scopes.is_empty() {
        return Ok(None);
    }
    let secret = arguments.client_secret_stdin.then(|| {
        let mut line = String::new();
        let read = std::io::stdin()
            .lock()
            .take(MAX_SECRET)
            .read_line(&mut line);
        match (read, line.trim()) {
            (Ok(_), secret) if !secret.is_empty() => Ok(secret.to_owned()),
            _ => {
                let message = "there is no secret on standard input";
                let hint = "pipe it in: printf %s \"$SECRET\" | gongfu connection add …";
                Err(Failure::usage("MISSING_ARGUMENT", message, hint))
            }
        }
    });
    Ok(Some(OAuthClient {
        id: arguments.client_id.clone().unwrap_or_default(),
        secret: secret.transpose()?,
        scopes: arguments.scopes.clone(),
        port: None,
    }))
}

fn absolute(folder: &Path, environment: &Environment) -> String {
    let folder = wiring::expanded(folder, environment.user.as_deref());
    let folder = std::path::absolute(&folder).unwrap_or(folder);
    folder.to_string_lossy().into_owned()
}

fn pairs(
    words: &[String],
    separator: char,
    form: &str,
) -> Result<BTreeMap<String, String>, Failure> {
    let pairs = words.iter().map(|word| {
        let (name, value) = word.split_once(separator).ok_or_else(|| {
            let message = format!("`{}` is not a name and a value", plain(word));
            Failure::usage("INVALID_ARGUMENT", message, format!("write it as {form}"))
        })?;
        Ok((name.trim().to_owned(), value.trim_start().to_owned()))
    });
    pairs.collect()
}

pub(super) fn import(
    from: &Path,
    json: bool,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let home = wiring::home(environment)?;
    let source = source(from, environment)?;
    let (entries, diagnostics) = of_client(&source)?;
    let (added, kept) = connection::import(entries, environment, &home)?;
    let added: Vec<String> = added.iter().map(|added| added.name.to_string()).collect();
    if json {
        let skipped: Vec<_> = diagnostics.iter().map(Diagnostic::text).collect();
        terminal.json(&json!({ "added": added, "kept": kept, "skipped": skipped }))?;
    } else {
        for name in &added {
            terminal.line(&format!("added     {name}"))?;
        }
        for name in &kept {
            terminal.line(&format!(
                "kept      {name}: there is a connection of this name already"
            ))?;
        }
        if added.is_empty() && kept.is_empty() {
            terminal.line("no servers found")?;
        } else if !added.is_empty() {
            terminal
                .note("note: approve each before it is started: gongfu connection approve NAME");
        }
    }
    for diagnostic in &diagnostics {
        let hint = "fix it there, or add it by `gongfu connection add`";
        terminal.warning("CONNECTION_INVALID", &diagnostic.text(), hint);
    }
    Ok(Outcome::of(diagnostics.is_empty()))
}

/// The file of a client, by its name, or the file that is named.
fn source(from: &Path, environment: &Environment) -> Result<PathBuf, Failure> {
    let name = from.to_string_lossy();
    let Some(client) = Client::by_id(&name) else {
        return Ok(wiring::expanded(from, environment.user.as_deref()));
    };
    let scopes = [Scope::Project, Scope::User];
    let locations = scopes.map(|scope| client.location(scope, environment));
    let mut existing = locations.into_iter().filter(|location| location.exists);
    let file = existing.find_map(|location| location.file);
    file.ok_or_else(|| {
        let message = format!("{} has no configuration here", client.title);
        Failure::new("FILE_NOT_FOUND", message, "pass the file itself")
    })
}
