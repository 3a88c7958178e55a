//! One JSON-RPC message of a client, judged from its bytes.
//!
//! Knows no transport: what a line or a body may weigh, and whether a refusal is a line or a
//! status, is theirs. What is accepted is what `rmcp` accepts; what isn't is looked at once more, to
//! say what is wrong and to whom the answer goes.
//!
//! An `id` that can't be told is left out of the answer, never `null`: MCP knows no id of that kind
//! in any revision, and strict clients would drop the whole answer. A name that stands twice is
//! refused where the protocol itself reads it (the message, and `params` of a known method); inside
//! the arguments of a tool the last one counts, for the check and for the tool alike, because both
//! read the same value.

mod glimpse;
pub(crate) mod params;

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage,
};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::{Value, json};

/// A message that can be acted upon.
pub(crate) type Incoming = ClientJsonRpcMessage;

/// The longest message that is read from a line, in bytes.
pub(crate) const MAX_BYTES: usize = 16 << 20;
/// How deep objects and arrays of a message may lie in each other: the parser's own limit.
pub(crate) const MAX_DEPTH: usize = 127;
/// How many values a message may have. A value of one byte becomes hundreds while it is read, so a
/// message of nothing but small ones would take a hundred times its own size; what is large for a
/// reason has long texts.
pub(crate) const MAX_VALUES: usize = 100_000;
/// The mark that some programs put before a text.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";
/// What begins a session in the older revisions.
const INITIALIZE: &str = "initialize";
/// Where a request of 2026-07-28 says its revision.
const VERSION: &str = "/_meta/io.modelcontextprotocol~1protocolVersion";
/// The longest name out of a message that is repeated in an answer, in characters.
const MAX_QUOTE: usize = 100;

/// A message that nobody can act upon, and the error to answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Refusal {
    /// The request that is refused, where that can be told.
    pub(crate) id: Option<RequestId>,
    /// Code and text.
    pub(crate) error: ErrorData,
    /// Nobody waits for an answer.
    notification: bool,
}

impl Refusal {
    fn new(code: ErrorCode, text: impl Into<Cow<'static, str>>, id: Option<RequestId>) -> Self {
        Self {
            id,
            error: ErrorData::new(code, text, None),
            notification: false,
        }
    }

    /// A message that isn't one of the protocol.
    pub(crate) fn invalid(text: impl Into<Cow<'static, str>>, id: Option<RequestId>) -> Self {
        Self::new(ErrorCode::INVALID_REQUEST, text, id)
    }

    /// A message with more bytes than are taken here.
    pub(crate) fn too_large(limit: usize) -> Self {
        let mut refusal = Self::invalid(
            format!("the message is larger than {limit} bytes, which is the most that is read"),
            None,
        );
        refusal.error.data = Some(json!({"limit": limit}));
        refusal
    }

    /// Whether it is a notification, which a stream of lines never answers: one with parameters of
    /// the wrong form, or talk of another protocol, such as a language server's.
    pub(crate) fn is_notification(&self) -> bool {
        self.notification
    }

    /// What the client is told.
    pub(crate) fn answer(self) -> ServerJsonRpcMessage {
        ServerJsonRpcMessage::error(self.error, self.id)
    }
}

/// Reads one message.
///
/// # Errors
/// The bytes are no JSON (-32700), no message of JSON-RPC (-32600), or a request whose parameters
/// can't be read whatever its method is (-32602).
pub(crate) fn read(bytes: &[u8]) -> Result<Incoming, Box<Refusal>> {
    bounded(bytes)?;
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let place = error.valid_up_to();
        let mut refusal = Refusal::new(
            ErrorCode::PARSE_ERROR,
            format!("the message is not UTF-8: byte {place} belongs to no character"),
            glimpse::id(bytes),
        );
        refusal.error.data = Some(json!({"byte": place}));
        refusal
    })?;
    serde_json::from_str(text).map_err(|_| Box::new(refuse(text)))
}

/// Reads one message that begins a conversation, as [`read`] does.
///
/// # Errors
/// Those of [`read`], and those of [`greeting`].
pub(crate) fn read_first(bytes: &[u8]) -> Result<Incoming, Box<Refusal>> {
    let message = read(bytes)?;
    greeting(&message).map_or(Ok(message), Err)
}

/// What is wrong with a greeting of the older revisions that isn't one: `rmcp` takes it for a method
/// that nobody knows, and would ask for the session that it is meant to begin.
fn greeting(message: &Incoming) -> Option<Box<Refusal>> {
    let ClientJsonRpcMessage::Request(request) = message else {
        return None;
    };
    let ClientRequest::CustomRequest(custom) = &request.request else {
        return None;
    };
    let params = custom.params.as_ref();
    let version = params.and_then(|params| params.pointer(VERSION));
    if custom.method != INITIALIZE || version.is_some() {
        return None;
    }
    params::fault(INITIALIZE, params)?;
    let text = params::wrong(INITIALIZE, params);
    let id = Some(request.id.clone());
    Some(Box::new(Refusal::new(ErrorCode::INVALID_PARAMS, text, id)))
}

