//! `gongfu log`: what was called, by whom, and how it ended, from the audit.

mod table;

use std::collections::{HashMap, VecDeque};
use std::io;
use std::time::Duration;

use anyhow::Context as _;
use gongfu_core::audit;
use gongfu_core::port::{Clock as _, Timestamp};
use gongfu_files::Home;
use gongfu_records::{FileRecords, LogReader};
use serde::Deserialize;

use super::Outcome;
use crate::age;
use crate::cli::LogArguments;
use crate::clock::SystemClock;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::signal::Signals;
use crate::terminal::{Paint, Terminal, plain};
use crate::wiring;
use table::Table;

/// The calls that are shown, unless more are asked for.
const LIMIT: usize = 50;
/// The pause between two looks for more calls.
const PAUSE: Duration = Duration::from_millis(250);

/// A line of the audit, as far as it is shown. Members that another version doesn't write are missing.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Entry {
    at: String,
    call: u64,
    process: u32,
    phase: String,
    tool: String,
    access: String,
    client: String,
    outcome: String,
    skill: Option<String>,
    path: Option<String>,
    command: Option<String>,
    ended: Option<String>,
    milliseconds: Option<u64>,
    /// The line itself.
    #[serde(skip)]
    line: String,
}

impl Entry {
    fn is_begin(&self) -> bool {
        self.phase == "begin"
    }

    fn has_failed(&self) -> bool {
        let ended = self.ended.as_deref().unwrap_or("exit 0");
        !self.is_begin() && (self.outcome != "ok" || ended != "exit 0")
    }

    /// Returns whether it is no call of a tool but a look at what gongfu keeps, such as a list of approvals.
    fn is_internal(&self) -> bool {
        self.tool.contains('/') && self.access == "read" && !self.has_failed()
    }

    /// The call that it is about; a number is unique in a process alone.
    fn id(&self) -> (u32, u64, String) {
        (self.process, self.call, self.client.clone())
    }
}

/// The calls that are asked for.
struct Filter<'a> {
    skill: Option<&'a str>,
    failed: bool,
    since: Option<Timestamp>,
    all: bool,
}

impl Filter<'_> {
    /// Returns whether an entry is one that nobody asked for.
    fn hides(&self, entry: &Entry) -> bool {
        !self.all && entry.is_internal()
    }

    fn fits(&self, entry: &Entry) -> bool {
        let of_skill = self.skill.is_none_or(|wanted| {
            let skill = entry.skill.as_deref().unwrap_or_default();
            skill == wanted || skill.rsplit('/').next() == Some(wanted)
        });
        let is_late = self
            .since
            .is_none_or(|since| Timestamp::parse(&entry.at).is_some_and(|at| at >= since));
        of_skill && is_late && (!self.failed || entry.has_failed())
    }
}

pub(crate) fn run(
    arguments: &LogArguments,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let filter = Filter {
        skill: arguments.skill.as_deref(),
        failed: arguments.failed,
        since: arguments.since.as_deref().map(since).transpose()?,
        all: arguments.all,
    };
    let home = wiring::home(environment)?;
    let mut reader = FileRecords::new(home.clone()).log_reader(&audit::key()?);
    let limit = match (arguments.limit, filter.since) {
        (Some(limit), _) => usize::try_from(limit).unwrap_or(usize::MAX),
        (None, Some(_)) => usize::MAX,
        (None, None) => LIMIT,
    };
    let mut past = Past::read(&mut reader, &home, &filter, limit)?;
    let mut table = Table::new(past.shown.iter(), terminal.width());
    if !arguments.json && (arguments.follow || !past.shown.is_empty()) {
        let head = table.head();
        terminal.line(&terminal.paint(Paint::Dim, &head))?;
    }
    for entry in &past.shown {
        show(entry, &mut table, arguments.json, terminal)?;
    }
    if past.left_out > 0 && arguments.limit.is_none() {
        terminal.note(&format!(
            "earlier calls not shown: {} (-n or --since shows more)",
            past.left_out
        ));
    }
    if past.internal > 0 {
        terminal.note(&format!(
            "reads by gongfu itself not shown: {} (--all shows them)",
            past.internal
        ));
    }
    if past.unreadable > 0 {
        terminal.note(&format!("damaged lines skipped: {}", past.unreadable));
    }
    if arguments.follow {
        past.shown.clear();
        return follow(
            &mut reader,
            &home,
            &filter,
            &mut table,
            arguments.json,
            terminal,
        );
    }
    if past.shown.is_empty() {
        let any = filter.skill.is_some() || filter.failed || filter.since.is_some();
        terminal.note(if any {
            "no such calls"
        } else {
            "nothing was called yet"
        });
    }
    Ok(Outcome::Good)
}

