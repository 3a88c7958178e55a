//! `lab prove-parse`: no input makes a reader panic, hang or lead out of a skill.
//!
//! Makes up inputs from a seed, runs each under a net, and names the slowest of each kind. What
//! must hold is in [`property`], what inputs look like in [`generate`]; this is the loop between.

mod generate;
mod growth;
mod line;
mod nasty;
mod net;
pub(crate) mod property;
mod report;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail};

use crate::corpus;
use crate::machine;

use crate::random::Random;
use generate::Generator;
use net::{Slot, watched};
use property::{Fixture, Kind};
use report::{Report, Run};

/// So many real documents are mutated, and none that is larger.
const REAL: usize = 160;
const REAL_BYTES: u64 = 48 * 1024;
/// The kinds that take turns: the costly and the dangerous ones more often.
const TURNS: [Kind; 22] = [
    Kind::Document,
    Kind::Path,
    Kind::Arguments,
    Kind::Document,
    Kind::Section,
    Kind::Name,
    Kind::Document,
    Kind::Strict,
    Kind::Path,
    Kind::Document,
    Kind::Yaml,
    Kind::Arguments,
    Kind::Document,
    Kind::Path,
    Kind::Section,
    Kind::Document,
    Kind::Strict,
    Kind::Arguments,
    Kind::Yaml,
    Kind::Name,
    Kind::Command,
    Kind::Command,
];

/// The options of `lab prove-parse`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The number of inputs
    #[arg(long, default_value_t = 1_000_000)]
    count: u64,
    /// The seed that all inputs come from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// End after so many seconds, however many inputs that makes
    #[arg(long, value_name = "MAX")]
    seconds: Option<u64>,
    /// Only the input of this number
    #[arg(long, value_name = "NUMBER")]
    at: Option<u64>,
    /// Only this kind of input
    #[arg(long, value_name = "KIND")]
    only: Option<String>,
    /// Only what this file holds, as an input of the kind of --only
    #[arg(long, value_name = "FILE", requires = "only")]
    file: Option<PathBuf>,
    /// A folder of real skills to mutate, instead of the corpus beside the repository
    #[arg(long, value_name = "DIR")]
    corpus: Option<PathBuf>,
    /// Put a fault in, to see that it is found
    #[arg(long, value_name = "FAULT")]
    plant: Option<Plant>,
    /// Leave out the inputs that grow
    #[arg(long)]
    no_growth: bool,
    /// Write the seeds of the fuzz targets below this folder, and prove nothing
    #[arg(long, value_name = "DIR")]
    write_seeds: Option<PathBuf>,
}

/// A fault that can be planted.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Plant {
    Panic,
    Leak,
}

