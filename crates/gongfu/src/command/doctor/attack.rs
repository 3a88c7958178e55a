//! `gongfu doctor --attack`: what the sandboxes of this machine really hold, seen by attacking them.

mod arena;

use std::collections::BTreeMap;

use gongfu_attack::{Arena as _, Finding, Request, Row, Verdict};
use gongfu_core::sandbox::{BackendStatus, Level};
use serde::Serialize;

use super::Outcome;
use crate::environment::Environment;
use crate::terminal::{Paint, Terminal, plain};
use crate::wiring;
use arena::ConfigArena;
pub(crate) use arena::become_probe;

/// The width of the names of probes, below the name of their group.
const NAME: usize = 30;

/// The name of the column beside the levels.
const OUTSIDE: &str = "outside";
/// A column of the table for a baseline.
struct BaselineColumn {
    name: &'static str,
    heading: &'static str,
    about: &'static str,
    /// The kind of sandbox that must work for it to be there.
    level: Option<Level>,
}

const BASELINES: [BaselineColumn; 2] = [
    BaselineColumn {
        name: "bwrap_alone",
        heading: "bwrap",
        about: "plain `bwrap`, with its usual options",
        level: None,
    },
    BaselineColumn {
        name: "docker_alone",
        heading: "run",
        about: "plain `docker run`",
        level: Some(Level::new("docker")),
    },
];

/// The report for programs.
#[derive(Serialize)]
struct Report<'a> {
    /// The level in which scripts would be run.
    level: Option<Level>,
    levels: &'a [BackendStatus],
    counts: BTreeMap<&'static str, Count>,
    probes: &'a [Row],
}

/// The number of probes that reached their aim.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
struct Count {
    reached: usize,
    /// The number of those that can't be refused there.
    by_design: usize,
    /// The number of probes that prove something.
    of: usize,
}

/// Tries every probe in every level that works here; finds something when one gets through the level
/// that scripts would be run in.
pub(super) fn run(
    json: bool,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let arena = ConfigArena::read(environment.clone())?;
    let runner = arena.runner(None);
    let statuses = wiring::runtime()?.block_on(runner.statuses())?;
    drop(runner);
    let works = statuses
        .iter()
        .filter(|one| one.unavailable_reason.is_none());
    let levels: Vec<Level> = works.clone().map(|one| one.level).collect();
    let is_there = |one: &&BaselineColumn| one.level.is_none_or(|level| levels.contains(&level));
    let baselines = BASELINES.iter().filter(is_there);
    let request = Request {
        levels: levels.iter().map(Level::to_string).collect(),
        baselines: baselines.map(|one| one.name.to_owned()).collect(),
        names: Vec::new(),
    };
    let mut table = Table::new(&levels);
    let mut written = Ok(());
    let rows = gongfu_attack::run(&request, |row| {
        if !json && written.is_ok() {
            written = table.row(row, terminal);
        }
    })?;
    written?;
    let used = works.clone().find(|one| !one.is_opt_in);
    let counts = counts(&levels, &rows);
    if json {
        terminal.json(&Report {
            level: used.map(|used| used.level),
            levels: &statuses,
            counts,
            probes: &rows,
        })?;
    } else {
        conclude(&statuses, &counts, &rows, terminal)?;
    }
    let got_through = used.is_some_and(|used| rows.iter().any(|row| row.got_through(used.level)));
    Ok(Outcome::of(!got_through))
}

/// A table that is written row by row.
struct Table<'a> {
    levels: &'a [Level],
    group: String,
}

impl<'a> Table<'a> {
    fn new(levels: &'a [Level]) -> Self {
        Self {
            levels,
            group: String::new(),
        }
    }

