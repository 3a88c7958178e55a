//! MCP over Streamable HTTP: the endpoint that a web server mounts.
//!
//! `rmcp` speaks the transport. In front of it this reads the body of a request, picks the profiles
//! that the address asks for, limits what is held for clients, and turns refusals in plain text into
//! JSON-RPC errors. Routes and sockets are the web server's.

mod large_response;
mod refusal;
mod session;

use std::convert::Infallible;
use std::fmt::Display;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use gongfu_core::account::UserId;
use gongfu_core::registry::Identity;
use gongfu_core::set::{CapabilitySet, Sets};
use gongfu_hub::Profile;
use gongfu_hub::profile::UnknownProfile;
use http::header::{ACCEPT, ALLOW, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body::Body;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Collected, Full, LengthLimitError, Limited};
use rmcp::ServerHandler;
use rmcp::model::ErrorCode;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower_service::Service;

use self::large_response::{LARGE, LargeResponses};
use self::refusal::Refusal;
use self::session::{SessionLimits, Sessions};
use crate::message;

/// The types that a client must accept.
const ACCEPT_BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
/// The number of requests that run at once. More would compete for time and memory; a request that
/// waits needs neither.
const MAX_ANSWERING: usize = 64;
/// The time that a request holds its permit: one that takes longer waits for something else than
/// the processor.
const PERMIT_TIME: Duration = Duration::from_millis(100);
/// The longest `initialize`, in bytes: its session keeps it.
const MAX_INITIALIZE: usize = 64 * 1024;
const SESSION_ID: &str = "mcp-session-id";

/// The settings of an endpoint.
#[derive(Debug, Clone)]
pub struct HttpSettings {
    /// The hosts that a request may be addressed to, each with or without a port; any port without.
    pub hosts: Vec<String>,
    /// The origins of pages that may send requests, such as `https://example.com:443`; `:*` is any
    /// port.
    pub origins: Vec<String>,
    /// The longest body of a request, in bytes.
    pub body_limit: usize,
    /// The time that the body of a request may take.
    pub body_timeout: Duration,
    /// The number of bytes of large answers that may wait for clients that don't read them.
    pub large_response_limit: usize,
    /// The number of open sessions of the older revisions.
    pub session_limit: usize,
    /// The time that a session stays open without a request or an open stream.
    pub session_idle: Duration,
    /// The number of idle sessions that stay open for so long.
    pub idle_session_limit: usize,
    /// The time that every other idle session stays open.
    pub crowded_session_idle: Duration,
    /// The sets that requests may name, where there are any.
    pub sets: Option<Arc<dyn Sets>>,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            hosts: ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into(),
            origins: Vec::new(),
            body_limit: 8 * 1024 * 1024,
            body_timeout: Duration::from_secs(30),
            large_response_limit: 256 * 1024 * 1024,
            session_limit: 2_000,
            session_idle: Duration::from_mins(30),
            idle_session_limit: 32,
            crowded_session_idle: Duration::from_mins(1),
            sets: None,
        }
    }
}

/// A handler of `rmcp`'s, which answers requests.
pub trait Handler: ServerHandler + Send + 'static {}

impl<S: ServerHandler + Send + 'static> Handler for S {}

/// The profiles that the address of a request asks for.
#[derive(Debug, Clone)]
pub(crate) struct RequestedProfiles(pub(crate) Vec<Profile>);

/// The set that the address of a request asks for.
#[derive(Debug, Clone)]
pub(crate) struct RequestedSet(pub(crate) Arc<CapabilitySet>);

/// An answer, ready or streaming.
pub type HttpResponse = Response<BoxBody<Bytes, Infallible>>;

/// The transport of `rmcp`, whichever handler it has: what serves requests is compiled once, in this crate.
trait Transport: Send + Sync {
    fn handle(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Pin<Box<dyn Future<Output = HttpResponse> + Send + '_>>;
}

impl<S: Handler> Transport for StreamableHttpService<S, Sessions> {
    fn handle(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Pin<Box<dyn Future<Output = HttpResponse> + Send + '_>> {
        Box::pin(Self::handle(self, request))
    }
}

/// MCP on one address, for every revision: a `tower` service to be mounted.
#[derive(Clone)]
pub struct HttpEndpoint {
    /// Shared, because its settings are long.
    rmcp: Arc<dyn Transport>,
    sessions: Arc<Sessions>,
    settings: Arc<HttpSettings>,
    /// Ends every session and stream.
    stop: CancellationToken,
    /// Counts the requests without an answer; closed once nothing new is begun.
    answering: TaskTracker,
    permits: Arc<Semaphore>,
    large_responses: LargeResponses,
}

impl HttpEndpoint {
    /// An endpoint that serves each request or session by a handler of its own.
    ///
    /// Must be called within a runtime: a task of it closes expired sessions.
    pub fn new<S: Handler>(
        handler: impl Fn() -> S + Send + Sync + 'static,
        settings: HttpSettings,
    ) -> Self {
        let (stop, answering) = (CancellationToken::new(), TaskTracker::new());
        let mut config = StreamableHttpServerConfig::default()
            .with_allowed_hosts(settings.hosts.clone())
            .with_allowed_origins(settings.origins.clone())
            .enforce_origin_validation()
            .with_legacy_session_mode(true)
            .with_json_response(true)
            .with_max_request_body_bytes(settings.body_limit)
            .with_cancellation_token(stop.clone());
        // Sessions begin the streams that need it with an event that names them.
        config.sse_retry = None;
        let limits = SessionLimits {
            open: settings.session_limit,
            kept: settings.idle_session_limit,
            idle: settings.session_idle,
            crowded_idle: settings.crowded_session_idle,
        };
        let sessions = Sessions::start(limits, answering.clone());
        let rmcp = StreamableHttpService::new(move || Ok(handler()), Arc::clone(&sessions), config);
        Self {
            rmcp: Arc::new(rmcp),
            sessions,
            large_responses: LargeResponses::new(settings.large_response_limit),
            settings: Arc::new(settings),
            stop,
            answering,
            permits: Arc::new(Semaphore::new(MAX_ANSWERING)),
        }
    }

