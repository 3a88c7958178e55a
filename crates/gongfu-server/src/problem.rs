//! Refusals as problem documents (RFC 9457).

use std::borrow::Cow;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use gongfu_core::account::Scope;
use gongfu_core::port::{PortError, Timestamp};
use gongfu_core::registry::{AccountError, IdentityError, SignInError};
use gongfu_hub::ToolError;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, StatusCode};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::caller::Caller;
use crate::rate::RetryAfter;

mod text;

pub(crate) use text::Words;

/// Why a request is refused.
#[derive(Debug)]
pub(crate) enum Problem {
    /// There is no such route.
    RouteUnknown,
    /// The route has other methods.
    MethodWrong(Cow<'static, str>),
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
    /// There is no credential.
    CredentialMissing,
    /// There are two credentials, or one in the URL.
    CredentialMisplaced,
    /// The credential is refused.
    Credential(CredentialFault),
    /// The credential lacks these scopes.
    ScopesMissing(Vec<Scope>),
    /// An API token asks for something that needs a signed-in person.
    PersonNeeded,
    /// The person is no admin.
    AdminNeeded,
    /// The name or the password is wrong.
    SignInRefused,
    /// Nobody signs in by password.
    PasswordsOff,
    /// The agent isn't for the callers of this server.
    AgentOff,
    /// Something isn't there, or belongs to somebody else.
    NotFound(&'static str),
    /// The request can't be read.
    Malformed(String),
    /// Values of the request can't be used.
    Invalid(Vec<FieldError>),
    /// The body is longer than this many bytes.
    TooLarge(usize),
    /// The body didn't come in time.
    BodySlow,
    /// The body has another media type than these.
    MediaType(&'static str),
    /// The state of something forbids the request.
    Conflict {
        /// The reason.
        detail: String,
        /// The way out.
        hint: &'static str,
        /// The field that it is about.
        field: Option<&'static str>,
    },
    /// Something isn't allowed here.
    Forbidden {
        /// The reason.
        detail: String,
        /// The way out.
        hint: &'static str,
    },
    /// There were too many requests.
    RateLimited(RetryAfter),
    /// A part of the server doesn't answer.
    Unavailable(String),
    /// A tool or an operation failed.
    Tool(Box<ToolError>),
}

/// Why a credential is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CredentialFault {
    /// It has the wrong form.
    Form,
    /// It is of another kind than is used here.
    Kind,
    /// It isn't one of this server, or is for something else.
    Foreign,
    /// There is no such token.
    Unknown,
    /// It is too old.
    Expired,
    /// It was revoked.
    Revoked,
}

/// A value of a request that can't be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct FieldError {
    /// The field; a path for one inside of another.
    pub(crate) field: String,
    /// The reason.
    pub(crate) message: String,
}

impl FieldError {
    pub(crate) fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            message: message.into(),
        }
    }
}

/// Why a request is refused, as a problem document (RFC 9457). Programs branch on `code`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ProblemDocument {
    /// Always `about:blank`: `code` says more.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The name of the status.
    title: &'static str,
    /// The HTTP status.
    status: u16,
    /// The reason, for people.
    detail: String,
    /// The reason, for programs: upper-case words.
    code: &'static str,
    /// The time of the answer (RFC 3339).
    timestamp: String,
    /// The way out, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    /// The scopes that the credential lacks.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    #[schemars(with = "Vec<String>")]
    missing: Vec<Scope>,
    /// The values that can't be used.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    errors: Vec<FieldError>,
    /// More about the problem of a tool.
    #[serde(flatten)]
    #[schemars(skip)]
    more: Map<String, Value>,
}

impl Problem {
    /// A value of the request that can't be used.
    pub(crate) fn field(field: &str, message: impl Into<String>) -> Self {
        Self::Invalid(vec![FieldError::new(field, message)])
    }

    /// The document with a time, and how a client gets a credential.
    pub(crate) fn at(self, now: Timestamp, challenge: Option<&str>) -> ProblemResponse {
        ProblemResponse {
            problem: self,
            now,
            challenge: challenge.map(str::to_owned),
        }
    }

    fn document(self, status: StatusCode, now: Timestamp) -> ProblemDocument {
        let Words { code, detail, hint } = self.words();
        let mut document = ProblemDocument {
            kind: "about:blank",
            title: status.canonical_reason().unwrap_or("Error"),
            status: status.as_u16(),
            detail,
            code,
            timestamp: now.to_seconds(),
            hint,
            missing: Vec::new(),
            errors: Vec::new(),
            more: self.more(),
        };
        match self {
            Self::ScopesMissing(missing) => document.missing = missing,
            Self::Invalid(errors) => document.errors = errors,
            Self::Conflict {
                detail,
                field: Some(field),
                ..
            } => document.errors = vec![FieldError::new(field, detail)],
            _ => {}
        }
        document
    }

