//! Refusals in OpenAI's form, for every request below `/v1`.

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderValue, StatusCode};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::problem::{Problem, Words};

/// The paths whose clients expect it.
const PREFIX: &str = "/v1/";
/// The longest refusal.
const MAX_REFUSAL: usize = 1024 * 1024;
/// Tells OpenAI's clients whether to send the request again.
const SHOULD_RETRY: &str = "x-should-retry";
/// The code of a request that wasn't looked at.
const RATE_LIMITED: &str = "RATE_LIMIT_EXCEEDED";

/// Why a request is refused, in OpenAI's form. Programs branch on `code`.
#[derive(Serialize, JsonSchema)]
pub(in super::super) struct ErrorBody {
    /// The refusal.
    error: ErrorObject,
}

#[derive(Serialize, JsonSchema)]
struct ErrorObject {
    /// The reason and the way out, for people.
    message: String,
    /// The kind, such as `invalid_request_error`.
    r#type: &'static str,
    /// The field of the request that it is about.
    param: Option<String>,
    /// The reason, for programs: upper-case words.
    code: String,
    /// The kind of failure of a model, such as `rate_limited`.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    /// The session that can be resumed.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
}

impl ErrorBody {
    /// The refusal of a problem.
    pub(super) fn of(problem: &Problem) -> Self {
        let Words { code, detail, hint } = problem.words();
        let mut body = Self::new(problem.status(), code, &detail, hint.as_deref());
        let more = problem.more();
        body.error.kind = text_in(&more, "kind");
        body.error.session = text_in(&more, "session");
        body
    }

    fn new(status: StatusCode, code: &str, detail: &str, hint: Option<&str>) -> Self {
        let hint = hint.map_or_else(String::new, |hint| format!("; {hint}"));
        Self {
            error: ErrorObject {
                message: format!("{detail}{hint}"),
                r#type: kind(status),
                param: None,
                code: code.to_owned(),
                kind: None,
                session: None,
            },
        }
    }
}

/// A member of a problem document.
fn text_in(document: &Map<String, Value>, name: &str) -> Option<String> {
    document.get(name)?.as_str().map(str::to_owned)
}

/// The type of a refusal.
fn kind(status: StatusCode) -> &'static str {
    match status.as_u16() {
        401 => "authentication_error",
        403 => "permission_error",
        429 => "rate_limit_error",
        500.. => "server_error",
        _ => "invalid_request_error",
    }
}

/// Returns true for a path below `/v1`.
pub(in super::super) fn is_for(path: &str) -> bool {
    path.starts_with(PREFIX)
}

/// The status that OpenAI's clients know for that: they send a 409 again, and expect a 400 where others get a 422.
pub(in super::super) fn known_status(status: u16, code: &str) -> u16 {
    match (status, code) {
        (_, "MODEL_NOT_CONFIGURED") => 404,
        (409 | 422, _) => 400,
        (status, _) => status,
    }
}

/// Writes refusals of requests below `/v1` in OpenAI's form.
pub(crate) async fn speak_openai(request: Request, next: Next) -> Response {
    let is_known = is_for(request.uri().path());
    let response = next.run(request).await;
    let media_type = response.headers().get(CONTENT_TYPE);
    let is_problem = media_type.is_some_and(|kind| kind == "application/problem+json");
    if !is_known || !is_problem {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let body = to_bytes(body, MAX_REFUSAL).await.unwrap_or_default();
    let document: Value = serde_json::from_slice(&body).unwrap_or_default();
    let text = |name: &str| document.get(name).and_then(Value::as_str);
    let code = text("code").unwrap_or_default();
    let param = document.pointer("/errors/0/field").and_then(Value::as_str);
    let param = param.map(|field| field.strip_prefix("request.").unwrap_or(field));
    let param = param.filter(|field| !field.is_empty());
    let detail = text("detail").unwrap_or_default();
    let detail = detail.strip_prefix("request.").unwrap_or(detail);
    let status = known_status(parts.status.as_u16(), code);
    parts.status = StatusCode::from_u16(status).unwrap_or(parts.status);
    let mut error = ErrorBody::new(parts.status, code, detail, text("hint"));
    error.error.param = param.map(str::to_owned);
    let member = |name| text_in(document.as_object()?, name);
    error.error.kind = member("kind");
    error.error.session = member("session");
    let json = HeaderValue::from_static("application/json");
    parts.headers.insert(CONTENT_TYPE, json);
    parts.headers.remove(CONTENT_LENGTH);
    if code != RATE_LIMITED {
        // gongfu asked the model again itself; and a turn that failed may have called tools that aren't to be called twice.
        let never = HeaderValue::from_static("false");
        parts.headers.insert(SHOULD_RETRY, never);
    }
    let body = serde_json::to_vec(&error).unwrap_or_default();
    Response::from_parts(parts, Body::from(body))
}
