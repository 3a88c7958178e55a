//! The conversation on the terminal: answers block by block, calls in two lines, and a last line that says what is waited
//! for.

use std::borrow::Cow;
use std::io;
use std::time::{Duration, Instant};

use gongfu_core::agent::{CallRecord, CallStatus, PlannedCall};
use gongfu_hub::agent::TurnEvent;
use serde_json::Value;

use super::blocks::Blocks;
use super::markdown::rendered;
use crate::table::{clip, width};
use crate::terminal::{Paint, Terminal, plain, shown};

/// The shortest time that is shown while something runs.
const NOTICED: Duration = Duration::from_secs(1);
/// The results that can be shown whole.
const MAX_RESULTS: usize = 64;
/// The columns of a call that are kept.
const MAX_LINE: usize = 400;
/// The columns for what runs, without which the line doesn't say for how long.
const NARROW: usize = 12;
const WHEEL: [char; 4] = ['◐', '◓', '◑', '◒'];

/// A call that runs.
struct Running {
    id: String,
    line: String,
    progress: String,
    started: Instant,
}

/// A call that ended, and its whole result.
pub(super) struct CallResult {
    pub(super) line: String,
    pub(super) result: String,
}

/// The terminal with the conversation on it.
pub(super) struct View<'t> {
    pub(super) terminal: &'t mut Terminal,
    blocks: Blocks,
    /// The text of the answer that arrives.
    answer: String,
    running: Vec<Running>,
    results: Vec<CallResult>,
    asked: Instant,
    turns: usize,
    has_status: bool,
    /// The lines of the block with an open fence that are on the screen.
    drawn: usize,
    /// The width that they were drawn for.
    drawn_width: Option<usize>,
    /// The last line is that of a call: a block is parted from it.
    is_after_call: bool,
}

impl<'t> View<'t> {
    pub(super) fn new(terminal: &'t mut Terminal) -> Self {
        Self {
            terminal,
            blocks: Blocks::default(),
            answer: String::new(),
            running: Vec::new(),
            results: Vec::new(),
            asked: Instant::now(),
            turns: 0,
            has_status: false,
            drawn: 0,
            drawn_width: None,
            is_after_call: false,
        }
    }

    /// A turn begins.
    pub(super) fn begin(&mut self) {
        self.terminal.measure();
        self.blocks = Blocks::default();
        self.drawn = 0;
        self.answer.clear();
        self.running.clear();
        self.is_after_call = false;
        self.asked = Instant::now();
    }

    /// Writes a dim line.
    pub(super) fn dim(&mut self, text: &str) -> io::Result<()> {
        self.clear()?;
        let line = self.terminal.paint(Paint::Dim, text);
        self.terminal.line(&line)
    }

    /// Something happened in the turn.
    pub(super) fn event(&mut self, event: TurnEvent) -> io::Result<()> {
        match event {
            TurnEvent::Session(_) => Ok(()),
            TurnEvent::Text(piece) => self.text(&piece),
            TurnEvent::Retry {
                wait_ms, message, ..
            } => self.void(wait_ms, &message),
            TurnEvent::Answered => self.answered(),
            TurnEvent::Calling(call) => self.calling(&call),
            TurnEvent::Called(record) => self.called(record),
            TurnEvent::Compacted => self.dim("the first messages were summarised"),
        }
    }

    /// A piece of an answer.
    fn text(&mut self, piece: &str) -> io::Result<()> {
        self.answer.push_str(piece);
        let whole = self.blocks.push(piece);
        self.show(&whole)
    }

    /// The pieces so far are void.
    fn void(&mut self, wait_ms: u64, reason: &str) -> io::Result<()> {
        self.answer.clear();
        self.blocks = Blocks::default();
        self.drawn = 0;
        let seconds = Duration::from_millis(wait_ms).as_secs_f64();
        let note = format!("asking again in {seconds:.1} s: {}", plain(reason));
        let note = clip(&note, self.terminal.width());
        self.dim(&note)
    }

