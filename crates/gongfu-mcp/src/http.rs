//! MCP over Streamable HTTP: the endpoint that a web server mounts.
//!
//! `rmcp` speaks the transport. What stands here in front of it reads the request's body, picks the
//! profile that the address asks for, and turns refusals without a body that a client could read
//! into JSON-RPC errors. It knows no route and no socket: those are the web server's.

mod priming;
mod refusal;
mod session;
mod unread;

use std::convert::Infallible;
use std::fmt::Display;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use gongfu_hub::Profile;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body::Body;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;
use tower_service::Service;

use self::priming::without_priming;
use self::refusal::Refusal;
use self::session::Sessions;
use self::unread::{LARGE, Unread};
use crate::message;

/// What a client that reads everything says it reads: the protocol wants both.
const READS: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
/// How many requests are worked on at once. Beyond that they would only wait in each other's midst,
/// each with all that it holds, instead of in front of the work with nothing.
const IN_HAND: usize = 64;
/// After how long a request no longer counts as one that is worked on: it waits for something else.
const SOON: Duration = Duration::from_millis(100);
/// The session that a request belongs to, in the revisions that have them.
const SESSION: &str = "mcp-session-id";
/// The last event that a client has of a stream that it continues.
const LAST_EVENT: &str = "last-event-id";

/// How an endpoint is set up.
#[derive(Debug, Clone)]
pub struct HttpSettings {
    /// The hosts that a request may be addressed to, each with or without a port; any port without.
    pub hosts: Vec<String>,
    /// The origins of pages that may send requests, such as `https://example.com:443`; `:*` is any
    /// port.
    pub origins: Vec<String>,
    /// The longest body of a request, in bytes.
    pub body_limit: usize,
    /// How long the body of a request may take.
    pub body_patience: Duration,
    /// How many bytes of large answers may wait for clients that don't read them.
    pub unread_limit: usize,
    /// How many sessions of the older revisions are kept at once.
    pub session_limit: usize,
    /// How long a session is kept without a request or an open stream.
    pub session_idle: Duration,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            hosts: ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into(),
            origins: Vec::new(),
            body_limit: 8 * 1024 * 1024,
            body_patience: Duration::from_secs(30),
            unread_limit: 256 * 1024 * 1024,
            session_limit: 2_000,
            session_idle: Duration::from_mins(30),
        }
    }
}

/// What answers requests: a handler of `rmcp`'s.
pub trait Handler: ServerHandler + Send + 'static {}

impl<S: ServerHandler + Send + 'static> Handler for S {}

/// The profiles that the address of a request asks for.
#[derive(Debug, Clone)]
pub(crate) struct Asked(pub(crate) Vec<Profile>);

/// An answer, ready or streaming.
pub type HttpResponse = Response<BoxBody<Bytes, Infallible>>;

/// MCP on one address, for every revision: a `tower` service to be mounted.
pub struct HttpEndpoint<S> {
    /// Shared: its settings are lists of names, and it would be copied for every request.
    inner: Arc<StreamableHttpService<S, Sessions>>,
    sessions: Arc<Sessions>,
    settings: Arc<HttpSettings>,
    stop: CancellationToken,
    busy: Arc<watch::Sender<Busy>>,
    in_hand: Arc<Semaphore>,
    unread: Arc<Unread>,
}

/// What an endpoint is doing.
#[derive(Debug, Default, Clone, Copy)]
struct Busy {
    /// Nothing new is begun.
    draining: bool,
    /// How many requests have no answer yet.
    requests: usize,
}

/// A request while it has no answer yet.
struct Answering(Arc<watch::Sender<Busy>>);

impl Drop for Answering {
    fn drop(&mut self) {
        self.0
            .send_modify(|busy| busy.requests = busy.requests.saturating_sub(1));
    }
}

impl<S> Clone for HttpEndpoint<S> {
    fn clone(&self) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
            sessions: Arc::clone(&self.sessions),
            settings: Arc::clone(&self.settings),
            stop: self.stop.clone(),
            busy: Arc::clone(&self.busy),
            in_hand: Arc::clone(&self.in_hand),
            unread: Arc::clone(&self.unread),
        }
    }
}

impl<S: Handler> HttpEndpoint<S> {
    /// An endpoint whose requests and sessions are served by what `handler` makes for each of them.
    ///
    /// Must be called within a runtime: expired sessions are closed by a task of it.
    pub fn new(handler: impl Fn() -> S + Send + Sync + 'static, settings: HttpSettings) -> Self {
        let stop = CancellationToken::new();
        let config = StreamableHttpServerConfig::default()
            .with_allowed_hosts(settings.hosts.clone())
            .with_allowed_origins(settings.origins.clone())
            .enforce_origin_validation()
            .with_legacy_session_mode(true)
            .with_json_response(true)
            .with_max_request_body_bytes(settings.body_limit)
            .with_cancellation_token(stop.clone());
        let sessions = Sessions::start(settings.session_limit, settings.session_idle);
        let inner =
            StreamableHttpService::new(move || Ok(handler()), Arc::clone(&sessions), config);
        Self {
            inner: Arc::new(inner),
            sessions,
            unread: Unread::new(settings.unread_limit),
            settings: Arc::new(settings),
            stop,
            busy: Arc::default(),
            in_hand: Arc::new(Semaphore::new(IN_HAND)),
        }
    }

