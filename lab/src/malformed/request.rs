//! Requests of HTTP, and what can be done to them.

use serde_json::Value;

use super::message::{Era, Message, message};
use crate::random::Random;

/// The longest body that the server reads, in bytes.
pub(super) const MAX_BODY_BYTES: usize = 8 << 20;

/// A request as it goes onto the wire.
pub(super) struct Request {
    /// The change that was made.
    pub(super) kind: &'static str,
    pub(super) bytes: Vec<u8>,
    /// The body, where only that was changed: then it is owed what a line would be.
    pub(super) body: Option<Vec<u8>>,
    /// Its end is clear, so there is an answer to it; otherwise the connection may be
    /// closed without one.
    pub(super) whole: bool,
    /// Nothing follows on this connection.
    pub(super) last: bool,
}

/// The parts of a request.
struct Parts {
    line: String,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

impl Parts {
    fn set(&mut self, name: &'static str, value: impl Into<String>) {
        self.headers.retain(|(known, _)| *known != name);
        self.headers.push((name, value.into()));
    }

    fn remove(&mut self, name: &str) {
        self.headers.retain(|(known, _)| *known != name);
    }

    fn head(&self) -> String {
        let headers = self.headers.iter();
        let headers = headers.map(|(name, value)| format!("{name}: {value}"));
        let lines: Vec<String> = [self.line.clone()].into_iter().chain(headers).collect();
        format!("{}\r\n\r\n", lines.join("\r\n"))
    }