/// The calls until now.
#[derive(Default)]
struct Past {
    shown: VecDeque<Entry>,
    left_out: usize,
    /// Those that nobody asked for.
    internal: usize,
    unreadable: usize,
}

impl Past {
    fn read(
        reader: &mut LogReader,
        home: &Home,
        filter: &Filter<'_>,
        limit: usize,
    ) -> anyhow::Result<Self> {
        let mut past = Self::default();
        // What has begun is shown unless it ended: it runs, or its process was killed.
        let mut begun: HashMap<(u32, u64, String), Entry> = HashMap::new();
        let read = reader.read(|line| {
            let Some(entry) = parsed(line) else {
                past.unreadable += 1;
                return Ok(());
            };
            if entry.is_begin() {
                begun.insert(entry.id(), entry);
                return Ok(());
            }
            begun.remove(&entry.id());
            let fits = filter.fits(&entry);
            if fits && filter.hides(&entry) {
                past.internal += 1;
            } else if fits {
                past.push(entry, limit);
            }
            Ok(())
        });
        read.with_context(|| unreadable(home))?;
        let mut begun: Vec<Entry> = begun
            .into_values()
            .filter(|entry| filter.fits(entry))
            .collect();
        begun.sort_by(|one, other| one.at.cmp(&other.at));
        for entry in begun {
            let at = past.shown.partition_point(|known| known.at <= entry.at);
            if at > 0 || past.left_out == 0 {
                past.shown.insert(at, entry);
            }
        }
        while past.shown.len() > limit {
            past.shown.pop_front();
            past.left_out += 1;
        }
        Ok(past)
    }

    fn push(&mut self, entry: Entry, limit: usize) {
        self.shown.push_back(entry);
        if self.shown.len() > limit {
            self.shown.pop_front();
            self.left_out += 1;
        }
    }
}

fn unreadable(home: &Home) -> String {
    let folder = home.path().join("audit");
    format!(
        "the audit in {} can't be read",
        plain(&folder.to_string_lossy())
    )
}

fn parsed(line: &[u8]) -> Option<Entry> {
    let entry: Entry = serde_json::from_slice(line).ok()?;
    let line = String::from_utf8_lossy(line).into_owned();
    (!entry.tool.is_empty()).then_some(Entry { line, ..entry })
}

fn show(entry: &Entry, table: &mut Table, json: bool, terminal: &mut Terminal) -> io::Result<()> {
    if json {
        terminal.line(&entry.line)
    } else {
        let line = table.line(entry, terminal);
        terminal.line(&line)
    }
}

/// Shows calls as they begin and end, until a signal.
fn follow(
    reader: &mut LogReader,
    home: &Home,
    filter: &Filter<'_>,
    table: &mut Table,
    json: bool,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let runtime = wiring::runtime()?;
    let outcome = runtime.block_on(async {
        let mut signals = Signals::listen();
        loop {
            tokio::select! {
                () = signals.next() => return anyhow::Ok(()),
                () = tokio::time::sleep(PAUSE) => {}
            }
            let mut entries = Vec::new();
            let read = reader.read(|line| {
                let entry = parsed(line);
                entries.extend(entry.filter(|entry| filter.fits(entry) && !filter.hides(entry)));
                Ok(())
            });
            read.with_context(|| unreadable(home))?;
            for entry in entries {
                show(&entry, table, json, terminal)?;
            }
        }
    });
    outcome.map(|()| Outcome::Good)
}

