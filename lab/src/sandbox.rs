//! `lab bench-sandbox`: what a sandbox costs, beside a plain spawn and bubblewrap alone.
//!
//! One run, everything in turns, so that all meet the same machine. Nothing fails by time: what
//! misses its goal is said so.

mod contender;
mod memory;
mod throughput;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::machine;
use crate::sample::{Sample, Unit};
use contender::{Contender, Fixture, contenders};

/// The programs that are run, each with its name in the table.
const PROGRAMS: [(&str, &[&str]); 2] = [
    ("true", &["true"]),
    ("python3 -c pass", &["python3", "-c", "pass"]),
];

/// The options of `lab bench-sandbox`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The number of runs of each, one after the other
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: u32,
    /// The number of runs of each with 8 in flight
    #[arg(long, default_value_t = 400, value_parser = clap::value_parser!(u32).range(8..=100_000))]
    runs: u32,
    /// A binary to measure, instead of the one that is built from the present sources
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The times of one contender.
struct Times {
    name: String,
    of: Vec<Sample>,
}

/// Measures everything.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let program = match &arguments.binary {
        Some(program) => program.clone(),
        None => machine::build("dist")?,
    };
    let fixture = Fixture::new(program)?;
    let (mut contenders, notes) = contenders(&fixture)?;
    let times = latency(&mut contenders, arguments.rounds)?;
    let rates = throughput::measure(&fixture, &contenders, arguments.runs)?;
    let memory = memory::measure(&fixture, &contenders)?;
    if arguments.json {
        let latency: Vec<Value> = times.iter().map(to_json).collect();
        println!(
            "{:#}",
            json!({ "machine": machine::describe(), "notes": notes, "latency": latency, "per_second": rates, "memory_mib": memory })
        );
        return Ok(ExitCode::SUCCESS);
    }
    println!("{}", machine::describe());
    println!(
        "run as {}",
        if rustix::process::geteuid().is_root() {
            "root"
        } else {
            "a user"
        }
    );
    for note in &notes {
        println!("note: {note}");
    }
    show_times(&times, arguments.rounds);
    println!("\n`true`, 8 in flight, {} runs", arguments.runs);
    for (name, rate) in &rates {
        println!("  {name:<28} {}", Unit::PerSecond.show(*rate));
    }
    println!(
        "\nmemory of one sandbox in which `sleep` runs, shared pages divided among those who share them"
    );
    for (name, mebibytes) in &memory {
        println!("  {name:<28} {}", Unit::Mebibytes.show(*mebibytes));
    }
    println!();
    for goal in goals(&times) {
        println!("{goal}");
    }
    Ok(ExitCode::SUCCESS)
}

/// Every contender in turn, again and again, one program after the other: none runs twice in a row, as
/// nobody's calls come without a pause between them.
fn latency(contenders: &mut [Contender], rounds: u32) -> Result<Vec<Times>> {
    let mut times: Vec<Times> = contenders
        .iter()
        .map(|contender| Times {
            name: contender.name.clone(),
            of: vec![Sample::default(); PROGRAMS.len()],
        })
        .collect();
    for (number, (_, words)) in PROGRAMS.iter().enumerate() {
        for round in 0..=rounds {
            for (contender, times) in contenders.iter_mut().zip(&mut times) {
                let took: Duration = (contender.run)(words)
                    .with_context(|| format!("{} can't run {words:?}", contender.name))?;
                // The first one of each warms what it needs.
                if let Some(sample) = times.of.get_mut(number).filter(|_| round > 0) {
                    sample.time(took);
                }
            }
        }
    }
    Ok(times)
}

fn show_times(times: &[Times], rounds: u32) {
    println!(
        "\nfrom start to end, {rounds} times each in turn: least, median, and the median beside a plain spawn"
    );
    for (number, (program, _)) in PROGRAMS.iter().enumerate() {
        println!("{program}");
        let plain = times
            .first()
            .and_then(|plain| plain.of.get(number)?.median());
        for contender in times {
            let Some((sample, plain)) = contender.of.get(number).zip(plain) else {
                continue;
            };
            let (least, median) = (
                sample.least().unwrap_or(0.0),
                sample.median().unwrap_or(0.0),
            );
            println!(
                "  {:<28} {:>9} {:>9} {:>7.1}x",
                contender.name,
                Unit::Milliseconds.show(least),
                Unit::Milliseconds.show(median),
                median / plain,
            );
        }
    }
}

fn to_json(times: &Times) -> Value {
    let of = PROGRAMS.iter().zip(&times.of).map(|((program, _), sample)| {
        let value = json!({ "least_ms": sample.least(), "median_ms": sample.median(), "p90_ms": sample.percentile(90) });
        ((*program).to_owned(), value)
    });
    json!({ "name": times.name, "of": of.collect::<serde_json::Map<_, _>>() })
}

/// The goals of the figures, and whether they are reached.
fn goals(times: &[Times]) -> Vec<String> {
    let median = |name: &str, number: usize| {
        let found = times.iter().find(|times| times.name == name)?;
        found.of.get(number)?.median()
    };
    let mut goals = Vec::new();
    let mut goal = |what: &str, value: Option<f64>, most: Option<f64>, unit: Unit| {
        if let (Some(value), Some(most)) = (value, most) {
            let held = if value <= most { "held  " } else { "missed" };
            goals.push(format!(
                "{held}  {what}: {} of at most {}",
                unit.show(value),
                unit.show(most)
            ));
        }
    };
    for (number, (program, _)) in PROGRAMS.iter().enumerate() {
        goal(
            &format!("own namespaces as fast as bubblewrap alone, {program}"),
            median("namespaces", number),
            median(contender::ALONE, number),
            Unit::Milliseconds,
        );
    }
    goal(
        "own namespaces at most five plain spawns, true",
        median("namespaces", 0),
        median(contender::PLAIN, 0).map(|plain| plain * 5.0),
        Unit::Milliseconds,
    );
    for whole in [contender::OVER_STDIO, contender::OVER_HTTP] {
        goal(
            &format!("{whole} at most 10 ms more than the sandbox, true"),
            median(whole, 0),
            median("namespaces", 0).map(|bare| bare + 10.0),
            Unit::Milliseconds,
        );
    }
    goals
}
