//! The wire of MCP over HTTP: addresses, the headers and bodies of both eras, and answers.

use std::borrow::Cow;
use std::net::SocketAddr;

use anyhow::{Context as _, Result, anyhow, bail};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderValue};
use hyper::{Method, Request};
use serde::Deserialize;
use serde_json::{Value, json};

/// A way in which a client speaks with a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Path {
    /// Revision 2026-07-28: every request stands for itself.
    Stateless,
    /// Revision 2025-11-25 with a session.
    Session,
    /// Revision 2025-11-25 at a server that has no sessions.
    Sessionless,
}

impl Path {
    /// The revision that is spoken.
    pub(crate) fn revision(self) -> &'static str {
        match self {
            Self::Stateless => "2026-07-28",
            Self::Session | Self::Sessionless => "2025-11-25",
        }
    }

    /// Its name, which is also the word that the servers beside ours know.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Stateless => "stateless",
            Self::Session => "session",
            Self::Sessionless => "sessionless",
        }
    }
}

/// The address of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    /// The socket.
    pub(crate) socket: SocketAddr,
    /// The path of the endpoint.
    pub(crate) endpoint: String,
    /// The credential of every request, for a server with accounts.
    pub(crate) authorization: Option<HeaderValue>,
}

impl Address {
    /// The endpoint `/mcp` of a port of this machine.
    pub(crate) fn local(port: u16) -> Self {
        Self {
            socket: SocketAddr::from(([127, 0, 0, 1], port)),
            endpoint: "/mcp".to_owned(),
            authorization: None,
        }
    }

    /// The first `http://IP:PORT/mcp` in a line of text.
    pub(crate) fn find(line: &str) -> Option<Self> {
        let (_, rest) = line.split_once("http://")?;
        let (socket, rest) = rest.split_once('/')?;
        rest.starts_with("mcp").then_some(())?;
        Some(Self {
            socket: socket.parse().ok()?,
            endpoint: "/mcp".to_owned(),
            authorization: None,
        })
    }
}

/// A request that is sent many times, with another number each time.
pub(crate) struct Call {
    method: &'static str,
    /// The value of the header `Mcp-Name`.
    name: Option<HeaderValue>,
    /// The body behind the number.
    tail: String,
    path: Path,
}

impl Call {
    /// A request for a path.
    pub(crate) fn new(path: Path, method: &'static str, mut parameters: Value) -> Result<Self> {
        let named = match method {
            "tools/call" | "prompts/get" => parameters.get("name"),
            "resources/read" => parameters.get("uri"),
            _ => None,
        };
        let name = named
            .and_then(Value::as_str)
            .map(HeaderValue::from_str)
            .transpose()
            .context("the name does not fit into a header")?;
        if let (Path::Stateless, Some(parameters)) = (path, parameters.as_object_mut()) {
            parameters.insert("_meta".to_owned(), meta(path));
        }
        Ok(Self {
            method,
            name,
            tail: format!(r#","method":"{method}","params":{parameters}}}"#),
            path,
        })
    }

    /// The request with a number, in a session where there is one.
    pub(crate) fn request(
        &self,
        address: &Address,
        id: u64,
        session: Option<&HeaderValue>,
    ) -> Result<Request<Full<Bytes>>> {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id}{}"#, self.tail);
        let mut request = post(address, session, body)?;
        let headers = request.headers_mut();
        // A greeting is what agrees on a revision; it has none yet.
        if self.method != "initialize" {
            let revision = HeaderValue::from_static(self.path.revision());
            headers.insert("mcp-protocol-version", revision);
        }
        if self.path == Path::Stateless {
            headers.insert("mcp-method", HeaderValue::from_static(self.method));
            if let Some(name) = &self.name {
                headers.insert("mcp-name", name.clone());
            }
        }
        Ok(request)
    }
}