    /// An answer is whole. It isn't forgotten yet: the reply of the turn may be this one.
    pub(super) fn answered(&mut self) -> io::Result<()> {
        let rest = self.blocks.end();
        self.show(&rest)
    }

    /// The turn ends with this reply: shows what wasn't in its last answer.
    pub(super) fn reply(&mut self, reply: &str) -> io::Result<()> {
        let answer = std::mem::take(&mut self.answer);
        let rest = reply.strip_prefix(answer.trim()).unwrap_or(reply);
        let mut blocks = self.blocks.push(rest);
        blocks.extend(self.blocks.end());
        self.show(&blocks)?;
        self.clear()
    }

    fn show(&mut self, blocks: &[String]) -> io::Result<()> {
        for block in blocks {
            self.block(block)?;
        }
        Ok(())
    }

    /// Shows a block of Markdown, or what of it isn't on the screen yet.
    fn block(&mut self, block: &str) -> io::Result<()> {
        self.draw(block)?;
        self.drawn = 0;
        self.clear()?;
        self.terminal.line("")
    }

    /// Draws the lines of a block that aren't on the screen yet: Markdown as it is where it isn't painted.
    fn draw(&mut self, block: &str) -> io::Result<()> {
        if self.drawn == 0 {
            self.drawn_width = self.terminal.width();
        }
        let text = if self.terminal.color() {
            Cow::Owned(rendered(block, self.drawn_width))
        } else {
            shown(block)
        };
        let (fresh, lines) = rest(&text, self.drawn);
        self.drawn = self.drawn.max(lines);
        let Some(fresh) = fresh else {
            return Ok(());
        };
        self.clear()?;
        if std::mem::take(&mut self.is_after_call) {
            self.terminal.line("")?;
        }
        self.terminal.bytes(format!("{fresh}\n").as_bytes())
    }

    /// A call begins.
    fn calling(&mut self, call: &PlannedCall) -> io::Result<()> {
        self.answer.clear();
        let line = summary(call);
        if !self.terminal.is_live() {
            self.terminal.line(&format!("● {line}"))?;
        }
        self.running.push(Running {
            id: call.id.clone(),
            line,
            progress: String::new(),
            started: Instant::now(),
        });
        self.tick()
    }

    /// A call tells how far it is.
    pub(super) fn progress(&mut self, id: &str, said: &str) {
        if let Some(running) = self.running.iter_mut().find(|running| running.id == id) {
            running.progress = format!(" · {}", plain(said));
        }
    }

    /// A call ended.
    fn called(&mut self, record: CallRecord) -> io::Result<()> {
        self.clear()?;
        self.running.retain(|running| running.id != record.call.id);
        self.asked = Instant::now();
        let line = summary(&record.call);
        let paint = match record.status {
            CallStatus::Ok => Paint::Green,
            CallStatus::Failed | CallStatus::Invalid => Paint::Red,
            CallStatus::Refused | CallStatus::Interrupted => Paint::Yellow,
        };
        let duration = Duration::from_millis(record.duration_ms);
        let first = first_line(&record.result);
        self.call(paint, &line, record.status, duration, &format!(": {first}"))?;
        if self.results.len() == MAX_RESULTS {
            self.results.remove(0);
        }
        self.results.push(CallResult {
            line,
            result: record.result,
        });
        Ok(())
    }

    /// The turn was stopped: the calls that still ran end here.
    pub(super) fn interrupted(&mut self) -> io::Result<()> {
        for Running { line, started, .. } in std::mem::take(&mut self.running) {
            let status = CallStatus::Interrupted;
            self.call(Paint::Yellow, &line, status, started.elapsed(), "")?;
        }
        Ok(())
    }

    /// Writes a call that ended, in two lines.
    fn call(
        &mut self,
        paint: Paint,
        line: &str,
        status: CallStatus,
        duration: Duration,
        end: &str,
    ) -> io::Result<()> {
        self.clear()?;
        let room = self.terminal.width();
        if self.terminal.is_live() {
            let dot = self.terminal.paint(paint, "●");
            let line = clip(line, room.map(|room| room.saturating_sub(2)));
            self.terminal.line(&format!("{dot} {line}"))?;
        }
        let status = status.as_str();
        self.dim(&clip(&format!("  {status}, {}{end}", time(duration)), room))?;
        self.is_after_call = true;
        Ok(())
    }

