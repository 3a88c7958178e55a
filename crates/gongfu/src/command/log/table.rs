//! The log as columns, a call a line.

use super::Entry;
use crate::table::{clip, width};
use crate::terminal::{Paint, Terminal, plain};

/// The widths of columns, at least, until wider values come.
const MIN_WIDTHS: [usize; COLUMNS] = [11, 6, 7, 9, 8, 8];
/// The widest that a column gets; one without a width is left out.
const MAX_WIDTHS: [usize; COLUMNS] = [19, 20, 8, 24, 32, 24];
/// The same in a terminal of fewer than 150 columns, and of fewer than 60.
const MAX_NARROW: [usize; COLUMNS] = [11, 10, 0, 12, 16, 0];
const MAX_NARROWEST: [usize; COLUMNS] = [11, 10, 0, 0, 0, 0];
const COLUMNS: usize = 6;
/// The columns whose values are shown in their own way.
const OUTCOME: usize = 1;
const DURATION: usize = 2;
const SKILL: usize = 4;

/// The columns of the log.
pub(super) struct Table {
    widths: [usize; COLUMNS],
    max: [usize; COLUMNS],
    /// The columns of the terminal; none where nothing is cut.
    width: Option<usize>,
}

impl Table {
    /// Columns that are wide enough for these entries.
    pub(super) fn new<'e>(entries: impl Iterator<Item = &'e Entry>, width: Option<usize>) -> Self {
        let max = match width {
            Some(..60) => MAX_NARROWEST,
            Some(..150) => MAX_NARROW,
            _ => MAX_WIDTHS,
        };
        let mut table = Self {
            widths: MIN_WIDTHS,
            max,
            width,
        };
        for entry in entries {
            let values = table.values(entry);
            table.widen(&values);
        }
        table
    }

    fn widen(&mut self, values: &[String; COLUMNS]) {
        let columns = self.widths.iter_mut().zip(values).zip(self.max);
        for ((column, value), most) in columns {
            *column = (*column).max(width(value)).min(most);
        }
    }

    /// The names of the columns.
    pub(super) fn head(&mut self) -> String {
        let names = ["TIME", "OUTCOME", "DURATION", "TOOL", "SKILL", "CLIENT"].map(str::to_owned);
        self.widen(&names);
        self.row(&names, "COMMAND OR PATH", |_, text| text.to_owned())
    }

    /// The line of an entry.
    pub(super) fn line(&mut self, entry: &Entry, terminal: &Terminal) -> String {
        let values = self.values(entry);
        self.widen(&values);
        let what = entry.command.as_deref().or(entry.path.as_deref());
        let what = plain(what.unwrap_or_default());
        self.row(&values, &what, |column, text| match column {
            OUTCOME => terminal.paint(paint(entry), text),
            _ => text.to_owned(),
        })
    }

    fn row(
        &self,
        values: &[String; COLUMNS],
        what: &str,
        painted: impl Fn(usize, &str) -> String,
    ) -> String {
        let mut room = self.width.unwrap_or(usize::MAX);
        let mut line = String::new();
        for (number, (value, columns)) in values.iter().zip(self.widths).enumerate() {
            if columns == 0 {
                continue;
            }
            let shown = match number {
                SKILL => clip_start(value, columns.min(room)),
                _ => clip(value, Some(columns.min(room))),
            };
            // Numbers end in the same column.
            let padding = " ".repeat(columns.min(room).saturating_sub(width(&shown)));
            let shown = match number {
                DURATION => format!("{padding}{shown}"),
                _ => painted(number, &shown),
            };
            line.push_str(&shown);
            if number != DURATION {
                line.push_str(&padding);
            }
            room = room.saturating_sub(columns);
            line.push_str(if room >= 2 { "  " } else { "" });
            room = room.saturating_sub(2);
        }
        line.push_str(&clip(what, Some(room)));
        line.trim_end().to_owned()
    }

    /// Time, outcome, duration, tool, skill and client.
    fn values(&self, entry: &Entry) -> [String; COLUMNS] {
        let time = entry.at.replace('T', " ");
        // Narrow: without the year and the seconds.
        let (from, length) = if self.max == MAX_WIDTHS {
            (0, 19)
        } else {
            (5, 11)
        };
        let time: String = time.chars().skip(from).take(length).collect();
        let outcome = match &entry.ended {
            _ if entry.is_begin() => "started",
            Some(ended) if entry.outcome == "ok" => ended,
            _ => &entry.outcome,
        };
        let duration = match entry.milliseconds {
            None => String::new(),
            Some(short @ ..10_000) => format!("{short} ms"),
            Some(long) => format!("{} s", long / 1_000),
        };
        let skill = entry.skill.as_deref().filter(|name| !name.is_empty());
        let skill = skill.unwrap_or("-");
        [&time, outcome, &duration, &entry.tool, skill, &entry.client].map(plain)
    }
}

fn paint(entry: &Entry) -> Paint {
    if entry.is_begin() {
        Paint::Yellow
    } else if entry.has_failed() {
        Paint::Red
    } else {
        Paint::Green
    }
}

/// The end of a text that fits: the name of a skill comes last.
fn clip_start(text: &str, columns: usize) -> String {
    if width(text) <= columns || columns == 0 {
        return clip(text, Some(columns));
    }
    let mut shown: Vec<char> = Vec::new();
    for letter in text.chars().rev() {
        shown.push(letter);
        if width(&shown.iter().collect::<String>()) > columns - 1 {
            shown.pop();
            break;
        }
    }
    shown.push('…');
    shown.iter().rev().collect()
}
