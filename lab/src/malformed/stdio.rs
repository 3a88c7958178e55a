//! A conversation over standard input and output.
//!
//! After each input follows a request that every server answers: until its answer came, and that of
//! each line before it which is owed one, nothing else is sent.

use std::collections::HashSet;
use std::io::{BufRead as _, Write as _};
use std::process::Command;
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use serde_json::{Value, json};

use super::expectation::{Expectation, answer_name, expectation, same};
use super::message::{Era, message, request};
use super::process::Process;
use super::{Input, Outcome, Peer};

/// The longest line that the server reads, in bytes.
pub(super) const MAX_LINE_BYTES: usize = 16 << 20;
/// The method of the request after each input: no server has it.
const CONTROL: &str = "control/method";

/// A server and the client's side of its pipes.
pub(super) struct StdioPeer {
    process: Process,
    lines: Receiver<Vec<u8>>,
    era: Era,
    asked: u64,
    /// Answers that may still come: their requests were cancelled.
    late: HashSet<String>,
    /// The last answer.
    last: Value,
}

impl StdioPeer {
    /// Starts a server and begins a session of this era.
    pub(super) fn start(command: &mut Command, era: Era, timeout: Duration) -> Result<Self> {
        let (process, mut output) = Process::start(command)?;
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            let mut line = Vec::new();
            while output
                .read_until(b'\n', &mut line)
                .is_ok_and(|read| read > 0)
            {
                if sender.send(std::mem::take(&mut line)).is_err() {
                    return;
                }
            }
        });
        let mut line = Self {
            process,
            lines,
            era,
            asked: 0,
            late: HashSet::new(),
            last: Value::Null,
        };
        if era == Era::Session {
            let hello = json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": { "name": "malformed", "version": "1" },
            });
            // The first answer may wait for the library.
            let answer = line.ask("initialize", hello, timeout.max(Duration::from_secs(10)))?;
            let version = answer.pointer("/result/protocolVersion");
            ensure!(version == Some(&json!("2025-11-25")), "{answer}");
        }
        Ok(line)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let input = self.process.input.as_mut().context("the input is closed")?;
        input.write_all(bytes)?;
        Ok(input.flush()?)
    }

    fn id(&mut self) -> Value {
        self.asked += 1;
        json!(format!("control {}", self.asked))
    }

    /// The next message; none in time is a failure.
    fn next(&mut self, deadline: Instant) -> Result<Value> {
        let left = deadline.saturating_duration_since(Instant::now());
        match self.lines.recv_timeout(left) {
            Ok(line) => serde_json::from_slice(&line).with_context(|| {
                format!("a line that is no JSON: {}", String::from_utf8_lossy(&line))
            }),
            Err(mpsc::RecvTimeoutError::Timeout) => bail!("no answer in time"),
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                self.process.is_well()?;
                bail!("the server closed its output")
            }
        }
    }

    /// Asks something that is well formed; answers its response.
    fn ask(&mut self, method: &str, params: Value, timeout: Duration) -> Result<Value> {
        let id = self.id();
        let request = request(&id, method, params, self.era);
        self.write(format!("{request}\n").as_bytes())?;
        let deadline = Instant::now() + timeout;
        loop {
            let message = self.next(deadline)?;
            if message.get("id") == Some(&id) {
                return Ok(message);
            }
        }
    }

    /// Sends an input; answers what came back for each of its lines, and how long that took.
    fn exchange(&mut self, bytes: &[u8], timeout: Duration) -> Result<(Vec<String>, Duration)> {
        let mut open: Vec<Expectation> = bytes
            .split(|byte| *byte == b'\n')
            .filter_map(|line| expectation(line, MAX_LINE_BYTES))
            .collect();
        let cancels = bytes
            .windows(23)
            .any(|part| part == b"notifications/cancelled");
        let control = self.id();
        let last = request(&control, CONTROL, json!({}), self.era);
        let lines = [bytes, b"\n", last.to_string().as_bytes(), b"\n"].concat();
        let started = Instant::now();
        let deadline = started + timeout;
        self.write(&lines)?;
        let mut came = Vec::new();
        let mut controlled = false;
        if cancels {
            for expected in &mut open {
                if let Expectation::Answer(Some(id)) = expected {
                    self.late.insert(id.to_string());
                    *expected = Expectation::Optional;
                }
            }
        }
        while !controlled
            || open
                .iter()
                .any(|expected| matches!(expected, Expectation::Answer(_)))
        {
            let message = self
                .next(deadline)
                .map_err(|error| error.context(format!("owed: {open:?}")))?;
            if message.get("method").is_some() {
                self.heard(&message, &mut open, &mut came)?;
                continue;
            }
            let answer = answer_name(&message).map_err(|fault| anyhow!(fault))?;
            let id = message.get("id");
            if id == Some(&control) {
                ensure!(answer == "-32601", "the control is answered with {message}");
                controlled = true;
                continue;
            }
            settle(&mut open, id, &self.late)
                .with_context(|| format!("came: {message}, after {}", self.last))?;
            self.last = message;
            came.push(answer);
        }
        came.extend(open.iter().map(|_| "silence".to_owned()));
        Ok((came, started.elapsed()))
    }

    /// A notification of the server: that a subscription began is the answer to it.
    fn heard(
        &self,
        message: &Value,
        open: &mut Vec<Expectation>,
        came: &mut Vec<String>,
    ) -> Result<()> {
        let method = message
            .get("method")
            .and_then(Value::as_str)
            .unwrap_or_default();
        match method {
            "notifications/tools/list_changed" => Ok(()),
            "notifications/subscriptions/acknowledged" => {
                let id = message.pointer("/params/_meta/io.modelcontextprotocol~1subscriptionId");
                settle(open, id, &self.late).with_context(|| format!("came: {message}"))?;
                came.push("subscribed".to_owned());
                Ok(())
            }
            _ => bail!("nobody expects {message}"),
        }
    }
}

