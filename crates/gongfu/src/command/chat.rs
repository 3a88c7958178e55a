//! `gongfu chat`: the agent, for a prompt or in a terminal, and its sessions.

mod interactive;
mod print;
mod session;

use std::sync::Arc;

use gongfu_agent::{Agent, SessionList};
use gongfu_core::account::Actor;
use gongfu_hub::ToolError;
use gongfu_hub::agent::SessionInfo;

use super::Outcome;
use crate::agent::agent;
use crate::cli::{ChatArguments, ChatCommand, Places};
use crate::config::Config;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::terminal::{Terminal, plain};
use crate::wiring::{self, Parts};

pub(crate) fn run(
    arguments: ChatArguments,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let ChatArguments { command, turn } = arguments;
    match command {
        Some(ChatCommand::List { json }) => session::list(json, environment, terminal),
        Some(ChatCommand::Show { id, json }) => session::show(id, json, environment, terminal),
        Some(ChatCommand::Fork { id, at, json }) => {
            session::fork(id, at, json, environment, terminal)
        }
        Some(ChatCommand::Remove { ids, json }) => {
            session::remove(ids, json, environment, terminal)
        }
        Some(ChatCommand::Replay { id, places, json }) => {
            session::replay(id, &places, json, environment, terminal)
        }
        None if turn.print.is_some() => print::run(turn, environment, terminal),
        None => interactive::run(turn, environment, terminal),
    }
}

/// The parts and the agent of a command.
fn agent_of(environment: &Environment, places: &Places) -> anyhow::Result<(Parts, Arc<Agent>)> {
    let config = Config::read(&wiring::home(environment)?)?;
    let parts = wiring::parts(environment, places)?;
    let agent = agent(&parts.catalog, &config, environment);
    Ok((parts, agent))
}

/// The folder that a chat works in, as its sessions name it.
fn project(parts: &Parts) -> String {
    parts.workspace.folder().display().to_string()
}

/// The sessions of the folder that a chat works in, the one with the latest turn first.
async fn project_sessions(parts: &Parts, actor: &Actor) -> Result<Vec<SessionInfo>, ToolError> {
    let mut sessions = parts.catalog.operate(SessionList {}, actor).await?;
    let project = project(parts);
    sessions.retain(|info| info.project.as_ref() == Some(&project));
    Ok(sessions)
}

/// The id of the session whose id begins so. An id that none begins with stays as it is: the operation says that.
async fn session_id(id: String, parts: &Parts, actor: &Actor) -> anyhow::Result<String> {
    let sessions = parts.catalog.operate(SessionList {}, actor).await?;
    let all = sessions.into_iter().map(|info| info.id);
    Ok(fitting(id, all.collect())?)
}

fn fitting(id: String, mut all: Vec<String>) -> Result<String, Failure> {
    /// The most ids that a message names.
    const LIMIT: usize = 5;
    if id.is_empty() || all.contains(&id) {
        return Ok(id);
    }
    all.retain(|other| other.starts_with(&id));
    match all.as_slice() {
        [] => Ok(id),
        [one] => Ok(one.clone()),
        several => {
            let message = format!("{} sessions begin with `{}`", several.len(), plain(&id));
            let shown = several.get(..LIMIT).unwrap_or(several).join(", ");
            let more = if several.len() > LIMIT { ", …" } else { "" };
            let hint = format!("name one of {shown}{more}");
            Err(Failure::usage("INVALID_ARGUMENT", message, hint))
        }
    }
}

#[cfg(test)]
mod tests;
