//! The channel to a script: lines on its standard input and output, which only the script's process has.
//!
//! A line of the script is `hello`, once, or the number of a call and the call in JSON. Each is answered by a line of JSON
//! with its number.

use std::io::{self, Cursor, Read};
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

/// Takes the output of a script apart: its lines, and what it prints, which goes on as output.
///
/// The lines that wait are bounded by the output that a run may make.
pub(super) fn listener(events: Events) -> (Listener, mpsc::UnboundedReceiver<Vec<u8>>) {
    let (lines, received) = mpsc::unbounded_channel();
    let rest = Mutex::new(Vec::new());
    let listener = move |stream: Stream, bytes: &[u8]| {
        if stream == Stream::Stderr {
            return events.send(Event::Output(Stream::Stdout, bytes));
        }
        let mut rest = rest.lock().unwrap_or_else(PoisonError::into_inner);
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            rest.extend_from_slice(piece);
            if rest.pop_if(|byte| *byte == b'\n').is_some() {
                // Nobody receives it once the script is over.
                let _ = lines.send(std::mem::take(&mut *rest));
            }
        }
    };
    (Arc::new(listener), received)
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
    use serde_json::{Value, json};

    use super::{Line, MAX_ANSWER, answer, listener};
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
            while let Ok(line) = received.try_recv() {
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
    fn answer_is_the_structured_part_else_the_text_else_the_blocks() {
        let image = json!({ "type": "image", "data": "AA", "mimeType": "image/png" });
        let of = |content: Vec<Content>, structured: Option<Value>, is_error| {
            let result = ToolResult {
                content,
                structured_content: structured,
                is_error,
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
