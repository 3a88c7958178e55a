//! gongfu's own file of connections: `connections.json` in its home, which only its owner can read.

use gongfu_core::connection::{Confinement, Connection, ConnectionName, OAuthClient, Target};
use gongfu_files::Home;
use serde_json::{Map, Value, json};

use crate::client::{Format, Snapshot};
use crate::failure::Failure;

/// The member that holds the connections.
const TABLE: &str = "connections";
/// The most attempts of an edit. Of commands that edit the file at once, one succeeds in each round.
const ATTEMPTS: usize = 32;

/// A connection as an entry of the file.
pub(crate) fn entry(connection: &Connection) -> Value {
    let mut entry = Map::new();
    match &connection.target {
        Target::Program(program) => {
            entry.insert("command".to_owned(), json!(program.command));
            entry.insert("args".to_owned(), json!(program.arguments));
            if !program.environment.is_empty() {
                entry.insert("env".to_owned(), json!(program.environment));
            }
            if let Some(folder) = &program.folder {
                entry.insert("workdir".to_owned(), json!(folder));
            }
            if let Some(sandbox) = &program.sandbox {
                entry.insert("sandbox".to_owned(), sandbox_entry(sandbox));
            }
        }
        Target::Url(url) => {
            entry.insert("url".to_owned(), json!(url.url));
            if !url.headers.is_empty() {
                entry.insert("headers".to_owned(), json!(url.headers));
            }
            if url.is_private {
                entry.insert("private".to_owned(), json!(true));
            }
            if let Some(client) = &url.client {
                entry.insert("oauth".to_owned(), client_entry(client));
            }
        }
    }
    if let Some(safety) = connection.safety {
        entry.insert("safety".to_owned(), json!(safety));
    }
    if let Some(tools) = &connection.tools {
        entry.insert("tools".to_owned(), json!(tools));
    }
    if !connection.is_shared {
        entry.insert("shared".to_owned(), json!(false));
    }
    Value::Object(entry)
}

fn sandbox_entry(sandbox: &Confinement) -> Value {
    let mut entry = Map::new();
    for (name, folders) in [("read", &sandbox.read), ("write", &sandbox.write)] {
        if !folders.is_empty() {
            entry.insert(name.to_owned(), json!(folders));
        }
    }
    if !sandbox.hosts.is_empty() {
        entry.insert("hosts".to_owned(), json!(sandbox.hosts));
    }
    if entry.is_empty() {
        json!(true)
    } else {
        Value::Object(entry)
    }
}

fn client_entry(client: &OAuthClient) -> Value {
    let mut entry = Map::new();
    if !client.id.is_empty() {
        entry.insert("client_id".to_owned(), json!(client.id));
    }
    if let Some(secret) = &client.secret {
        entry.insert("client_secret".to_owned(), json!(secret));
    }
    if !client.scopes.is_empty() {
        entry.insert("scopes".to_owned(), json!(client.scopes));
    }
    if let Some(port) = client.port {
        entry.insert("callback_port".to_owned(), json!(port));
    }
    Value::Object(entry)
}

/// Writes a connection into the file; comments and order of the others stay.
pub(crate) fn put(home: &Home, connection: &Connection) -> Result<(), Failure> {
    edit(home, &connection.name, Some(&entry(connection)))
}

/// Returns true if a connection is in the file.
pub(crate) fn has(home: &Home, name: &ConnectionName) -> Result<bool, Failure> {
    Ok(get(home, name)?.is_some())
}

/// The entry of a connection in the file.
pub(crate) fn get(home: &Home, name: &ConnectionName) -> Result<Option<Value>, Failure> {
    let snapshot = Snapshot::read(&home.connections())?;
    let text = snapshot.text.unwrap_or_default();
    Format::Json.get(&text, &[TABLE, name.as_str()])
}

/// Removes a connection from the file.
pub(crate) fn remove(home: &Home, name: &ConnectionName) -> Result<(), Failure> {
    edit(home, name, None)
}

fn edit(home: &Home, name: &ConnectionName, entry: Option<&Value>) -> Result<(), Failure> {
    crate::home::open(home)?;
    let edit_once = || {
        let snapshot = Snapshot::read(&home.connections())?;
        let text = snapshot.text.clone().unwrap_or_default();
        let edited = Format::Json.edit(&text, &[TABLE, name.as_str()], entry)?;
        snapshot.write(&edited, true)
    };
    for _ in 1..ATTEMPTS {
        match edit_once() {
            Err(problem) if problem.code == "FILE_CHANGED" => {}
            result => return result,
        }
    }
    edit_once()
}
