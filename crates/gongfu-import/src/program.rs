//! Starts a program of the person who imports, such as git or npm, with limits.
//!
//! These are the person's own programs with the person's own settings, so that their credentials, proxies and
//! registries count. Nothing that was fetched is ever started. Doesn't know what the programs do.
//!
//! A program ends when this process does, also when it is killed: a shell in its process group waits for the end of a
//! pipe that only this process can write to.

use std::ffi::OsString;
use std::io::{ErrorKind, PipeWriter, Read, Write as _};
use std::os::fd::{AsFd, AsRawFd as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::error::{ImportCode, ImportError};

/// The time between two looks at a program.
const LOOK: Duration = Duration::from_millis(50);
/// The same once its output is closed: it ends soon.
const LAST_LOOK: Duration = Duration::from_millis(2);
/// The bytes of the messages that are kept: the last ones say what went wrong.
const MAX_MESSAGES: usize = 16 * 1024;
/// The bytes that are read at once.
const CHUNK: usize = 64 * 1024;

/// Starts a program in place of a shell. Before, it leaves a process in the same group that ends all of the group,
/// unless a line comes before the pipe ends. That one is no child of the program, which may wait for all of its own.
const GUARDED: &str = r#"
( { read -r _ || kill -s KILL 0; } <"$0" >/dev/null 2>&1 & )
[ "$1" = 0 ] || ulimit -v "$1" 2>/dev/null
shift
exec "$@"
"#;
/// The shell.
const SHELL: &str = "/bin/sh";
/// The exit statuses of a shell whose program isn't there, or can't be started.
const NOT_FOUND: i32 = 127;
const NOT_STARTED: i32 = 126;

/// A callback that may stop a program.
pub(crate) type Watch<'a> = &'a mut dyn FnMut() -> Result<(), ImportError>;

/// A program with what it is given.
///
/// It has a process group of its own, so that it can't ask on the terminal: its arguments and variables should say
/// that it must not. One that asks nevertheless is ended.
pub(crate) struct Program<'a> {
    /// Its name, looked up in the PATH.
    pub(crate) name: &'a str,
    /// Its arguments.
    pub(crate) arguments: Vec<OsString>,
    /// The folder that it starts in; that of this process without one.
    pub(crate) folder: Option<&'a Path>,
    /// Variables that are set, or removed, in the environment of this process.
    pub(crate) variables: Vec<(&'a str, Option<OsString>)>,
    /// Its input; empty without any.
    pub(crate) stdin: Option<Vec<u8>>,
    /// The most KiB of memory that each of its processes may have, where the system can limit that; 0 for any.
    pub(crate) memory: u32,
    /// The time that it may take.
    pub(crate) timeout: Duration,
    /// The most bytes that it may write to its output.
    pub(crate) max_output: u64,
    /// Asked every 50 ms: an error ends the program.
    pub(crate) watch: Option<Watch<'a>>,
}

/// The end of a program.
#[derive(Debug)]
pub(crate) struct Output {
    /// Its exit status; `None` if a signal ended it.
    pub(crate) status: Option<i32>,
    /// Its output.
    pub(crate) stdout: Vec<u8>,
    /// The last messages that it wrote.
    pub(crate) stderr: String,
}

impl Program<'_> {
    /// Runs the program to its end.
    ///
    /// # Errors
    /// It isn't installed, takes too long, writes too much, asks on the terminal, or the watch stopped it. An exit
    /// status other than 0 is no error.
    pub(crate) fn run(mut self) -> Result<Output, ImportError> {
        let (mut child, mut life) = self.start()?;
        let mut pipes = Pipes::new(&mut child, self.stdin.take());
        let followed = self.follow(&mut child, &mut pipes);
        if followed.is_err() {
            end(&mut child);
        }
        let status = followed?;
        // What it left running on purpose, such as a cache of credentials, may stay.
        let _ = life.write_all(b"\n");
        pipes.read(self.max_output, self.name)?;
        if let Some(NOT_FOUND | NOT_STARTED) = status.code() {
            return Err(self.missing(status.code() == Some(NOT_FOUND)));
        }
        Ok(Output {
            status: status.code(),
            stdout: pipes.stdout,
            stderr: String::from_utf8_lossy(&pipes.stderr).into_owned(),
        })
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that starts a program of the person who imports"
    )]
    fn start(&self) -> Result<(Child, PipeWriter), ImportError> {
        let failed = |error: std::io::Error| {
            let message = format!("`{}` can't be started: {error}", self.name);
            ImportError::new(ImportCode::ProgramMissing, message, "try again")
        };
        let (end, life) = std::io::pipe().map_err(failed)?;
        // The other end stays with this process alone.
        fcntl_setfd(&end, FdFlags::empty()).map_err(|error| failed(error.into()))?;
        let mut command = Command::new(SHELL);
        command.args(["-c", GUARDED]);
        command.arg(format!("/dev/fd/{}", end.as_raw_fd()));
        command.arg(self.memory.to_string());
        command.arg(self.name).args(&self.arguments);
        command.process_group(0);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.stdin(if self.stdin.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        });
        if let Some(folder) = self.folder {
            command.current_dir(folder);
        }
        for (name, value) in &self.variables {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let child = command.spawn().map_err(failed)?;
        Ok((child, life))
    }

    /// The error of a program that the shell couldn't start.
    fn missing(&self, is_not_found: bool) -> ImportError {
        let name = self.name;
        let message = if is_not_found {
            format!("`{name}` isn't installed")
        } else {
            format!("`{name}` can't be started")
        };
        let hint = format!("install `{name}` so that it is on the PATH");
        ImportError::new(ImportCode::ProgramMissing, message, hint)
    }

    /// Feeds and reads a program until it has ended.
    fn follow(&mut self, child: &mut Child, pipes: &mut Pipes) -> Result<ExitStatus, ImportError> {
        let name = self.name;
        let broken = |error| {
            let message = format!("`{name}` can't be followed: {error}");
            ImportError::new(ImportCode::ProgramMissing, message, "try again")
        };
        pipes.unblock().map_err(|error| broken(error.into()))?;
        let start = Instant::now();
        let mut looked: Option<Instant> = None;
        loop {
            pipes.wait();
            pipes.write();
            pipes.read(self.max_output, name)?;
            if let Some(status) = child.try_wait().map_err(broken)? {
                return Ok(status);
            }
            if looked.is_some_and(|looked| looked.elapsed() < LOOK) {
                continue;
            }
            looked = Some(Instant::now());
            if let Some(watch) = &mut self.watch {
                watch()?;
            }
            if is_stopped(child) {
                let message = format!("`{name}` asks for something on the terminal");
                let hint = "sign in with it once by hand, so that it needn't ask";
                return Err(ImportError::unreachable(message, hint));
            }
            if start.elapsed() >= self.timeout {
                let seconds = self.timeout.as_secs();
                let message = format!("`{name}` took longer than {seconds} s");
                let hint = "try again, or try the same by hand to see what it waits for";
                return Err(ImportError::unreachable(message, hint));
            }
        }
    }
}

