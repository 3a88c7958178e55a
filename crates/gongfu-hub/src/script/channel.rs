//! The channel to a script: lines on its standard input and output, which only the script's process has.
//!
//! A line of the script is `hello`, once, or the number of a call and the call in JSON. Each is answered by a line of JSON
//! with its number.

use std::io::{self, Cursor, Read};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use gongfu_core::port::Listener;
use gongfu_core::sandbox::{Input, Stream};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use crate::call::{Event, Events};
use crate::error::ToolError;
use crate::output::{Content, ToolResult};
use crate::problem::Problem;

/// The longest answer, in bytes of JSON.
const MAX_ANSWER: usize = 16 * 1024 * 1024;
/// The limits of the lines that wait, and of their bytes. A script that waits for its answers never comes near them.
const MAX_WAITING: usize = 1_024;
const MAX_WAITING_BYTES: usize = 32 * 1024 * 1024;
/// The longest line, in bytes. The rest of a longer one is dropped, so that it can't be read as a call.
const MAX_LINE: usize = 16 * 1024 * 1024;
/// The code of a call whose tool says itself that it failed.
const TOOL_FAILED: &str = "TOOL_FAILED";

/// A line of a script.
pub(super) enum Line {
    /// The interpreter runs.
    Hello,
    /// A call with its number.
    Call(u64, Result<ScriptCall, ToolError>),
}

/// A call as a script writes it.
#[derive(Debug, Deserialize)]
pub(crate) struct ScriptCall {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) arguments: Map<String, Value>,
}

impl Line {
    /// Reads a line; `None` for anything else, which nobody waits for.
    pub(super) fn read(line: &[u8]) -> Option<Self> {
        if line == b"hello" {
            return Some(Self::Hello);
        }
        let space = line.iter().position(|byte| *byte == b' ')?;
        let (number, call) = line.split_at(space);
        let number = str::from_utf8(number).ok()?.parse().ok()?;
        let call = serde_json::from_slice(call).map_err(|error| {
            let hint = "pass the name of a tool and its arguments by name";
            Problem::wrong_value("the call", error.to_string(), hint).error()
        });
        Some(Self::Call(number, call))
    }
}

/// The lines of a script that wait.
pub(super) struct Lines {
    received: mpsc::Receiver<Vec<u8>>,
    bytes: Arc<AtomicUsize>,
}

impl Lines {
    /// The next line; waits for it.
    pub(super) async fn next(&mut self) -> Option<Vec<u8>> {
        let line = self.received.recv().await?;
        self.bytes.fetch_sub(line.len(), Ordering::Relaxed);
        Some(line)
    }

    /// Returns true if a line waits.
    pub(super) fn is_waiting(&self) -> bool {
        !self.received.is_empty()
    }
}

/// Takes the output of a script apart: its lines, and what it prints, which goes on as output. Lines beyond the limits are
/// dropped: no script waits for so many answers.
pub(super) fn listener(events: Events) -> (Listener, Lines) {
    let (lines, received) = mpsc::channel(MAX_WAITING);
    let bytes = Arc::new(AtomicUsize::new(0));
    let waiting = Arc::clone(&bytes);
    let rest = Mutex::new(Vec::new());
    let listener = move |stream: Stream, bytes: &[u8]| {
        if stream == Stream::Stderr {
            return events.send(Event::Output(Stream::Stdout, bytes));
        }
        let mut rest = rest.lock().unwrap_or_else(PoisonError::into_inner);
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (piece, is_end) = match piece.strip_suffix(b"\n") {
                Some(piece) => (piece, true),
                None => (piece, false),
            };
            let room = MAX_LINE.saturating_sub(rest.len());
            rest.extend_from_slice(piece.get(..room).unwrap_or(piece));
            if !is_end {
                continue;
            }
            let line = std::mem::take(&mut *rest);
            let length = line.len();
            let has_room = waiting.load(Ordering::Relaxed) + length <= MAX_WAITING_BYTES;
            // Nobody receives it once the script is over.
            if has_room && let Ok(place) = lines.try_reserve() {
                waiting.fetch_add(length, Ordering::Relaxed);
                place.send(line);
            }
        }
    };
    (Arc::new(listener), Lines { received, bytes })
}

/// The standard input of a script, which begins with its code, and the way to send answers to it. One answer waits to be
/// read; the next one is only taken then.
pub(super) fn input(code: &str) -> (Input, mpsc::Sender<Vec<u8>>) {
    let (answers, received) = mpsc::channel(1);
    let reader = AnswerReader {
        received,
        line: Cursor::new(line_of(&json!({ "code": code }))),
    };
    (Input::Reader(Arc::new(Mutex::new(reader))), answers)
}

/// Reads answers as they come, on a thread of its own.
struct AnswerReader {
    received: mpsc::Receiver<Vec<u8>>,
    line: Cursor<Vec<u8>>,
}

impl Read for AnswerReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.line.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            match self.received.blocking_recv() {
                Some(line) => self.line = Cursor::new(line),
                None => return Ok(0),
            }
        }
    }
}