    /// Refuses what comes from now on, waits for as long as `patience` for what is being answered,
    /// and ends every session and stream.
    pub async fn drain(&self, patience: Duration) {
        self.busy.send_modify(|busy| busy.draining = true);
        let mut busy = self.busy.subscribe();
        let done = async {
            let _ = busy.wait_for(|busy| busy.requests == 0).await;
            self.sessions.answered().await;
        };
        let _ = tokio::time::timeout(patience, done).await;
        self.stop.cancel();
    }

    /// Begins a request, unless nothing new is begun.
    fn begin(&self) -> Option<Answering> {
        let begun = self.busy.send_if_modified(|busy| {
            if !busy.draining {
                busy.requests += 1;
            }
            !busy.draining
        });
        begun.then(|| Answering(Arc::clone(&self.busy)))
    }

    /// How many sessions of the older revisions are open.
    pub fn sessions(&self) -> usize {
        self.sessions.count()
    }

    async fn handle<B>(self, request: Request<B>) -> HttpResponse
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let Some(_answering) = self.begin() else {
            return Refusal::Stopping.into_response();
        };
        match self.prepared(request).await {
            Ok((request, body)) => self.soon(|| self.answered(request, body)).await,
            Err(refusal) => refusal.into_response(),
        }
    }

    /// Lets work begin when there is room for it. What takes long makes room for others meanwhile, so
    /// that slow tools hold up nobody.
    async fn soon<T, W: Future<Output = T>>(&self, work: impl FnOnce() -> W) -> T {
        // It is never closed; without a permit the work is done all the same.
        let permit = self.in_hand.acquire().await.ok();
        // In a place of its own: whoever waits would have that, too, and it takes 24 KiB.
        let mut work = Box::pin(work());
        if let Ok(done) = tokio::time::timeout(SOON, work.as_mut()).await {
            return done;
        }
        drop(permit);
        work.await
    }

    /// The request with its body in memory and its profile picked.
    async fn prepared<B>(
        &self,
        request: Request<B>,
    ) -> Result<(Request<Full<Bytes>>, Bytes), Refusal>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (mut parts, body) = request.into_parts();
        if let Some(asked) = profiles(parts.uri.query())? {
            parts.extensions.insert(asked);
        }
        accept_anything(&mut parts.headers);
        let body = match parts.method {
            Method::POST => {
                let is_json = parts.headers.get(CONTENT_TYPE).is_some_and(is_json);
                if !is_json {
                    return Err(Refusal::MediaType);
                }
                let body = message::unmarked(self.body(body).await?);
                message::bounded(&body)
                    .and_then(|()| message::paged(&body))
                    .map_err(Refusal::Message)?;
                body
            }
            Method::DELETE => {
                self.known_session(&parts.headers)?;
                Bytes::new()
            }
            Method::GET => {
                self.known_event(&parts.headers)?;
                Bytes::new()
            }
            _ => Bytes::new(),
        };
        let request = Request::from_parts(parts, Full::new(body.clone()));
        Ok((request, body))
    }

    async fn body<B>(&self, body: B) -> Result<Bytes, Refusal>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let limit = self.settings.body_limit;
        let declared = body.size_hint().lower();
        if declared > limit as u64 {
            return Err(Refusal::TooLarge { limit });
        }
        let reading = Limited::new(body, limit).collect();
        let Ok(read) = tokio::time::timeout(self.settings.body_patience, reading).await else {
            return Err(Refusal::Slow {
                seconds: self.settings.body_patience.as_secs(),
            });
        };
        read.map(http_body_util::Collected::to_bytes)
            .map_err(|error| {
                if error.is::<LengthLimitError>() {
                    Refusal::TooLarge { limit }
                } else {
                    Refusal::Cut
                }
            })
    }

    /// A session that is ended must be there.
    fn known_session(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        match headers.get(SESSION).map(HeaderValue::to_str) {
            Some(Ok(id)) if !self.sessions.knows(id) => Err(Refusal::SessionUnknown),
            _ => Ok(()),
        }
    }

    /// A stream can be continued only behind an event that it had.
    fn known_event(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let (Some(session), Some(last)) = (headers.get(SESSION), headers.get(LAST_EVENT)) else {
            return Ok(());
        };
        let session = session.to_str().unwrap_or_default();
        let last = last.to_str().unwrap_or_default();
        // Of a session that isn't there there is more to say.
        if !self.sessions.knows(session) || self.sessions.continues(session, last) {
            return Ok(());
        }
        Err(Refusal::EventUnknown)
    }

    async fn answered(&self, request: Request<Full<Bytes>>, body: Bytes) -> HttpResponse {
        let ends = request.method() == Method::DELETE;
        let session = request.headers().get(SESSION);
        let session = session.and_then(|session| session.to_str().ok());
        let resumes = session.is_none_or(|session| self.sessions.resumes(session));
        let mut answer = self.inner.handle(request).await;
        if !resumes && answer.headers().get(CONTENT_TYPE).is_some_and(is_stream) {
            answer = answer.map(|body| without_priming(body).boxed());
        }
        // `rmcp` says that a message was accepted; clients look for the end of something.
        if ends && answer.status() == StatusCode::ACCEPTED {
            *answer.status_mut() = StatusCode::NO_CONTENT;
        }
        if answer.status().is_success() || answer.headers().get(CONTENT_TYPE).is_some_and(is_json) {
            return self.counted(answer, body).await;
        }
        let (parts, content) = answer.into_parts();
        // What `rmcp` can't read it refuses as a wrong media type; that one was looked at before.
        // The same with a greeting that it doesn't know for one, where it wants a session.
        let unread = parts.status == StatusCode::UNSUPPORTED_MEDIA_TYPE
            || parts.status == StatusCode::BAD_REQUEST && !body.is_empty();
        if unread && let Err(refusal) = message::read_first(&body) {
            return Refusal::Message(refusal).into_response();
        }
        let Ok(content) = content.collect().await;
        let text = String::from_utf8_lossy(&content.to_bytes()).into_owned();
        Refusal::of(parts.status, &text, message::id(&body)).into_response_with(&parts.headers)
    }
}

