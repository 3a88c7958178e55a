//! A client of the server on standard input and output: lines of JSON, and nothing that can hang.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::world::{PATIENCE, Run, collected, text_at};

/// A server that runs, and the client's end of its pipes.
pub(crate) struct Client {
    child: Arc<Mutex<Child>>,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    stderr: Option<JoinHandle<Vec<u8>>>,
    /// Answers that came while another one was waited for.
    early: VecDeque<Value>,
    next: u64,
    /// Dropped with the client, which tells the watchdog to go.
    _leash: Sender<()>,
}

/// How a server ended.
pub(crate) struct End {
    pub(crate) code: Option<i32>,
    /// What it still said before its end.
    pub(crate) messages: Vec<Value>,
    pub(crate) stderr: String,
    pub(crate) took: Duration,
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
            if watched.recv_timeout(2 * PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
                let _ = guarded.lock().unwrap().kill();
            }
        });
        Self {
            child,
            stdin,
            lines,
            stderr: Some(stderr),
            early: VecDeque::new(),
            next: 0,
            _leash: leash,
        }
    }

    /// The number of the process.
    pub(crate) fn id(&self) -> u32 {
        self.child.lock().unwrap().id()
    }

    /// Sends bytes as they are.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(bytes).and_then(|()| stdin.flush()).unwrap();
    }

    /// Sends one message.
    pub(crate) fn send(&mut self, message: &Value) {
        self.raw(format!("{message}\n").as_bytes());
    }

    /// The next message, which must be one of JSON-RPC; `None` when there is none for that long.
    pub(crate) fn receive(&mut self, patience: Duration) -> Option<Value> {
        self.lines
            .recv_timeout(patience)
            .ok()
            .map(|line| message(&line))
    }

    /// Sends a request with an id of its own choice; answers its response.
    pub(crate) fn request_as(&mut self, id: Value, method: &str, params: Value) -> Value {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        self.response(&id)
    }

    /// Sends a request; answers its response.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        self.request_as(self.next.into(), method, params)
    }

    /// The response to a request that was sent.
    pub(crate) fn response(&mut self, id: &Value) -> Value {
        if let Some(at) = self
            .early
            .iter()
            .position(|message| message.get("id") == Some(id))
        {
            return self.early.remove(at).unwrap();
        }
        let started = Instant::now();
        while let Some(message) = self.receive(PATIENCE.saturating_sub(started.elapsed())) {
            if message.get("id") == Some(id) {
                return message;
            }
            self.early.push_back(message);
        }
        panic!("no response to {id}; before it came {:?}", self.early);
    }

    /// How many notifications of this method came until now and within the next moments.
    pub(crate) fn notified(&mut self, method: &str, patience: Duration) -> usize {
        let is_it = |message: &Value| message.get("method") == Some(&method.into());
        let before = self.early.len();
        self.early.retain(|message| !is_it(message));
        let early = before - self.early.len();
        if early > 0 {
            return early;
        }
        let started = Instant::now();
        while let Some(message) = self.receive(patience.saturating_sub(started.elapsed())) {
            if is_it(&message) {
                return 1;
            }
            self.early.push_back(message);
        }
        0
    }

    /// Sends a notification.
    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Greets the server; answers what it says about itself.
    pub(crate) fn initialize(&mut self, version: &str) -> Value {
        self.initialize_as(version, json!({}))
    }

    /// The same for a client that can do this.
    pub(crate) fn initialize_as(&mut self, version: &str, capabilities: Value) -> Value {
        let client = json!({ "name": "test", "version": "1" });
        let response = self.request(
            "initialize",
            json!({ "protocolVersion": version, "capabilities": capabilities, "clientInfo": client }),
        );
        self.notify("notifications/initialized", json!({}));
        result(response)
    }

    /// Calls a tool; answers its result, which may be an error of the tool.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let response = self.request(
            "tools/call",
            json!({ "name": tool, "arguments": arguments }),
        );
        result(response)
    }

    /// Calls a tool, which must succeed; answers its result.
    pub(crate) fn good(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments);
        assert_ne!(
            result.get("isError"),
            Some(&Value::Bool(true)),
            "{result:#}"
        );
        result
    }

    /// Calls a tool, which must fail with a code and a hint; answers the error.
    pub(crate) fn bad(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments);
        assert_eq!(
            result.get("isError"),
            Some(&Value::Bool(true)),
            "{result:#}"
        );
        told(&result)
    }

    /// Closes standard input and waits for the end.
    pub(crate) fn close(mut self) -> End {
        self.stdin = None;
        self.ended()
    }

    /// Waits for the end; by then it must have said nothing but messages, and panicked nowhere.
    pub(crate) fn ended(mut self) -> End {
        let started = Instant::now();
        let code = loop {
            if let Some(status) = self.child.lock().unwrap().try_wait().unwrap() {
                break status.code();
            }
            assert!(started.elapsed() < PATIENCE, "the server doesn't end");
            thread::sleep(Duration::from_millis(2));
        };
        let took = started.elapsed();
        let messages = self.lines.iter().map(|line| message(&line)).collect();
        let stderr = self.stderr.take().unwrap().join().unwrap();
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

impl Drop for Client {
    fn drop(&mut self) {
        if let Ok(mut child) = self.child.lock() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A line as a message of JSON-RPC: standard output carries nothing else.
fn message(line: &str) -> Value {
    let message: Value =
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
    assert_eq!(message.get("jsonrpc"), Some(&"2.0".into()), "{line}");
    message
}

/// The result of a response.
pub(crate) fn result(mut response: Value) -> Value {
    match response.get_mut("result") {
        Some(result) => result.take(),
        None => panic!("no result: {response:#}"),
    }
}

/// What a failed call says for programs; a code, a message and a hint are always there.
pub(crate) fn told(result: &Value) -> Value {
    let error = result
        .get("structuredContent")
        .unwrap_or_else(|| panic!("no error: {result:#}"));
    for part in ["/code", "/message", "/hint"] {
        assert!(!text_at(error, part).is_empty(), "no {part}: {error:#}");
    }
    let shown = text_at(result, "/content/0/text");
    assert!(shown.starts_with(text_at(error, "/code")), "{shown}");
    error.clone()
}
