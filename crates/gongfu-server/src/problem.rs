//! Refusals as problem documents (RFC 9457), with the members that the first REST contract had.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use gongfu_core::port::Timestamp;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, StatusCode};
use serde::Serialize;

/// Why a request is refused.
#[derive(Debug)]
pub(crate) enum Problem {
    /// Nothing is there.
    RouteUnknown,
    /// It is there for other methods.
    MethodWrong(&'static str),
    /// The transport of before 2025.
    TransportGone,
    /// The request names no host, or none that can be read.
    HostMalformed,
    /// The request is addressed to somebody else.
    HostUnknown(String),
    /// The request comes from somebody else's page.
    OriginForeign(String),
    /// A fault of the server's own.
    Fault,
}

impl Problem {
    /// Its status, its code, and what is wrong and what to do.
    fn told(&self) -> (StatusCode, &'static str, String) {
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
                    "requests to `{host}` are not answered; start the server with --public-url to name its address"
                ),
            ),
            Self::OriginForeign(origin) => (
                StatusCode::FORBIDDEN,
                "ORIGIN_FOREIGN",
                format!(
                    "pages of `{origin}` may not send requests; start the server with --public-url to name its address"
                ),
            ),
            Self::Fault => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "INTERNAL_SERVER_ERROR",
                "the server failed at this request; its log says more".to_owned(),
            ),
        }
    }

    /// The document, as of now.
    pub(crate) fn at(self, now: Timestamp) -> Refused {
        Refused { problem: self, now }
    }
}

/// A problem and when it happened.
pub(crate) struct Refused {
    problem: Problem,
    now: Timestamp,
}

/// The wire form.
#[derive(Serialize)]
struct Document<'a> {
    title: &'a str,
    status: u16,
    detail: &'a str,
    code: &'a str,
    timestamp: String,
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let (status, code, detail) = self.problem.told();
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
        response
    }
}
