//! The clients that gongfu knows, and entering it into their configuration and taking it out again.
//!
//! Decides what is to happen and says it as data; the command says it to people.

use std::path::PathBuf;

use gongfu_store::disk;
use gongfu_store::{Home, source};
use serde::Serialize;
use serde_json::Value;

mod change;
mod file;
mod format;
mod json;
mod known;
mod place;
mod problem;
mod record;
mod server;
mod splice;
mod status;
#[cfg(test)]
mod tests;
mod toml;
mod yaml;

pub(crate) use change::{Change, Outcome, Wish};
pub(crate) use known::CLIENTS;
pub(crate) use problem::Problem;
pub(crate) use server::{DEFAULT_URL, Server};
pub(crate) use status::Status;

use crate::environment::Environment;
use file::Snapshot;
use format::Format;
use place::Places;

/// What the entry is called.
const NAME: &str = "gongfu";

/// A program that speaks MCP.
pub(crate) struct Client {
    /// What it is called on the command line.
    pub(crate) id: &'static str,
    /// What people call it.
    pub(crate) title: &'static str,
    format: Format,
    /// The names that lead to the entries; with several, the first whose shape a file has, else
    /// the last.
    paths: &'static [&'static [&'static str]],
    /// Where a person's own file is.
    files: fn(&Places<'_>) -> Files,
    /// Where a project's file is, below its root; the first is made where none is there.
    project: &'static [&'static str],
    /// What is entered, at one of the paths.
    entry: fn(&Server, &[&str]) -> Value,
    /// What to do instead, where its file takes no address.
    no_http: Option<&'static str>,
}

/// The file of a client, and what tells that the client is installed.
struct Files {
    /// The first that has an entry counts, else the first that exists; the first is made where none
    /// does.
    candidates: Vec<PathBuf>,
    signs: Vec<PathBuf>,
}

impl Files {
    fn one(file: PathBuf, signs: &[&PathBuf]) -> Self {
        Self {
            candidates: vec![file],
            signs: signs.iter().map(|&sign| sign.clone()).collect(),
        }
    }
}

/// Whose configuration is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Scope {
    /// Yours, for all projects
    #[default]
    User,
    /// That of the project that the current folder belongs to
    Project,
}

/// Where a client keeps its configuration.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Location {
    /// Whether the client seems to be installed.
    pub(crate) found: bool,
    /// The file; none where the client has none for projects.
    pub(crate) file: Option<PathBuf>,
    /// Whether the file is there.
    pub(crate) exists: bool,
}

impl Client {
    /// The client of an id.
    pub(crate) fn of(id: &str) -> Option<&'static Self> {
        CLIENTS.iter().find(|client| client.id == id)
    }

    /// Where it keeps its configuration.
    pub(crate) fn location(&self, scope: Scope, environment: &Environment) -> Location {
        self.located(scope, &Places::own(environment))
    }

    fn located(&self, scope: Scope, places: &Places<'_>) -> Location {
        let there = |path: &PathBuf| disk::kind_outside(path).is_some();
        let files = (self.files)(places);
        let found = files.signs.iter().chain(&files.candidates).any(there);
        let candidates = match scope {
            Scope::User => files.candidates,
            Scope::Project => {
                let folder = places.environment.directory.clone().unwrap_or_default();
                let root = source::project_root(&folder, places.environment.user.as_deref());
                self.project.iter().map(|file| root.join(file)).collect()
            }
        };
        let existing = || candidates.iter().filter(|path| there(path));
        // One that came since mustn't hide the one that gongfu is in.
        let entered = existing().find(|path| matches!(self.entered(path), Ok(Some(_))));
        let existing = entered.or_else(|| existing().next()).cloned();
        Location {
            found,
            exists: existing.is_some(),
            file: existing.or_else(|| candidates.into_iter().next()),
        }
    }

    /// Where its configuration is, when it is installed.
    pub(crate) fn found(&self, environment: &Environment) -> Option<PathBuf> {
        let location = self.location(Scope::User, environment);
        location.file.filter(|_| location.found)
    }

    /// The file of a scope.
    fn file(&self, scope: Scope, environment: &Environment) -> Result<PathBuf, Problem> {
        self.location(scope, environment).file.ok_or_else(|| {
            let with: Vec<&str> = CLIENTS
                .iter()
                .filter(|client| !client.project.is_empty())
                .map(|client| client.id)
                .collect();
            Problem::new(
                "no-project-file",
                format!("{} has no configuration for single projects", self.title),
                format!("leave --scope project out; {} have one", with.join(", ")),
            )
        })
    }

    /// The path at which a file has its entries.
    fn path(&self, text: &str) -> Result<&'static [&'static str], Problem> {
        let whole = self.format.read(text)?;
        let at = |path: &[&str]| path.iter().try_fold(&whole, |value, name| value.get(name));
        let entered = |path: &&&[&str]| at(path).and_then(|object| object.get(NAME)).is_some();
        let shaped = |path: &&&[&str]| {
            let object = at(path).and_then(Value::as_object);
            object.is_some_and(|object| object.values().all(Value::is_object))
        };
        let all = self.paths;
        let path = all.iter().find(entered);
        let path = path.or_else(|| all.iter().find(shaped)).or(all.last());
        Ok(path.copied().unwrap_or_default())
    }

    /// Whether its file can say this.
    fn allows(&self, server: &Server) -> Result<(), Problem> {
        match (server, self.no_http) {
            (Server::Http { .. }, Some(instead)) => Err(Problem::new(
                "no-http",
                format!("{} can't be given an address in its file", self.title),
                instead,
            )),
            _ => Ok(()),
        }
    }

    /// What belongs in its file, to be pasted.
    pub(crate) fn snippet(&self, server: &Server) -> Result<String, Problem> {
        self.allows(server)?;
        let path = self.path("")?;
        let entry = (self.entry)(server, path);
        let (text, _) = self.format.insert("", path, NAME, &entry)?;
        Ok(text)
    }
}

/// The path of this program, for a configuration: as it was called, since a link stays where it is
/// when a package manager puts the next version elsewhere.
pub(crate) fn program(environment: &Environment) -> String {
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

/// The configuration that most clients take, to be pasted.
pub(crate) fn snippet(program: &str) -> String {
    let configuration =
        serde_json::json!({ "mcpServers": { "gongfu": { "command": program, "args": ["mcp"] } } });
    format!("{configuration:#}")
}