/// The pipes to and from a program.
struct Pipes {
    input: Option<(ChildStdin, Vec<u8>)>,
    output: Option<ChildStdout>,
    messages: Option<ChildStderr>,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Pipes {
    fn new(child: &mut Child, input: Option<Vec<u8>>) -> Self {
        Self {
            input: child.stdin.take().zip(input),
            output: child.stdout.take(),
            messages: child.stderr.take(),
            stdout: Vec::new(),
            stderr: Vec::new(),
        }
    }

    /// Makes reads and writes return at once. The ends of the program stay as they are.
    fn unblock(&self) -> Result<(), rustix::io::Errno> {
        let unblock = |end: &dyn AsFd| {
            let end = end.as_fd();
            fcntl_setfl(end, fcntl_getfl(end)? | OFlags::NONBLOCK)
        };
        self.input.iter().try_for_each(|(end, _)| unblock(end))?;
        self.output.iter().try_for_each(|end| unblock(end))?;
        self.messages.iter().try_for_each(|end| unblock(end))
    }

    /// Waits until a pipe can be used, or a moment.
    fn wait(&self) {
        let mut ends = Vec::with_capacity(3);
        if let Some((end, _)) = &self.input {
            ends.push(PollFd::new(end, PollFlags::OUT));
        }
        if let Some(end) = &self.output {
            ends.push(PollFd::new(end, PollFlags::IN));
        }
        if let Some(end) = &self.messages {
            ends.push(PollFd::new(end, PollFlags::IN));
        }
        let time = if self.output.is_none() && self.messages.is_none() {
            LAST_LOOK
        } else {
            LOOK
        };
        let time = Timespec {
            tv_sec: 0,
            tv_nsec: time.subsec_nanos().into(),
        };
        // An interrupted wait is only shorter.
        let _ = poll(&mut ends, Some(&time));
    }

    fn write(&mut self) {
        let Some((end, rest)) = &mut self.input else {
            return;
        };
        match end.write(rest) {
            Ok(written) => drop(rest.drain(..written.min(rest.len()))),
            Err(error) if is_later(&error) => return,
            // It doesn't want the rest; its exit status says why.
            Err(_) => rest.clear(),
        }
        if rest.is_empty() {
            self.input = None;
        }
    }

    /// Reads what there is.
    fn read(&mut self, max_output: u64, name: &str) -> Result<(), ImportError> {
        let max = usize::try_from(max_output).unwrap_or(usize::MAX);
        while read_chunk(&mut self.output, &mut self.stdout) {
            if self.stdout.len() > max {
                return Err(ImportError::too_large(format!(
                    "`{name}` writes more than {max_output} bytes"
                )));
            }
        }
        // A program that only writes messages must not keep this loop from the clock.
        for _ in 0..MAX_MESSAGES {
            if !read_chunk(&mut self.messages, &mut self.stderr) {
                break;
            }
            let surplus = self.stderr.len().saturating_sub(MAX_MESSAGES);
            self.stderr.drain(..surplus);
        }
        Ok(())
    }
}

/// Reads once; false when nothing is there. The pipe is dropped at its end.
fn read_chunk(pipe: &mut Option<impl Read>, bytes: &mut Vec<u8>) -> bool {
    let Some(end) = pipe else { return false };
    let old = bytes.len();
    bytes.resize(old + CHUNK, 0);
    let read = bytes.get_mut(old..).map_or(Ok(0), |chunk| end.read(chunk));
    bytes.truncate(old + *read.as_ref().unwrap_or(&0));
    match read {
        Ok(1..) => return true,
        Err(error) if is_later(&error) => {}
        Ok(0) | Err(_) => *pipe = None,
    }
    false
}

fn is_later(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// The id of a program, which is that of its process group, too.
fn group(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

/// Returns true if the terminal stopped the program because it asked there.
fn is_stopped(child: &Child) -> bool {
    let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG;
    group(child).is_some_and(|id| {
        let stopped = waitid(WaitId::Pid(id), options);
        stopped.is_ok_and(|status| status.is_some_and(|status| status.stopped()))
    })
}

/// Ends a program and all that it started in its group.
fn end(child: &mut Child) {
    if let Some(group) = group(child) {
        // It may have ended just now.
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
}

#[cfg(test)]
mod tests;