impl Peer for StdioPeer {
    fn attempt(&mut self, input: Input<'_>) -> Result<Outcome> {
        let made = message(input.random, input.number, MAX_LINE_BYTES, self.era);
        let text = input.describe(made.kind, &made.bytes);
        let exchanged = self.exchange(&made.bytes, input.timeout);
        let (answers, took) = exchanged.with_context(|| text)?;
        Ok(Outcome {
            kind: made.kind,
            answers,
            took,
        })
    }

    fn control(&mut self, skills: usize, timeout: Duration) -> Result<()> {
        let call = json!({ "name": "skill_list", "arguments": {} });
        let answer = self.ask("tools/call", call, timeout)?;
        let total = answer.pointer("/result/structuredContent/total");
        ensure!(
            total == Some(&json!(skills)),
            "the control is answered with {answer}"
        );
        self.process.is_well()
    }

    fn process(&self) -> &Process {
        &self.process
    }

    fn end(self: Box<Self>) -> Result<()> {
        self.process.end()
    }
}

/// Takes what an answer settles from what is owed.
fn settle(open: &mut Vec<Expectation>, id: Option<&Value>, late: &HashSet<String>) -> Result<()> {
    let exact = |expected: &Expectation| matches!((expected, id), (Expectation::Answer(Some(owed)), Some(id)) if same(owed, id));
    if let Some(at) = open.iter().position(exact) {
        open.remove(at);
        return Ok(());
    }
    if id.is_some_and(|id| late.contains(&id.to_string())) {
        return Ok(());
    }
    let any = |expected: &Expectation| *expected == Expectation::Answer(None);
    let perhaps = |expected: &Expectation| id.is_none() && *expected == Expectation::Optional;
    let found = open.iter().position(any);
    match found.or_else(|| open.iter().position(perhaps)) {
        Some(at) => drop(open.remove(at)),
        None => bail!("an answer that nobody is owed; owed: {open:?}"),
    }
    Ok(())
}
