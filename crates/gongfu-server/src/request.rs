//! What is done around every request: its id, its place in a trace, its line in the log, its count.

use std::panic::AssertUnwindSafe;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use futures_util::FutureExt as _;
use http::header::{CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use tracing::Instrument as _;

use crate::metric::{RequestLabels, RouteLabels};
use crate::problem::Problem;
use crate::route::{self, Shared};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// What a browser is told of every answer: none is a page, whatever it may look like.
const HYGIENE: [(HeaderName, &str); 3] = [
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (
        CONTENT_SECURITY_POLICY,
        "default-src 'none'; frame-ancestors 'none'",
    ),
    (REFERRER_POLICY, "no-referrer"),
];
/// The longest id of a request that is taken over from whoever sends it.
const MAX_ID: usize = 128;

/// Gives a request an id and a span, and writes down how it ended.
pub(crate) async fn observe(
    State(shared): State<Shared>,
    mut request: Request,
    next: Next,
) -> Response {
    let started = Instant::now();
    let id = id(request.headers());
    let method = method(request.method());
    let route = route::name(request.uri().path());
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
    if let Some(adopt) = shared.adopt {
        let headers = request.headers();
        adopt(&span, &|name| {
            let value = headers.get(name)?.to_str().ok()?;
            Some(value.to_owned())
        });
    }
    request.headers_mut().insert(REQUEST_ID, id.clone());
    let answering = AssertUnwindSafe(next.run(request).instrument(span.clone()));
    let mut response = answering
        .catch_unwind()
        .await
        .unwrap_or_else(|_| shared.refusal(Problem::Fault).into_response());
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
    shared.metrics.requests.get_or_create(&labels).inc();
    let durations = shared
        .metrics
        .durations
        .get_or_create(&RouteLabels { route });
    durations.observe(elapsed.as_secs_f64());
    let headers = response.headers_mut();
    headers.insert(REQUEST_ID, id);
    for (name, value) in HYGIENE {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// The id that the request brings, when it is a sane one, else a new one.
fn id(headers: &HeaderMap) -> HeaderValue {
    let sane = |value: &&HeaderValue| {
        let bytes = value.as_bytes();
        let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(byte);
        (1..=MAX_ID).contains(&bytes.len()) && bytes.iter().all(plain)
    };
    if let Some(given) = headers.get(REQUEST_ID).filter(sane) {
        return given.clone();
    }
    let made = uuid::Uuid::new_v4().simple().to_string();
    HeaderValue::from_str(&made).unwrap_or(HeaderValue::from_static("unknown"))
}

/// The method as a label: whatever isn't known counts together.
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
