//! The report: the number of inputs, those that broke a property, and the slowest of each kind.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::growth::{Growth, SLOW, Shape};
use super::net::{Doing, Outcome, caught};
use super::property::{Fixture, Kind};

/// After so many broken inputs, a worker has seen enough.
const ENOUGH: usize = 2_000;
/// The number of kinds of breakage that are kept and reported.
const TOLD: usize = 20;
/// So many of the slowest inputs are measured again: some of them only waited for others.
const CANDIDATES: usize = 24;
/// The beginning of an input that is shown, in characters.
const SHOWN: usize = 120;

/// The report of one worker.
#[derive(Default)]
pub(super) struct Run {
    counts: [Count; Kind::ALL.len()],
    broken: Vec<Failure>,
}

#[derive(Default)]
struct Count {
    inputs: u64,
    bytes: u64,
    time: Duration,
    /// The slowest ones, to be measured again.
    slowest: Vec<Slow>,
}

struct Slow {
    number: u64,
    took: Duration,
    input: Vec<u8>,
}

struct Failure {
    kind: Kind,
    number: u64,
    what: String,
    input: Vec<u8>,
}

/// The reports of all workers together.
pub(super) struct Report {
    all: Run,
    folder: PathBuf,
    seed: u64,
    real: usize,
    started: Instant,
    slow: Vec<String>,
}

/// A fault without the long texts that it may quote.
pub(super) fn shortened(what: &str) -> String {
    let short: String = what.chars().take(3 * SHOWN).collect();
    if short.len() < what.len() {
        format!("{short}…")
    } else {
        short
    }
}

impl Run {
    /// Counts an input.
    pub(super) fn add(&mut self, kind: Kind, number: u64, input: Vec<u8>, outcome: Outcome) {
        let Some(count) = self.counts.get_mut(kind as usize) else {
            return;
        };
        count.inputs += 1;
        count.bytes += input.len() as u64;
        count.time += outcome.took;
        if let Some(what) = outcome.broken {
            self.broken.push(Failure {
                kind,
                number,
                what,
                input: input.clone(),
            });
        }
        count.slow(Slow {
            number,
            took: outcome.took,
            input,
        });
    }

    /// True when so much is broken that more would say nothing new.
    pub(super) fn has_enough(&self) -> bool {
        self.broken.len() >= ENOUGH
    }

    /// The smallest broken input of each breakage, with how many there are.
    fn groups(&self) -> Vec<(usize, &Failure)> {
        let mut groups: BTreeMap<String, (usize, &Failure)> = BTreeMap::new();
        for broken in &self.broken {
            let group = groups.entry(broken.likeness()).or_insert((0, broken));
            group.0 += 1;
            let key = |broken: &Failure| (broken.input.len(), broken.number);
            if key(broken) < key(group.1) {
                group.1 = broken;
            }
        }
        groups.into_values().collect()
    }
}

impl Count {
    /// Keeps an input if it is one of the slowest.
    fn slow(&mut self, slow: Slow) {
        if self.slowest.len() < CANDIDATES {
            self.slowest.push(slow);
        } else if let Some(quickest) = self.slowest.iter_mut().min_by_key(|known| known.took)
            && quickest.took < slow.took
        {
            *quickest = slow;
        }
    }
}

impl Failure {
    /// The words of a fault without quotes from the input, which it shares with similar ones.
    fn likeness(&self) -> String {
        let mut likeness = self.kind.as_str().to_owned();
        for (number, part) in self.what.split('"').enumerate() {
            if number % 2 == 0 {
                likeness.extend(part.chars().filter(|c| !c.is_ascii_digit()));
            }
        }
        likeness
    }
}

impl Report {
    /// An empty report; inputs that somebody should look at are kept in `folder`.
    pub(super) fn new(folder: PathBuf, seed: u64, real: usize) -> Self {
        Self {
            all: Run::default(),
            folder,
            seed,
            real,
            started: Instant::now(),
            slow: Vec::new(),
        }
    }

    /// Adds what a worker saw.
    pub(super) fn take(&mut self, run: Run) {
        self.all.broken.extend(run.broken);
        for (mine, its) in self.all.counts.iter_mut().zip(run.counts) {
            mine.inputs += its.inputs;
            mine.bytes += its.bytes;
            mine.time += its.time;
            its.slowest.into_iter().for_each(|slow| mine.slow(slow));
        }
    }

