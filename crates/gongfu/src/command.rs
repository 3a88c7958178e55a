//! The commands, one file each.

mod adopt;
mod approve;
mod audit;
mod backup;
mod call_error;
mod capability;
mod changes;
mod chat;
mod check;
mod client;
mod complete;
mod config;
mod connection;
mod doctor;
mod env;
mod explain;
mod generate;
mod grant;
mod init;
mod layer;
mod list;
mod log;
mod mcp;
mod new;
mod operate;
mod run;
mod search;
mod serve;
mod servers;
mod skill;
mod skills;
mod source;
mod switch;
mod task;
mod team;
mod token;
mod tool;
mod trust;
mod uninstall;
mod user;

use std::io::{self, IsTerminal as _};
use std::process::ExitCode;

use self::call_error::ReportedFailure;
use crate::cli::{self, Cli, Command};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::terminal::Terminal;

/// The end of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Exit 0.
    Good,
    /// Exit 1: something is wrong with what was looked at.
    Findings,
    /// Exit 2: the command was used wrongly.
    WrongUse,
    /// The exit code of what was run.
    Code(u8),
}

impl Outcome {
    /// The outcome of a check.
    fn of(is_good: bool) -> Self {
        if is_good { Self::Good } else { Self::Findings }
    }
}

/// Refuses a question where nobody can answer it.
fn check_answerable(what: &str, hint: &str, json: bool) -> Result<(), Failure> {
    if !json && io::stdin().is_terminal() {
        return Ok(());
    }
    let message = format!("{what} needs a confirmation");
    Err(Failure::usage("CONFIRMATION_REQUIRED", message, hint))
}

/// Is a probe of `gongfu doctor --attack` to its end, if this program was begun as one.
pub(crate) fn become_probe() -> Option<ExitCode> {
    #[cfg(all(feature = "attack", target_os = "linux"))]
    return doctor::attack::become_probe();
    #[cfg(not(all(feature = "attack", target_os = "linux")))]
    None
}

/// Runs a command.
pub(crate) fn run(
    cli: Cli,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let outcome = dispatch(cli.command, environment, terminal);
    outcome.or_else(|error| Ok(error.downcast::<ReportedFailure>()?.0))
}

fn dispatch(
    command: Command,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    match command {
        Command::Mcp { profiles, places } => mcp::run(&profiles, &places, environment, terminal),
        Command::Serve {
            serving,
            profiles,
            places,
        } => serve::run(&serving, &profiles, &places, environment, terminal),
        Command::Search(arguments) => search::run(arguments, environment, terminal),
        Command::List(arguments) => list::run(arguments, environment, terminal),
        Command::Skill(command) => skill::run(command, environment, terminal),
        Command::Skills(command) => skills::run(command, environment, terminal),
        Command::Run(arguments) => run::run(arguments, environment, terminal),
        Command::Chat(arguments) => chat::run(arguments, environment, terminal),
        Command::Task(command) => task::run(command, environment, terminal),
        Command::Tool(command) => tool::run(command, environment, terminal),
        Command::Capability(command) => capability::run(command, environment, terminal),
        Command::Approve(command) => approve::run(&command, environment, terminal),
        Command::Changes(command) => changes::run(command, environment, terminal),
        Command::Layer(command) => layer::run(command, environment, terminal),
        Command::Grant(command) => grant::run(&command, environment, terminal),
        Command::Adopt(arguments) => adopt::run(&arguments, environment, terminal),
        Command::Trust(arguments) => trust::run(arguments, environment, terminal),
        Command::Env(command) => env::run(command, environment, terminal),
        Command::Client(command) => client::run(command, environment, terminal),
        Command::Connection(command) => connection::run(command, environment, terminal),
        Command::Config(command) => config::run(&command, environment, terminal),
        Command::Source(command) => source::run(command, environment, terminal),
        Command::Log(arguments) => log::run(&arguments, environment, terminal),
        Command::Init {
            offline,
            places,
            json,
        } => init::run(offline, &places, json, environment, terminal),
        Command::Doctor {
            places,
            attack,
            json,
        } => doctor::run(&places, attack, json, environment, terminal),
        Command::Audit(command) => audit::run(command, environment, terminal),
        Command::Backup(arguments) => backup::save(&arguments, environment, terminal),
        Command::Restore(arguments) => backup::restore(&arguments, environment, terminal),
        Command::User(command) => user::run(command, environment, terminal),
        Command::Team(command) => team::run(command, environment, terminal),
        Command::Token(command) => token::run(command, environment, terminal),
        Command::Uninstall(arguments) => uninstall::run(&arguments, environment, terminal),
        Command::Explain(arguments) => explain::run(&arguments, terminal),
        Command::Completions { shell } => {
            terminal.bytes(&cli::script(shell))?;
            Ok(Outcome::Good)
        }
        Command::Servers => servers::run(environment),
        Command::Complete { words } => complete::run(&words, environment, terminal),
        Command::Generate { what } => generate::run(what, terminal),
    }
}
