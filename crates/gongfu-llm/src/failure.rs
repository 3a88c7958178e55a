//! Turns an error of genai into one of the port: its kind, whether to try again, and a message that may be shown.
//!
//! No text of genai or of the HTTP client is passed on: it may hold the request, the address or the key.

use std::error::Error as StdError;
use std::str::Utf8Error;
use std::string::FromUtf8Error;
use std::time::Duration;

use genai::webc::StreamTimeout;
use gongfu_core::port::{ModelError, ModelErrorKind, ModelRequest};
use serde_json::Value;

use crate::guard::Fault;
use crate::redaction;
use crate::retry;
use crate::settings::ProviderKind;

/// The longest body of an error that is read, in bytes.
const MAX_BODY: usize = 64 * 1024;

/// The words of an error about a conversation that is too long, in lower case.
const TOO_LONG: &[&str] = &[
    "context length",
    "context_length",
    "context window",
    "input is too long",
    "input token count",
    "maximum context",
    "prompt is too long",
    "reduce the length",
    "too many tokens",
];

/// The code of a budget that is used up: it comes back with a payment, not with time.
const NO_QUOTA: &str = "insufficient_quota";
const USED_UP: &str = "says that the quota of this key is used up, so waiting doesn't help";

/// The reason that Gemini gives for a status 400.
const NO_KEY: &str = "api_key_invalid";

/// The words of an error about a model that can't call tools, in lower case.
const WITHOUT_TOOLS: &[&str] = &["does not support tools", "support tool use"];

/// A failed attempt.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) error: ModelError,
    /// The next attempt may succeed.
    pub(crate) is_worth_a_retry: bool,
    /// The wait that the provider asks for.
    pub(crate) wait: Option<Duration>,
}

/// The things that a message is made with.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    /// The name of the provider.
    pub(crate) provider: &'a str,
    pub(crate) kind: ProviderKind,
    pub(crate) key: Option<&'a str>,
    pub(crate) request: &'a ModelRequest,
}

impl Failure {
    pub(crate) fn new(kind: ModelErrorKind, message: String) -> Self {
        Self {
            error: ModelError::new(kind, message),
            is_worth_a_retry: kind.is_worth_a_retry(),
            wait: None,
        }
    }

    /// A failure that was found by looking at the answer.
    pub(crate) fn of_fault(fault: Fault, context: Context<'_>) -> Self {
        Self::new(
            fault.kind,
            format!("{}: {}", context.provider, fault.message),
        )
    }

    /// A failure that genai reports.
    pub(crate) fn of_error(error: genai::Error, context: Context<'_>) -> Self {
        match error {
            genai::Error::HttpError {
                status,
                body,
                headers,
                ..
            } => {
                let mut failure = of_status(status.as_u16(), &body, context);
                failure.wait = retry::asked(&headers);
                failure
            }
            genai::Error::ChatResponse { body, .. } => Self::of_event(&body, context),
            genai::Error::WebStream { error, .. } => match error.downcast::<genai::Error>() {
                Ok(error) => Self::of_error(*error, context),
                Err(error) => of_stream(error.as_ref(), context),
            },
            // The end of the stream, amid a piece.
            genai::Error::StreamParse { serde_error, .. } if serde_error.is_eof() => Self::new(
                ModelErrorKind::Incomplete,
                format!(
                    "{}: the answer ended in the middle of a chunk",
                    context.provider
                ),
            ),
            genai::Error::StreamParse { .. }
            | genai::Error::JsonValueExt(_)
            | genai::Error::SerdeJson(_)
            | genai::Error::InvalidJsonResponseElement { .. } => Self::new(
                ModelErrorKind::Malformed,
                format!("{}: a piece of the answer can't be read", context.provider),
            ),
            _ => Self::new(
                ModelErrorKind::Rejected,
                format!(
                    "{}: the request can't be sent to this provider",
                    context.provider
                ),
            ),
        }
    }
}

