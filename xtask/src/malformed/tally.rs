//! What came back, counted and printed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The counts of a run.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// By what was done, and by what came back.
    cells: BTreeMap<&'static str, BTreeMap<String, u64>>,
    pub(super) inputs: u64,
    pub(super) controls: u64,
    /// The longest that something took.
    pub(super) slowest: Duration,
    /// Memory in mebibytes: once warm, at the end, and at most.
    pub(super) memory: Vec<(u64, u64, u64)>,
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

    /// How often this came back, whatever was done.
    pub(super) fn of(&self, answer: &str) -> u64 {
        self.cells.values().filter_map(|row| row.get(answer)).sum()
    }

    /// A row for each thing that was done, a column for each answer.
    pub(super) fn table(&self) -> String {
        let answers: BTreeSet<&String> = self.cells.values().flat_map(BTreeMap::keys).collect();
        let head = answers.iter().map(|answer| format!("{answer:>11}"));
        let head: String = head.collect();
        let row = |name: &str, count: &dyn Fn(&str) -> u64| {
            let cells = answers.iter().map(|answer| match count(answer) {
                0 => format!("{:>11}", "·"),
                count => format!("{count:>11}"),
            });
            format!("{name:<22}{}", cells.collect::<String>())
        };
        let mut lines = vec![format!("{:<22}{head}", "")];
        for (kind, counts) in &self.cells {
            lines.push(row(kind, &|answer| {
                counts.get(answer).copied().unwrap_or_default()
            }));
        }
        lines.push(row("in all", &|answer| self.of(answer)));
        lines.join("\n")
    }

    /// What isn't in the table.
    pub(super) fn summary(&self) -> String {
        let memory = self.memory.iter().map(|(warm, end, most)| {
            format!("; memory {warm} MiB once warm, {end} at the end, {most} at most")
        });
        format!(
            "{} inputs, {} controls answered; the slowest took {:.0?}{}",
            self.inputs,
            self.controls,
            self.slowest,
            memory.collect::<String>()
        )
    }
}
