//! A client of the server over HTTP: plain requests on plain sockets, and nothing that can hang.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::process::Child;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use gongfu_testing::client::TIMEOUT;
use serde_json::{Value, json};

use crate::fixture::{Run, collected, ended};

/// What the newest revision wants with each request, besides its method and name.
const META: &str = "io.modelcontextprotocol";

/// A server that runs, and where it is.
pub(crate) struct Site {
    child: Child,
    /// What it said that it is: a URL, or the address of a Unix socket.
    pub(crate) url: String,
    stderr: Option<JoinHandle<Vec<u8>>>,
    next: AtomicU64,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Reply {
    /// Reads the bytes of an answer; the pieces of a chunked body are put together.
    pub(crate) fn read(answer: &[u8]) -> Self {
        let text = String::from_utf8_lossy(answer);
        let (head, rest) = text
            .split_once("\r\n\r\n")
            .unwrap_or_else(|| panic!("no head: {text:?}"));
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        let body = if head
            .to_ascii_lowercase()
            .contains("transfer-encoding: chunked")
        {
            unchunked(rest)
        } else {
            rest.to_owned()
        };
        Self {
            status: status.unwrap_or_else(|| panic!("no status: {head}")),
            head: head.to_owned(),
            body,
        }
    }

    /// The value of a header, which must be there.
    pub(crate) fn header(&self, name: &str) -> &str {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(':'));
        let found = lines.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found
            .unwrap_or_else(|| panic!("no {name} in {}", self.head))
            .1
            .trim()
    }

    /// The body, or the last message of a stream, as JSON.
    pub(crate) fn json(&self) -> Value {
        let text = if self.head.contains("text/event-stream") {
            let mut data = self
                .body
                .lines()
                .filter_map(|line| line.strip_prefix("data: "));
            data.rfind(|data| data.starts_with('{')).unwrap_or_default()
        } else {
            &self.body
        };
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

impl Site {
    /// Starts a server and waits until it says where it is.
    pub(crate) fn start(run: &Run) -> Self {
        let mut child = run.start();
        let stderr = collected(child.stderr.take());
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let Some((_, url)) = line.trim_end().split_once(" serves MCP at ") else {
            let _ = child.kill();
            panic!(
                "{line:?}: {}",
                String::from_utf8_lossy(&stderr.join().unwrap())
            );
        };
        Self {
            child,
            url: url.to_owned(),
            stderr: Some(stderr),
            next: AtomicU64::new(1),
        }
    }

    /// The authority that it listens at.
    pub(crate) fn authority(&self) -> &str {
        let rest = self.url.strip_prefix("http://").unwrap();
        rest.split('/').next().unwrap()
    }

    /// Makes it stand still, and waits until it does.
    #[cfg(unix)]
    pub(crate) fn halt(&self) {
        use rustix::process::{Signal, WaitOptions, kill_process, waitpid};
        kill_process(self.process(), Signal::STOP).unwrap();
        waitpid(Some(self.process()), WaitOptions::UNTRACED).unwrap();
    }

    /// Lets it go on.
    #[cfg(unix)]
    pub(crate) fn resume(&self) {
        rustix::process::kill_process(self.process(), rustix::process::Signal::CONT).unwrap();
    }

    #[cfg(unix)]
    fn process(&self) -> rustix::process::Pid {
        rustix::process::Pid::from_child(&self.child)
    }

    /// A connection to it.
    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.authority()).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream
    }

