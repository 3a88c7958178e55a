//! The benchmarks and proofs: programs that run for minutes, and that neither build nor tests need.
//!
//! One variant and one file for each command; nothing here knows what a command does.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the terminal is the only place where these programs report"
)]

mod accounts;
mod bench;
mod bomb;
mod child;
mod columns;
mod command;
mod corpus;
mod http;
mod machine;
mod malformed;
mod peer;
mod prove;
mod race;
mod random;
mod record;
mod sample;
mod sandbox;
mod search;
mod server;
mod set;

use std::process::ExitCode;

use clap::Parser;

/// The benchmarks and proofs of gongfu.
#[derive(Parser)]
#[command(name = "lab")]
enum Command {
    /// Measure the speed of the real binary
    Bench(bench::Arguments),
    /// Measure the server beside FastMCP and the SDKs of Python and TypeScript, over HTTP and stdio
    BenchPeers(peer::Arguments),
    /// Measure how well search finds, beside plain BM25
    BenchSearch(search::Arguments),
    /// Measure how long a command is judged, and whether it is read as `bash` reads it
    BenchCommands(command::Arguments),
    /// Measure how many changes of records a database commits in a second
    BenchRecords(record::Arguments),
    /// Measure what a sandbox costs, beside a plain spawn and bubblewrap
    BenchSandbox(sandbox::Arguments),
    /// Prove that no input makes a parser panic, hang or lead out of a skill
    ProveParse(prove::Arguments),
    /// Prove that whatever is run, the server goes on answering and nothing is left
    ProveBombs(bomb::Arguments),
    /// Prove that no malformed request makes the server panic, hang, end or grow
    ProveMalformed(malformed::Arguments),
    /// Prove that no link that is swapped in leads a reader or writer outside
    ProveRaces(race::Arguments),
}

fn main() -> ExitCode {
    // The sandbox starts this program again as its child.
    if let Some(code) = gongfu_sandbox::become_child() {
        return code;
    }
    let outcome = match Command::parse() {
        Command::Bench(arguments) => bench::run(&arguments),
        Command::BenchPeers(arguments) => peer::run(&arguments),
        Command::BenchSearch(arguments) => search::run(&arguments),
        Command::BenchCommands(arguments) => command::run(&arguments),
        Command::BenchRecords(arguments) => record::run(&arguments),
        Command::BenchSandbox(arguments) => sandbox::run(&arguments),
        Command::ProveParse(arguments) => prove::run(&arguments),
        Command::ProveBombs(arguments) => bomb::run(&arguments),
        Command::ProveMalformed(arguments) => malformed::run(&arguments),
        Command::ProveRaces(arguments) => race::run(&arguments),
    };
    match outcome {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
