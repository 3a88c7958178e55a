//! Refusals as problem documents (RFC 9457).

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use gongfu_core::port::Timestamp;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use serde::Serialize;

use crate::caller::Caller;

/// Why a request is refused.
#[derive(Debug)]
pub(crate) enum Problem {
    /// There is no such route.
    RouteUnknown,
    /// The route has other methods.
    MethodWrong(&'static str),
    /// The HTTP+SSE transport of 2024-11-05.
    TransportGone,
    /// The `Host` header is missing or malformed.
    HostMalformed,
    /// The request is for another host.
    HostUnknown(String),
    /// The request comes from a page of another origin.
    OriginForeign(String),
    /// The client isn't the server's user, as far as is known.
    Unauthenticated(Caller),
    /// The server failed.
    Fault,
}

impl Problem {
    /// Status, code and text.
    fn parts(&self) -> (StatusCode, &'static str, String) {
        match self {
            Self::RouteUnknown => (
                StatusCode::NOT_FOUND,
                "NOT_FOUND",
                "there is nothing at this address; MCP is at /mcp".to_owned(),
            ),
            Self::MethodWrong(allowed) => (
                StatusCode::METHOD_NOT_ALLOWED,
                "METHOD_NOT_ALLOWED",
                format!("this address is for other methods; use {allowed}"),
            ),
            Self::TransportGone => (
                StatusCode::GONE,
                "TRANSPORT_GONE",
                "the HTTP+SSE transport of 2024-11-05 is not served; use Streamable HTTP at /mcp"
                    .to_owned(),
            ),
            Self::HostMalformed => (
                StatusCode::BAD_REQUEST,
                "HOST_MALFORMED",
                "the request must name one host; send one `Host` header".to_owned(),
            ),
            Self::HostUnknown(host) => (
                StatusCode::FORBIDDEN,
                "HOST_UNKNOWN",
                format!(
                    "requests for host `{host}` are refused; set the server's address with --public-url"
                ),
            ),
            Self::OriginForeign(origin) => (
                StatusCode::FORBIDDEN,
                "ORIGIN_FOREIGN",
                format!(
                    "requests from pages of `{origin}` are refused; set the server's address with --public-url"
                ),
            ),
            Self::Unauthenticated(caller) => (
                StatusCode::UNAUTHORIZED,
                "UNAUTHENTICATED",
                unauthenticated(*caller),
            ),
            Self::Fault => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "INTERNAL_SERVER_ERROR",
                "internal error; see the server's log".to_owned(),
            ),
        }
    }

    /// The document with a time.
    pub(crate) fn at(self, now: Timestamp) -> ProblemResponse {
        ProblemResponse { problem: self, now }
    }
}

/// A problem and its time.
pub(crate) struct ProblemResponse {
    problem: Problem,
    now: Timestamp,
}

/// The document on the wire.
#[derive(Serialize)]
struct Document<'a> {
    title: &'a str,
    status: u16,
    detail: &'a str,
    code: &'a str,
    timestamp: String,
}

impl IntoResponse for ProblemResponse {
    fn into_response(self) -> Response {
        let (status, code, detail) = self.problem.parts();
        let document = Document {
            title: status.canonical_reason().unwrap_or("Error"),
            status: status.as_u16(),
            detail: &detail,
            code,
            timestamp: self.now.to_seconds(),
        };
        let body = serde_json::to_vec(&document).unwrap_or_default();
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(
            CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Problem::MethodWrong(allowed) = self.problem {
            headers.insert(ALLOW, HeaderValue::from_static(allowed));
        }
        if let Problem::Unauthenticated(_) = self.problem {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// The reason why a client needs the token, and the way to it.
fn unauthenticated(caller: Caller) -> String {
    const TOKEN: &str =
        "the server's token (the file `token` in its GONGFU_HOME) as `Authorization: Bearer TOKEN`";
    match caller {
        Caller::Other => format!(
            "the server only answers its own user, and this connection belongs to another; run the client as the server's user, or send {TOKEN}"
        ),
        Caller::Proxy => format!(
            "a server with a public URL can't identify users by connection; have the proxy or the client send {TOKEN}"
        ),
        Caller::Own | Caller::Unknown => format!(
            "the server only answers its own user, and this system doesn't report the owner of a connection; send {TOKEN}"
        ),
    }
}