/// The failure of an answer with a status that is no success.
fn of_status(status: u16, body: &str, context: Context<'_>) -> Failure {
    let detail = Detail::read(body);
    let (kind, what) = match status {
        _ if detail.code.contains(NO_KEY) => (ModelErrorKind::Unauthorized, "refuses the key"),
        _ if detail.code.contains(NO_QUOTA) => (ModelErrorKind::RateLimited, USED_UP),
        _ if detail.says(WITHOUT_TOOLS) => (
            ModelErrorKind::Rejected,
            "can't let this model call tools: add it to `models.without_tools`",
        ),
        401 | 403 => (ModelErrorKind::Unauthorized, "refuses the key"),
        404 if context.kind == ProviderKind::OpenAi && !detail.says(&["model"]) => (
            ModelErrorKind::UnknownModel,
            "has nothing at this address: the base URL may lack its path, mostly `/v1`",
        ),
        404 => (
            ModelErrorKind::UnknownModel,
            "has no such model at this address",
        ),
        429 => (ModelErrorKind::RateLimited, "is limiting requests"),
        408 | 500.. => (ModelErrorKind::Unavailable, "isn't available right now"),
        300..=399 => (
            ModelErrorKind::Rejected,
            "redirects to another address; redirects aren't followed",
        ),
        413 => (
            ModelErrorKind::TooLong,
            "doesn't accept a conversation of this length",
        ),
        _ if detail.says(TOO_LONG) => (
            ModelErrorKind::TooLong,
            "doesn't accept a conversation of this length",
        ),
        _ => (ModelErrorKind::Rejected, "refuses the request"),
    };
    detail.failure(kind, &format!("{what} (status {status})"), context)
}

impl Failure {
    /// The failure of an answer that ends with an error instead.
    pub(crate) fn of_event(body: &Value, context: Context<'_>) -> Self {
        let detail = Detail::of(body);
        if let Some(status) = detail.status {
            return of_status(status, &body.to_string(), context);
        }
        let has = |word: &str| detail.code.contains(word);
        let (kind, what) = if detail.says(TOO_LONG) {
            (
                ModelErrorKind::TooLong,
                "doesn't accept a conversation of this length",
            )
        } else if detail.is_block {
            (ModelErrorKind::Rejected, "blocks this conversation")
        } else if has(NO_QUOTA) {
            (ModelErrorKind::RateLimited, USED_UP)
        } else if has("rate_limit") {
            (ModelErrorKind::RateLimited, "is limiting requests")
        } else if has("authentication")
            || has("permission")
            || has("invalid_api_key")
            || has(NO_KEY)
        {
            (ModelErrorKind::Unauthorized, "refuses the key")
        } else if has("not_found") {
            (ModelErrorKind::UnknownModel, "has no such model")
        } else if has("invalid_request") {
            (ModelErrorKind::Rejected, "refuses the request")
        } else {
            (
                ModelErrorKind::Unavailable,
                "ended the answer with an error",
            )
        };
        detail.failure(kind, what, context)
    }
}

