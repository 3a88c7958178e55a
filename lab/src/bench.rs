//! `lab bench`: how fast the real binary is, on real skills and on ten thousand of them.
//!
//! Starts the binary as its users do and looks at it from outside; knows no crate of the workspace.
//! Timing never fails anything: what is slower than its goal is said so, and the exit code is 0. A
//! wrong answer does.

mod change;
mod fastmcp;
mod http;
mod measure;
mod search;
mod table;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};
use serde_json::{Value, json};

use crate::corpus;
use crate::machine;
use crate::set::Set;
use fastmcp::FastMcp;
use measure::{Bench, MEASUREMENTS};
use table::Table;

/// The options of `lab bench`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A folder of real skills; without any, the corpus beside the repository or made-up ones
    #[arg(long, value_name = "DIR")]
    corpus: Option<PathBuf>,
    /// The number of skills in the multiplied set; 0 leaves it out
    #[arg(long, default_value_t = 10_000)]
    skills: usize,
    /// The number of measured starts
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// The number of measured calls of each kind in a warm server
    #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    calls: u32,
    /// The number of calls with a pause before each, after which the library is read again
    #[arg(long, default_value_t = 20)]
    pauses: u32,
    /// The number of changes of each kind: skills added, changed and removed
    #[arg(long, default_value_t = 200)]
    changes: u32,
    /// The number of skills that change at once, as by a checkout
    #[arg(long, default_value_t = 1_000)]
    burst: usize,
    /// The seconds for which 1,000 calls are kept in flight
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,
    /// Only these measurements: cold, start, warm, calls, search, pauses, together, changes, burst,
    /// http, streams, soak
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = MEASUREMENTS)]
    only: Vec<String>,
    /// Serve with accounts over HTTP (http, streams, soak): every request has an API token
    #[arg(long)]
    accounts: bool,
    /// A Python that has FastMCP, instead of that below .tools
    #[arg(long, value_name = "FILE")]
    python: Option<PathBuf>,
    /// A binary to measure, instead of the one that is built from the present sources
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Measures everything that is asked for.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let root = machine::root()?;
    let program = match &arguments.binary {
        Some(program) => program.clone(),
        None => machine::build("dist")?,
    };
    let (beside, note) = match FastMcp::find(&root, arguments.python.as_deref()) {
        Ok(found) => {
            let note = found.note();
            (Some(found), note)
        }
        Err(note) => (None, note),
    };
    let original = original(&root, arguments)?;
    let bench = Bench {
        program,
        beside,
        rounds: arguments.rounds,
        calls: arguments.calls,
        pauses: arguments.pauses,
        changes: arguments.changes,
        burst: arguments.burst,
        seconds: arguments.seconds,
        only: arguments.only.clone(),
        has_accounts: arguments.accounts,
    };
    if !arguments.json {
        println!("{}", machine::describe());
        println!("note: {note}");
    }
    let mut tables = Vec::new();
    measure_set(&bench, &original, arguments.json, &mut tables);
    if arguments.skills > 0 {
        match Set::multiplied(&original, arguments.skills) {
            Ok(set) => measure_set(&bench, &set, arguments.json, &mut tables),
            Err(error) => eprintln!("note: the multiplied set can't be made: {error:#}"),
        }
    }
    if arguments.json {
        let tables: Vec<Value> = tables.iter().map(Table::to_json).collect();
        let whole = json!({
            "machine": machine::describe(),
            "fastmcp": bench.beside.as_ref().map(|beside| beside.version.clone()),
            "notes": [note],
            "sets": tables,
        });
        println!("{whole:#}");
    }
    let is_wrong = tables.iter().any(|table| !table.wrong.is_empty());
    Ok(ExitCode::from(u8::from(is_wrong)))
}

fn measure_set(bench: &Bench, set: &Set, json: bool, tables: &mut Vec<Table>) {
    let table = bench.measure(set);
    if !json {
        println!("\n{}", table.to_text());
    }
    tables.push(table);
}

/// The set that everything starts from: what was named, else the corpus, else made-up skills.
fn original(root: &Path, arguments: &Arguments) -> Result<Set> {
    if let Some(folder) = &arguments.corpus {
        let set = Set::at(folder)?;
        if set.skills == 0 {
            bail!(
                "{} holds no skills: name a folder of skill folders",
                folder.display()
            );
        }
        return Ok(set);
    }
    match Set::at(&root.join(corpus::FOLDER)) {
        Ok(set) if set.skills > 0 => Ok(set),
        _ => Set::synthetic(),
    }
}
