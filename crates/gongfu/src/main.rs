//! gongfu: a library of Agent Skills for any AI agent.
//!
//! Only starts: reads the command line, runs the command, turns its outcome into an exit code.

mod cli;
mod client;
mod clock;
mod command;
mod config;
mod environment;
mod log;
mod progress;
mod report;
mod sandbox;
mod signal;
mod telemetry;
mod terminal;
mod token;
mod wiring;

use std::process::ExitCode;

use crate::command::Outcome;
use crate::terminal::Terminal;
use clap::Parser as _;

/// Gives memory back soon after work by many threads, such as indexing: the system's own keeps it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Before anything is read or started: a sandbox is this program, started again.
    if let Some(ended) = gongfu_sandbox::become_child() {
        return ended;
    }
    if let Some(ended) = command::become_probe() {
        return ended;
    }
    let environment = environment::Environment::read();
    let cli = cli::Cli::parse();
    let mut terminal = Terminal::new(&environment);
    let is_server = matches!(
        cli.command,
        cli::Command::Mcp { .. } | cli::Command::Serve { .. }
    );
    let telemetry = log::start(&environment, is_server);
    let outcome = command::run(cli, &environment, &mut terminal);
    if let Some(telemetry) = telemetry {
        telemetry.end();
    }
    match outcome {
        Ok(Outcome::Good) => ExitCode::SUCCESS,
        Ok(Outcome::Findings) => ExitCode::FAILURE,
        Ok(Outcome::WrongUse) => ExitCode::from(2),
        Ok(Outcome::Code(code)) => ExitCode::from(code),
        Err(error) if terminal::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            terminal.error(&error);
            ExitCode::FAILURE
        }
    }
}
