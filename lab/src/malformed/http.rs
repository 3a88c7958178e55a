//! A conversation over HTTP, on connections that are kept while they can be.

use std::io::{BufRead as _, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::process::Command;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use serde_json::{Value, json};

use super::expectation::{Expectation, answer_name, expectation, same};
use super::message::{self, Era};
use super::process::Process;
use super::request::{self, MAX_BODY_BYTES, Request};
use super::{Input, Outcome, Peer};

/// The statuses that an answer may have. 500 isn't one of them, and neither is 503: the server isn't
/// asked for more than it can do.
const STATUSES: [u16; 19] = [
    200, 202, 204, 400, 403, 404, 405, 406, 408, 410, 411, 413, 414, 415, 417, 421, 431, 501, 505,
];
/// The name in the table of a connection that closed without an answer.
const CLOSED: &str = "closed";

/// A server and connections to it.
pub(super) struct HttpPeer {
    process: Process,
    host: String,
    session: Option<String>,
    era: Era,
    stream: Option<TcpStream>,
    /// The bytes of the next answer that were read already.
    ahead: Vec<u8>,
    asked: u64,
}

/// An answer.
struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Reply {
    fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    fn is(&self, media_type: &str) -> bool {
        self.header("content-type")
            .is_some_and(|value| value.starts_with(media_type))
    }

    /// The message in it; of a stream the first answer.
    fn message(&self) -> Option<Value> {
        if !self.is("text/event-stream") {
            return serde_json::from_slice(&self.body).ok();
        }
        let text = String::from_utf8_lossy(&self.body);
        answers(&text).next()
    }
}

/// The answers in the whole lines of a stream of events.
fn answers(text: &str) -> impl Iterator<Item = Value> {
    let whole = text
        .rfind('\n')
        .map_or("", |end| text.get(..end).unwrap_or_default());
    let data = whole.lines().filter_map(|line| line.strip_prefix("data:"));
    data.filter_map(|data| serde_json::from_str::<Value>(data).ok())
        .filter(|message| {
            let acknowledged = "notifications/subscriptions/acknowledged";
            message.get("id").is_some()
                || message.get("error").is_some()
                || message.get("method").and_then(Value::as_str) == Some(acknowledged)
        })
}

impl HttpPeer {
    /// Starts a server and waits until it says where it is.
    pub(super) fn start(command: &mut Command, era: Era, timeout: Duration) -> Result<Self> {
        let (mut process, mut output) = Process::start(command)?;
        process.input = None;
        let (sender, first) = mpsc::channel();
        std::thread::spawn(move || {
            let mut line = String::new();
            let read = output.read_line(&mut line);
            if sender.send(read.map(|_| line)).is_ok() {
                // Its output stays open until it ends.
                let _ = std::io::copy(&mut output, &mut std::io::sink());
            }
        });
        // The first line may wait for the library.
        let line = first.recv_timeout(timeout.max(Duration::from_secs(10)));
        let line = line.context("no address in time")??;
        let (_, rest) = line
            .split_once("http://")
            .with_context(|| format!("no address in {line:?}: {}", process.said()))?;
        let host = rest.split('/').next().unwrap_or_default().trim().to_owned();
        Ok(Self {
            process,
            host,
            session: None,
            era,
            stream: None,
            ahead: Vec::new(),
            asked: 0,
        })
    }

    /// Begins a session where there are some and none is open.
    fn greet(&mut self, timeout: Duration) -> Result<()> {
        if self.era == Era::Stateless || self.session.is_some() {
            return Ok(());
        }
        let hello = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "malformed", "version": "1" },
        });
        let reply = self.ask("initialize", hello, timeout)?;
        let session = reply.header("mcp-session-id");
        self.session = Some(session.context("no session")?.to_owned());
        Ok(())
    }

    /// Sends a request that is as it should be.
    fn ask(&mut self, method: &str, params: Value, timeout: Duration) -> Result<Reply> {
        self.asked += 1;
        let id = json!(format!("control {}", self.asked));
        let body = message::request(&id, method, params, self.era).to_string();
        let session = self.session.as_deref();
        let request = request::sound(body.as_bytes(), self.era, &self.host, session);
        let deadline = Instant::now() + timeout;
        self.stream = None;
        self.write(&request, false)?;
        let reply = self
            .reply(deadline, true)?
            .context("closed without an answer")?;
        if !self.stays(&reply) {
            self.stream = None;
        }
        let message = reply.message().unwrap_or_default();
        ensure!(
            reply.status == 200 && message.get("id") == Some(&id),
            "the control is answered with {}: {}",
            reply.status,
            String::from_utf8_lossy(&reply.body)
        );
        Ok(reply)
    }

    /// Sends an input; answers what came back, and how long that took.
    fn exchange(&mut self, request: &Request, timeout: Duration) -> Result<(String, Duration)> {
        let owed = request
            .body
            .as_deref()
            .and_then(|body| expectation(body, MAX_BODY_BYTES));
        let waits = matches!(owed, Some(Expectation::Answer(_)));
        let started = Instant::now();
        let deadline = started + timeout;
        let kept = self.stream.is_some();
        let mut reply = None;
        // A connection that was kept may have been closed in between.
        for _ in 0..=usize::from(kept) {
            self.write(&request.bytes, request.last)?;
            reply = self.reply(deadline, waits)?;
            if reply.is_some() {
                break;
            }
            self.stream = None;
        }
        let took = started.elapsed();
        let Some(reply) = reply else {
            self.process.is_well()?;
            ensure!(!request.whole, "closed without an answer");
            return Ok((CLOSED.to_owned(), took));
        };
        if !request.whole || request.last || !self.stays(&reply) {
            self.stream = None;
        }
        let answer = Self::judge(request, owed.as_ref(), &reply)?;
        self.tidy(request, &reply, timeout)?;
        Ok((answer, took))
    }

    /// True when the connection can take another request after this answer. A stream is
    /// abandoned after its first answer: later events would be taken for the next one.
    fn stays(&self, reply: &Reply) -> bool {
        let closes = reply.header("connection") == Some("close");
        !closes && !reply.is("text/event-stream") && self.ahead.is_empty()
    }

    /// The name of this answer; an answer that isn't allowed is an error.
    fn judge(request: &Request, owed: Option<&Expectation>, reply: &Reply) -> Result<String> {
        let status = reply.status;
        let shown = || format!("{status}: {:.300}", String::from_utf8_lossy(&reply.body));
        // Nobody knows a client that closed its end before the server took the connection.
        let is_unknown = status == 401 && request.last;
        ensure!(is_unknown || STATUSES.contains(&status), "{}", shown());
        if reply.is("application/problem+json") {
            let problem = reply.message().with_context(shown)?;
            ensure!(problem.get("status") == Some(&json!(status)), "{}", shown());
            return Ok(format!("{status} problem"));
        }
        if !reply.is("application/json") && !reply.is("text/event-stream") || reply.body.is_empty()
        {
            let is_good = (200..300).contains(&status);
            if let (true, Some(Expectation::Answer(_))) = (is_good, owed) {
                bail!("{} is no answer", shown());
            }
            return Ok(status.to_string());
        }
        let Some(message) = reply.message() else {
            ensure!(reply.is("text/event-stream"), "no JSON: {}", shown());
            ensure!(
                !matches!(owed, Some(Expectation::Answer(_))),
                "a stream without an answer"
            );
            return Ok(format!("{status} stream"));
        };
        if message.get("jsonrpc").is_none() && request.body.is_none() && status == 200 {
            // Health and the like.
            return Ok(format!("{status} JSON"));
        }
        if message.get("method").is_some() {
            return Ok(format!("{status} listens"));
        }
        ensure!(
            status != 200 || owed != Some(&Expectation::Silence),
            "a notification is answered: {}",
            shown()
        );
        let code = answer_name(&message).map_err(|fault| anyhow!(fault))?;
        if let (200, Some(Expectation::Answer(Some(id)))) = (status, owed) {
            let answered = message.get("id").is_some_and(|other| same(id, other));
            ensure!(answered, "an answer to another id: {}", shown());
        }
        ensure!(
            status == 200 || code != "result",
            "a result with the status {}",
            shown()
        );
        Ok(format!("{status} {code}"))
    }

    /// Ends a session that an input began, and ours where an input may have ended it: a server may
    /// keep those that are only left.
    fn tidy(&mut self, request: &Request, reply: &Reply, timeout: Duration) -> Result<()> {
        let begun = reply.header("mcp-session-id").map(str::to_owned);
        if let Some(begun) = begun.filter(|begun| Some(begun) != self.session.as_ref()) {
            let status = self.end_session(&begun, timeout)?;
            let is_good = (200..300).contains(&status);
            ensure!(is_good, "a session is ended with {status}");
        }
        if reply.status == 404 || request.bytes.starts_with(b"DELETE") {
            let Some(session) = self.session.take() else {
                return Ok(());
            };
            let status = self.end_session(&session, timeout)?;
            let is_good = (200..300).contains(&status) || status == 404;
            ensure!(is_good, "a session that may be gone is ended with {status}");
        }
        Ok(())
    }

    /// Ends a session; answers the status.
    fn end_session(&mut self, session: &str, timeout: Duration) -> Result<u16> {
        let end = format!(
            "DELETE /mcp HTTP/1.1\r\nHost: {}\r\nMcp-Session-Id: {session}\r\n\r\n",
            self.host
        );
        self.stream = None;
        self.write(end.as_bytes(), false)?;
        let reply = self.reply(Instant::now() + timeout, false)?;
        Ok(reply.context("a session isn't ended")?.status)
    }

    fn write(&mut self, bytes: &[u8], last: bool) -> Result<()> {
        let stream = if let Some(stream) = self.stream.take() {
            stream
        } else {
            let stream = TcpStream::connect(&self.host).context("could not connect")?;
            stream.set_nodelay(true)?;
            self.ahead.clear();
            stream
        };
        // The server may have answered and closed before all is written.
        let _ = (&stream).write_all(bytes);
        if last {
            let _ = stream.shutdown(Shutdown::Write);
        }
        self.stream = Some(stream);
        Ok(())
    }

    /// Reads more; answers whether there was more.
    fn more(&mut self, deadline: Instant) -> Result<bool> {
        let left = deadline.saturating_duration_since(Instant::now());
        ensure!(!left.is_zero(), "no answer in time");
        let mut stream = self.stream.as_ref().context("no connection")?;
        stream.set_read_timeout(Some(left))?;
        let mut part = [0; 1 << 14];
        match stream.read(&mut part) {
            Ok(read) => {
                self.ahead
                    .extend_from_slice(part.get(..read).unwrap_or_default());
                Ok(read > 0)
            }
            Err(error) => match error.kind() {
                std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut => {
                    bail!("no answer in time")
                }
                _ => Ok(false),
            },
        }
    }

    /// The next answer, or none when the connection is closed without one. Of a stream it takes what
    /// comes up to the first answer in it, or nothing at all.
    fn reply(&mut self, deadline: Instant, waits: bool) -> Result<Option<Reply>> {
        let end = loop {
            if let Some(end) = self.ahead.windows(4).position(|part| part == b"\r\n\r\n") {
                break end;
            }
            if !self.more(deadline)? {
                ensure!(
                    self.ahead.is_empty(),
                    "half an answer: {}",
                    String::from_utf8_lossy(&self.ahead)
                );
                return Ok(None);
            }
        };
        let head: Vec<u8> = self.ahead.drain(..end + 4).collect();
        let head = String::from_utf8(head).context("a head that is no text")?;
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.strip_prefix("HTTP/1."));
        let status = status.and_then(|rest| rest.get(2..5)?.parse().ok());
        let mut reply = Reply {
            status: status.with_context(|| format!("no status: {head}"))?,
            headers: lines
                .filter_map(|line| line.split_once(':'))
                .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
                .collect(),
            body: Vec::new(),
        };
        let length = reply
            .header("content-length")
            .map(str::parse::<usize>)
            .transpose()?;
        if reply.is("text/event-stream") {
            // The sizes of the pieces are lines that look like nothing else.
            reply.body.append(&mut self.ahead);
            while waits && reply.message().is_none() && self.more(deadline)? {
                reply.body.append(&mut self.ahead);
            }
        } else if let Some(length) = length {
            while self.ahead.len() < length {
                ensure!(self.more(deadline)?, "a body that is cut");
            }
            reply.body = self.ahead.drain(..length).collect();
        } else if reply.header("transfer-encoding") == Some("chunked") {
            while !self.ahead.ends_with(b"0\r\n\r\n") {
                ensure!(self.more(deadline)?, "a body that is cut");
            }
            let body = std::mem::take(&mut self.ahead);
            reply.body = unchunked(&body).context("a body that is no chunks")?;
        }
        Ok(Some(reply))
    }
}

