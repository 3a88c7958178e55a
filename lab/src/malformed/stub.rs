//! A server with a fault, to see that the proof finds it.
//!
//! Speaks just enough over standard input and output, and over HTTP, to pass without its fault.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};

use super::expectation::{Expectation, expectation};
use super::stdio::MAX_LINE_BYTES;

/// The fault of a stub.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Fault {
    /// Nothing: the proof must find it good.
    None,
    /// At some message it stops.
    Hang,
    /// A thread panics, and it goes on.
    Panic,
    /// An unreadable message is not answered.
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
/// The number of bytes that the leaking stub keeps for each line.
const LEAK: usize = 1 << 20;

/// Serves over HTTP until it is ended.
pub(super) fn serve(fault: Fault, skills: usize) -> Result<ExitCode> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("stub serves MCP at http://{}/mcp", listener.local_addr()?);
    let (kept, read) = (Mutex::new(Vec::new()), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            terminated();
            std::process::exit(0)
        });
        for stream in listener.incoming().flatten() {
            let (kept, read) = (&kept, &read);
            // A connection that breaks ends itself alone.
            scope.spawn(move || connection(&stream, fault, skills, kept, read).unwrap_or_default());
        }
    });
    Ok(ExitCode::SUCCESS)
}

/// Waits for the signal that ends a server.
fn terminated() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        if let Ok(runtime) = runtime.enable_all().build() {
            let _ = runtime.block_on(async {
                let mut signal = signal(SignalKind::terminate()).ok()?;
                signal.recv().await
            });
        }
    }
}

fn connection(
    stream: &TcpStream,
    fault: Fault,
    skills: usize,
    kept: &Mutex<Vec<Vec<u8>>>,
    read: &AtomicU64,
) -> Result<()> {
    let mut input = BufReader::new(stream);
    let mut output = stream;
    loop {
        let (mut head, mut line) = (Vec::new(), Vec::new());
        while input.read_until(b'\n', &mut line)? > 0 && line != b"\r\n" {
            head.append(&mut line);
        }
        if head.is_empty() {
            return Ok(());
        }
        let head = String::from_utf8_lossy(&head).to_lowercase();
        if head.starts_with("delete") {
            output.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")?;
            continue;
        }
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        let length = length.and_then(|length| length.trim().parse::<u64>().ok());
        let Some(length) = length.filter(|_| head.starts_with("post /mcp http/1.1")) else {
            output
                .write_all(b"HTTP/1.1 400 No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")?;
            return Ok(());
        };
        let mut body = Vec::new();
        input.by_ref().take(length).read_to_end(&mut body)?;
        let sound = read.fetch_add(1, Ordering::Relaxed) < SOUND / 2;
        let fault = if sound { Fault::None } else { fault };
        let mut answer = answer(&body, skills);
        misbehave(fault, &mut answer, kept);
        let status = match (fault, &answer) {
            (Fault::Code, _) => "500 Internal Server Error",
            (_, Some(_)) => "200 OK",
            (_, None) => "202 Accepted",
        };
        match fault {
            Fault::Silence => return Ok(()),
            Fault::Garbage => output.write_all(b"half an answer\r\n\r\n")?,
            _ => {}
        }
        let body = answer.map(|answer| answer.to_string()).unwrap_or_default();
        write!(
            output,
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nmcp-session-id: s\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )?;
    }
}

/// Serves until the input ends.
pub(super) fn run(fault: Fault, skills: usize) -> Result<ExitCode> {
    let mut input = std::io::stdin().lock();
    let mut output = std::io::stdout().lock();
    let (kept, mut read, mut line) = (Mutex::default(), 0_u64, Vec::new());
    while input.read_until(b'\n', &mut line)? > 0 {
        read += 1;
        let fault = if read > SOUND { fault } else { Fault::None };
        let mut answer = answer(&line, skills);
        misbehave(fault, &mut answer, &kept);
        match fault {
            Fault::Silence => answer = answer.filter(|answer| answer.get("id").is_some()),
            Fault::Garbage => writeln!(output, "half a message")?,
            Fault::Code => {
                let code = answer.as_mut();
                if let Some(code) = code.and_then(|answer| answer.pointer_mut("/error/code")) {
                    *code = json!(-32603);
                }
            }
            _ => {}
        }
        if let Some(answer) = answer {
            writeln!(output, "{answer}")?;
            output.flush()?;
        }
        line.clear();
    }
    Ok(ExitCode::SUCCESS)
}

/// Shows a fault, as far as it is the same over both transports.
fn misbehave(fault: Fault, answer: &mut Option<Value>, kept: &Mutex<Vec<Vec<u8>>>) {
    match fault {
        Fault::Hang => std::thread::sleep(Duration::from_mins(1)),
        Fault::Panic => eprintln!("thread 'main' panicked at src/made_up.rs:1:1:"),
        Fault::Id => {
            if let Some(id) = answer.as_mut().and_then(|answer| answer.get_mut("id")) {
                *id = json!("another");
            }
        }
        Fault::Chatter => {
            answer.get_or_insert_with(|| error(&Value::Null, -32600));
        }
        Fault::End => std::process::exit(0),
        Fault::Leak => {
            if let Ok(mut kept) = kept.lock() {
                kept.push(vec![1_u8; LEAK]);
            }
        }
        Fault::None | Fault::Silence | Fault::Garbage | Fault::Code => {}
    }
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
    let id = match expectation(line, MAX_LINE_BYTES)? {
        Expectation::Answer(id) => id.unwrap_or_default(),
        Expectation::Optional | Expectation::Silence => return None,
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