impl<S> HttpEndpoint<S> {
    /// An answer to `asked`, which counts until it is written; a refusal where there is no room.
    async fn counted(&self, answer: HttpResponse, asked: Bytes) -> HttpResponse {
        let crowded = move || Refusal::Crowded(message::id(&asked));
        if answer.headers().get(CONTENT_TYPE).is_some_and(is_stream) {
            let instead = move || crowded().into_event();
            return answer.map(|body| self.unread.counted(body, instead).boxed());
        }
        let size = answer.body().size_hint().exact();
        if size.is_none_or(|size| size < LARGE as u64) {
            return answer;
        }
        let (parts, content) = answer.into_parts();
        let Ok(content) = content.collect().await;
        match self.unread.hold(content.to_bytes()) {
            Some(data) => Response::from_parts(parts, Full::from(data).boxed()),
            None => crowded().into_response(),
        }
    }
}

impl<S, B> Service<Request<B>> for HttpEndpoint<S>
where
    S: Handler,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>> + Display,
{
    type Response = HttpResponse;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, Infallible>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let endpoint = self.clone();
        Box::pin(async move { Ok(endpoint.handle(request).await) })
    }
}

/// The profiles that `?profile=` names, one or more, with commas or several times.
fn profiles(query: Option<&str>) -> Result<Option<Asked>, Refusal> {
    let Some(query) = query else {
        return Ok(None);
    };
    let mut asked: Vec<Profile> = Vec::new();
    let given = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == "profile");
    for (_, list) in given {
        for name in list
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
        {
            let profile: Profile =
                name.parse()
                    .map_err(|error: gongfu_hub::profile::UnknownProfile| {
                        Refusal::Profile(error.to_string())
                    })?;
            if !asked.contains(&profile) {
                asked.push(profile);
            }
        }
    }
    Ok((!asked.is_empty()).then_some(Asked(asked)))
}

/// A client that reads anything, or doesn't say what, reads what the protocol wants it to.
fn accept_anything(headers: &mut HeaderMap) {
    let mut said = headers.get_all(ACCEPT).iter();
    let anything = match (said.next(), said.next()) {
        (None, _) => true,
        (Some(one), None) => one.as_bytes().trim_ascii() == b"*/*",
        _ => false,
    };
    if anything {
        headers.insert(ACCEPT, READS);
    }
}

fn is_json(value: &HeaderValue) -> bool {
    is_type(value, "application/json")
}

fn is_stream(value: &HeaderValue) -> bool {
    is_type(value, "text/event-stream")
}

/// Whether a content type is this one, whatever its parameters are.
fn is_type(value: &HeaderValue, wanted: &str) -> bool {
    let essence = value.to_str().unwrap_or_default();
    let essence = essence.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case(wanted)
}

#[cfg(test)]
mod tests;
