//! A server on standard input and output: a process, and the client at its pipes.

use std::io::{BufRead as _, BufReader, Write as _};
use std::ops::{Deref, DerefMut};
use std::process::{Child, ChildStdin};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use gongfu_testing::client::{self, TIMEOUT, Transport, message};
use serde_json::Value;

use crate::fixture::{Run, collected};

/// A client of a server that runs.
pub(crate) struct Client(client::Client<Process>);

/// A server that runs, and the client's end of its pipes.
pub(crate) struct Process {
    child: Arc<Mutex<Child>>,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    stderr: Option<JoinHandle<Vec<u8>>>,
    /// Dropped with the client, which ends the watchdog.
    _leash: Sender<()>,
}

/// How a server ended.
pub(crate) struct End {
    pub(crate) code: Option<i32>,
    /// The messages that were not taken before.
    pub(crate) messages: Vec<Value>,
    pub(crate) stderr: String,
    pub(crate) took: Duration,
}

impl Deref for Client {
    type Target = client::Client<Process>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Client {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl Transport for Process {
    fn send(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(bytes).and_then(|()| stdin.flush()).unwrap();
    }

    fn receive(&mut self, timeout: Duration) -> Option<String> {
        self.lines.recv_timeout(timeout).ok()
    }
}

impl Client {
    /// Starts a server; a watchdog ends it when the test takes far too long.
    pub(crate) fn start(run: &Run) -> Self {
        let mut child = run.start();
        let stdin = child.stdin.take();
        let stderr = collected(child.stderr.take());
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in stdout.split(b'\n').map_while(Result::ok) {
                if sender.send(String::from_utf8(line).unwrap()).is_err() {
                    return;
                }
            }
        });
        let child = Arc::new(Mutex::new(child));
        let (leash, watched) = mpsc::channel::<()>();
        let guarded = Arc::clone(&child);
        thread::spawn(move || {
            if watched.recv_timeout(2 * TIMEOUT) == Err(mpsc::RecvTimeoutError::Timeout) {
                let _ = guarded.lock().unwrap().kill();
            }
        });
        Self(client::Client::new(Process {
            child,
            stdin,
            lines,
            stderr: Some(stderr),
            _leash: leash,
        }))
    }

    /// The number of the process.
    pub(crate) fn id(&self) -> u32 {
        self.transport.child.lock().unwrap().id()
    }

    /// Closes standard input and waits for the end.
    pub(crate) fn close(mut self) -> End {
        self.transport.stdin = None;
        self.ended()
    }

    /// Waits for the end; by then it must have said nothing but messages, and panicked nowhere.
    pub(crate) fn ended(mut self) -> End {
        let process = &mut self.0.transport;
        let started = Instant::now();
        let code = loop {
            if let Some(status) = process.child.lock().unwrap().try_wait().unwrap() {
                break status.code();
            }
            assert!(started.elapsed() < TIMEOUT, "the server doesn't end");
            thread::sleep(Duration::from_millis(2));
        };
        let took = started.elapsed();
        let messages = process.lines.iter().map(|line| message(&line)).collect();
        let stderr = process.stderr.take().unwrap().join().unwrap();
        let stderr = String::from_utf8_lossy(&stderr).into_owned();
        assert!(!stderr.contains("panicked"), "{stderr}");
        End {
            code,
            messages,
            stderr,
            took,
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Ok(mut child) = self.child.lock() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
