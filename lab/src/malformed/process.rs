//! A server that is being talked to, and what it shows from outside: standard error and memory.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

/// So much of standard error is kept.
const KEPT: usize = 1 << 20;
/// The time in which a server must end once nothing more comes.
const END_TIMEOUT: Duration = Duration::from_secs(12);

/// A running server.
pub(super) struct Process {
    child: Child,
    pub(super) input: Option<ChildStdin>,
    said: Arc<Mutex<String>>,
    hearing: Option<JoinHandle<()>>,
}

impl Process {
    /// Starts it; answers its standard output too.
    pub(super) fn start(command: &mut Command) -> Result<(Self, BufReader<ChildStdout>)> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("could not start {}", command.get_program().display()))?;
        let input = child.stdin.take();
        let output = child.stdout.take().context("the server has no output")?;
        let error = child
            .stderr
            .take()
            .context("the server has no standard error")?;
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
        if let Some(status) = self.child.try_wait()? {
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

    /// The present and the greatest memory in mebibytes; zero if the system doesn't report it.
    pub(super) fn memory(&self) -> (u64, u64) {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(path).unwrap_or_default();
        let figure = |name: &str| {
            let rest = status.lines().find_map(|line| line.strip_prefix(name));
            let kibibytes =
                rest.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
            kibibytes.unwrap_or_default() / 1024
        };
        (figure("VmRSS:"), figure("VmHWM:"))
    }

    /// Lets it end, and fails when it doesn't end well. What answers over HTTP is told by a signal.
    pub(super) fn end(mut self) -> Result<()> {
        self.is_well()?;
        let by_signal = self.input.is_none();
        self.input = None;
        if by_signal {
            #[cfg(unix)]
            {
                use rustix::process::{Pid, Signal, kill_process};
                let number = i32::try_from(self.child.id())?;
                let number = Pid::from_raw(number).context("the server has no number")?;
                kill_process(number, Signal::TERM)?;
            }
        }
        let asked = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait()? {
                if let Some(hearing) = self.hearing.take() {
                    let _ = hearing.join();
                }
                self.has_not_panicked()?;
                if !status.success() {
                    bail!("the server ended badly: {status}: {}", self.said());
                }
                return Ok(());
            }
            if asked.elapsed() > END_TIMEOUT {
                bail!("the server doesn't end");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It is ours; where it ended by itself this does nothing.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