    /// Refuses new requests, waits for those that are being answered, and ends every session and
    /// stream.
    pub async fn drain(&self, timeout: Duration) {
        self.answering.close();
        let _ = tokio::time::timeout(timeout, self.answering.wait()).await;
        self.stop.cancel();
    }

    /// The number of open sessions of the older revisions.
    pub fn sessions(&self) -> usize {
        self.sessions.count()
    }

    async fn handle<B>(self, request: Request<B>) -> HttpResponse
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        if self.answering.is_closed() {
            let text = "the server is shutting down; connect again in a moment";
            return Refusal::new(StatusCode::SERVICE_UNAVAILABLE, text).into_response();
        }
        let _answering = self.answering.token();
        match self.read(request).await {
            Ok((request, body)) => self.with_permit(|| self.answer(request, body)).await,
            Err(refusal) => refusal.into_response(),
        }
    }

    /// Begins work once there is a permit, and gives the permit back when the work takes long.
    async fn with_permit<T, W: Future<Output = T>>(&self, work: impl FnOnce() -> W) -> T {
        // The semaphore is never closed.
        let permit = self.permits.acquire().await.ok();
        // Boxed here: a request that waits would have its 24 KiB, too.
        let mut work = Box::pin(work());
        if let Ok(result) = tokio::time::timeout(PERMIT_TIME, work.as_mut()).await {
            return result;
        }
        drop(permit);
        work.await
    }

    /// The set that `?set=` names.
    fn requested_set(&self, query: Option<&str>) -> Result<Option<RequestedSet>, Refusal> {
        let mut pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
        let Some((_, name)) = pairs.find(|(key, _)| key == "set") else {
            return Ok(None);
        };
        if pairs.any(|(key, _)| key == "set") {
            let why = "a request has one set: name `set` once";
            return Err(refused_query(why.to_owned()));
        }
        let found = match &self.settings.sets {
            Some(sets) => sets.find(&name),
            None => Err("there are no sets here".to_owned()),
        };
        Ok(Some(RequestedSet(found.map_err(refused_query)?)))
    }