    /// The whole result of the last call, or of an earlier one.
    pub(super) fn result(&self, back: usize) -> Option<&CallResult> {
        self.results.iter().rev().nth(back.checked_sub(1)?)
    }

    /// Shows a whole result.
    pub(super) fn expand(&mut self, back: usize) -> io::Result<bool> {
        let Some(CallResult { line, result }) = self.result(back) else {
            return Ok(false);
        };
        let (line, result) = (line.clone(), result.clone());
        let line = self.terminal.paint(Paint::Bold, &line);
        self.terminal.line(&line)?;
        self.terminal.text(&format!("{}\n", result.trim_end()))?;
        Ok(true)
    }

    /// Redraws what changes with time: the lines of code that arrived, and the status line, which says what is running and
    /// for how long.
    pub(super) fn tick(&mut self) -> io::Result<()> {
        if !self.terminal.is_live() {
            return Ok(());
        }
        if let Some(block) = self.blocks.open().map(str::to_owned) {
            self.draw(&block)?;
        }
        self.terminal.measure();
        self.turns = self.turns.wrapping_add(1);
        let wheel = WHEEL.get(self.turns % WHEEL.len()).unwrap_or(&'●');
        let (what, started) = match self.running.first() {
            Some(running) => {
                let more = self.running.len() - 1;
                let more = if more > 0 {
                    format!(" +{more}")
                } else {
                    String::new()
                };
                let text = format!("{}{}{more}", running.line, running.progress);
                (text, running.started)
            }
            None if self.answer.is_empty() => ("thinking".to_owned(), self.asked),
            None => ("writing".to_owned(), self.asked),
        };
        let waited = started.elapsed();
        let end = if waited < NOTICED {
            String::new()
        } else {
            format!(" · {} s · Ctrl-C stops", waited.as_secs())
        };
        // The last column stays free, or the cursor is on the next line.
        let room = self.terminal.width().map(|room| room.saturating_sub(1));
        let is_narrow = room.is_some_and(|room| room < width(&end) + NARROW);
        let end = if is_narrow { String::new() } else { end };
        let rest = room.map(|room| room.saturating_sub(width(&end) + 2));
        let line = clip(&format!("{wheel} {}{end}", clip(&what, rest)), room);
        let line = self.terminal.paint(Paint::Dim, &line);
        self.has_status = true;
        self.terminal.bytes(format!("\r\u{1b}[K{line}").as_bytes())
    }

    /// Takes the last line away.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.has_status) {
            self.terminal.bytes(b"\r\x1b[K")?;
        }
        Ok(())
    }
}

/// The lines of a text after so many, if there are more, and the number of all of them.
fn rest(text: &str, lines: usize) -> (Option<&str>, usize) {
    let mut ends = text.match_indices('\n').map(|(at, _)| at + 1);
    let count = ends.clone().count() + 1;
    let start = match lines.checked_sub(1) {
        None => Some(0),
        Some(last) => ends.nth(last),
    };
    (start.and_then(|start| text.get(start..)), count)
}

/// A call in a line: the tool and the values of its arguments.
fn summary(call: &PlannedCall) -> String {
    let values = call.params.values().map(|value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    });
    let values: Vec<String> = values.collect();
    let line = plain(&format!("{} {}", call.tool, values.join(" ")));
    clip(&line, Some(MAX_LINE))
}

/// The first line of a result that says something.
fn first_line(result: &str) -> String {
    let mut lines = result.lines();
    let says = |line: &&str| line.chars().any(char::is_alphanumeric);
    plain(lines.find(says).unwrap_or("nothing"))
}

fn time(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if time < NOTICED {
        format!("{} ms", time.as_millis())
    } else {
        format!("{seconds:.1} s")
    }
}

#[cfg(test)]
mod tests;