/// A message that wants no answer.
pub(crate) fn notification(
    address: &Address,
    path: Path,
    method: &str,
    session: Option<&HeaderValue>,
) -> Result<Request<Full<Bytes>>> {
    let body = json!({ "jsonrpc": "2.0", "method": method }).to_string();
    let mut request = post(address, session, body)?;
    let revision = HeaderValue::from_static(path.revision());
    request
        .headers_mut()
        .insert("mcp-protocol-version", revision);
    Ok(request)
}

fn post(
    address: &Address,
    session: Option<&HeaderValue>,
    body: String,
) -> Result<Request<Full<Bytes>>> {
    let mut request = Request::builder()
        .method(Method::POST)
        .uri(&address.endpoint)
        .header(HOST, address.socket.to_string())
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "application/json, text/event-stream")
        .body(Full::new(Bytes::from(body)))?;
    if let Some(session) = session {
        request
            .headers_mut()
            .insert("mcp-session-id", session.clone());
    }
    Ok(request)
}

/// The client's name and revision, which each request of the stateless revision carries.
fn meta(path: Path) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": path.revision(),
        "io.modelcontextprotocol/clientInfo": client(),
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// The name of this client.
pub(crate) fn client() -> Value {
    json!({ "name": "gongfu-bench", "version": "1" })
}

/// An answer as it came.
pub(crate) struct Body {
    /// The bytes of it.
    pub(crate) bytes: Bytes,
    /// True when it came as a stream of events.
    pub(crate) is_stream: bool,
}

/// The members that every answer has.
#[derive(Deserialize)]
struct Reply<R> {
    id: Option<u64>,
    result: Option<R>,
    error: Option<Value>,
}

/// The text of a document in the answer to a call of a tool or to a read of a resource.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Text<'a> {
    #[serde(borrow, default, alias = "contents")]
    content: Vec<Block<'a>>,
    #[serde(default)]
    is_error: bool,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
}

impl Body {
    /// The messages in it: itself, or the data of its events.
    fn messages(&self) -> Result<Vec<Cow<'_, str>>> {
        let text = std::str::from_utf8(&self.bytes).context("an answer is not UTF-8")?;
        if !self.is_stream {
            return Ok(vec![Cow::Borrowed(text)]);
        }
        Ok(events(text))
    }

    /// The result of the request with this number; an error is one here too.
    pub(crate) fn result(&self, id: u64) -> Result<Value> {
        for message in self.messages()? {
            let reply: Reply<Value> = parse(&message)?;
            if reply.id == Some(id) {
                return outcome(reply);
            }
        }
        bail!("no answer to request {id}: {}", self.shown())
    }

    /// Checks that the first content of the answer to the request with this number is this very text.
    pub(crate) fn check_text(&self, id: u64, expected: &str) -> Result<()> {
        for message in self.messages()? {
            let reply: Reply<Text<'_>> = parse(&message)?;
            if reply.id != Some(id) {
                continue;
            }
            let result = outcome(reply)?;
            let first = result.content.first().and_then(|block| block.text.as_ref());
            if result.is_error || first.is_none_or(|text| text != expected) {
                bail!("another text than expected: {}", self.shown());
            }
            return Ok(());
        }
        bail!("no answer to request {id}: {}", self.shown())
    }

    fn shown(&self) -> String {
        let text = String::from_utf8_lossy(&self.bytes);
        text.chars().take(300).collect()
    }
}

fn parse<'a, R: Deserialize<'a>>(message: &'a str) -> Result<Reply<R>> {
    serde_json::from_str(message).with_context(|| {
        let begin: String = message.chars().take(300).collect();
        format!("an answer is not what is asked for: {begin}")
    })
}

fn outcome<R>(reply: Reply<R>) -> Result<R> {
    if let Some(error) = reply.error {
        bail!("an error is answered: {error}");
    }
    reply
        .result
        .ok_or_else(|| anyhow!("an answer without a result"))
}