/// Refuses a request for a list whose cursor is none: `rmcp` would answer with the first page.
pub(crate) fn paged(bytes: &[u8]) -> Result<(), Box<Refusal>> {
    params::wrong_list(bytes).map_or(Ok(()), |(id, text)| {
        let refusal = Refusal::new(ErrorCode::INVALID_PARAMS, text, Some(id));
        Err(Box::new(refusal))
    })
}

/// The bytes without the mark that some programs put before a text.
pub(crate) fn unmarked(bytes: Bytes) -> Bytes {
    match bytes.strip_prefix(BYTE_ORDER_MARK) {
        Some(text) => bytes.slice_ref(text),
        None => bytes,
    }
}

/// Refuses a message with so many values that reading it alone would cost too much.
pub(crate) fn bounded(bytes: &[u8]) -> Result<(), Box<Refusal>> {
    // Between two values there is a comma, so a short message needn't be looked at.
    if bytes.len() <= 2 * MAX_VALUES || values(bytes) <= MAX_VALUES {
        return Ok(());
    }
    let text = format!("the message has more than {MAX_VALUES} values, which is the most");
    let mut refusal = Refusal::invalid(text, id(bytes));
    refusal.error.data = Some(json!({"limit": MAX_VALUES}));
    Err(Box::new(refusal))
}

/// About how many values there are: each follows a comma or opens something.
fn values(bytes: &[u8]) -> usize {
    let (mut count, mut text, mut escaped) = (0, false, false);
    for byte in bytes {
        if text {
            text = *byte != b'"' || escaped;
            escaped = *byte == b'\\' && !escaped;
        } else {
            text = *byte == b'"';
            count += usize::from(matches!(byte, b',' | b'[' | b'{'));
        }
    }
    count
}

/// The id of the request that these bytes are, or begin like, where it can be told.
pub(crate) fn id(bytes: &[u8]) -> Option<RequestId> {
    glimpse::id(bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes))
}

/// What is wrong with a message that `rmcp` didn't take.
fn refuse(text: &str) -> Refusal {
    // Unlike the message itself, this says what it was that couldn't be read.
    let envelope = match serde_json::from_str::<Envelope>(text) {
        Ok(envelope) => envelope,
        Err(error) if error.is_data() => match serde_json::from_str::<Value>(text) {
            Ok(value) => return not_an_object(&value),
            Err(error) => return not_json(text, &error),
        },
        Err(error) => return not_json(text, &error),
    };
    let id = envelope.id();
    match envelope.wrong_message() {
        Some(text) => Refusal {
            notification: envelope.is_foreign_notification(),
            ..Refusal::invalid(text, id)
        },
        None => Refusal {
            notification: id.is_none(),
            ..envelope.wrong_params(id)
        },
    }
}

fn not_json(text: &str, error: &serde_json::Error) -> Refusal {
    let id = glimpse::id(text.as_bytes());
    let said = error.to_string();
    let mut refusal = if said.starts_with("recursion limit exceeded") {
        let text = format!("the message is nested deeper than {MAX_DEPTH} levels");
        Refusal::invalid(text, id)
    } else {
        let text = format!("the message is not JSON: {said}");
        Refusal::new(ErrorCode::PARSE_ERROR, text, id)
    };
    refusal.error.data = Some(json!({"line": error.line(), "column": error.column()}));
    refusal
}

fn not_an_object(value: &Value) -> Refusal {
    let text = if value.is_array() {
        "batches are not supported: they were taken out of MCP with 2025-06-18; send each message \
         by itself"
            .to_owned()
    } else {
        format!("a message is a JSON object, this one is {}", kind(value))
    };
    Refusal::invalid(text, None)
}

/// What a value is, in words.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.is_f64() => "a number with a fraction or out of range",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// A name out of the message, cut so that an answer is never as long as what was sent.
fn quoted(name: &str) -> String {
    let mut short: String = name.chars().take(MAX_QUOTE).collect();
    if short.len() < name.len() {
        short.push('…');
    }
    format!("`{short}`")
}

/// The members of an object, in order and with those that stand twice.
struct Envelope(Vec<(String, Value)>);

