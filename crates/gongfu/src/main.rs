//! gongfu: a library of Agent Skills for any AI agent.
//!
//! Only starts: reads the command line, runs the command, turns its outcome into an exit code.

mod accounts;
mod age;
mod agent;
mod channel;
mod cli;
mod client;
mod clock;
mod command;
mod config;
mod connection;
mod environment;
mod failure;
mod home;
mod log;
mod output;
mod package;
mod progress;
mod project;
mod report;
mod sandbox;
mod sets;
mod signal;
mod stamp;
mod table;
mod telemetry;
mod terminal;
mod token;
mod wiring;

use std::process::ExitCode;

use crate::command::Outcome;
use crate::terminal::Terminal;

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
    let mut environment = environment::Environment::read();
    let cli = match cli::parse(std::env::args_os().collect()) {
        Ok(cli) => cli,
        Err((output, refusal)) => {
            return refuse(&refusal, &mut Terminal::new(&environment, &output));
        }
    };
    environment.is_standalone |= cli.command.is_standalone();
    let mut terminal = Terminal::new(&environment, &cli.output);
    if cli.output.quiet {
        progress::silence();
    }
    let telemetry = log::start(&environment, cli.command.kind(), cli.output.verbose);
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
            let failure = error.downcast_ref::<failure::Failure>();
            let code = failure.map_or(1, |failure| failure.exit);
            terminal.error(&error);
            ExitCode::from(code)
        }
    }
}

/// Answers a command line that runs no command: with help, or with what is wrong.
fn refuse(refusal: &cli::Refusal, terminal: &mut Terminal) -> ExitCode {
    match refusal {
        cli::Refusal::Help(help) => {
            let _ = terminal.help(help);
            u8::try_from(help.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
        }
        cli::Refusal::Mistake(failure) => {
            terminal.failure(failure);
            ExitCode::from(failure.exit)
        }
    }
}