impl Peer for HttpPeer {
    fn attempt(&mut self, input: Input<'_>) -> Result<Outcome> {
        self.greet(input.timeout)?;
        let session = self.session.as_deref();
        let made = request::request(input.random, input.number, self.era, &self.host, session);
        let text = input.describe(made.kind, &made.bytes);
        let exchanged = self.exchange(&made, input.timeout);
        let (answer, took) = exchanged.with_context(|| text)?;
        Ok(Outcome {
            kind: made.kind,
            answers: vec![answer],
            took,
        })
    }

    fn control(&mut self, skills: usize, timeout: Duration) -> Result<()> {
        self.greet(timeout)?;
        let call = json!({ "name": "skill_list", "arguments": {} });
        let reply = self.ask("tools/call", call, timeout)?;
        let message = reply.message().unwrap_or_default();
        let total = message.pointer("/result/structuredContent/total");
        ensure!(
            total == Some(&json!(skills)),
            "the control is answered with {message}"
        );
        self.process.is_well()
    }

    fn process(&self) -> &Process {
        &self.process
    }

    fn end(mut self: Box<Self>) -> Result<()> {
        self.stream = None;
        self.process.end()
    }
}

fn unchunked(mut bytes: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let end = bytes.windows(2).position(|part| part == b"\r\n")?;
        let size = std::str::from_utf8(bytes.get(..end)?).ok()?;
        let size = usize::from_str_radix(size, 16).ok()?;
        body.extend_from_slice(bytes.get(end + 2..end + 2 + size)?);
        bytes = bytes.get(end + 2 + size + 2..)?;
        if size == 0 {
            return Some(body);
        }
    }
}