impl Envelope {
    /// The members that a message may have; others are left alone, as `rmcp` does.
    const NAMES: [&'static str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];

    fn get(&self, name: &str) -> Option<&Value> {
        let mut members = self.0.iter().filter(|(known, _)| known == name);
        members.next().map(|(_, value)| value)
    }

    fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    fn twice(&self) -> Option<&'static str> {
        let count = |name: &str| self.0.iter().filter(|(known, _)| known == name).count();
        Self::NAMES.into_iter().find(|name| count(name) > 1)
    }

    /// Whom an error goes to.
    ///
    /// Never to the id of a broken answer: it counts requests of the server, and the client may have
    /// one of its own with the same.
    fn id(&self) -> Option<RequestId> {
        let ids = self.0.iter().filter(|(name, _)| name == "id").count();
        let request = self.has("method") || !(self.has("result") || self.has("error"));
        let id = self.get("id").filter(|_| request && ids == 1)?;
        RequestId::deserialize(id).ok()
    }

    fn is_foreign_notification(&self) -> bool {
        let method = self.get("method").and_then(Value::as_str);
        !self.has("id") && method.is_some_and(|method| !METHODS.contains(&method))
    }

    /// Why this is no message of JSON-RPC, if it isn't.
    fn wrong_message(&self) -> Option<Cow<'static, str>> {
        if let Some(name) = self.twice() {
            return Some(format!("`{name}` stands twice in the message").into());
        }
        let method = self.get("method");
        let (result, error) = (self.has("result"), self.has("error"));
        Some(match (self.get("jsonrpc"), method, self.get("id")) {
            (None, ..) => "`jsonrpc` is missing: every message says `\"jsonrpc\": \"2.0\"`".into(),
            (Some(Value::String(version)), ..) if version != "2.0" => {
                let version = quoted(version);
                format!("`jsonrpc` is \"2.0\" in every message, this one says {version}").into()
            }
            (Some(version), ..) if !version.is_string() => {
                let kind = kind(version);
                format!("`jsonrpc` is the string \"2.0\" in every message, this one is {kind}")
                    .into()
            }
            (_, Some(method), _) if !method.is_string() => {
                format!("`method` is a string, this one is {}", kind(method)).into()
            }
            (.., Some(id)) if RequestId::deserialize(id).is_err() => format!(
                "`id` is a string or an integer of at most 64 bits, this one is {}",
                kind(id)
            )
            .into(),
            (_, Some(_), _) if result || error => {
                "a message is a request or the answer of one: it can't have both `method` and \
                 `result` or `error`"
                    .into()
            }
            (_, None, _) if result && error => {
                "an answer has a `result` or an `error`, this one has both".into()
            }
            (_, None, None) if result => "an answer has the `id` of its request".into(),
            (_, None, _) if error => {
                "the `error` of an answer is an object with an integer `code` and a `message`"
                    .into()
            }
            (_, None, _) => "`method` is missing".into(),
            (_, Some(_), _) => {
                let params = self.get("params");
                let params = params.filter(|params| !params.is_object() && !params.is_array())?;
                format!("`params` is an object, this one is {}", kind(params)).into()
            }
        })
    }

    /// What is wrong with a message that is one.
    fn wrong_params(&self, id: Option<RequestId>) -> Refusal {
        let method = self.get("method").and_then(Value::as_str);
        let method = method.unwrap_or_default();
        let name = quoted(method);
        if !METHODS.contains(&method) {
            let text = format!("there is no method {name}");
            return Refusal::new(ErrorCode::METHOD_NOT_FOUND, text, id);
        }
        let text = match self.get("params") {
            Some(Value::Array(_)) => {
                format!("the parameters of {name} are an array: MCP names them, in an object")
            }
            Some(params) if params.get("_meta").is_some_and(|meta| !meta.is_object()) => {
                format!("`_meta` in the parameters of {name} is an object")
            }
            params => params::wrong(method, params),
        };
        Refusal::new(ErrorCode::INVALID_PARAMS, text, id)
    }
}

impl<'de> Deserialize<'de> for Envelope {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = Envelope;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Envelope, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Envelope(members))
            }
        }

        deserializer.deserialize_map(Members)
    }
}

/// The methods and notifications of all revisions that a client may send.
const METHODS: [&str; 27] = [
    "completion/complete",
    "initialize",
    "logging/setLevel",
    "notifications/cancelled",
    "notifications/initialized",
    "notifications/message",
    "notifications/progress",
    "notifications/roots/list_changed",
    "ping",
    "prompts/get",
    "prompts/list",
    "resources/directory/read",
    "resources/list",
    "resources/read",
    "resources/subscribe",
    "resources/templates/list",
    "resources/unsubscribe",
    "server/discover",
    "skills/get",
    "skills/list",
    "subscriptions/listen",
    "tasks/cancel",
    "tasks/get",
    "tasks/result",
    "tasks/update",
    "tools/call",
    "tools/list",
];

#[cfg(test)]
mod tests;
