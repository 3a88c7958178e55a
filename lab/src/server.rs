//! A program that speaks MCP on its standard streams, started and asked one thing after another.
//!
//! Knows the wire (a line of JSON each way) and the memory of a process, and nothing of what is
//! measured or of who the server is.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use crate::child::{Memory, OwnedChild};

/// The revision of the protocol that is asked for; a server may answer with another one.
const PROTOCOL: &str = "2025-06-18";
/// The notification that a server sends when its library changed.
const CHANGED: &str = "notifications/tools/list_changed";
/// The time in which a server must end once its input is closed.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// A recipe to start a server.
#[derive(Clone)]
pub(crate) struct Recipe {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
    pub(crate) variables: Vec<(String, String)>,
}

/// A running server.
pub(crate) struct Server {
    child: OwnedChild,
    input: Option<ChildStdin>,
    output: Receiver<(Instant, String)>,
    next: u64,
    started: Instant,
    /// When each announcement of a change arrived that nobody asked about yet.
    told: Vec<Instant>,
}

/// An answer, and how long it took from the request's first byte to the answer's last.
pub(crate) struct Answer {
    pub(crate) result: Value,
    pub(crate) took: Duration,
}

impl Recipe {
    /// The command, with nothing connected.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }
}

impl Server {
    /// Starts a server; the clock of [`Server::age`] runs from here.
    pub(crate) fn start(recipe: &Recipe) -> Result<Self> {
        let started = Instant::now();
        let mut command = recipe.command();
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = OwnedChild::start(command.stderr(Stdio::null()))?;
        let input = child.pipes().stdin.take();
        let output = child.pipes().stdout.take();
        let output = output.context("the server has no output")?;
        let (sender, receiver) = mpsc::channel();
        // A thread of its own, so that the moment is known at which something arrived.
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send((Instant::now(), line)).is_err() {
                    return;
                }
            }
        });
        Ok(Self {
            child,
            input,
            output: receiver,
            next: 0,
            started,
            told: Vec::new(),
        })
    }

    /// Starts a server and begins a session with it.
    pub(crate) fn begin(recipe: &Recipe) -> Result<Self> {
        let mut server = Self::start(recipe)?;
        let client = json!({ "name": "gongfu-bench", "version": "1" });
        server.ask(
            "initialize",
            json!({ "protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client }),
        )?;
        server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(server)
    }

    /// The time since its start.
    pub(crate) fn age(&self) -> Duration {
        self.started.elapsed()
    }

    /// Asks for something and waits for the answer; an error is one here too.
    pub(crate) fn ask(&mut self, method: &str, parameters: Value) -> Result<Answer> {
        self.next += 1;
        let id = self.next;
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": parameters });
        let asked = Instant::now();
        self.send(&request)?;
        loop {
            let Ok((arrived, line)) = self.output.recv() else {
                bail!("the server ended instead of answering `{method}`");
            };
            let took = arrived - asked;
            let mut message: Value = serde_json::from_str(&line)
                .with_context(|| format!("the answer to `{method}` is not JSON"))?;
            // Notifications may come in between.
            if message.get("id").and_then(Value::as_u64) != Some(id) {
                self.hear(arrived, &message);
                continue;
            }
            if let Some(error) = message.get("error") {
                bail!("`{method}` failed: {error}");
            }
            let result = message
                .get_mut("result")
                .map(Value::take)
                .unwrap_or_default();
            return Ok(Answer { result, took });
        }
    }

    /// Calls a tool; a failed call is an error.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Result<Answer> {
        let answer = self.ask(
            "tools/call",
            json!({ "name": tool, "arguments": arguments.clone() }),
        )?;
        if answer.result.get("isError").and_then(Value::as_bool) == Some(true) {
            bail!(
                "{tool} {arguments} failed: {}",
                answer.result.get("content").unwrap_or(&Value::Null)
            );
        }
        Ok(answer)
    }

    fn hear(&mut self, arrived: Instant, message: &Value) {
        if message.get("method").and_then(Value::as_str) == Some(CHANGED) {
            self.told.push(arrived);
        }
    }

    /// When changes were announced: what came until now, and what comes until nothing came for so
    /// long; of a first one is waited for as long as it may take.
    pub(crate) fn told(&mut self, quiet: Duration) -> Vec<Instant> {
        loop {
            let wait = if self.told.is_empty() {
                END_TIMEOUT
            } else {
                quiet
            };
            match self.output.recv_timeout(wait) {
                Ok((arrived, line)) => {
                    let message = serde_json::from_str(&line).unwrap_or_default();
                    self.hear(arrived, &message);
                }
                Err(_) => return std::mem::take(&mut self.told),
            }
            if quiet.is_zero() && !self.told.is_empty() {
                return std::mem::take(&mut self.told);
            }
        }
    }

    /// Forgets what was announced, and what comes until nothing came for so long.
    pub(crate) fn settle(&mut self, quiet: Duration) {
        while let Ok((arrived, line)) = self.output.recv_timeout(quiet) {
            let message = serde_json::from_str(&line).unwrap_or_default();
            self.hear(arrived, &message);
        }
        self.told.clear();
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        let mut line = message.to_string();
        line.push('\n');
        let input = self.input.as_mut().context("the input is closed")?;
        input.write_all(line.as_bytes())?;
        input.flush()?;
        Ok(())
    }

    /// The present memory; `None` if the system doesn't report it.
    pub(crate) fn memory(&self) -> Option<Memory> {
        self.child.memory()
    }
}

impl Drop for Server {
    /// Closes its input, and leaves it some time to end by itself.
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait(END_TIMEOUT);
    }
}