    fn bytes(&self) -> Vec<u8> {
        [self.head().as_bytes(), &self.body].concat()
    }
}

const HOST: &str = "Host";
const TYPE: &str = "Content-Type";
const ACCEPT: &str = "Accept";
const LENGTH: &str = "Content-Length";
const CODING: &str = "Transfer-Encoding";
const ORIGIN: &str = "Origin";
const SESSION: &str = "Mcp-Session-Id";
const VERSION: &str = "MCP-Protocol-Version";
const METHOD: &str = "Mcp-Method";
const NAME: &str = "Mcp-Name";

/// The headers whose values are changed, each with values that it shouldn't have.
const VALUES: [(&str, &str, &[&str]); 8] = [
    (
        "content type",
        TYPE,
        &[
            "",
            "text/plain",
            "application/jsonx",
            "application/json; charset=utf-16",
            "multipart/form-data; boundary=x",
            "\u{1}",
            "*/*",
        ],
    ),
    (
        "accept",
        ACCEPT,
        &[
            "",
            "text/html",
            "application/json",
            "text/event-stream",
            "*/*;q=0",
            ",,,",
            "\u{7f}",
        ],
    ),
    (
        "revision",
        VERSION,
        &[
            "",
            "1999-01-01",
            "2999-01-01",
            "2026-07-28",
            "2024-11-05",
            "2025-11-25 ",
            "x",
            "2025-06-18, 2026-07-28",
        ],
    ),
    (
        "mcp-method",
        METHOD,
        &[
            "",
            "tools/list",
            "no/such",
            "TOOLS/CALL",
            "a b",
            "=?base64?eA==?=",
        ],
    ),
    (
        "mcp-name",
        NAME,
        &[
            "",
            "other",
            "=?base64?%%%?=",
            "=?base64?eA==?=",
            "../..",
            "\u{e9}",
        ],
    ),
    (
        "session",
        SESSION,
        &[
            "",
            "x",
            "00000000-0000-0000-0000-000000000000",
            "a b",
            "../../x",
            "\u{1}",
        ],
    ),
    (
        "host",
        HOST,
        &[
            "",
            "evil.example",
            "127.0.0.1.evil.example",
            "localhost:1:2",
            "user@localhost",
            "[::1",
            "\u{e9}",
            "127.0.0.1, evil.example",
        ],
    ),
    (
        "origin",
        ORIGIN,
        &[
            "",
            "null",
            "http://evil.example",
            "file://",
            "http://localhost.evil.example",
            "x",
            "http://127.0.0.1:1 http://evil.example",
        ],
    ),
];

const LINES: [&str; 24] = [
    "GET /mcp HTTP/1.1",
    "PUT /mcp HTTP/1.1",
    "DELETE /mcp HTTP/1.1",
    "PATCH /mcp HTTP/1.1",
    "OPTIONS /mcp HTTP/1.1",
    "TRACE /mcp HTTP/1.1",
    "FOO /mcp HTTP/1.1",
    "post /mcp HTTP/1.1",
    "POST / HTTP/1.1",
    "POST /mcp/ HTTP/1.1",
    "POST //mcp HTTP/1.1",
    "POST /mcp/../mcp HTTP/1.1",
    "POST /mcp?profile=none HTTP/1.1",
    "POST /mcp?profile=standard,standard&profile=%ff HTTP/1.1",
    "POST /%6dcp HTTP/1.1",
    "POST /sse HTTP/1.1",
    "POST http://evil.example/mcp HTTP/1.1",
    "POST http://127.0.0.1/mcp HTTP/1.1",
    "POST * HTTP/1.1",
    "POST /mcp HTTP/1.0",
    "GET /health HTTP/1.1",
    "GET /metrics HTTP/1.1",
    "POST /health HTTP/1.1",
    "GET /../../etc/passwd HTTP/1.1",
];

const NO_LINES: [&str; 10] = [
    "",
    "POST",
    "POST /mcp",
    "POST /mcp HTTP/9.9",
    "POST /mcp HTTP/2.0",
    "POST /mcp HTTX/1.1",
    " POST /mcp HTTP/1.1",
    "POST /m cp HTTP/1.1",
    "POST /\u{0} HTTP/1.1",
    "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}",
];

/// Lines that no head of a request may have.
const NO_HEADERS: [&str; 10] = [
    "no colon",
    ": no name",
    "Na me: x",
    "Name : x",
    "X: \u{0}",
    " folded: x",
    "X: a\n b",
    "\u{e9}: x",
    "X: a\rb",
    "Content-Length: 1\r\nContent-Length: 2",
];

/// Wrong values of `Content-Length`.
const LENGTHS: [&str; 9] = [
    "-1",
    "1e3",
    "0x10",
    "99999999999999999999999",
    "",
    "5, 5",
    "5, 6",
    "+5",
    "\u{660}",
];

/// Bodies in pieces that aren't.
const CHUNKS: [&str; 10] = [
    "x\r\n{}\r\n0\r\n\r\n",
    "-2\r\n{}\r\n0\r\n\r\n",
    "ffffffffffffffffff\r\n{}\r\n",
    "2\r\n{}x\r\n0\r\n\r\n",
    "2\n{}\n0\n\n",
    "2;a=\"\u{0}\r\n{}\r\n0\r\n\r\n",
    "2\r\n{}\r\n0\r\nno colon\r\n\r\n",
    "2\r\n{}",
    "\r\n",
    "",
];

/// The request of this number, in this session.
pub(super) fn request(
    random: &mut Random,
    number: u64,
    era: Era,
    host: &str,
    session: Option<&str>,
) -> Request {
    let Message { kind, bytes } = message(random, number, MAX_BODY_BYTES, era);
    if random.one_in(2) || kind == "too large" {
        let parts = parts(&bytes, era, host, session);
        return Request {
            kind,
            bytes: parts.bytes(),
            body: Some(bytes),
            whole: kind != "too large",
            last: kind == "too large",
        };
    }
    changed(random, parts(&bytes, era, host, session))
}

/// A request that is as it should be.
pub(super) fn sound(body: &[u8], era: Era, host: &str, session: Option<&str>) -> Vec<u8> {
    parts(body, era, host, session).bytes()
}

/// A request whose headers fit its body as far as the body can be read.
fn parts(body: &[u8], era: Era, host: &str, session: Option<&str>) -> Parts {
    let mut parts = Parts {
        line: "POST /mcp HTTP/1.1".to_owned(),
        headers: Vec::new(),
        body: body.to_vec(),
    };
    parts.set(HOST, host);
    parts.set(TYPE, "application/json");
    parts.set(ACCEPT, "application/json, text/event-stream");
    parts.set(LENGTH, body.len().to_string());
    if let Some(session) = session {
        parts.set(SESSION, session);
        parts.set(VERSION, "2025-11-25");
    }
    if era == Era::Stateless {
        parts.set(VERSION, "2026-07-28");
        let message: Value = serde_json::from_slice(body).unwrap_or_default();
        let text = |pointer: &str| message.pointer(pointer).and_then(Value::as_str);
        let is_header = |text: &&str| text.bytes().all(|byte| (0x21..0x7f).contains(&byte));
        if let Some(method) = text("/method").filter(is_header) {
            parts.set(METHOD, method);
        }
        let name = text("/params/name").or_else(|| text("/params/uri"));
        if let Some(name) = name.filter(is_header) {
            parts.set(NAME, name);
        }
    }
    parts
}

/// Something is done to what stands around the body.
fn changed(random: &mut Random, mut parts: Parts) -> Request {
    let mut request = Request {
        kind: "",
        bytes: Vec::new(),
        body: None,
        whole: true,
        last: false,
    };
    let choice = random.below(VALUES.len() + 9);
    if let Some((kind, name, values)) = VALUES.get(choice) {
        request.kind = kind;
        match random.below(4) {
            0 => parts.remove(name),
            1 => {
                let value = random.pick(values);
                parts.headers.push((name, value.to_owned()));
            }
            2 => parts.set(name, "x".repeat(random.length(8_000))),
            _ => parts.set(name, random.pick(values)),
        }
        request.bytes = parts.bytes();
        // A control character in a value, or no host, isn't a request at all.
        request.whole = false;
        return request;
    }
    request.whole = false;
    request.last = true;
    match choice - VALUES.len() {
        0 | 1 => {
            request.kind = "another line";
            random.pick(&LINES).clone_into(&mut parts.line);
            request.whole = !parts.line.contains("HTTP/1.0");
            request.last = !request.whole;
            request.bytes = parts.bytes();
        }
        2 => {
            request.kind = "no line";
            random.pick(&NO_LINES).clone_into(&mut parts.line);
            request.bytes = parts.bytes();
        }
        3 => {
            request.kind = "no header";
            parts.line += "\r\n";
            parts.line += random.pick(&NO_HEADERS);
            request.bytes = parts.bytes();
        }
        4 => {
            request.kind = "a length that is none";
            parts.set(LENGTH, random.pick(&LENGTHS));
            request.bytes = parts.bytes();
        }
        5 => {
            request.kind = "another length";
            let length = parts.body.len();
            let shorter = random.below(length.max(1));
            let wrong = random.pick(&[shorter, length + 1, length + 10_000, MAX_BODY_BYTES + 1, 0]);
            parts.set(LENGTH, wrong.to_string());
            request.bytes = parts.bytes();
        }
        6 => {
            request.kind = "chunks that are none";
            parts.remove(LENGTH);
            parts.set(
                CODING,
                random.pick(&["chunked", "chunked", "gzip, chunked", "chunked, x", "x"]),
            );
            if random.one_in(4) {
                parts.set(LENGTH, "2");
            }
            random.pick(&CHUNKS).as_bytes().clone_into(&mut parts.body);
            request.bytes = parts.bytes();
        }
        7 => {
            request.kind = "a huge head";
            for _ in 0..random.pick(&[101, 1_000, 20_000]) {
                parts.headers.push(("X-More", "x".repeat(20)));
            }
            request.bytes = parts.bytes();
        }
        _ => {
            request.kind = "a head with bits flipped";
            request.bytes = parts.bytes();
            let head = parts.head().len();
            for _ in 0..=random.below(3) {
                let (at, bit) = (random.below(head), random.below(8));
                if let Some(byte) = request.bytes.get_mut(at) {
                    *byte ^= 1 << bit;
                }
            }
        }
    }
    request
}
