//! A server that is being talked to, and what it shows from outside: standard error and memory.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::child::{Memory, OwnedChild};

/// So much of standard error is kept.
const KEPT: usize = 1 << 20;
/// The time in which a server must end once nothing more comes.
const END_TIMEOUT: Duration = Duration::from_secs(12);

/// A running server.
pub(super) struct Process {
    child: OwnedChild,
    pub(super) input: Option<ChildStdin>,
    said: Arc<Mutex<String>>,
    hearing: Option<JoinHandle<()>>,
}

impl Process {
    /// Starts it; answers its standard output too.
    pub(super) fn start(command: &mut Command) -> Result<(Self, BufReader<ChildStdout>)> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = OwnedChild::start(command.stderr(Stdio::piped()))?;
        let pipes = child.pipes();
        let input = pipes.stdin.take();
        let output = pipes.stdout.take().context("the server has no output")?;
        let error = pipes.stderr.take();
        let error = error.context("the server has no standard error")?;
        let said = Arc::new(Mutex::new(String::new()));
        let heard = Arc::clone(&said);
        let hearing = std::thread::spawn(move || {
            let mut error = BufReader::new(error);
            let mut line = Vec::new();
            while error
                .by_ref()
                .take(1 << 16)
                .read_until(b'\n', &mut line)
                .is_ok_and(|read| read > 0)
            {
                let mut said = heard.lock().unwrap_or_else(PoisonError::into_inner);
                if said.len() < KEPT {
                    said.push_str(&String::from_utf8_lossy(&line));
                }
                line.clear();
            }
        });
        let process = Self {
            child,
            input,
            said,
            hearing: Some(hearing),
        };
        Ok((process, BufReader::new(output)))
    }

    /// Its standard error until now.
    pub(super) fn said(&self) -> String {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.clone()
    }

    /// Fails when it has ended or panicked.
    pub(super) fn is_well(&mut self) -> Result<()> {
        if let Some(status) = self.child.status()? {
            bail!("the server ended: {status}: {}", self.said());
        }
        self.has_not_panicked()
    }

    fn has_not_panicked(&self) -> Result<()> {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        match said.lines().find(|line| line.contains("panicked")) {
            Some(line) => bail!("the server panicked: {line}"),
            None => Ok(()),
        }
    }

    /// Its present memory; nothing if the system doesn't report it.
    pub(super) fn memory(&self) -> Memory {
        self.child.memory().unwrap_or_default()
    }

    /// Lets it end, and fails when it doesn't end well. A server over HTTP is ended by a signal.
    pub(super) fn end(mut self) -> Result<()> {
        self.is_well()?;
        if self.input.take().is_none() {
            self.child.terminate()?;
        }
        let (status, _) = self.child.wait(END_TIMEOUT)?;
        if let Some(hearing) = self.hearing.take() {
            let _ = hearing.join();
        }
        self.has_not_panicked()?;
        if !status.success() {
            bail!("the server ended badly: {status}: {}", self.said());
        }
        Ok(())
    }
}
