//! gongfu: a library of Agent Skills for any AI agent.
//!
//! Only starts: reads the command line, runs the command, turns its outcome into an exit code.

mod cli;
mod client;
mod clock;
mod command;
mod config;
mod environment;
mod progress;
mod report;
mod terminal;
mod wiring;

use std::process::ExitCode;

use clap::Parser as _;

use crate::command::Outcome;
use crate::terminal::Terminal;

fn main() -> ExitCode {
    let environment = environment::Environment::read();
    let cli = cli::Cli::parse();
    let mut terminal = Terminal::new(&environment);
    start_log(&environment);
    match command::run(cli, &environment, &mut terminal) {
        Ok(Outcome::Good) => ExitCode::SUCCESS,
        Ok(Outcome::Findings) => ExitCode::FAILURE,
        Ok(Outcome::WrongUse) => ExitCode::from(2),
        Err(error) if terminal::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            terminal.error(&error);
            ExitCode::FAILURE
        }
    }
}

/// Logs go to standard error: standard output belongs to answers and to the protocol.
fn start_log(environment: &environment::Environment) {
    let level = environment
        .log
        .as_deref()
        .and_then(|level| level.parse().ok())
        .unwrap_or(tracing_subscriber::filter::LevelFilter::WARN);
    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .with_target(false)
        .init();
}