    fn row(&mut self, row: &Row, terminal: &mut Terminal) -> std::io::Result<()> {
        if self.group.is_empty() {
            let mut line = format!("{:<NAME$}{}", "", cell(OUTSIDE, OUTSIDE));
            for level in self.levels {
                line += &cell(level.as_str(), level.as_str());
            }
            for (_, one) in baselines(row) {
                line += &cell(one.heading, one.heading);
            }
            terminal.line(&terminal.paint(Paint::Bold, line.trim_end()))?;
        }
        let (group, name) = row.name.split_once("::").unwrap_or(("", &row.name));
        if group != self.group {
            group.clone_into(&mut self.group);
            terminal.line(&terminal.paint(Paint::Bold, group))?;
        }
        let outside = match row.outside.verdict {
            Verdict::Reached => "reached",
            Verdict::Refused | Verdict::Void => "void",
        };
        let outside = terminal.paint(Paint::Dim, &cell(OUTSIDE, outside));
        let mut line = format!("  {:<width$}{outside}", name, width = NAME - 2);
        for level in self.levels {
            let (paint, word) = told(row, *level);
            line += &terminal.paint(paint, &cell(level.as_str(), word));
        }
        for (seen, one) in baselines(row) {
            line += &terminal.paint(Paint::Dim, &cell(one.heading, seen.verdict.as_str()));
        }
        terminal.line(line.trim_end())
    }
}

/// The findings in baselines.
fn baselines(row: &Row) -> impl Iterator<Item = (&Finding, &'static BaselineColumn)> {
    let all = BASELINES.iter();
    all.filter_map(|one| Some((row.baselines.get(one.name)?, one)))
}

/// A word below a heading.
fn cell(heading: &str, word: &str) -> String {
    let width = heading.len().max(Verdict::Reached.as_str().len());
    format!("{word:<width$} ")
}

/// Returns the words about a probe in a level.
fn told(row: &Row, level: Level) -> (Paint, &'static str) {
    match row.inside.get(level.as_str()).map(|seen| seen.verdict) {
        Some(Verdict::Reached) if row.by_design.contains_key(level.as_str()) => {
            (Paint::Yellow, "known")
        }
        Some(Verdict::Reached) => (Paint::Red, Verdict::Reached.as_str()),
        Some(Verdict::Refused) => (Paint::Green, Verdict::Refused.as_str()),
        Some(Verdict::Void) | None => (Paint::Dim, Verdict::Void.as_str()),
    }
}

fn counts(levels: &[Level], rows: &[Row]) -> BTreeMap<&'static str, Count> {
    let mut counts: BTreeMap<&'static str, Count> = BTreeMap::new();
    let mut count = |name, verdict, is_known: bool| {
        let count = counts.entry(name).or_default();
        count.of += usize::from(verdict != Verdict::Void);
        count.reached += usize::from(verdict == Verdict::Reached);
        count.by_design += usize::from(verdict == Verdict::Reached && is_known);
    };
    for row in rows {
        count(OUTSIDE, row.outside.verdict, false);
        for level in levels {
            if let Some(seen) = row.inside.get(level.as_str()) {
                let is_known = row.by_design.contains_key(level.as_str());
                count(level.as_str(), seen.verdict, is_known);
            }
        }
        for (seen, one) in baselines(row) {
            count(one.heading, seen.verdict, false);
        }
    }
    counts
}

