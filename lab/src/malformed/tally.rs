//! The answers that came back, counted and printed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// So many things that were done are shown beside what came back.
const SHOWN: usize = 5;

/// The counts of a run.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// By what was done, and by what came back.
    cells: BTreeMap<&'static str, BTreeMap<String, u64>>,
    pub(super) inputs: u64,
    pub(super) controls: u64,
    /// The longest that an answer took.
    pub(super) slowest: Duration,
    /// Memory in mebibytes: once warm, at the end, and at most.
    pub(super) memory: Vec<(f64, f64, f64)>,
}

impl Tally {
    /// Counts one answer.
    pub(super) fn count(&mut self, kind: &'static str, answer: String) {
        *self
            .cells
            .entry(kind)
            .or_default()
            .entry(answer)
            .or_default() += 1;
    }

    /// Adds what another one counted.
    pub(super) fn add(&mut self, other: Self) {
        for (kind, row) in other.cells {
            let mine = self.cells.entry(kind).or_default();
            for (answer, count) in row {
                *mine.entry(answer).or_default() += count;
            }
        }
        self.inputs += other.inputs;
        self.controls += other.controls;
        self.slowest = self.slowest.max(other.slowest);
        self.memory.extend(other.memory);
    }

    /// The number of answers with this name, whatever the change was.
    pub(super) fn of(&self, answer: &str) -> u64 {
        self.cells.values().filter_map(|row| row.get(answer)).sum()
    }

    /// A row for each answer: how often it came, and for what most often.
    pub(super) fn table(&self) -> String {
        let answers: BTreeSet<&String> = self.cells.values().flat_map(BTreeMap::keys).collect();
        let rows = answers.into_iter().map(|answer| {
            let mut kinds: Vec<(u64, &str)> = self
                .cells
                .iter()
                .filter_map(|(kind, row)| Some((*row.get(answer)?, *kind)))
                .collect();
            kinds.sort_unstable_by(|one, other| other.cmp(one));
            let most = kinds.iter().take(SHOWN);
            let most: Vec<String> = most
                .map(|(count, kind)| format!("{kind} {count}"))
                .collect();
            let more = if kinds.len() > SHOWN { ", …" } else { "" };
            format!(
                "{answer:<12}{:>9}  {}{more}",
                self.of(answer),
                most.join(", ")
            )
        });
        rows.collect::<Vec<String>>().join("\n")
    }

    /// A line with everything that isn't in the table.
    pub(super) fn summary(&self) -> String {
        let memory = self.memory.iter().map(|(warm, end, most)| {
            format!("; memory {warm:.0} MiB once warm, {end:.0} at the end, {most:.0} at most")
        });
        format!(
            "{} inputs, {} controls answered; the slowest answer took {} ms{}",
            self.inputs,
            self.controls,
            self.slowest.as_millis(),
            memory.collect::<String>()
        )
    }
}