/// The time that an age or a time means.
fn since(text: &str) -> Result<Timestamp, Failure> {
    let age = || Some(Timestamp(SystemClock.now().0 - age::milliseconds(text)?));
    age().or_else(|| Timestamp::parse(text)).ok_or_else(|| {
        let message = format!("`{}` is neither an age nor a time", plain(text));
        let hint = "write an age such as 30m, 6h or 2d, or a time such as 2026-11-24T08:00:00Z";
        Failure::new("LOG_SINCE", message, hint)
    })
}

#[cfg(test)]
mod tests {
    use super::table::Table;
    use super::{Timestamp, parsed, since};
    use crate::environment::Environment;
    use crate::output::OutputArguments;
    use crate::terminal::Terminal;

    #[test]
    fn a_call_is_one_line_of_every_width_and_shows_its_command() {
        let line = r#"{"at":"2026-11-24T01:02:03.000Z","phase":"end","tool":"run_shell_command","client":"a client with a long name 1.2.3","outcome":"ok","ended":"exit 0","skill":"source/a/very/long/名/pdf-tools","command":"echo one\n echo two","milliseconds":12345}"#;
        let entry = parsed(line.as_bytes()).unwrap();
        let terminal = Terminal::new(&Environment::default(), &OutputArguments::default());
        for columns in [30, 40, 59, 60, 80, 99, 100, 120, 200] {
            let mut table = Table::new([&entry].into_iter(), Some(columns));
            let line = table.line(&entry, &terminal);
            assert!(crate::table::width(&line) <= columns, "{columns}: {line}");
            assert!(columns < 40 || line.contains("echo"), "{columns}: {line}");
            assert!(
                columns < 60 || line.contains("pdf-tools"),
                "{columns}: {line}"
            );
        }
        let line = Table::new([&entry].into_iter(), None).line(&entry, &terminal);
        assert!(line.starts_with("2026-11-24 01:02:03") && line.ends_with("echo one echo two"));
        let mut table = Table::new([&entry].into_iter(), None);
        let (head, line) = (table.head(), table.line(&entry, &terminal));
        let at = |text: &str, of: &str| text.find(of).unwrap();
        assert!(head.starts_with("TIME") && at(&head, "TOOL") == at(&line, "run_shell_command"));
        assert_eq!(
            at(&head, "COMMAND"),
            at(&line.replace('名', "xx").replace('…', "x"), "echo one")
        );
    }

    #[test]
    fn lines_of_other_versions_are_read() {
        let old = br#"{"at":"2026-11-24T01:00:00.000Z","call":1,"phase":"end","tool":"skill_run","access":"execute","role":"external_agent","client":"c","outcome":"ok","arguments":"sha256:00","milliseconds":5}"#;
        let entry = parsed(old).unwrap();
        assert!(!entry.has_failed() && entry.skill.is_none());
        let newer =
            br#"{"at":"x","tool":"t","phase":"end","outcome":"ok","ended":"exit 1","new":{"a":1}}"#;
        assert!(parsed(newer).unwrap().has_failed());
        for damaged in [&b"{"[..], b"[]", b"{}", b"\xff", b"{\"tool\": 1}"] {
            assert!(parsed(damaged).is_none(), "{damaged:?}");
        }
    }

    #[test]
    fn ages_and_times_are_read() {
        assert!(since("30m").unwrap() < since("1s").unwrap());
        let expected = Timestamp::parse("2026-11-24").unwrap();
        assert_eq!(since("2026-11-24").unwrap(), expected);
        for wrong in ["", "m", "-1h", "1y", "1é", "yesterday"] {
            assert_eq!(since(wrong).unwrap_err().code, "LOG_SINCE", "{wrong}");
        }
    }
}