    /// More about the problem of a tool.
    pub(crate) fn more(&self) -> Map<String, Value> {
        let Self::Tool(error) = self else {
            return Map::new();
        };
        let mut more = error.to_json();
        for known in ["code", "message", "hint"] {
            more.remove(known);
        }
        more
    }

    /// The headers that belong to the status.
    fn add_headers(&self, headers: &mut HeaderMap, challenge: Option<&str>) {
        let mut add = |name, value: &str| {
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(name, value);
            }
        };
        match self {
            Self::MethodWrong(allowed) => add(ALLOW, allowed),
            Self::RateLimited(RetryAfter(seconds)) => add(RETRY_AFTER, &seconds.to_string()),
            Self::Unavailable(_) => add(RETRY_AFTER, "5"),
            Self::Unauthenticated(_) => add(WWW_AUTHENTICATE, "Bearer"),
            _ => {}
        }
        let Some(challenge) = challenge else { return };
        match self {
            Self::CredentialMissing | Self::SignInRefused => add(WWW_AUTHENTICATE, challenge),
            Self::Credential(_) => add(
                WWW_AUTHENTICATE,
                &format!("{challenge}, error=\"invalid_token\""),
            ),
            Self::ScopesMissing(_) => add(
                WWW_AUTHENTICATE,
                &format!("{challenge}, error=\"insufficient_scope\""),
            ),
            _ => {}
        }
    }
}

/// A problem and its time.
pub(crate) struct ProblemResponse {
    problem: Problem,
    now: Timestamp,
    challenge: Option<String>,
}

impl IntoResponse for ProblemResponse {
    fn into_response(self) -> Response {
        let status = self.problem.status();
        let mut response = Response::new(Body::empty());
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(
            CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        self.problem.add_headers(headers, self.challenge.as_deref());
        let document = self.problem.document(status, self.now);
        *response.body_mut() = Body::from(serde_json::to_vec(&document).unwrap_or_default());
        response
    }
}

impl From<IdentityError> for Problem {
    fn from(error: IdentityError) -> Self {
        Self::Credential(match error {
            IdentityError::Malformed => CredentialFault::Form,
            IdentityError::Unknown => CredentialFault::Unknown,
            IdentityError::Expired => CredentialFault::Expired,
            IdentityError::Revoked => CredentialFault::Revoked,
            IdentityError::Audience => CredentialFault::Foreign,
            IdentityError::Store(error) => return error.into(),
        })
    }
}

impl From<SignInError> for Problem {
    fn from(error: SignInError) -> Self {
        match error {
            SignInError::Refused => Self::SignInRefused,
            SignInError::PasswordsOff => Self::PasswordsOff,
            SignInError::Ended => Self::Credential(CredentialFault::Foreign),
            SignInError::Reused => Self::Credential(CredentialFault::Revoked),
            SignInError::Store(error) => error.into(),
        }
    }
}

impl From<AccountError> for Problem {
    fn from(error: AccountError) -> Self {
        let conflict = |hint, field| Self::Conflict {
            detail: error.to_string(),
            hint,
            field,
        };
        match error {
            AccountError::EmailTaken => conflict("sign in, or use another address", Some("email")),
            AccountError::UsernameTaken => conflict("use another name", Some("username")),
            AccountError::LastAdmin => conflict("make another user an admin first", None),
            AccountError::TeamTaken => conflict("use another name", Some("name")),
            AccountError::LastMaintainer => {
                conflict("make another member a maintainer first", None)
            }
            AccountError::AlreadyMember => conflict("pass it to the person it is for", None),
            AccountError::Synced => conflict("change the group at the company's sign-in", None),
            AccountError::Password(error) => Self::field("password", error.to_string()),
            AccountError::RegistrationClosed => Self::Forbidden {
                detail: error.to_string(),
                hint: "ask an admin of the server for an account",
            },
            AccountError::PasswordsOff => Self::PasswordsOff,
            AccountError::WrongPassword => Self::Forbidden {
                detail: error.to_string(),
                hint: "send the password with which you sign in",
            },
            AccountError::Unknown(what) => Self::NotFound(what),
            AccountError::Invalid(why) => Self::Invalid(vec![FieldError::new("", why)]),
            AccountError::Store(error) => error.into(),
        }
    }
}

impl From<PortError> for Problem {
    fn from(error: PortError) -> Self {
        Self::Unavailable(error.to_string())
    }
}

impl From<ToolError> for Problem {
    fn from(error: ToolError) -> Self {
        match error.problem {
            gongfu_hub::Problem::ScopeMissing { scope, .. } => Self::ScopesMissing(vec![scope]),
            _ => Self::Tool(Box::new(error)),
        }
    }
}
