//! A program that the lab starts: it is killed when its handle is dropped, and its memory is read.

use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

/// A running program.
pub(crate) struct OwnedChild(Child);

/// The memory of a process, in mebibytes.
#[derive(Clone, Copy, Default)]
pub(crate) struct Memory {
    /// In memory now, what is shared with others included.
    pub(crate) resident: f64,
    /// The most that was in memory at once.
    pub(crate) peak: f64,
    /// In memory now, what is shared divided by those who share it.
    pub(crate) proportional: f64,
}

impl OwnedChild {
    /// Starts a program.
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let child = command.spawn();
        let program = command.get_program().display();
        Ok(Self(
            child.with_context(|| format!("could not start {program}"))?,
        ))
    }

    /// The process itself, for its pipes.
    pub(crate) fn pipes(&mut self) -> &mut Child {
        &mut self.0
    }

    /// The number of the process.
    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    /// The status of a program that ended; `None` while it runs.
    pub(crate) fn status(&mut self) -> Result<Option<ExitStatus>> {
        Ok(self.0.try_wait()?)
    }

    /// Asks it to end, as a system does.
    pub(crate) fn terminate(&self) -> Result<()> {
        let id = i32::try_from(self.id()).ok().and_then(Pid::from_raw);
        kill_process(id.context("a process without a number")?, Signal::TERM)?;
        Ok(())
    }

    /// Waits for its end; returns its status and the time that it took.
    pub(crate) fn wait(&mut self, timeout: Duration) -> Result<(ExitStatus, Duration)> {
        let started = Instant::now();
        loop {
            if let Some(status) = self.status()? {
                return Ok((status, started.elapsed()));
            }
            if started.elapsed() >= timeout {
                bail!("it is still there after {} s", timeout.as_secs());
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Its present memory; `None` if the system doesn't report it.
    pub(crate) fn memory(&self) -> Option<Memory> {
        Memory::of(self.id())
    }
}

impl Drop for OwnedChild {
    fn drop(&mut self) {
        // For one that ended by itself this does nothing.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Memory {
    /// The present memory of a process; `None` if the system doesn't report it.
    pub(crate) fn of(process: u32) -> Option<Self> {
        let process = format!("/proc/{process}");
        let status = std::fs::read_to_string(format!("{process}/status")).ok()?;
        let sums = std::fs::read_to_string(format!("{process}/smaps_rollup")).unwrap_or_default();
        Some(Self {
            resident: mebibytes(&status, "VmRSS:")?,
            peak: mebibytes(&status, "VmHWM:")?,
            proportional: mebibytes(&sums, "Pss:").unwrap_or_default(),
        })
    }
}

/// A figure of the kernel's, given in kibibytes behind its name.
fn mebibytes(text: &str, name: &str) -> Option<f64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: f64 = rest.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::mebibytes;

    #[test]
    fn finds_a_figure_by_its_name() {
        let text = "VmPeak:\t   9 kB\nVmHWM:\t    2048 kB\n";
        assert_eq!(mebibytes(text, "VmHWM:"), Some(2.0));
        assert_eq!(mebibytes(text, "VmRSS:"), None);
    }
}