/// Runs all inputs; fails when one of them breaks something.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    if let Some(folder) = &arguments.write_seeds {
        return write_seeds(folder);
    }
    let root = machine::root()?;
    let plant = arguments.plant.map(|plant| match plant {
        Plant::Panic => property::Plant::Panic,
        Plant::Leak => property::Plant::Leak,
    });
    let only = arguments.only.as_deref().map(kind).transpose()?;
    net::limit_memory();
    let fixture = Fixture::new(plant).map_err(|reason| anyhow!(reason))?;
    if let (Some(file), Some(kind)) = (&arguments.file, only) {
        return one(file, kind, &fixture);
    }
    let folder = arguments
        .corpus
        .clone()
        .unwrap_or_else(|| root.join(corpus::FOLDER));
    let generator = Generator {
        real: real(&folder),
    };
    let kept = root.join("target/prove");
    if arguments.at.is_none() && kept.exists() {
        // What an earlier run kept would be taken for this one's.
        std::fs::remove_dir_all(&kept)?;
    }
    std::fs::create_dir_all(&kept).with_context(|| format!("could not make {}", kept.display()))?;
    let slot = |worker| Slot::new(&kept, worker);
    let mut report = Report::new(kept.clone(), arguments.seed, generator.real.len());

    net::quiet();
    let deadline = arguments
        .seconds
        .map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let workers = if arguments.at.is_some() {
        1
    } else {
        std::thread::available_parallelism().map_or(1, usize::from)
    };
    let next = AtomicU64::new(arguments.at.unwrap_or(0));
    let end = arguments.at.map_or(arguments.count, |at| at + 1);
    let slots = (0..workers).map(slot).collect::<Result<Vec<Slot>>>()?;
    let runs: Vec<Run> = watched(
        &slots,
        |doing| report.print_hang(doing),
        |slot| {
            let mut run = Run::default();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let is_over = deadline.is_some_and(|deadline| Instant::now() >= deadline);
                if number >= end || is_over || run.has_enough() {
                    return run;
                }
                let turn = usize::try_from(number).unwrap_or(0) % TURNS.len();
                let kind = only.or(TURNS.get(turn).copied()).unwrap_or_default();
                let mut random = Random::of_input(arguments.seed, number);
                let input = generator.input(kind, &mut random);
                let outcome = slot.check(kind, number, &fixture, &input);
                run.add(kind, number, input, outcome);
            }
        },
    )?;
    for run in runs {
        report.take(run);
    }
    report.slowest_again(&fixture);
    let code = report.print()?;
    if !arguments.no_growth && arguments.at.is_none() && only.is_none() {
        let slots = [slot(0)?];
        watched(
            &slots,
            |doing| report.print_hang(doing),
            |slot| {
                for (number, shape) in growth::SHAPES.iter().enumerate() {
                    slot.begin(shape.kind, number as u64, &shape.input(64));
                    slot.write(&format!("shape: {}", shape.name));
                    report.grows(shape, &shape.measure(&fixture));
                    slot.end();
                }
            },
        )?;
    }
    Ok(code)
}

/// Checks what a file holds, three times, with the time of each.
fn one(file: &Path, kind: Kind, fixture: &Fixture) -> Result<ExitCode> {
    let input =
        std::fs::read(file).with_context(|| format!("could not read {}", file.display()))?;
    net::quiet();
    let mut code = ExitCode::SUCCESS;
    for _ in 0..3 {
        let outcome = net::caught(kind, fixture, &input);
        println!(
            "{:.1?}: {}",
            outcome.took,
            outcome.broken.as_deref().unwrap_or("holds")
        );
        if outcome.broken.is_some() {
            code = ExitCode::FAILURE;
        }
    }
    Ok(code)
}

fn kind(name: &str) -> Result<Kind> {
    let names = Kind::ALL.map(Kind::as_str).join(", ");
    Kind::ALL
        .into_iter()
        .find(|kind| kind.as_str() == name)
        .with_context(|| format!("there is no kind `{name}`; give one of: {names}"))
}

/// Real documents below a folder, the same ones each time; none when there is no such folder.
fn real(folder: &Path) -> Vec<Vec<u8>> {
    let mut paths = corpus::files_below(folder).unwrap_or_default();
    paths.retain(|path| path.file_name().is_some_and(|name| name == "SKILL.md"));
    let step = paths.len().div_ceil(REAL).max(1);
    paths
        .into_iter()
        .step_by(step)
        .filter(|path| path.metadata().is_ok_and(|file| file.len() <= REAL_BYTES))
        .filter_map(|path| std::fs::read(path).ok())
        .collect()
}

/// Writes the seeds of each kind as files, for the fuzz targets to start from.
fn write_seeds(folder: &Path) -> Result<ExitCode> {
    let mut written = 0;
    // The strict verdict starts from the same documents, and names have no target.
    let has_seeds = |kind: &Kind| !matches!(kind, Kind::Strict | Kind::Name);
    for kind in Kind::ALL.into_iter().filter(has_seeds) {
        let target = folder.join(kind.as_str());
        std::fs::create_dir_all(&target)?;
        for (number, seed) in nasty::seeds(kind).iter().enumerate() {
            std::fs::write(target.join(format!("{number:03}")), seed)?;
            written += 1;
        }
    }
    if written == 0 {
        bail!("there are no seeds to write");
    }
    println!("{written} seeds below {}", folder.display());
    Ok(ExitCode::SUCCESS)
}
