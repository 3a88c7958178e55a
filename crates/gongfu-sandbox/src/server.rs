//! A program that goes on in the sandbox, as another MCP server does: with pipes, as if it were started outside.

use std::fs::File;
use std::io::{self, Write as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use gongfu_core::account::Owner;
use gongfu_core::port::{Listener, PortError, Process};
use gongfu_core::sandbox::{Dialogue, Exit, Input, Outcome, Reason, Spec, Stream};

use crate::Runner;

/// The exit codes of shells for a program that isn't there, or can't be executed.
const NO_PROGRAM: [i32; 2] = [126, 127];

/// Starts a program in the sandbox. Its outputs are limited by their readers alone, and it ends with the answer's `end`.
///
/// # Errors
/// There can be no more pipes.
pub fn start_server(runner: Arc<Runner>, mut spec: Spec) -> io::Result<Process> {
    let ((their_input, input), (output, their_output), (error, their_error)) =
        (io::pipe()?, io::pipe()?, io::pipe()?);
    let reader = File::from(std::os::fd::OwnedFd::from(their_input));
    spec.input = Input::Reader(Arc::new(Mutex::new(reader)));
    spec.dialogue = Some(Dialogue {
        paused: Arc::new(|| Duration::ZERO),
    });
    spec.limits.wall = Dialogue::MAX_WALL;
    spec.limits.cpu = Dialogue::MAX_WALL;
    spec.limits.output = u64::MAX;
    let (out, error_out) = (Mutex::new(their_output), Mutex::new(their_error));
    let listener: Listener = Arc::new(move |stream, bytes| {
        let pipe = match stream {
            Stream::Stdout => &out,
            Stream::Stderr => &error_out,
        };
        // Once nobody reads, it is about to be ended.
        let mut pipe = pipe.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = pipe.write_all(bytes);
    });
    let end = async move {
        match runner.run(&Owner::Local, spec, listener).await {
            Ok(outcome) => Ok(told(&outcome)),
            Err(error) => {
                let why = format!("it can't be run in the sandbox: {error}");
                Err(PortError::Unavailable(why))
            }
        }
    };
    Ok(Process {
        input: input.into(),
        output: output.into(),
        error: error.into(),
        end: Box::pin(end),
        // Dropping `end` ends it.
        hold: Box::new(()),
    })
}

/// The end of a program, for people.
fn told(outcome: &Outcome) -> String {
    let limit = match outcome.reason {
        Reason::Oom => Some("it used more memory than its sandbox has"),
        Reason::Pids => Some("it started more processes than its sandbox has"),
        Reason::Disk => Some("it wrote more than its sandbox has room for"),
        Reason::Timeout => Some("it ran for longer than programs in the sandbox may"),
        Reason::Denied => Some("it made a system call that the sandbox refuses"),
        Reason::Ok | Reason::Output | Reason::Cancelled => None,
    };
    let said = String::from_utf8_lossy(&outcome.stderr.head);
    match (limit, outcome.exit) {
        (Some(limit), _) => limit.to_owned(),
        (None, Some(Exit::Code(code))) if NO_PROGRAM.contains(&code) && !said.is_empty() => {
            format!("it exited with code {code}: {}", said.trim_end())
        }
        (None, Some(Exit::Code(code))) => format!("it exited with code {code}"),
        (None, Some(Exit::Signal(signal))) => format!("it was ended by signal {signal}"),
        (None, None) => "it was ended".to_owned(),
    }
}