/// The failure of the connection.
fn of_stream(error: &(dyn StdError + Send + Sync + 'static), context: Context<'_>) -> Failure {
    let (kind, what) = if error.is::<StreamTimeout>() {
        (ModelErrorKind::Stalled, "stopped sending".to_owned())
    } else if let Some(error) = error.downcast_ref::<FromUtf8Error>() {
        of_text(error.utf8_error())
    } else if let Some(error) = error.downcast_ref::<Utf8Error>() {
        of_text(*error)
    } else {
        let http = error.downcast_ref::<reqwest::Error>();
        let is = |of: fn(&reqwest::Error) -> bool| http.is_some_and(of);
        if is(reqwest::Error::is_timeout) && !is(reqwest::Error::is_connect) {
            (
                ModelErrorKind::Stalled,
                "didn't complete the answer in time".to_owned(),
            )
        } else if is(reqwest::Error::is_connect) || is(reqwest::Error::is_request) {
            (
                ModelErrorKind::Unavailable,
                format!("can't be reached{}", cause(error)),
            )
        } else {
            (
                ModelErrorKind::Incomplete,
                "closed the connection before the answer was complete".to_owned(),
            )
        }
    };
    Failure::new(kind, format!("{} {what}", context.provider))
}

/// The failure of text that is not UTF-8: cut, or not text.
fn of_text(error: Utf8Error) -> (ModelErrorKind, String) {
    if error.error_len().is_none() {
        (
            ModelErrorKind::Incomplete,
            "ended the answer in the middle of a character".to_owned(),
        )
    } else {
        (
            ModelErrorKind::Malformed,
            "sends text that is not UTF-8".to_owned(),
        )
    }
}

/// The cause that the system names, such as a connection that is refused.
fn cause(error: &(dyn StdError + 'static)) -> String {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<std::io::Error>()
            && error.raw_os_error().is_some()
        {
            return format!(": {}", error.kind());
        }
        next = error.source();
    }
    String::new()
}

/// The parts of an error's body that say something.
#[derive(Debug, Default)]
struct Detail {
    message: String,
    /// Its codes, types and reasons, in lower case.
    code: String,
    /// The prompt was blocked; the message is the reason.
    is_block: bool,
    /// A status, where a relay wrote one into the body.
    status: Option<u16>,
}

impl Detail {
    fn read(body: &str) -> Self {
        if body.len() > MAX_BODY {
            return Self::default();
        }
        if let Ok(value @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(body) {
            return Self::of(&value);
        }
        // A page says nothing to people, and genai's own words may name the address.
        let is_plain =
            !body.trim_start().starts_with('<') && !body.starts_with("Failed to read error body");
        Self {
            message: if is_plain {
                body.to_owned()
            } else {
                String::new()
            },
            ..Self::default()
        }
    }

    fn of(body: &Value) -> Self {
        let body = body.get(0).unwrap_or(body);
        if let Some(Value::String(reason)) = body.pointer("/promptFeedback/blockReason") {
            return Self {
                message: reason.clone(),
                is_block: true,
                ..Self::default()
            };
        }
        let inner = body
            .get("error")
            .filter(|inner| inner.is_object())
            .unwrap_or(body);
        let text = |of: &Value, name: &str| of.get(name).and_then(Value::as_str).map(str::to_owned);
        let message = text(inner, "message")
            .or_else(|| text(inner, "detail"))
            .or_else(|| text(inner, "error"))
            .or_else(|| body.as_str().map(str::to_owned));
        let codes = ["code", "type", "status"].map(|name| text(inner, name).unwrap_or_default());
        let details = inner
            .get("details")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let reasons = details.filter_map(|one| text(one, "reason"));
        let codes: Vec<String> = codes.into_iter().chain(reasons).collect();
        let status = inner.get("code").and_then(Value::as_u64);
        Self {
            message: message.unwrap_or_default(),
            code: codes.join(" ").to_lowercase(),
            is_block: false,
            status: status
                .and_then(|status| u16::try_from(status).ok())
                .filter(|status| (400..600).contains(status)),
        }
    }

    /// Returns true if the message or a code has one of these words.
    fn says(&self, words: &[&str]) -> bool {
        let message = self.message.to_lowercase();
        words
            .iter()
            .any(|words| message.contains(words) || self.code.contains(words))
    }

    fn failure(&self, kind: ModelErrorKind, what: &str, context: Context<'_>) -> Failure {
        let Context {
            provider,
            key,
            request,
            ..
        } = context;
        let said = redaction::clean(&self.message, key, request);
        let mut failure = Failure::new(
            kind,
            if said.is_empty() {
                format!("{provider} {what}")
            } else {
                format!("{provider} {what}: {said}")
            },
        );
        failure.is_worth_a_retry &= !self.code.contains(NO_QUOTA);
        failure
    }
}