    /// Reads the body of a request into memory, its profiles and its set.
    async fn read<B>(&self, request: Request<B>) -> Result<(Request<Full<Bytes>>, Bytes), Refusal>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (mut parts, body) = request.into_parts();
        if let Some(requested) = requested_profiles(parts.uri.query())? {
            parts.extensions.insert(requested);
        }
        if let Some(requested) = self.requested_set(parts.uri.query())? {
            parts.extensions.insert(requested);
        }
        accept_anything(&mut parts.headers);
        let mut bytes = Bytes::new();
        if parts.method == Method::POST {
            if !has_type(&parts.headers, "application/json") {
                let text = "the message must be JSON; send `Content-Type: application/json`";
                return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, text));
            }
            bytes = self.read_body(body).await?;
            bytes = bytes.slice_ref(message::without_mark(&bytes));
            message::check(&bytes)?;
            if bytes.len() > MAX_INITIALIZE && message::is_initialize(&bytes) {
                return Err(Refusal::initialize_too_large(MAX_INITIALIZE, &bytes));
            }
        }
        // Nobody else's session is there for a user. Without accounts, only its end is told from that of another.
        let user = user(&parts.extensions);
        if (parts.method == Method::DELETE || user.is_some())
            && let Some(id) = parts.headers.get(SESSION_ID)
            && !self
                .sessions
                .contains(id.to_str().unwrap_or_default(), user)
        {
            return Err(Refusal::session_not_found());
        }
        Ok((Request::from_parts(parts, Full::new(bytes.clone())), bytes))
    }

    async fn read_body<B>(&self, body: B) -> Result<Bytes, Refusal>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (limit, timeout) = (self.settings.body_limit, self.settings.body_timeout);
        let too_large = || {
            let text = format!("the message is longer than {limit} bytes; send a shorter one");
            Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, text)
        };
        if body.size_hint().lower() > limit as u64 {
            return Err(too_large());
        }
        let reading = Limited::new(body, limit).collect();
        match tokio::time::timeout(timeout, reading).await {
            Ok(Ok(body)) => Ok(Collected::to_bytes(body)),
            Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
            Ok(Err(_)) => Err(Refusal::with_code(
                StatusCode::BAD_REQUEST,
                ErrorCode::PARSE_ERROR,
                "the message is not complete; send it again",
            )),
            Err(_) => {
                let seconds = timeout.as_secs();
                let text =
                    format!("the message did not arrive within {seconds} seconds; send it again");
                Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, text))
            }
        }
    }

    async fn answer(&self, request: Request<Full<Bytes>>, body: Bytes) -> HttpResponse {
        let is_delete = request.method() == Method::DELETE;
        let user = user(request.extensions()).cloned();
        if let Some(user) = &user
            && self.sessions.is_greedy(user)
            && message::is_initialize(&body)
        {
            return Refusal::too_many_sessions(&body).into_response();
        }
        let mut response = self.rmcp.handle(request).await;
        if let (Some(user), Some(id)) = (user, response.headers().get(SESSION_ID)) {
            self.sessions.bind(id.to_str().unwrap_or_default(), &user);
        }
        // To `rmcp` the end of a session is one more message that was accepted.
        if is_delete && response.status() == StatusCode::ACCEPTED {
            *response.status_mut() = StatusCode::NO_CONTENT;
        }
        let status = response.status();
        if status.is_success() || has_type(response.headers(), "application/json") {
            return self.count_large(response, body).await;
        }
        // `rmcp` says in plain text of what it can't read that its type is wrong, and of a faulty
        // `initialize` that it lacks a session.
        let is_unread = [StatusCode::UNSUPPORTED_MEDIA_TYPE, StatusCode::BAD_REQUEST]
            .contains(&status)
            && !body.is_empty();
        if is_unread && let Err(refusal) = message::read_first(&body) {
            return Refusal::from(refusal).into_response();
        }
        let (mut parts, content) = response.into_parts();
        let Ok(content) = content.collect().await;
        let text = String::from_utf8_lossy(&content.to_bytes()).into_owned();
        let mut response = Refusal::from_rmcp(status, text, &body).into_response();
        if let Some(allowed) = parts.headers.remove(ALLOW) {
            response.headers_mut().insert(ALLOW, allowed);
        }
        response
    }

    /// Counts a large response until it is written, or refuses it when there is no room.
    async fn count_large(&self, response: HttpResponse, request: Bytes) -> HttpResponse {
        let refusal = move || Refusal::too_many_large_responses(&request);
        if has_type(response.headers(), "text/event-stream") {
            let event = move || refusal().into_event();
            return response.map(|body| self.large_responses.count_parts(body, event).boxed());
        }
        let size = response.body().size_hint().exact();
        if size.is_none_or(|size| size < LARGE as u64) {
            return response;
        }
        let (parts, content) = response.into_parts();
        let Ok(content) = content.collect().await;
        match self.large_responses.count(content.to_bytes()) {
            Some(data) => Response::from_parts(parts, Full::from(data).boxed()),
            None => refusal().into_response(),
        }
    }
}

impl<B> Service<Request<B>> for HttpEndpoint
where
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

/// The user that the web server found by the credential of a request; `None` without accounts.
fn user(extensions: &http::Extensions) -> Option<&UserId> {
    let identity = extensions.get::<Arc<Identity>>()?;
    Some(&identity.user)
}

/// A refusal of what an address asks for.
fn refused_query(why: String) -> Refusal {
    Refusal::with_code(StatusCode::BAD_REQUEST, ErrorCode::INVALID_PARAMS, why)
}

/// The profiles that `?profile=` names: one or more, with commas or several times.
fn requested_profiles(query: Option<&str>) -> Result<Option<RequestedProfiles>, Refusal> {
    let query = query.unwrap_or_default().as_bytes();
    let lists = form_urlencoded::parse(query).filter(|(name, _)| name == "profile");
    let mut requested: Vec<Profile> = Vec::new();
    for (_, list) in lists {
        for name in list
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
        {
            let profile = name.parse();
            let profile =
                profile.map_err(|error: UnknownProfile| refused_query(error.to_string()))?;
            if !requested.contains(&profile) {
                requested.push(profile);
            }
        }
    }
    Ok((!requested.is_empty()).then_some(RequestedProfiles(requested)))
}

/// Lets a client that accepts anything, or says nothing about it, accept what the protocol wants.
fn accept_anything(headers: &mut HeaderMap) {
    let mut accepted = headers.get_all(ACCEPT).iter();
    let anything = match (accepted.next(), accepted.next()) {
        (None, _) => true,
        (Some(only), None) => only.as_bytes().trim_ascii() == b"*/*",
        _ => false,
    };
    if anything {
        headers.insert(ACCEPT, ACCEPT_BOTH);
    }
}

/// Returns true for content of a type, with any parameters.
fn has_type(headers: &HeaderMap, wanted: &str) -> bool {
    let value = headers.get(CONTENT_TYPE).map(HeaderValue::to_str);
    let Some(Ok(value)) = value else {
        return false;
    };
    let essence = value.split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case(wanted)
}

#[cfg(test)]
mod tests;
