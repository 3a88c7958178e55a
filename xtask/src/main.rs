//! `cargo xtask`: the chores of this repository that need more than a shell.
//!
//! One variant and one file for each command; nothing here knows what a command does.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the terminal is the only place where these chores speak"
)]

mod generate;
mod modules;
mod rust_text;
mod tidy;
mod tree;

use std::process::ExitCode;

use clap::Parser;

/// The chores of this repository.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Command {
    /// Check the house rules: edges, sizes, forgotten files, fences
    Tidy(tidy::Arguments),
    /// Write the generated files anew
    #[command(name = "gen")]
    Generate(generate::Arguments),
}

fn main() -> ExitCode {
    let outcome = match Command::parse() {
        Command::Tidy(arguments) => tidy::run(&arguments),
        Command::Generate(arguments) => generate::run(&arguments),
    };
    match outcome {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