/// Says what it comes to.
fn conclude(
    statuses: &[BackendStatus],
    counts: &BTreeMap<&'static str, Count>,
    rows: &[Row],
    terminal: &mut Terminal,
) -> std::io::Result<()> {
    let void = rows
        .iter()
        .filter(|row| row.outside.verdict == Verdict::Void);
    let void = void.count();
    let levels = statuses.iter().map(|one| one.level.as_str());
    terminal.line("")?;
    for name in std::iter::once(OUTSIDE)
        .chain(levels)
        .chain(BASELINES.iter().map(|one| one.heading))
    {
        let Some(count) = counts.get(name) else {
            continue;
        };
        let known = match count.by_design {
            0 => String::new(),
            known => format!(", {known} of them known"),
        };
        let of = BASELINES.iter().find(|one| one.heading == name);
        let about = of.map_or_else(String::new, |one| format!(" ({})", one.about));
        let Count { reached, of, .. } = count;
        terminal.line(&format!(
            "{name:<12} reached {reached} of {of}{known}{about}"
        ))?;
    }
    if rows.is_empty() {
        let text = "nothing was tested: there are no attacks for this system";
        terminal.line(&terminal.paint(Paint::Yellow, text))?;
    }
    if void > 0 {
        let text = format!("void: {void} also fail outside and prove nothing; --json says why");
        terminal.line(&terminal.paint(Paint::Dim, &text))?;
    }
    for row in rows {
        for one in statuses {
            let (level, about) = (one.level, plain(&row.about));
            if row.got_through(level) {
                let word = terminal.paint(Paint::Red, "reached");
                terminal.line(&format!("{word} {level}: {}\n        {about}", row.name))?;
            } else if let (Some(why), "known") =
                (row.by_design.get(level.as_str()), told(row, level).1)
            {
                let word = terminal.paint(Paint::Yellow, "known");
                terminal.line(&format!("{word}   {level}: {}\n        {about}", row.name))?;
                let why = format!("        {}", plain(why));
                terminal.line(&terminal.paint(Paint::Dim, &why))?;
            }
        }
    }
    for one in statuses {
        if let Some(reason) = &one.unavailable_reason {
            let word = terminal.paint(Paint::Yellow, "none");
            terminal.line(&format!("{word}    {}: {}", one.level, plain(reason)))?;
        }
    }
    let is_used = |one: &&BackendStatus| one.unavailable_reason.is_none() && !one.is_opt_in;
    let used = statuses.iter().find(is_used);
    let text = match used {
        Some(used) => format!("scripts run in: {}", used.about),
        None => "no sandbox works here, so scripts can't be run".to_owned(),
    };
    terminal.line(&text)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use gongfu_attack::{Finding, Row, Verdict};
    use gongfu_core::sandbox::Level;

    use super::{Count, NAME, cell, counts, told};

    const LITE: Level = Level::new("lite");

    fn row(outside: Verdict, inside: Verdict, is_known: bool) -> Row {
        let seen = |verdict| Finding {
            verdict,
            why: String::new(),
        };
        let known = is_known.then(|| (LITE.to_string(), "it can't".to_owned()));
        Row {
            name: "files::x".to_owned(),
            about: "Tries it.".to_owned(),
            outside: seen(outside),
            baselines: BTreeMap::new(),
            inside: BTreeMap::from([(LITE.to_string(), seen(inside))]),
            by_design: known.into_iter().collect(),
            depends_on: None,
        }
    }

    #[test]
    fn void_probe_is_not_counted_and_known_gap_is_no_breach() {
        let rows = [
            row(Verdict::Reached, Verdict::Reached, false),
            row(Verdict::Reached, Verdict::Reached, true),
            row(Verdict::Reached, Verdict::Refused, false),
            row(Verdict::Void, Verdict::Void, false),
        ];
        let counted = counts(&[LITE], &rows);
        let lite = Count {
            reached: 2,
            by_design: 1,
            of: 3,
        };
        assert_eq!(counted.get("lite"), Some(&lite));
        let through: Vec<bool> = rows.iter().map(|row| row.got_through(LITE)).collect();
        assert_eq!(through, [true, false, false, false]);
        let words: Vec<&str> = rows.iter().map(|row| told(row, LITE).1).collect();
        assert_eq!(words, ["reached", "known", "refused", "void"]);
    }

    #[test]
    fn row_fits_eighty_columns() {
        let runner = gongfu_sandbox::Runner::new(None);
        let levels = runner.profiles().map(|profile| profile.level.as_str());
        let levels = levels.map(|level| cell(level, level).len());
        let width = NAME + cell("outside", "outside").len() + levels.sum::<usize>();
        assert!(width + "reached".len() <= 80, "{width}");
    }
}
