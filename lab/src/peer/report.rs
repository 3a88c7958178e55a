//! The report: the tables, the ratios, the cost of the load itself, the goals, and the servers that
//! did not run.

use std::fmt::Write as _;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::contender::Contender;
use super::figure::{Calls, Row, Whole};
use super::fixture::Fixture;
use crate::columns::columns;
use crate::machine;
use crate::sample::{Sample, three_digits};

mod bar;

use bar::Bar;

/// Everything that is said of a run.
pub(super) struct Report {
    rounds: u32,
    seconds: u64,
    /// The load against a server that does nothing: with one call in flight, and with many.
    pub(super) generator: [Calls; 2],
    machine: String,
    /// The load of the machine in the beginning.
    busy: f64,
    missing: Vec<(String, String)>,
    notes: Vec<String>,
    bars: Vec<Bar>,
}

impl Report {
    /// A report of a run that begins now.
    pub(super) fn new(rounds: u32, seconds: u64) -> Self {
        Self {
            rounds,
            seconds,
            generator: [Calls::default(), Calls::default()],
            machine: machine::describe(),
            busy: machine::load(),
            missing: Vec::new(),
            notes: Vec::new(),
            bars: Vec::new(),
        }
    }

    /// Remembers who did not run, and why.
    pub(super) fn not_run(&mut self, name: &str, reason: String) {
        self.missing.push((name.to_owned(), reason));
    }