    /// Measures the slowest inputs again, alone: the first time somebody else may have been busy.
    pub(super) fn slowest_again(&mut self, fixture: &Fixture) {
        for (kind, count) in Kind::ALL.into_iter().zip(&mut self.all.counts) {
            for slow in &mut count.slowest {
                for _ in 0..3 {
                    slow.took = slow.took.min(caught(kind, fixture, &slow.input).took);
                }
            }
            count.slowest.sort_by_key(|slow| slow.took);
            let Some(slow) = count.slowest.last() else {
                continue;
            };
            if slow.took > SLOW && slow.input.len() < 1024 * 1024 {
                self.slow.push(format!(
                    "slow: {} input {} ({} bytes) takes {:.0?}",
                    kind.as_str(),
                    slow.number,
                    slow.input.len(),
                    slow.took
                ));
            }
        }
    }

    /// Reports the growth of a shape, when it is worth a line.
    pub(super) fn grows(&self, shape: &Shape, growth: &Growth) {
        if !growth.is_notable() {
            return;
        }
        let name = format!("growth-{}", shape.name.replace([' ', ',', ':'], "-"));
        let input = shape.input(growth.size);
        let file = self.keep(&name, &input);
        let (kind, small) = (shape.kind.as_str(), growth.small);
        match growth.large {
            Some(large) => println!(
                "grows: {kind}, {}: {small:.1?}, and {large:.0?} for four times as much ({:.0}×, {} bytes): {file}",
                shape.name,
                growth.ratio(),
                input.len(),
            ),
            None => println!(
                "grows: {kind}, {}: {small:.1?} for {} bytes: {file}",
                shape.name,
                input.len()
            ),
        }
    }

    /// Reports an input that does not come to an end.
    pub(super) fn print_hang(&self, doing: &Doing) {
        let name = format!("hang-{}-{}", doing.kind.as_str(), doing.number);
        let file = self.keep(&name, &doing.input);
        println!(
            "broken: {} input {} of seed {} ({} bytes) does not come to an end: {file}",
            doing.kind.as_str(),
            doing.number,
            self.seed,
            doing.input.len(),
        );
    }

    /// Keeps an input; answers where, from the root of the repository.
    fn keep(&self, name: &str, input: &[u8]) -> String {
        match std::fs::write(self.folder.join(name), input) {
            Ok(()) => format!("target/prove/{name}"),
            Err(error) => format!("not kept: {error}"),
        }
    }

    /// Prints everything; the exit code says whether something is broken.
    pub(super) fn print(&self) -> Result<ExitCode> {
        let mut text = format!(
            "{:10} {:>9} {:>10} {:>10}  slowest\n",
            "kind", "inputs", "bytes each", "time each"
        );
        let mut total = 0;
        for (kind, count) in Kind::ALL.into_iter().zip(&self.all.counts) {
            let Some(slow) = count.slowest.last() else {
                continue;
            };
            total += count.inputs;
            let each = count.time / u32::try_from(count.inputs).unwrap_or(u32::MAX).max(1);
            let file = self.keep(&format!("slowest-{}", kind.as_str()), &slow.input);
            writeln!(
                text,
                "{:10} {:>9} {:>10} {:>7.1} µs  {:.1?}, input {} of seed {}, {} bytes: {file}",
                kind.as_str(),
                count.inputs,
                count.bytes / count.inputs.max(1),
                each.as_secs_f64() * 1e6,
                slow.took,
                slow.number,
                self.seed,
                slow.input.len(),
            )?;
        }
        for line in &self.slow {
            writeln!(text, "{line}")?;
        }
        print!("{text}");
        let broken = self.all.broken.len();
        for (alike, broken) in self.all.groups().iter().take(TOLD) {
            let kind = broken.kind.as_str();
            let file = self.keep(&format!("broken-{kind}-{}", broken.number), &broken.input);
            let start: String = String::from_utf8_lossy(&broken.input)
                .chars()
                .take(SHOWN)
                .collect();
            println!(
                "broken: {kind} input {} of seed {} ({} bytes), and {} like it: {}\n  {start:?}\n  {file}; again with --seed {} --at {}",
                broken.number,
                self.seed,
                broken.input.len(),
                alike - 1,
                shortened(&broken.what),
                self.seed,
                broken.number,
            );
        }
        println!(
            "prove-parse: {total} inputs, {} real documents to mutate, {broken} broken, {:.0?}",
            self.real,
            self.started.elapsed()
        );
        if total == 0 {
            println!("error: nothing was tried\n  hint: give --count or --seconds a larger number");
        }
        Ok(if broken == 0 && total > 0 {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        })
    }
}
