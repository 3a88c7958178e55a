//! An endpoint: an input type with a method, a path, who may call it, and a reply.
//!
//! The fields of the input whose names are in the path come from there, those of a `GET` and those in `QUERY` from
//! the query, the others from the body.

use std::fmt::Write as _;

use axum::body::Body;
use axum::response::Response;
use gongfu_core::account::{Scope, TeamRole};
use http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE, ETAG, HeaderName, LOCATION};
use http::{HeaderValue, Method, StatusCode};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::context::Context;
use crate::problem::Problem;

/// The callers of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Everybody, without a credential.
    Public,
    /// Every credential.
    Credential,
    /// Every credential with these scopes.
    Scopes(&'static [Scope]),
    /// A signed-in person; no API token.
    Person,
    /// A signed-in admin; no API token.
    Admin,
}

/// The body of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestBody {
    /// A JSON object with the other fields of the input; no body if there are none.
    Fields,
    /// A JSON object that is one field of the input.
    Whole(&'static str),
    /// Any bytes, up to this many; the input doesn't have them.
    Bytes(usize),
    /// A form with files, up to this many bytes; the input doesn't have them.
    Form(usize),
}

/// A refusal that is an endpoint's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    /// The codes, for the documentation.
    pub(crate) codes: &'static [&'static str],
}

impl Refusal {
    pub(crate) const AGENT_OFF: Self = Self::of(403, &["AGENT_OFF"]);
    pub(crate) const CONFLICT: Self = Self::of(409, &["CONFLICT"]);
    pub(crate) const INVALID_ARGUMENT: Self = Self::of(422, &["INVALID_ARGUMENT"]);
    pub(crate) const INVALID_CURSOR: Self = Self::of(422, &["INVALID_CURSOR"]);
    pub(crate) const NOT_FOUND: Self = Self::of(404, &["NOT_FOUND"]);
    pub(crate) const QUOTA_EXCEEDED: Self = Self::of(429, &["QUOTA_EXCEEDED"]);
    pub(crate) const SESSION_INVALID: Self = Self::of(422, &["SESSION_INVALID"]);
    pub(crate) const SESSION_NOT_FOUND: Self = Self::of(404, &["SESSION_NOT_FOUND"]);

    const fn of(status: u16, codes: &'static [&'static str]) -> Self {
        Self { status, codes }
    }
}

/// The content of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplyBody {
    /// JSON.
    Json,
    /// Nothing.
    Nothing,
    /// JSON, or a stream of events where the request asks for one.
    JsonOrEvents,
    /// A file.
    File,
}

/// A request of the API.
pub(crate) trait Endpoint: DeserializeOwned + JsonSchema + Send + 'static {
    /// Its name in the documentation: `noun_verb`.
    const NAME: &'static str;
    /// Its method.
    const METHOD: Method;
    /// Its path, with names of fields in braces.
    const PATH: &'static str;
    /// Its callers.
    const ACCESS: Access;
    /// The least role in a team of those who may send it for the team, below `/api/v1/teams/{team}`; `None` where nobody
    /// may.
    const TEAM: Option<TeamRole> = None;
    /// True where a server without accounts has it as well, for its own user.
    const IS_LOCAL: bool = false;
    /// The status of its reply.
    const SUCCESS: StatusCode = StatusCode::OK;
    /// Another status of its reply.
    const OTHER_SUCCESS: Option<StatusCode> = None;
    /// The fields that come from the query though it is no `GET`.
    const QUERY: &'static [&'static str] = &[];
    /// The body of its requests.
    const BODY: RequestBody = RequestBody::Fields;
    /// The headers that it reads, for the documentation.
    const HEADERS: &'static [&'static str] = &[];
    /// Its refusals, besides those that follow from the above.
    const REFUSALS: &'static [Refusal] = &[];
    /// The content of its reply.
    const REPLY: ReplyBody = ReplyBody::Json;
    /// Its reply; `()` where it isn't JSON.
    type Reply: Serialize + JsonSchema + Send;

    /// Answers a request.
    fn answer(
        self,
        context: &Context,
    ) -> impl Future<Output = Result<Answer<Self::Reply>, Problem>> + Send;
}

/// The answer to a request.
#[derive(Debug)]
pub(crate) struct Answer<T> {
    content: Content<T>,
    status: Option<StatusCode>,
    headers: Vec<(HeaderName, String)>,
}

#[derive(Debug)]
enum Content<T> {
    Json(T),
    Nothing,
    File(Vec<u8>),
    Events(Body),
}

impl<T> From<T> for Answer<T> {
    fn from(reply: T) -> Self {
        Self::of(Content::Json(reply))
    }
}

impl<T> Answer<T> {
    fn of(content: Content<T>) -> Self {
        Self {
            content,
            status: None,
            headers: Vec::new(),
        }
    }

    /// The same with a header.
    #[must_use]
    pub(crate) fn with(mut self, name: HeaderName, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// The same with another status.
    #[must_use]
    pub(crate) fn status(mut self, status: StatusCode) -> Self {
        self.status = Some(status);
        self
    }

    /// The same with the version of what it is about.
    #[must_use]
    pub(crate) fn etag(self, tag: impl Into<String>) -> Self {
        self.with(ETAG, tag)
    }

    /// The same with the path of what was created.
    #[must_use]
    pub(crate) fn location(self, path: impl Into<String>) -> Self {
        self.with(LOCATION, path)
    }
}

impl Answer<()> {
    /// An answer without content.
    pub(crate) fn nothing() -> Self {
        Self::of(Content::Nothing)
    }

    /// A file, to be stored and never shown in place.
    pub(crate) fn file(bytes: Vec<u8>, media_type: &str, name: &str) -> Self {
        let mut encoded = String::new();
        for byte in name.bytes() {
            if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                encoded.push(char::from(byte));
            } else {
                // Writing to a string does not fail.
                let _ = write!(encoded, "%{byte:02X}");
            }
        }
        Self::of(Content::File(bytes))
            .with(CONTENT_TYPE, media_type)
            .with(
                CONTENT_DISPOSITION,
                format!("attachment; filename*=UTF-8''{encoded}"),
            )
    }
}

impl<T> Answer<T> {
    /// A stream of events.
    pub(crate) fn events(body: Body) -> Self {
        Self::of(Content::Events(body))
            .with(CONTENT_TYPE, "text/event-stream")
            // Proxies would hold it back.
            .with(HeaderName::from_static("x-accel-buffering"), "no")
    }
}

impl<T: Serialize> Answer<T> {
    /// The response. Nothing of the API is for caches: it is somebody's own.
    pub(crate) fn into_response(self, success: StatusCode) -> Result<Response, Problem> {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = self.status.unwrap_or(success);
        let headers = response.headers_mut();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        for (name, value) in self.headers {
            if let Ok(value) = HeaderValue::from_str(&value) {
                headers.insert(name, value);
            }
        }
        match self.content {
            Content::Nothing => {}
            Content::Events(body) => *response.body_mut() = body,
            Content::File(bytes) => *response.body_mut() = Body::from(bytes),
            Content::Json(reply) => {
                let json = HeaderValue::from_static("application/json");
                headers.insert(CONTENT_TYPE, json);
                let text = serde_json::to_vec(&reply).map_err(|_| Problem::Fault)?;
                *response.body_mut() = Body::from(text);
            }
        }
        Ok(response)
    }
}
