//! `gongfu chat`: the agent, for a prompt or in a terminal, and its sessions.

mod interactive;
mod print;
mod session;

use std::sync::Arc;

use gongfu_agent::Agent;

use super::Outcome;
use crate::agent::agent;
use crate::cli::{ChatArguments, ChatCommand, Places};
use crate::config::Config;
use crate::environment::Environment;
use crate::terminal::Terminal;
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
            session::replay(&id, &places, json, environment, terminal)
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
