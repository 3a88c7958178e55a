//! `lab bench`: how fast the real binary is, on real skills and on ten thousand of them.
//!
//! Starts the binary as its users do and looks at it from outside; knows no crate of the workspace.
//! Timing never fails anything: what is slower than its goal is said so, and the exit code is 0. A
//! wrong answer does.

mod change;
mod fastmcp;
mod http;
mod measure;
pub(crate) mod sample;
mod search;
pub(crate) mod server;
pub(crate) mod set;
mod table;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use fastmcp::FastMcp;
use measure::{Bench, MEASUREMENTS};
use set::Set;
use table::Table;

/// Where real skills may lie, from the root of the repository.
const CORPUS: &str = "../shared/corpus";

/// The options of `lab bench`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A folder of real skills; without any, the corpus beside the repository or made-up ones
    #[arg(long, value_name = "DIR")]
    corpus: Option<PathBuf>,
    /// How many skills the multiplied set has; 0 leaves it out
    #[arg(long, default_value_t = 10_000)]
    skills: usize,
    /// How often each start is measured
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// How many calls of each kind are measured in a warm server
    #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    calls: u32,
    /// How many calls are measured with a pause before each, after which the library is looked at anew
    #[arg(long, default_value_t = 20)]
    pauses: u32,
    /// How many changes of each kind are measured: skills added, changed and removed
    #[arg(long, default_value_t = 200)]
    changes: u32,
    /// How many skills are changed at once, as by a checkout
    #[arg(long, default_value_t = 1_000)]
    burst: usize,
    /// How long 1,000 calls are kept in flight, in seconds
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,
    /// Only these measurements: cold, start, warm, calls, search, pauses, together, changes, burst,
    /// http, streams, soak
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = MEASUREMENTS)]
    only: Vec<String>,
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
    let root = crate::root()?;
    let program = match &arguments.binary {
        Some(program) => program.clone(),
        None => build(&root)?,
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
    };
    if !arguments.json {
        println!("{}", machine());
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
            "machine": machine(),
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
    match Set::at(&root.join(CORPUS)) {
        Ok(set) if set.skills > 0 => Ok(set),
        _ => Set::synthetic(),
    }
}

/// Builds the release binary; answers where it is.
pub(crate) fn build(root: &Path) -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--quiet", "--release", "--package", "gongfu"])
        .current_dir(root)
        .status()
        .context("could not start cargo")?;
    if !status.success() {
        bail!("the release binary does not build");
    }
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let name = format!("gongfu{}", std::env::consts::EXE_SUFFIX);
    Ok(root.join(target).join("release").join(name))
}

/// What the figures were measured on, with how busy it was.
pub(crate) fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let busy = load.split_whitespace().next().unwrap_or("?").to_owned();
    format!(
        "{}, {}, {cores} cores, load {busy}; files are in the system's cache, gongfu's home is new for each set",
        std::env::consts::OS,
        std::env::consts::ARCH,
    )
}
