//! Why a request over HTTP is refused before any method sees it, as a JSON-RPC error.

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use rmcp::model::{ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage};

use super::{HttpResponse, session, unread};
use crate::message;

/// Free for a server's own use, by JSON-RPC: what only the transport knows.
const TRANSPORT: ErrorCode = ErrorCode(-32_000);
/// A session that isn't there, as other servers tell it.
const SESSION: ErrorCode = ErrorCode(-32_001);

/// Why a request is refused.
pub(super) enum Refusal {
    /// The body is no JSON-RPC message.
    Message(Box<message::Refusal>),
    /// The body is longer than is allowed.
    TooLarge { limit: usize },
    /// The body didn't come in time.
    Slow { seconds: u64 },
    /// The body ended before its end.
    Cut,
    /// The body isn't said to be JSON.
    MediaType,
    /// There is no such profile.
    Profile(String),
    /// The session isn't there, or no longer.
    SessionUnknown,
    /// The event that a stream is to be continued behind isn't known, or no longer.
    EventUnknown,
    /// The server is about to end.
    Stopping,
    /// There is no room for the answer to this request.
    Crowded(Option<RequestId>),
    /// Refused by the transport, in its words: this request, where that can be told.
    Transport(StatusCode, String, Option<RequestId>),
}

impl Refusal {
    /// What the transport answered without a body that a client could read.
    pub(super) fn of(status: StatusCode, text: &str, id: Option<RequestId>) -> Self {
        if status == StatusCode::NOT_FOUND {
            return Self::SessionUnknown;
        }
        if text.contains(session::FULL) {
            return Self::Transport(
                StatusCode::SERVICE_UNAVAILABLE,
                session::FULL.to_owned(),
                id,
            );
        }
        if text.contains(session::TWICE) {
            // By the id the client would take it for the answer of the other request.
            return Self::Transport(StatusCode::BAD_REQUEST, session::TWICE.to_owned(), None);
        }
        if text.contains(session::AGAIN) {
            return Self::Transport(StatusCode::BAD_REQUEST, session::AGAIN.to_owned(), id);
        }
        let words = match status {
            StatusCode::NOT_ACCEPTABLE => "the client must accept both application/json and text/event-stream; send `Accept: application/json, text/event-stream`".to_owned(),
            StatusCode::METHOD_NOT_ALLOWED => "there is nothing to read here by this method; send messages by POST".to_owned(),
            StatusCode::FORBIDDEN if text.contains("Host") => "requests to this host aren't answered; start the server with --public-url to name its address".to_owned(),
            StatusCode::FORBIDDEN => "pages of this origin may not send requests; start the server with --public-url to name its address".to_owned(),
            StatusCode::BAD_REQUEST if text.contains("Session ID is required") => "a session is needed; send `initialize` first and its `Mcp-Session-Id` with every request, or use revision 2026-07-28".to_owned(),
            _ => text.to_owned(),
        };
        Self::Transport(status, words, id)
    }

    fn told(self) -> (StatusCode, ServerJsonRpcMessage) {
        let (status, code, text) = match self {
            Self::Message(refusal) => return (StatusCode::BAD_REQUEST, refusal.answer()),
            Self::TooLarge { limit } => (
                StatusCode::PAYLOAD_TOO_LARGE,
                ErrorCode::INVALID_REQUEST,
                format!("the message is longer than {limit} bytes; send a shorter one"),
            ),
            Self::Slow { seconds } => (
                StatusCode::REQUEST_TIMEOUT,
                TRANSPORT,
                format!("the message did not arrive within {seconds} seconds; send it again"),
            ),
            Self::Cut => (
                StatusCode::BAD_REQUEST,
                ErrorCode::PARSE_ERROR,
                "the message ended before its end; send it again".to_owned(),
            ),
            Self::MediaType => (
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                TRANSPORT,
                "the message must be JSON; send `Content-Type: application/json`".to_owned(),
            ),
            Self::Profile(text) => (StatusCode::BAD_REQUEST, ErrorCode::INVALID_PARAMS, text),
            Self::SessionUnknown => (
                StatusCode::NOT_FOUND,
                SESSION,
                "there is no such session, or it has expired; send `initialize` again".to_owned(),
            ),
            Self::Crowded(id) => {
                let error = ErrorData::new(TRANSPORT, unread::CROWDED, None);
                let answer = ServerJsonRpcMessage::error(error, id);
                return (StatusCode::SERVICE_UNAVAILABLE, answer);
            }
            Self::Stopping => (
                StatusCode::SERVICE_UNAVAILABLE,
                TRANSPORT,
                "the server is about to end; connect again in a moment".to_owned(),
            ),
            Self::EventUnknown => (
                StatusCode::BAD_REQUEST,
                ErrorCode::INVALID_REQUEST,
                "`Last-Event-ID` is no event of this session, or what came behind it isn't kept any \
                 more; send the request again"
                    .to_owned(),
            ),
            Self::Transport(status, text, id) => {
                let code = match status {
                    StatusCode::BAD_REQUEST => ErrorCode::INVALID_REQUEST,
                    status
                        if status.is_server_error()
                            && status != StatusCode::SERVICE_UNAVAILABLE =>
                    {
                        ErrorCode::INTERNAL_ERROR
                    }
                    _ => TRANSPORT,
                };
                let error = ErrorData::new(code, text, None);
                return (status, ServerJsonRpcMessage::error(error, id));
            }
        };
        let error = ErrorData::new(code, text, None);
        (status, ServerJsonRpcMessage::error(error, None))
    }

    /// The answer as an event of a stream.
    pub(super) fn into_event(self) -> Bytes {
        let (_, error) = self.told();
        let text = serde_json::to_string(&error).unwrap_or_default();
        format!("data: {text}\n\n").into()
    }

    /// The answer.
    pub(super) fn into_response(self) -> HttpResponse {
        let (status, error) = self.told();
        let body = serde_json::to_vec(&error).unwrap_or_default();
        let mut response = Response::new(Full::from(body).boxed());
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }

    /// The answer, with what the transport's own says besides its text.
    pub(super) fn into_response_with(self, headers: &HeaderMap) -> HttpResponse {
        let mut response = self.into_response();
        if let Some(allowed) = headers.get(ALLOW) {
            response.headers_mut().insert(ALLOW, allowed.clone());
        }
        response
    }
}
