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
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::command::Outcome;
use crate::terminal::Terminal;

/// Gives memory back soon after work by many threads, such as indexing: the system's own keeps it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

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
///
/// A refused request is an answer and no news; the SDK's words about it come with `GONGFU_LOG`.
fn start_log(environment: &environment::Environment) {
    let asked = environment
        .log
        .as_deref()
        .and_then(|level| level.parse().ok());
    let level = asked.unwrap_or(LevelFilter::WARN);
    let of_sdk = asked.unwrap_or(LevelFilter::OFF);
    let filter = Targets::new()
        .with_default(level)
        .with_target("rmcp", of_sdk);
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .with_target(false)
        .without_time();
    tracing_subscriber::registry()
        .with(lines.with_filter(filter))
        .init();
}
