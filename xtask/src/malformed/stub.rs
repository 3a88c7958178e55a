//! A server with a fault, to see that the proof finds it.
//!
//! Speaks just enough over standard input and output to pass without its fault.

use std::io::{BufRead as _, Write as _};
use std::process::ExitCode;

use anyhow::Result;
use serde_json::{Value, json};

use super::due::{Due, due};
use super::line::MOST;

/// What is wrong with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Fault {
    /// Nothing: the proof must find it good.
    None,
    /// At some message it stops.
    Hang,
    /// A thread panics, and it goes on.
    Panic,
    /// What can't be read is not answered.
    Silence,
    /// A line that is no message.
    Garbage,
    /// An answer to another id.
    Id,
    /// An internal error for what the client did wrong.
    Code,
    /// A notification is answered.
    Chatter,
    /// It ends.
    End,
    /// It keeps what it reads.
    Leak,
}

impl Fault {
    /// Those that must be found.
    pub(super) const ALL: [Self; 9] = [
        Self::Hang,
        Self::Panic,
        Self::Silence,
        Self::Garbage,
        Self::Id,
        Self::Code,
        Self::Chatter,
        Self::End,
        Self::Leak,
    ];
}

/// After so many lines the fault shows.
const SOUND: u64 = 300;
/// How much is kept of each line by the one that leaks, in bytes.
const LEAK: usize = 256 << 10;

/// Serves until the input ends.
pub(super) fn run(fault: Fault, skills: usize) -> Result<ExitCode> {
    let mut input = std::io::stdin().lock();
    let mut output = std::io::stdout().lock();
    let (mut kept, mut read, mut line) = (Vec::new(), 0_u64, Vec::new());
    while input.read_until(b'\n', &mut line)? > 0 {
        read += 1;
        let fault = if read > SOUND { fault } else { Fault::None };
        let mut answer = answer(&line, skills);
        match fault {
            Fault::Hang => std::thread::sleep(std::time::Duration::from_mins(1)),
            Fault::Panic => eprintln!("thread 'main' panicked at src/made_up.rs:1:1:"),
            Fault::Silence => answer = answer.filter(|answer| answer.get("id").is_some()),
            Fault::Garbage => writeln!(output, "half a message")?,
            Fault::Id => {
                if let Some(id) = answer.as_mut().and_then(|answer| answer.get_mut("id")) {
                    *id = json!("another");
                }
            }
            Fault::Code => {
                if let Some(code) = answer
                    .as_mut()
                    .and_then(|answer| answer.pointer_mut("/error/code"))
                {
                    *code = json!(-32603);
                }
            }
            Fault::Chatter => {
                answer = answer.or_else(|| Some(error(&Value::Null, -32600)));
            }
            Fault::End => break,
            Fault::Leak => kept.push(vec![1_u8; LEAK]),
            Fault::None => {}
        }
        if let Some(answer) = answer {
            writeln!(output, "{answer}")?;
            output.flush()?;
        }
        line.clear();
    }
    drop(kept);
    Ok(ExitCode::SUCCESS)
}

fn error(id: &Value, code: i64) -> Value {
    let error = json!({ "code": code, "message": "made up" });
    match id {
        Value::Null => json!({ "jsonrpc": "2.0", "error": error }),
        id => json!({ "jsonrpc": "2.0", "id": id, "error": error }),
    }
}

/// The answer of a server without a fault.
fn answer(line: &[u8], skills: usize) -> Option<Value> {
    let id = match due(line, MOST)? {
        Due::Answer(id) => id.unwrap_or_default(),
        Due::Perhaps | Due::Silence => return None,
    };
    let message: Value = serde_json::from_slice(line.trim_ascii()).unwrap_or_default();
    let method = message
        .get("method")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let result = match method {
        "initialize" => json!({ "protocolVersion": "2025-11-25" }),
        "tools/call" => json!({ "structuredContent": { "total": skills } }),
        "" => return Some(error(&id, -32700)),
        _ => return Some(error(&id, -32601)),
    };
    if id.is_null() {
        return Some(error(&id, -32600));
    }
    Some(json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}