/// The data of all events that have some.
fn events(text: &str) -> Vec<Cow<'_, str>> {
    let mut found = Vec::new();
    let mut data: Option<Cow<'_, str>> = None;
    for line in text.lines().chain([""]) {
        if line.is_empty() {
            found.extend(data.take().filter(|data| !data.trim().is_empty()));
        } else if let Some(more) = line.strip_prefix("data:") {
            let more = more.strip_prefix(' ').unwrap_or(more);
            match &mut data {
                Some(data) => {
                    let data = data.to_mut();
                    data.push('\n');
                    data.push_str(more);
                }
                None => data = Some(Cow::Borrowed(more)),
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{Address, Body, Call, Path, events};
    use http_body_util::BodyExt as _;
    use hyper::body::Bytes;
    use serde_json::json;

    fn body(text: &'static str, is_stream: bool) -> Body {
        Body {
            bytes: Bytes::from_static(text.as_bytes()),
            is_stream,
        }
    }

    #[test]
    fn an_address_is_found_in_a_line() {
        let found = Address::find("listening on http://127.0.0.1:8123/mcp (loopback)").unwrap();
        assert_eq!(found, Address::local(8123));
        assert_eq!(Address::find("see http://127.0.0.1:8123/health"), None);
        assert_eq!(Address::find("http://localhost:1/mcp"), None);
        assert_eq!(Address::find("nothing"), None);
    }

    #[test]
    fn events_are_taken_apart() {
        let text = "id: 0\nretry: 3000\ndata:\n\nevent: message\ndata: {\"a\":\ndata: 1}\n\n: ping\n\ndata: x";
        assert_eq!(events(text), ["{\"a\":\n1}", "x"]);
    }

    #[test]
    fn only_the_right_text_of_the_right_request_passes() {
        let good =
            r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"a\nb"}]}}"#;
        assert!(body(good, false).check_text(7, "a\nb").is_ok());
        assert!(body(good, false).check_text(8, "a\nb").is_err());
        assert!(body(good, false).check_text(7, "a").is_err());
        let read = r#"{"id":7,"result":{"contents":[{"uri":"x","text":"a"}]}}"#;
        assert!(body(read, false).check_text(7, "a").is_ok());
        let failed = r#"{"id":7,"result":{"content":[{"text":"a"}],"isError":true}}"#;
        assert!(body(failed, false).check_text(7, "a").is_err());
        let error = r#"{"id":7,"error":{"code":-32602,"message":"no"}}"#;
        assert!(body(error, false).check_text(7, "a").is_err());
        assert!(body(error, false).result(7).is_err());
        let stream = "data: \n\ndata: {\"method\":\"n\"}\n\ndata: {\"id\":7,\"result\":{\"content\":[{\"text\":\"a\"}]}}\n\n";
        assert!(body(stream, true).check_text(7, "a").is_ok());
        assert!(body("", true).check_text(7, "a").is_err());
    }

    #[tokio::test]
    async fn request_names_the_client_as_its_revision_requires() {
        let parameters = json!({ "name": "skill_load", "arguments": {} });
        let address = Address::local(1);
        let call = Call::new(Path::Stateless, "tools/call", parameters.clone()).unwrap();
        let request = call.request(&address, 5, None).unwrap();
        assert_eq!(request.headers()["mcp-method"], "tools/call");
        assert_eq!(request.headers()["mcp-name"], "skill_load");
        assert_eq!(request.headers()["mcp-protocol-version"], "2026-07-28");
        let bytes = request.into_body().collect().await.unwrap().to_bytes();
        let body: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(body["id"], 5);
        let meta = &body["params"]["_meta"];
        assert_eq!(
            meta["io.modelcontextprotocol/protocolVersion"],
            "2026-07-28"
        );

        let call = Call::new(Path::Session, "tools/call", parameters).unwrap();
        let session = "s".parse().unwrap();
        let request = call.request(&address, 5, Some(&session)).unwrap();
        assert_eq!(request.headers()["mcp-session-id"], "s");
        assert!(!request.headers().contains_key("mcp-method"));
    }
}