    /// Draws the conclusions, once everything is measured.
    pub(super) fn conclude(
        &mut self,
        contenders: &[Contender],
        rows: &[Row<'_>],
        small: &Fixture,
        large: Option<&Fixture>,
    ) {
        self.notes.push(format!(
            "a call is `skill_load` of a SKILL.md of {} bytes among {} skills; every answer is compared with the file; each server is one process on the machine that also asks",
            small.document.len(),
            small.skills
        ));
        self.notes.push(
            "peers serve one tool that reads the file and nothing else; each connection is one client, which asks again as soon as it has its answer; on the path `session` each has a session of its own".to_owned(),
        );
        self.notes.push(
            "memory is what is resident, in megabytes: idle 1 s after the first answer, peak after all calls; CPU is the server's, a call, with 16 in flight; the HTTP start ends with the answer to `tools/list` (on the path `session` to `initialize`), the stdio start with the answer to `tools/list` behind `initialize`; every server was started once before".to_owned(),
        );
        if cfg!(debug_assertions) {
            self.notes.push(
                "the load is built without optimization and slows every server down: use `just bench-peers`".to_owned(),
            );
        }
        let (cores, busy) = (machine::cores(), machine::load());
        if self.busy.max(busy) > cores {
            self.notes.push(format!(
                "the machine was busy with something else: its load was {} in the beginning and is {busy}, on {cores} cores; these figures say little",
                self.busy
            ));
        }
        if let Some(large) = large {
            self.notes.push(format!(
                "the large set has {} skills; `skills/list` gives frontmatter, every file and its digest, `resources/list` an address and a name",
                large.skills
            ));
        }
        for contender in contenders {
            self.notes
                .push(format!("{}: {}", contender.title, contender.settings));
        }
        for row in rows {
            if let Some(trouble) = &row.trouble {
                self.missing.push((row.title(), trouble.clone()));
            }
            for whole in &row.wholes {
                if let Some(trouble) = &whole.trouble {
                    let what = format!("{}, {}", row.title(), whole.listing.method());
                    self.missing.push((what, trouble.clone()));
                }
            }
        }
        self.bars = bar::bars(rows);
    }

    /// 1 when an answer was wrong, when nothing was measured, and on request when somebody is missing.
    pub(super) fn exit(&self, rows: &[Row<'_>], require_all: bool) -> ExitCode {
        let is_wrong = rows.iter().any(|row| row.one.errors + row.many.errors > 0);
        let is_empty = rows.iter().all(|row| row.many.right == 0);
        if is_wrong || is_empty || (require_all && !self.missing.is_empty()) {
            ExitCode::FAILURE
        } else {
            ExitCode::SUCCESS
        }
    }

    /// For people.
    pub(super) fn to_text(&self, rows: &[Row<'_>]) -> String {
        let mut text = format!(
            "{}\n{} rounds, {} s of calls each; medians of the rounds\n\n",
            self.machine, self.rounds, self.seconds
        );
        text.push_str(&columns(&speed(rows), 2));
        let ratios = ratios(rows);
        if ratios.len() > 1 {
            text.push_str(
                "\nHow much better gongfu is on the same kind of path, by each figure\n\n",
            );
            text.push_str(&columns(&ratios, 2));
        }
        let wholes = wholes(rows);
        if wholes.len() > 1 {
            text.push_str("\nAll skills of the large set\n\n");
            text.push_str(&columns(&wholes, 2));
        }
        text.push('\n');
        text.push_str(&self.cost(rows));
        for note in &self.notes {
            let _ = writeln!(text, "note: {note}");
        }
        text.push('\n');
        for bar in &self.bars {
            let _ = writeln!(text, "{bar}");
        }
        for row in rows {
            for calls in [&row.one, &row.many] {
                if let Some(complaint) = &calls.complaint {
                    let _ = writeln!(
                        text,
                        "wrong: {}: {} of {} calls: {complaint}",
                        row.title(),
                        calls.errors,
                        calls.errors + calls.right
                    );
                }
            }
        }
        for (who, reason) in &self.missing {
            let _ = writeln!(text, "not run: {who}: {reason}");
        }
        text
    }

    /// The cost and the limit of the load itself.
    fn cost(&self, rows: &[Row<'_>]) -> String {
        let [one, many] = &self.generator;
        let most = rows
            .iter()
            .filter_map(|row| row.many.rate.median())
            .fold(0.0, f64::max);
        let reached = many.rate.median().unwrap_or(0.0);
        format!(
            "the load: one thread; against an empty server in its own process it reaches {} calls/s with 1 in flight and {} with 16 ({:.1} times the fastest server here), p50 {} and p99 {} ms; it computes {} µs a call, checking the answer included\n",
            show(&one.rate),
            show(&many.rate),
            if most > 0.0 { reached / most } else { 0.0 },
            show(&many.half),
            show(&many.tail),
            show(&many.own),
        )
    }

    /// For programs.
    pub(super) fn to_json(&self, rows: &[Row<'_>]) -> Value {
        let [one, many] = &self.generator;
        let missing = |(who, reason): &(String, String)| json!({ "what": who, "reason": reason });
        json!({
            "machine": self.machine,
            "rounds": self.rounds,
            "seconds": self.seconds,
            "load": { "one_in_flight": one.to_json(), "many_in_flight": many.to_json() },
            "servers": rows.iter().map(Row::to_json).collect::<Vec<_>>(),
            "bars": self.bars.iter().map(Bar::to_json).collect::<Vec<_>>(),
            "notes": self.notes,
            "not_run": self.missing.iter().map(missing).collect::<Vec<_>>(),
        })
    }
}

/// The first table.
fn speed(rows: &[Row<'_>]) -> Vec<Vec<String>> {
    let head = [
        "server",
        "path",
        "calls/s, 1",
        "p50 ms",
        "p99 ms",
        "calls/s, 16",
        "p50 ms",
        "p99 ms",
        "CPU µs",
        "idle MB",
        "peak MB",
        "HTTP start ms",
        "stdio start ms",
    ];
    let mut lines = vec![head.map(str::to_owned).to_vec()];
    for row in rows {
        let mut line = vec![
            row.contender.title.clone(),
            format!("{} {}", row.path.revision(), row.path.name()),
        ];
        line.extend(
            [
                &row.one.rate,
                &row.one.half,
                &row.one.tail,
                &row.many.rate,
                &row.many.half,
                &row.many.tail,
                &row.many.cost,
                &row.idle,
                &row.peak,
                &row.http,
                &row.stdio,
            ]
            .map(show),
        );
        lines.push(line);
    }
    lines
}

/// The first table, against gongfu.
fn ratios(rows: &[Row<'_>]) -> Vec<Vec<String>> {
    let head = [
        "server",
        "path",
        "calls/s, 1",
        "calls/s, 16",
        "p50, 16",
        "p99, 16",
        "CPU",
        "idle",
        "peak",
        "HTTP start",
        "stdio start",
    ];
    let mut lines = vec![head.map(str::to_owned).to_vec()];
    for row in rows.iter().filter(|row| row.contender.name != "gongfu") {
        let ours = rows
            .iter()
            .find(|ours| ours.contender.name == "gongfu" && ours.is_session() == row.is_session());
        let Some(ours) = ours else { continue };
        let mut line = vec![row.contender.title.clone(), row.path.name().to_owned()];
        line.extend(
            [
                (&ours.one.rate, &row.one.rate),
                (&ours.many.rate, &row.many.rate),
                (&row.many.half, &ours.many.half),
                (&row.many.tail, &ours.many.tail),
                (&row.many.cost, &ours.many.cost),
                (&row.idle, &ours.idle),
                (&row.peak, &ours.peak),
                (&row.http, &ours.http),
                (&row.stdio, &ours.stdio),
            ]
            .map(|(more, less)| {
                ratio(more, less).map_or(String::new(), |ratio| format!("{ratio:.1}×"))
            }),
        );
        lines.push(line);
    }
    lines
}

/// The second table.
fn wholes(rows: &[Row<'_>]) -> Vec<Vec<String>> {
    let head = [
        "server",
        "method",
        "entries",
        "pages",
        "MB",
        "first ms",
        "again ms",
        "ratio",
        "read p50 ms",
        "read p99 ms",
        "ratio",
        "peak MB",
    ];
    let mut lines = vec![head.map(str::to_owned).to_vec()];
    let all: Vec<(&Row<'_>, &Whole)> = rows
        .iter()
        .flat_map(|row| row.wholes.iter().map(move |whole| (row, whole)))
        .filter(|(_, whole)| whole.trouble.is_none() && whole.again.len() > 0)
        .collect();
    for (row, whole) in &all {
        let ours = all.iter().find(|(ours, other)| {
            ours.contender.name == "gongfu" && other.listing == whole.listing
        });
        let beside = |more: &Sample, less: fn(&Whole) -> &Sample| {
            ours.and_then(|(_, ours)| ratio(more, less(ours)))
                .map_or(String::new(), |ratio| format!("{ratio:.1}×"))
        };
        #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52")]
        let size = whole.size as f64 / 1e6;
        lines.push(vec![
            row.contender.title.clone(),
            whole.listing.method().to_owned(),
            whole.entries.to_string(),
            whole.pages.to_string(),
            format!("{size:.2}"),
            show(&whole.first),
            show(&whole.again),
            beside(&whole.again, |whole| &whole.again),
            show(&whole.half),
            show(&whole.tail),
            beside(&whole.half, |whole| &whole.half),
            show(&whole.peak),
        ]);
    }
    lines
}

/// A median divided by another one.
fn ratio(more: &Sample, less: &Sample) -> Option<f64> {
    let (more, less) = (more.median()?, less.median()?);
    (less > 0.0).then_some(more / less)
}

/// A median in about three digits.
fn show(sample: &Sample) -> String {
    sample.median().map_or("–".to_owned(), three_digits)
}

#[cfg(test)]
mod tests {
    use super::{ratio, show};
    use crate::sample::Sample;

    fn sample(values: &[f64]) -> Sample {
        let mut sample = Sample::default();
        for value in values {
            sample.value(*value);
        }
        sample
    }

    #[test]
    fn medians_are_shown_and_compared() {
        assert_eq!(show(&sample(&[3.0, 1.234, 2000.0])), "3.00");
        assert_eq!(show(&sample(&[])), "–");
        assert_eq!(ratio(&sample(&[30.0]), &sample(&[3.0])), Some(10.0));
        assert_eq!(ratio(&sample(&[30.0]), &sample(&[])), None);
    }
}
