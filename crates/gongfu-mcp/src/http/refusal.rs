//! Refuses a request over HTTP before any method sees it, with a JSON-RPC error.

use std::borrow::Cow;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use rmcp::model::{ErrorCode, ErrorData};

use super::{HttpResponse, session};
use crate::message;

/// An error of the transport: JSON-RPC leaves the code to servers.
const TRANSPORT_ERROR: ErrorCode = ErrorCode(-32_000);
/// The session does not exist: other servers use the same code.
const SESSION_NOT_FOUND: ErrorCode = ErrorCode(-32_001);

/// A refusal of a request.
pub(super) struct Refusal {
    status: StatusCode,
    answer: message::Refusal,
}

impl From<message::Refusal> for Refusal {
    fn from(answer: message::Refusal) -> Self {
        Self {
            status: StatusCode::BAD_REQUEST,
            answer,
        }
    }
}

impl Refusal {
    pub(super) fn new(status: StatusCode, text: impl Into<Cow<'static, str>>) -> Self {
        let code = match status {
            StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE => ErrorCode::INVALID_REQUEST,
            StatusCode::NOT_FOUND => SESSION_NOT_FOUND,
            StatusCode::INTERNAL_SERVER_ERROR => ErrorCode::INTERNAL_ERROR,
            _ => TRANSPORT_ERROR,
        };
        Self::with_code(status, code, text)
    }

    pub(super) fn with_code(
        status: StatusCode,
        code: ErrorCode,
        text: impl Into<Cow<'static, str>>,
    ) -> Self {
        let answer = message::Refusal::new(ErrorData::new(code, text, None), None);
        Self { status, answer }
    }

    /// The refusal as an answer to a request, if its id can be read.
    fn to(mut self, request: &[u8]) -> Self {
        self.answer.id = message::salvage_id(request);
        self
    }

    pub(super) fn session_not_found() -> Self {
        let text = "there is no such session, or it has expired; send `initialize` again";
        Self::new(StatusCode::NOT_FOUND, text)
    }

    pub(super) fn initialize_too_large(limit: usize, request: &[u8]) -> Self {
        let text = format!("`initialize` is longer than {limit} bytes; send a shorter one");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, text).to(request)
    }

    pub(super) fn too_many_large_responses(request: &[u8]) -> Self {
        let text = "too many large answers are unread; read them, or request less at once";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, text).to(request)
    }

    /// A refusal by `rmcp`, which is plain text.
    pub(super) fn from_rmcp(status: StatusCode, text: String, request: &[u8]) -> Self {
        if status == StatusCode::NOT_FOUND {
            Self::session_not_found()
        } else if text.contains(session::DUPLICATE_ID) {
            // With its id the client would take it for the answer to the other request.
            Self::new(StatusCode::BAD_REQUEST, session::DUPLICATE_ID)
        } else if text.contains(session::ALREADY_INITIALIZED) {
            Self::new(StatusCode::BAD_REQUEST, session::ALREADY_INITIALIZED).to(request)
        } else if text.contains(session::FULL) {
            Self::too_many_sessions(request)
        } else if text.contains("Session ID is required") {
            let text = "a session is needed; send `initialize` first and its `Mcp-Session-Id` with \
                        every request, or use revision 2026-07-28";
            Self::new(status, text).to(request)
        } else {
            Self::new(status, text).to(request)
        }
    }

    /// The refusal of an `initialize` while there is no room for another session.
    pub(super) fn too_many_sessions(request: &[u8]) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, session::FULL).to(request)
    }

    /// The refusal as an event of a stream.
    pub(super) fn into_event(self) -> Bytes {
        let text = serde_json::to_string(&self.answer.into_message()).unwrap_or_default();
        format!("data: {text}\n\n").into()
    }

    pub(super) fn into_response(self) -> HttpResponse {
        let body = serde_json::to_vec(&self.answer.into_message()).unwrap_or_default();
        let mut response = Response::new(Full::from(body).boxed());
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}