/// The line that answers a call.
pub(super) fn answer(number: u64, outcome: Result<ToolResult, ToolError>) -> Vec<u8> {
    let refused = |error: &ToolError| {
        let text = error.problem.text();
        let message = format!("{}\nhint: {}", text.message, text.hint);
        line_of(&json!({ "id": number, "code": error.code().as_str(), "message": message }))
    };
    let line = match outcome {
        Err(error) => refused(&error),
        Ok(result) if result.is_error => {
            let message = text(&result.content).join("\n");
            line_of(&json!({ "id": number, "code": TOOL_FAILED, "message": message }))
        }
        Ok(result) => line_of(&json!({ "id": number, "result": value(result) })),
    };
    if line.len() <= MAX_ANSWER {
        return line;
    }
    let (bytes, limit) = (line.len(), MAX_ANSWER);
    refused(&Problem::AnswerTooLarge { bytes, limit }.error())
}

/// The answer for a script: the structured part, else the text, else the blocks, as of images.
fn value(result: ToolResult) -> Value {
    if let Some(structured) = result.structured_content {
        return structured;
    }
    let text = text(&result.content);
    if text.len() == result.content.len() {
        return text.join("\n").into();
    }
    // A block is JSON already.
    serde_json::to_value(&result.content).unwrap_or_default()
}

fn text(content: &[Content]) -> Vec<&str> {
    content.iter().filter_map(Content::as_text).collect()
}

fn line_of(value: &Value) -> Vec<u8> {
    let mut line = value.to_string().into_bytes();
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use gongfu_core::sandbox::Stream;
    use serde_json::{Map, Value, json};

    use super::{Line, MAX_ANSWER, MAX_LINE, MAX_WAITING, MAX_WAITING_BYTES, answer, listener};
    use crate::call::Events;
    use crate::output::{Content, ToolResult};
    use crate::problem::Problem;

    #[test]
    fn lines_come_in_pieces_of_any_size() {
        let said = b"hello\n7 {\"name\":\"a\"}\n8 {\"name\":1}\nx {}\n\n9\nunfinished";
        for size in 1..said.len() {
            let (listener, mut received) = listener(Events::default());
            for piece in said.chunks(size) {
                listener(Stream::Stdout, piece);
                listener(Stream::Stderr, b"10 {\"name\":\"printed\"}\n");
            }
            let mut lines = Vec::new();
            while let Ok(line) = received.received.try_recv() {
                lines.push(match Line::read(&line) {
                    None => "nothing".to_owned(),
                    Some(Line::Hello) => "hello".to_owned(),
                    Some(Line::Call(number, Ok(call))) => format!("{number} {}", call.name),
                    Some(Line::Call(number, Err(error))) => format!("{number} {}", error.code()),
                });
            }
            let expected = [
                "hello",
                "7 a",
                "8 INVALID_ARGUMENT",
                "nothing",
                "nothing",
                "nothing",
            ];
            assert_eq!(lines, expected, "{size}");
        }
    }

    #[test]
    fn lines_that_wait_are_bounded() {
        let (listener, mut lines) = listener(Events::default());
        let flood = b"1 {}\n".repeat(10 * MAX_WAITING);
        listener(Stream::Stdout, &flood);
        let mut count = 0;
        while lines.received.try_recv().is_ok() {
            count += 1;
        }
        assert_eq!(count, MAX_WAITING);

        let (listener, mut lines) = self::listener(Events::default());
        for _ in 0..4 {
            listener(Stream::Stdout, &vec![b'x'; MAX_LINE]);
            listener(Stream::Stdout, b"more\n");
        }
        let mut lengths = Vec::new();
        while let Ok(line) = lines.received.try_recv() {
            lengths.push(line.len());
        }
        assert_eq!(lengths, [MAX_LINE; MAX_WAITING_BYTES / MAX_LINE]);
    }

    #[test]
    fn answer_is_the_structured_part_else_the_text_else_the_blocks() {
        let image = json!({ "type": "image", "data": "AA", "mimeType": "image/png" });
        let of = |content: Vec<Content>, structured: Option<Value>, is_error| {
            let result = ToolResult {
                content,
                structured_content: structured,
                is_error,
                meta: Map::new(),
            };
            serde_json::from_slice::<Value>(&answer(7, Ok(result))).unwrap()
        };
        let texts = || vec![Content::text("one"), Content::text("two")];
        let cases = [
            (of(texts(), Some(json!([1])), false), json!([1])),
            (of(texts(), None, false), json!("one\ntwo")),
            (of(Vec::new(), None, false), json!("")),
            (
                of(vec![Content::Foreign(image.clone())], None, false),
                json!([image]),
            ),
        ];
        for (found, expected) in cases {
            assert_eq!(found, json!({ "id": 7, "result": expected }));
        }
        let failed = of(texts(), Some(json!([1])), true);
        assert_eq!(failed["code"], "TOOL_FAILED");
        assert_eq!(failed["message"], "one\ntwo");
        let refused = answer(8, Err(Problem::Cancelled.error()));
        let refused: Value = serde_json::from_slice(&refused).unwrap();
        assert_eq!(
            (&refused["id"], &refused["code"]),
            (&json!(8), &json!("CANCELLED"))
        );
        let large = of(vec![Content::text("x".repeat(MAX_ANSWER))], None, false);
        assert_eq!(large["code"], "QUOTA_EXCEEDED");
    }
}
