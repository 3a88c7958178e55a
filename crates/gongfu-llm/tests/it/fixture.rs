//! A server that answers as it is told, and a listener that writes down what it hears.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use gongfu_core::port::{
    ChatModel, Message, ModelAnswer, ModelError, ModelEvents, ModelRequest, ModelRetry,
};
use gongfu_llm::{Clients, Key, Limits, Provider, ProviderKind};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// The key of all tests.
pub(crate) const KEY: &str = "sk-test-0123456789abcdef";

/// One thing that the server does with a connection.
#[derive(Clone)]
pub(crate) enum Step {
    /// Sends these bytes.
    Send(Vec<u8>),
    /// Sends these bytes until the client is gone.
    Repeat(Vec<u8>),
    /// Sends nothing until the client is gone.
    Stall,
    /// Resets the connection.
    Reset,
}

/// All steps of the server with one connection, after it read the request.
pub(crate) type Script = Vec<Step>;

/// A request that the server received.
pub(crate) struct ReceivedRequest {
    pub(crate) head: String,
    pub(crate) body: Value,
}

/// A server on loopback, which plays one script for each request and repeats the last one.
pub(crate) struct Server {
    pub(crate) address: String,
    received: Arc<Mutex<Vec<ReceivedRequest>>>,
}

impl Server {
    pub(crate) async fn start(scripts: Vec<Script>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let received = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&received);
        tokio::spawn(async move {
            for number in 0.. {
                let (mut stream, _) = listener.accept().await.unwrap();
                let request = read(&mut stream).await;
                seen.lock().unwrap().push(request);
                let script = &scripts[number.min(scripts.len() - 1)];
                play(stream, script).await;
            }
        });
        Self { address, received }
    }

    /// The requests so far.
    pub(crate) fn received(&self) -> Vec<ReceivedRequest> {
        std::mem::take(&mut self.received.lock().unwrap())
    }

    /// A model of this server.
    pub(crate) fn model(&self, kind: ProviderKind, limits: Limits) -> Arc<dyn ChatModel> {
        let path = match kind {
            ProviderKind::OpenAi | ProviderKind::Anthropic => "/v1",
            ProviderKind::Gemini | ProviderKind::Ollama => "",
        };
        let provider = Provider {
            name: "test".to_owned(),
            kind,
            base_url: Some(format!("{}{path}", self.address)),
            key: Some(Key::new(KEY)),
        };
        Clients::new(limits)
            .chat_model(&provider, "model-1")
            .unwrap()
    }
}

async fn read(stream: &mut TcpStream) -> ReceivedRequest {
    let mut bytes = Vec::new();
    loop {
        let mut piece = [0; 4096];
        let length = stream.read(&mut piece).await.unwrap_or(0);
        assert!(length > 0, "the client left amid its request");
        bytes.extend_from_slice(&piece[..length]);
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let wanted = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            let is_length = name.eq_ignore_ascii_case("content-length");
            is_length.then(|| value.trim().parse::<usize>().unwrap())
        });
        if body.len() >= wanted.unwrap_or(0) {
            let body = serde_json::from_str(body).unwrap_or_default();
            let head = head.to_owned();
            return ReceivedRequest { head, body };
        }
    }
}

async fn play(mut stream: TcpStream, script: &Script) {
    for step in script {
        match step {
            Step::Send(bytes) => {
                // The client may have left, which is its right.
                let _ = stream.write_all(bytes).await;
                let _ = stream.flush().await;
            }
            Step::Repeat(bytes) => while stream.write_all(bytes).await.is_ok() {},
            Step::Stall => {
                while stream
                    .read(&mut [0; 64])
                    .await
                    .is_ok_and(|length| length > 0)
                {}
            }
            Step::Reset => {
                stream.set_zero_linger().unwrap();
                return;
            }
        }
    }
}

/// The head of an answer that streams events, and ends with the connection.
pub(crate) fn head() -> Step {
    Step::Send(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n".to_vec(),
    )
}

/// An answer with a status, more headers, and a body.
pub(crate) fn status(line: &str, headers: &str, body: &str) -> Script {
    let length = body.len();
    let text = format!(
        "HTTP/1.1 {line}\r\ncontent-type: application/json\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    );
    vec![Step::Send(text.into_bytes())]
}

/// A piece of the body.
pub(crate) fn send(text: impl Into<Vec<u8>>) -> Step {
    Step::Send(text.into())
}

/// The events of `OpenAI`'s wire, one for each JSON value.
pub(crate) fn events(values: &[Value]) -> Step {
    let lines = values.iter().map(|value| format!("data: {value}\n\n"));
    send(lines.collect::<String>())
}

/// The end of an answer on `OpenAI`'s wire.
pub(crate) fn done() -> Step {
    send("data: [DONE]\n\n")
}

/// A whole answer on `OpenAI`'s wire.
pub(crate) fn whole(text: &str) -> Script {
    let piece = serde_json::json!({"choices": [{"index": 0, "delta": {"content": text}}]});
    let end = serde_json::json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    vec![head(), events(&[piece, end]), done()]
}

/// Limits that no test waits for.
pub(crate) fn limits() -> Limits {
    Limits {
        first_wait: Duration::from_millis(1),
        ..Limits::default()
    }
}

/// A request with one message of a person.
pub(crate) fn question(text: &str) -> ModelRequest {
    ModelRequest {
        messages: vec![Message::User {
            text: text.to_owned(),
        }],
        ..ModelRequest::default()
    }
}

/// Writes down the events of a request.
#[derive(Default)]
pub(crate) struct Notes(Mutex<Vec<String>>);

impl Notes {
    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl ModelEvents for Notes {
    fn text(&self, piece: &str) {
        self.0.lock().unwrap().push(piece.to_owned());
    }

    fn retry(&self, retry: &ModelRetry<'_>) {
        let mut line = format!("retry {} after {:?}", retry.attempt, retry.error.kind);
        if retry.wait_ms > 100 {
            line = format!("{line}, in {} ms", retry.wait_ms);
        }
        self.0.lock().unwrap().push(line);
    }
}

/// Asks a server that plays these scripts, on `OpenAI`'s wire.
pub(crate) async fn ask(scripts: Vec<Script>) -> (Result<ModelAnswer, ModelError>, Vec<String>) {
    ask_with(ProviderKind::OpenAi, limits(), scripts).await
}

/// Asks a server that plays these scripts.
pub(crate) async fn ask_with(
    kind: ProviderKind,
    limits: Limits,
    scripts: Vec<Script>,
) -> (Result<ModelAnswer, ModelError>, Vec<String>) {
    let server = Server::start(scripts).await;
    let notes = Notes::default();
    let answer = server
        .model(kind, limits)
        .ask(&question("hello"), &notes)
        .await;
    (answer, notes.lines())
}
