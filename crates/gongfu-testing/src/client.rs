//! A client of MCP on lines of JSON: over pipes of a process or streams in memory.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::json::{failed, result, succeeded};

/// The time after which an answer that is missing counts as a hang.
pub const TIMEOUT: Duration = Duration::from_mins(1);

/// Both directions of a connection.
pub trait Transport {
    /// Sends bytes as they are.
    fn send(&mut self, bytes: &[u8]);

    /// The next line; `None` after the timeout or at the end.
    fn receive(&mut self, timeout: Duration) -> Option<String>;
}

/// A client of one server.
#[derive(Debug)]
pub struct Client<T> {
    /// The connection.
    pub transport: T,
    /// Messages that arrived while another one was awaited.
    early: VecDeque<Value>,
    next: u64,
}

impl<T: Transport> Client<T> {
    /// A client that has said nothing yet.
    pub fn new(transport: T) -> Self {
        Self {
            transport,
            early: VecDeque::new(),
            next: 0,
        }
    }

    /// Sends bytes as they are.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.transport.send(bytes);
    }

    /// Sends one message.
    pub fn send(&mut self, message: &Value) {
        self.raw(format!("{message}\n").as_bytes());
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Sends a request and doesn't wait for its response.
    pub fn begin(&mut self, id: impl Into<Value>, method: &str, params: Value) {
        let id = id.into();
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
    }

    /// Sends a request with this id; returns its response.
    pub fn request_as(&mut self, id: Value, method: &str, params: Value) -> Value {
        self.begin(id.clone(), method, params);
        self.response(&id)
    }

    /// Sends a request; returns its response.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        self.request_as(self.next.into(), method, params)
    }

    /// Sends a request; returns its result, which must be there.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        result(self.request(method, params))
    }

    /// The next message that hasn't been taken yet; `None` after the timeout.
    pub fn receive(&mut self, timeout: Duration) -> Option<Value> {
        let line = self.transport.receive(timeout)?;
        Some(message(&line))
    }

    /// The response to a request that was sent.
    ///
    /// # Panics
    /// It doesn't arrive in time.
    pub fn response(&mut self, id: &Value) -> Value {
        let is_it = |message: &Value| message.get("id") == Some(id);
        if let Some(index) = self.early.iter().position(is_it) {
            return self.early.remove(index).unwrap();
        }
        let started = Instant::now();
        while let Some(message) = self.receive(TIMEOUT.saturating_sub(started.elapsed())) {
            if is_it(&message) {
                return message;
            }
            self.early.push_back(message);
        }
        panic!("no response to {id}; before it came {:?}", self.early);
    }

    /// The number of notifications of this method so far; without any, waits for one.
    pub fn notified(&mut self, method: &str, timeout: Duration) -> usize {
        let is_it = |message: &Value| message.get("method") == Some(&method.into());
        let before = self.early.len();
        self.early.retain(|message| !is_it(message));
        let early = before - self.early.len();
        if early > 0 {
            return early;
        }
        let started = Instant::now();
        while let Some(message) = self.receive(timeout.saturating_sub(started.elapsed())) {
            if is_it(&message) {
                return 1;
            }
            self.early.push_back(message);
        }
        0
    }

    /// Greets the server; returns what it says about itself.
    pub fn initialize(&mut self, version: &str) -> Value {
        self.initialize_as(version, json!({}))
    }

    /// The same for a client with these capabilities.
    pub fn initialize_as(&mut self, version: &str, capabilities: Value) -> Value {
        let client = json!({ "name": "test", "version": "1" });
        self.introduce(version, capabilities, client)
    }

    /// The same for a client that calls itself by a name of its own.
    pub fn initialize_by_name(&mut self, version: &str, name: &str, its_version: &str) -> Value {
        let client = json!({ "name": name, "version": its_version });
        self.introduce(version, json!({}), client)
    }

    fn introduce(&mut self, version: &str, capabilities: Value, client: Value) -> Value {
        let params = json!({ "protocolVersion": version, "capabilities": capabilities, "clientInfo": client });
        let itself = self.ask("initialize", params);
        self.notify("notifications/initialized", json!({}));
        itself
    }

    /// Calls a tool; returns its result, which may be an error.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments });
        self.ask("tools/call", params)
    }

    /// Calls a tool, which must succeed; returns its result.
    pub fn good(&mut self, tool: &str, arguments: Value) -> Value {
        succeeded(self.call(tool, arguments))
    }

    /// Calls a tool, which must fail; returns the error.
    pub fn bad(&mut self, tool: &str, arguments: Value) -> Value {
        failed(&self.call(tool, arguments))
    }
}

/// A line as a message of JSON-RPC, which it must be.
///
/// # Panics
/// It is something else.
pub fn message(line: &str) -> Value {
    let message: Value =
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
    assert_eq!(message.get("jsonrpc"), Some(&"2.0".into()), "{line}");
    message
}
