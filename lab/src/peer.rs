//! `lab bench-peers`: gongfu beside FastMCP and the SDKs of Python and TypeScript, in one run.
//!
//! The servers take turns in every round, so that all see the same machine; what is printed are
//! medians. A wrong answer fails the run; being slow never does.

mod contender;
mod figure;
mod fixture;
mod library;
mod report;
mod round;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;

use crate::machine;

use contender::{Contender, NAMES};
use figure::Row;
use fixture::Fixture;
use report::Report;
use round::Round;

/// The options of `lab bench-peers`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Only these servers
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = NAMES)]
    only: Vec<String>,
    /// The number of turns of every server
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// The seconds of load on each server in a turn, with 1 and with 16 calls in flight
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=60))]
    seconds: u64,
    /// The number of skills in the large set; 0 leaves it out
    #[arg(long, default_value_t = 1_700)]
    skills: usize,
    /// Serve gongfu with accounts: every request has an API token
    #[arg(long)]
    accounts: bool,
    /// Fail when a server can't be run
    #[arg(long)]
    require_all: bool,
    /// A binary of gongfu, instead of the one that is built from the present sources
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Measures everything that is asked for.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let root = machine::root()?;
    let wanted =
        |name: &str| arguments.only.is_empty() || arguments.only.iter().any(|only| only == name);
    let mut report = Report::new(arguments.rounds, arguments.seconds);
    let mut contenders = Vec::new();
    for name in NAMES.into_iter().filter(|name| wanted(name)) {
        match Contender::find(name, &root, arguments.binary.as_deref(), arguments.accounts) {
            Ok(contender) => contenders.push(contender),
            Err(reason) => report.not_run(name, format!("{reason:#}")),
        }
    }
    let small = Fixture::small()?;
    let large = match arguments.skills {
        0 => None,
        skills => Some(Fixture::large(skills)?),
    };
    small.settle();
    let round = Round {
        length: Duration::from_secs(arguments.seconds),
        runtime: crate::http::runtime()?,
    };
    for contender in &contenders {
        // Caches are filled: gongfu's index, the byte code of Python, the files of Node.
        if let Err(error) = round::stdio(contender, &small) {
            report.not_run(contender.name, format!("stdio: {error:#}"));
        }
    }
    let mut rows: Vec<Row<'_>> = contenders.iter().flat_map(Row::of).collect();
    for turn in 0..arguments.rounds as usize {
        round.echo(&small, &mut report.generator)?;
        let first = turn % rows.len().max(1);
        for place in (first..rows.len()).chain(0..first) {
            let Some(row) = rows.get_mut(place).filter(|row| row.trouble.is_none()) else {
                continue;
            };
            if !arguments.json {
                eprint!("\r\x1b[Kround {}: {}", turn + 1, row.title());
            }
            match (round.measure(row, &small), &large) {
                (Err(error), _) => row.trouble = Some(format!("{error:#}")),
                (Ok(()), Some(large)) => library::measure_lists(&round, row, large),
                (Ok(()), None) => {}
            }
        }
    }
    if !arguments.json {
        eprint!("\r\x1b[K");
    }
    report.conclude(&contenders, &rows, &small, large.as_ref());
    if arguments.json {
        println!("{:#}", report.to_json(&rows));
    } else {
        println!("{}", report.to_text(&rows));
    }
    Ok(report.exit(&rows, arguments.require_all))
}