    /// A request as it stands on the wire.
    pub(crate) fn wire(method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> String {
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        if !headers.iter().any(|(name, _)| *name == "host") {
            head += "host: localhost\r\n";
        }
        for (name, value) in headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        if matches!(method, "POST" | "PUT") {
            let _ = write!(
                head,
                "content-type: application/json\r\ncontent-length: {}\r\n",
                body.len()
            );
        }
        format!("{head}\r\n{body}")
    }

    /// Sends a request on a connection of its own and reads the whole answer.
    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Reply {
        let mut headers = headers.to_vec();
        headers.push(("connection", "close"));
        let wire = Self::wire(method, path, &headers, body);
        let mut answer = Vec::new();
        if let Some(path) = self.url.strip_prefix("unix:") {
            #[cfg(unix)]
            {
                let mut stream = UnixStream::connect(path).unwrap();
                stream.set_read_timeout(Some(TIMEOUT)).unwrap();
                stream.write_all(wire.as_bytes()).unwrap();
                stream.read_to_end(&mut answer).unwrap();
            }
        } else {
            let mut stream = self.connect();
            stream.write_all(wire.as_bytes()).unwrap();
            stream.read_to_end(&mut answer).unwrap();
        }
        Reply::read(&answer)
    }

    /// A message of the newest revision, to an address of MCP.
    pub(crate) fn ask_at(&self, path: &str, method: &str, params: Value) -> Reply {
        self.ask_with(path, &[], method, params)
    }

    /// The same with more headers.
    pub(crate) fn ask_with(
        &self,
        path: &str,
        more: &[(&str, &str)],
        method: &str,
        mut params: Value,
    ) -> Reply {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        params["_meta"] = json!({
            format!("{META}/protocolVersion"): "2026-07-28",
            format!("{META}/clientInfo"): {"name": "test", "version": "1"},
            format!("{META}/clientCapabilities"): {},
        });
        let name = params.get("name").or_else(|| params.get("uri")).cloned();
        let mut headers = vec![
            ("accept", "application/json, text/event-stream"),
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", method),
        ];
        headers.extend(more);
        if let Some(Value::String(name)) = &name {
            headers.push(("mcp-name", name));
        }
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send("POST", path, &headers, &body.to_string())
    }

    /// A message of the newest revision; its result, which must be there.
    pub(crate) fn ask(&self, method: &str, params: Value) -> Value {
        let reply = self.ask_at("/mcp", method, params);
        assert_eq!(reply.status, 200, "{reply:#?}");
        reply.json()["result"].clone()
    }

    /// A session of an older revision: its id.
    pub(crate) fn open(&self, version: &str) -> String {
        let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}});
        let reply = self.send("POST", "/mcp", &[], &body.to_string());
        assert_eq!(
            reply.json()["result"]["protocolVersion"],
            version,
            "{reply:#?}"
        );
        let id = reply.header("mcp-session-id").to_owned();
        let body = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let reply = self.send(
            "POST",
            "/mcp",
            &[("mcp-session-id", &id)],
            &body.to_string(),
        );
        assert_eq!(reply.status, 202, "{reply:#?}");
        id
    }

    /// A message within a session; its result, which must be there.
    pub(crate) fn ask_in(&self, session: &str, method: &str, params: Value) -> Value {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let reply = self.send(
            "POST",
            "/mcp",
            &[("mcp-session-id", session)],
            &body.to_string(),
        );
        assert_eq!(reply.status, 200, "{reply:#?}");
        reply.json()["result"].clone()
    }

    /// Asks it to end as the system does, and waits until it has: its exit code and its log.
    #[cfg(unix)]
    pub(crate) fn terminate(mut self) -> (Option<i32>, String) {
        rustix::process::kill_process(self.process(), rustix::process::Signal::TERM).unwrap();
        let status = ended(&mut self.child, TIMEOUT);
        let log = self.stderr.take().unwrap().join().unwrap();
        (
            status.and_then(|status| status.code()),
            String::from_utf8_lossy(&log).into_owned(),
        )
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if self.child.try_wait().ok().flatten().is_none() {
            let _ = self.child.kill();
            let _ = ended(&mut self.child, Duration::from_secs(5));
        }
    }
}

fn unchunked(mut rest: &str) -> String {
    let mut body = String::new();
    while let Some((length, tail)) = rest.split_once("\r\n") {
        let length = usize::from_str_radix(length.trim(), 16).unwrap();
        if length == 0 {
            break;
        }
        body.push_str(&tail[..length]);
        rest = &tail[length + 2..];
    }
    body
}
