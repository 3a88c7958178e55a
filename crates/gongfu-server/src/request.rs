//! Middleware around every request: id, trace, log, metrics, security headers.

use std::panic::AssertUnwindSafe;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use futures_util::FutureExt as _;
use http::header::{CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use tracing::Instrument as _;

use crate::api;
use crate::caller::Caller;
use crate::metric::{RequestLabels, RouteLabels};
use crate::path;
use crate::problem::Problem;
use crate::state::AppState;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Keep browsers from taking an answer for a page.
const SECURITY_HEADERS: [(HeaderName, &str); 3] = [
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (
        CONTENT_SECURITY_POLICY,
        "default-src 'none'; frame-ancestors 'none'",
    ),
    (REFERRER_POLICY, "no-referrer"),
];
/// The longest request id that is taken from a client.
const MAX_ID: usize = 128;

/// Gives a request an id and a span, counts it, and logs its status.
pub(crate) async fn observe(
    State(state): State<AppState>,
    mut request: Request,
    next: Next,
) -> Response {
    let started = Instant::now();
    let id = id(request.headers());
    let method = method(request.method());
    let route = label(&request);
    let span = tracing::info_span!(
        "request",
        id = id.to_str().unwrap_or_default(),
        method,
        path = route,
        otel.name = format_args!("{method} {route}"),
        otel.kind = "server",
        http.request.method = method,
        http.route = route,
        http.response.status_code = tracing::field::Empty,
    );
    if let Some(link_parent_trace) = state.link_parent_trace {
        let headers = request.headers();
        link_parent_trace(&span, &|name| {
            let value = headers.get(name)?.to_str().ok()?;
            Some(value.to_owned())
        });
    }
    request.headers_mut().insert(REQUEST_ID, id.clone());
    let answering = AssertUnwindSafe(next.run(request).instrument(span.clone()));
    let mut response = answering
        .catch_unwind()
        .await
        .unwrap_or_else(|_| state.problem(Problem::Fault).into_response());
    let elapsed = started.elapsed();
    let status = response.status().as_u16();
    span.record("http.response.status_code", status);
    span.in_scope(|| {
        tracing::info!(status, microseconds = elapsed.as_micros(), "answered");
    });
    let labels = RequestLabels {
        method,
        route,
        status,
    };
    state.metrics.requests.get_or_create(&labels).inc();
    let durations = state
        .metrics
        .durations
        .get_or_create(&RouteLabels { route });
    durations.observe(elapsed.as_secs_f64());
    let headers = response.headers_mut();
    headers.insert(REQUEST_ID, id);
    for (name, value) in SECURITY_HEADERS {
        // A page has a policy of its own.
        let entry = headers.entry(name);
        entry.or_insert(HeaderValue::from_static(value));
    }
    response
}

/// The label of the route of a request.
fn label(request: &Request) -> &'static str {
    let matched = request.extensions().get::<MatchedPath>();
    let of_api = matched.and_then(|path| api::label(path.as_str()));
    of_api.unwrap_or_else(|| path::label(request.uri().path()))
}

/// Refuses requests for other hosts and from foreign pages.
pub(crate) async fn refuse_foreign(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    match state.guard.refusal(request.uri(), request.headers()) {
        None => next.run(request).await,
        Some(problem) => state.problem(problem).into_response(),
    }
}

/// Without accounts: refuses requests of anybody but the server's user, who is known by the connection or by the token.
/// Others learn no more than that the server lives, and what its operator publishes.
pub(crate) async fn refuse_strangers(
    State(state): State<AppState>,
    mut request: Request,
    next: Next,
) -> Response {
    if state.has_accounts {
        request.extensions_mut().insert(Caller::Unknown);
        return next.run(request).await;
    }
    let known = request.extensions().get::<Caller>().copied();
    let mut caller = known.unwrap_or(Caller::Unknown);
    let token = state.token.as_ref();
    if token.is_some_and(|token| token.is_in(request.headers())) {
        caller = Caller::Own;
    }
    let asked = request.uri().path();
    let is_public = asked == path::HEALTH_PATH || asked.starts_with(path::PUBLISHED_PATH);
    if caller != Caller::Own && !is_public {
        return state
            .problem(Problem::Unauthenticated(caller))
            .into_response();
    }
    request.extensions_mut().insert(caller);
    next.run(request).await
}

/// The client's id of the request if it is a sane one, else a new one.
fn id(headers: &HeaderMap) -> HeaderValue {
    let sane = |value: &&HeaderValue| {
        let bytes = value.as_bytes();
        let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(byte);
        (1..=MAX_ID).contains(&bytes.len()) && bytes.iter().all(plain)
    };
    if let Some(id) = headers.get(REQUEST_ID).filter(sane) {
        return id.clone();
    }
    let id = uuid::Uuid::new_v4().simple().to_string();
    HeaderValue::from_str(&id).unwrap_or(HeaderValue::from_static("unknown"))
}

/// The label of a method; all unknown ones share one.
fn method(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::DELETE => "DELETE",
        Method::HEAD => "HEAD",
        Method::OPTIONS => "OPTIONS",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        _ => "other",
    }
}
