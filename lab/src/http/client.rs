//! One client on one connection that is kept: one request after another, each with its time.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::Response;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::wire::{Address, Body, Call, Path, client, notification};

/// The time limit of an answer: some servers need more than a minute for a long list.
const ANSWER_TIMEOUT: Duration = Duration::from_mins(4);

/// A client of one server.
pub(crate) struct Client {
    address: Address,
    path: Path,
    sender: SendRequest<Full<Bytes>>,
    session: Option<HeaderValue>,
    next: u64,
}

/// An answer, and how long it took from the request to its last byte.
pub(crate) struct Answer {
    /// The result that the server gave.
    pub(crate) result: Value,
    /// The time that it took.
    pub(crate) took: Duration,
    /// The length of the body in bytes.
    pub(crate) size: usize,
}

impl Client {
    /// Connects, and opens a session where the path has one.
    pub(crate) async fn open(address: &Address, path: Path) -> Result<Self> {
        let mut opened = Self::connect(address, path).await?;
        if path == Path::Session {
            opened.greet().await?;
        }
        Ok(opened)
    }

    /// Connects, and says nothing yet.
    pub(crate) async fn connect(address: &Address, path: Path) -> Result<Self> {
        Ok(Self {
            address: address.clone(),
            path,
            sender: connection(address).await?,
            session: None,
            next: 0,
        })
    }

    /// Connects again, with the session that it had.
    pub(crate) async fn reconnect(&mut self) -> Result<()> {
        self.sender = connection(&self.address).await?;
        Ok(())
    }

    /// Opens a session.
    pub(crate) async fn greet(&mut self) -> Result<()> {
        let parameters = json!({
            "protocolVersion": self.path.revision(),
            "capabilities": {},
            "clientInfo": client(),
        });
        let call = Call::new(self.path, "initialize", parameters)?;
        let (id, response) = self.post(&call).await?;
        self.session = response.headers().get("mcp-session-id").cloned();
        let result = read(response).await?.result(id)?;
        let agreed = result.get("protocolVersion").and_then(Value::as_str);
        if agreed != Some(self.path.revision()) {
            bail!("the server speaks {agreed:?}, not {}", self.path.revision());
        }
        if self.session.is_none() {
            bail!("the server opened no session");
        }
        let ready = notification(
            &self.address,
            self.path,
            "notifications/initialized",
            self.session.as_ref(),
        )?;
        let response = self.send(ready).await?;
        if !response.status().is_success() {
            bail!("`initialized` is answered with {}", response.status());
        }
        response.into_body().collect().await?;
        Ok(())
    }

    /// Sends a call and reads its answer whole.
    pub(crate) async fn exchange(&mut self, call: &Call) -> Result<(u64, Body, Duration)> {
        let asked = Instant::now();
        let exchange = async {
            let (id, response) = self.post(call).await?;
            anyhow::Ok((id, read(response).await?))
        };
        let (id, body) = timeout(ANSWER_TIMEOUT, exchange)
            .await
            .context("no answer within four minutes")??;
        Ok((id, body, asked.elapsed()))
    }

    /// Asks for something; an error is one here too.
    pub(crate) async fn ask(&mut self, method: &'static str, parameters: Value) -> Result<Answer> {
        let call = Call::new(self.path, method, parameters)?;
        let (id, body, took) = self.exchange(&call).await?;
        let result = body
            .result(id)
            .with_context(|| format!("`{method}` failed"))?;
        Ok(Answer {
            result,
            took,
            size: body.bytes.len(),
        })
    }

    /// Sends a call whose answer is a stream; it is open once its first bytes are there.
    pub(crate) async fn stream(&mut self, call: &Call) -> Result<Incoming> {
        let (_, response) = timeout(ANSWER_TIMEOUT, self.post(call))
            .await
            .context("no stream within four minutes")??;
        streaming(response)
    }

    /// Opens the stream of a session on which a server speaks by itself.
    pub(crate) async fn listen(&mut self) -> Result<Incoming> {
        let request = Request::builder()
            .uri(&self.address.endpoint)
            .header("host", self.address.socket.to_string())
            .header("accept", "text/event-stream")
            .header("mcp-protocol-version", self.path.revision())
            .header(
                "mcp-session-id",
                self.session.clone().context("there is no session")?,
            )
            .body(Full::new(Bytes::new()))?;
        let response = timeout(ANSWER_TIMEOUT, self.send(request))
            .await
            .context("no stream within four minutes")??;
        streaming(response)
    }

    async fn post(&mut self, call: &Call) -> Result<(u64, Response<Incoming>)> {
        self.next += 1;
        let id = self.next;
        let request = call.request(&self.address, id, self.session.as_ref())?;
        Ok((id, self.send(request).await?))
    }

    async fn send(&mut self, mut request: Request<Full<Bytes>>) -> Result<Response<Incoming>> {
        if let Some(credential) = &self.address.authorization {
            let headers = request.headers_mut();
            headers.insert(AUTHORIZATION, credential.clone());
        }
        self.sender.ready().await.context("the connection closed")?;
        self.sender
            .send_request(request)
            .await
            .context("the connection broke")
    }
}

/// A connection whose small requests leave at once.
async fn connection(address: &Address) -> Result<SendRequest<Full<Bytes>>> {
    let stream = TcpStream::connect(address.socket)
        .await
        .context("no connection")?;
    stream.set_nodelay(true)?;
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // The next request sees its end.
    tokio::spawn(connection);
    Ok(sender)
}

fn is_stream(response: &Response<Incoming>) -> bool {
    response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .is_some_and(|kind| kind.starts_with("text/event-stream"))
}

fn streaming(response: Response<Incoming>) -> Result<Incoming> {
    if !response.status().is_success() || !is_stream(&response) {
        bail!("no stream is opened: {}", response.status());
    }
    Ok(response.into_body())
}

async fn read(response: Response<Incoming>) -> Result<Body> {
    let (status, is_stream) = (response.status(), is_stream(&response));
    let bytes = response
        .into_body()
        .collect()
        .await
        .context("the answer broke off")?
        .to_bytes();
    if !status.is_success() {
        let text = String::from_utf8_lossy(&bytes);
        let begin: String = text.chars().take(300).collect();
        bail!("the server answers {status}: {begin}");
    }
    Ok(Body { bytes, is_stream })
}
