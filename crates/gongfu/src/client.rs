//! The clients that gongfu knows, and gongfu's entry in their configuration.
//!
//! Everything here is data; the command turns it into words.

use std::path::PathBuf;

mod backup;
mod change;
mod document;
mod entry;
mod file;
mod folders;
mod format;
mod json;
mod known;
mod link;
mod location;
mod problem;
mod status;
#[cfg(test)]
mod tests;
mod toml;
mod transport;
mod trust;
mod yaml;

pub(crate) use change::{Action, Change, Outcome};
pub(crate) use file::Snapshot;
pub(crate) use format::Format;
pub(crate) use known::{CLIENTS, Client};
pub(crate) use location::{Location, Scope};
pub(crate) use status::Status;
pub(crate) use transport::{DEFAULT_URL, Transport};
pub(crate) use trust::answers;

use crate::channel::Program;
use crate::environment::Environment;

/// The path of this program for a configuration: as it was called. A link stays when a package
/// manager puts the next version elsewhere.
fn program(environment: &Environment) -> String {
    let Ok(real) = std::env::current_exe() else {
        return "gongfu".to_owned();
    };
    let called = std::env::args_os().next().map(PathBuf::from);
    let called = called.unwrap_or_default();
    let candidates: Vec<PathBuf> = if called.components().count() > 1 {
        std::path::absolute(&called).into_iter().collect()
    } else {
        let folders = environment.search_path.iter();
        let folders = folders.filter(|folder| folder.is_absolute());
        folders.map(|folder| folder.join(&called)).collect()
    };
    let is_this = |path: &PathBuf| {
        let leads_to = std::fs::canonicalize(path);
        leads_to.is_ok_and(|path| std::fs::canonicalize(&real).is_ok_and(|real| path == real))
    };
    let path = candidates.into_iter().find(is_this).unwrap_or(real);
    path.to_string_lossy().into_owned()
}

/// The command and the first arguments that start the server, for a configuration.
pub(crate) fn start(environment: &Environment) -> (String, Vec<String>) {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    // A cache is emptied some day; what fills it stays.
    match Program::current().channel().launcher {
        [command, rest @ ..] => ((*command).to_owned(), words(&[rest, &["mcp"]].concat())),
        [] => (program(environment), words(&["mcp"])),
    }
}

/// The configuration that most clients take, to be pasted.
pub(crate) fn snippet(environment: &Environment) -> String {
    let (command, arguments) = start(environment);
    let configuration = serde_json::json!({ "mcpServers": { "gongfu": { "command": command, "args": arguments } } });
    format!("{configuration:#}")
}
