//! The process of a server that listens: started, waited for until it answers, looked at, and ended
//! as a system ends it.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read};
use std::net::{Ipv4Addr, TcpListener};
use std::process::{ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::json;

use super::client::Client;
use super::wire::{Address, Path};
use crate::child::{Memory, OwnedChild};
use crate::server::Recipe;

/// The time in which a server must answer.
const START_TIMEOUT: Duration = Duration::from_mins(1);
/// The time limit of one try: a later answer belongs to a server that isn't ready.
const TRY: Duration = Duration::from_secs(20);
/// The number of its last lines that are kept for a message.
const LINES: usize = 6;

/// A running server.
pub(crate) struct Process {
    child: OwnedChild,
    started: Instant,
    lines: Arc<Mutex<VecDeque<String>>>,
    found: Receiver<Address>,
}

impl Process {
    /// Starts a server.
    pub(crate) fn start(recipe: &Recipe) -> Result<Self> {
        let started = Instant::now();
        let mut command = recipe.command();
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = OwnedChild::start(command.stderr(Stdio::piped()))?;
        let (sender, found) = mpsc::channel();
        let lines = Arc::new(Mutex::new(VecDeque::new()));
        if let Some(output) = child.pipes().stdout.take() {
            hear(output, &lines, sender.clone());
        }
        if let Some(output) = child.pipes().stderr.take() {
            hear(output, &lines, sender);
        }
        Ok(Self {
            child,
            started,
            lines,
            found,
        })
    }

    /// The address that it prints.
    pub(crate) fn address(&mut self) -> Result<Address> {
        loop {
            match self.found.recv_timeout(Duration::from_millis(200)) {
                Ok(address) => return Ok(address),
                Err(RecvTimeoutError::Timeout) if self.started.elapsed() < START_TIMEOUT => {}
                Err(RecvTimeoutError::Timeout) => bail!("it prints no address: {}", self.said()),
                Err(RecvTimeoutError::Disconnected) => {
                    let (status, _) = self.child.wait(START_TIMEOUT)?;
                    bail!("it ends at once ({status}): {}", self.said());
                }
            }
        }
    }

    /// Tries each millisecond until a request is answered; the time since the start.
    pub(crate) async fn ready(&mut self, address: &Address, path: Path) -> Result<Duration> {
        loop {
            let tried = tokio::time::timeout(TRY, first(address, path)).await;
            let trouble = match tried {
                Ok(Ok(())) => return Ok(self.started.elapsed()),
                Ok(Err(error)) => error,
                Err(_) => anyhow::anyhow!("no answer within {} s", TRY.as_secs()),
            };
            if let Some(status) = self.child.status()? {
                bail!("it ends instead of answering ({status}): {}", self.said());
            }
            if self.started.elapsed() > START_TIMEOUT {
                return Err(trouble.context(format!("it never answers; it says: {}", self.said())));
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// The number of the process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The present memory.
    pub(crate) fn memory(&self) -> Result<Memory> {
        self.child
            .memory()
            .context("this system doesn't report changes what a process holds")
    }

    /// The time that it and its children have computed.
    pub(crate) fn computed(&self) -> Result<Duration> {
        // The kernel counts in hundredths of a second, whatever it ticks in.
        let mut ticks = 0;
        let mut open = vec![self.child.id()];
        while let Some(process) = open.pop() {
            let Some(own) = ticks_of(process) else {
                if process == self.child.id() {
                    bail!("this system doesn't report changes what a process computes");
                }
                continue;
            };
            ticks += own;
            let children =
                std::fs::read_to_string(format!("/proc/{process}/task/{process}/children"));
            let children = children.unwrap_or_default();
            open.extend(
                children
                    .split_whitespace()
                    .filter_map(|id| id.parse::<u32>().ok()),
            );
        }
        Ok(Duration::from_millis(10 * ticks))
    }

    /// Asks it to end; how it ended, and how long that took. One that stays for longer is killed.
    pub(crate) fn end(mut self, timeout: Duration) -> Result<(ExitStatus, Duration)> {
        self.child.terminate()?;
        self.child.wait(timeout)
    }

    /// Its last lines.
    fn said(&self) -> String {
        // What it wrote last may still be on its way.
        std::thread::sleep(Duration::from_millis(20));
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.is_empty() {
            return "no output".to_owned();
        }
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        lines.join(" / ")
    }
}

/// A port that nobody has, for servers that can't choose one themselves.
pub(crate) fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no port is free")?;
    Ok(listener.local_addr()?.port())
}

/// A first answer: of the session that is opened, or of the list of tools.
async fn first(address: &Address, path: Path) -> Result<()> {
    let mut client = Client::connect(address, path).await?;
    if path == Path::Session {
        client.greet().await
    } else {
        client.ask("tools/list", json!({})).await.map(drop)
    }
}

/// Reads what a server says, so that it never waits for a reader.
fn hear(
    output: impl Read + Send + 'static,
    lines: &Arc<Mutex<VecDeque<String>>>,
    found: Sender<Address>,
) {
    let lines = Arc::clone(lines);
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if let Some(address) = Address::find(&line) {
                let _ = found.send(address);
            }
            let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
            if lines.len() == LINES {
                lines.pop_front();
            }
            lines.push_back(line);
        }
    });
}

/// The ticks that a process and its ended children have computed.
fn ticks_of(process: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    ticks_in(&text)
}

/// Fields 14 to 17, which are counted behind the name: that may hold anything.
fn ticks_in(text: &str) -> Option<u64> {
    let (_, rest) = text.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    fields
        .get(11..15)?
        .iter()
        .map(|field| field.parse::<u64>().ok())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::ticks_in;

    #[test]
    fn the_ticks_of_a_process_are_found_behind_its_name() {
        let text = "7 (a) b) S 1 7 7 0 -1 4194304 9 8 7 6 100 20 3 4 20 0 1 0 55";
        assert_eq!(ticks_in(text), Some(127));
        assert_eq!(ticks_in("7 (a"), None);
    }
}
