//! The reasons why a server gives no answer, as far as somebody can act on them.

use std::error::Error;

use gongfu_core::port::PortError;
use gongfu_core::text::{clipped, visible};
use rmcp::service::{ClientInitializeError, ServiceError};
use rmcp::transport::auth::AuthError;
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, InsufficientScopeError, StreamableHttpError,
};

use crate::web::{cause, chain};

/// The most of an error's text that is passed on, in characters.
const MAX_TEXT: usize = 1_000;

type HttpError = StreamableHttpError<reqwest::Error>;

/// Why a server gives no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// A person must sign in; the challenge of the server (RFC 9110, `WWW-Authenticate`).
    SignIn(String),
    /// A person must sign in again, for more scopes.
    Scope(String),
    /// The token of a sign-in can't be had now, for people.
    Token(String),
    /// There is no way to its address, for people.
    Unreachable(String),
    /// Anything else, for people.
    Other(String),
}

impl Trouble {
    /// Returns true if the server did nothing, because of the sign-in.
    pub(crate) fn is_of_sign_in(&self) -> bool {
        matches!(self, Self::SignIn(_) | Self::Scope(_) | Self::Token(_))
    }

    /// The same for users of a server, without the words of programs and networks: those may name commands and addresses.
    pub(crate) fn for_users(&self) -> PortError {
        let why = match self {
            Self::SignIn(_) | Self::Scope(_) => {
                return PortError::OutOfReach("the operator must sign in there".to_owned());
            }
            Self::Token(_) => "its sign-in can't be refreshed now",
            Self::Unreachable(_) => "its address can't be reached",
            Self::Other(_) => "it doesn't start, or gives no answer",
        };
        PortError::Unavailable(why.to_owned())
    }

    fn of(error: &(dyn Error + 'static)) -> Self {
        if let Some(refusal) = cause::<InsufficientScopeError>(error) {
            return Self::Scope(refusal.required_scope.clone().unwrap_or_default());
        }
        if let Some(refusal) = cause::<AuthRequiredError>(error) {
            return Self::SignIn(refusal.www_authenticate_header.clone());
        }
        match cause::<AuthError>(error) {
            Some(AuthError::AuthorizationRequired) => return Self::SignIn(String::new()),
            Some(error) => return Self::Token(words(&chain(error))),
            None => {}
        }
        if let Some(StreamableHttpError::Client(error)) = cause::<HttpError>(error) {
            // The error itself repeats the address, in which there may be a secret.
            let why = error.source().map_or_else(|| error.to_string(), chain);
            return Self::Unreachable(words(&why));
        }
        Self::Other(words(&chain(error)))
    }
}

impl From<&ServiceError> for Trouble {
    fn from(error: &ServiceError) -> Self {
        match error {
            ServiceError::TransportSend(error) => Self::of(&*error.error),
            error => Self::of(error),
        }
    }
}

impl From<&ClientInitializeError> for Trouble {
    fn from(error: &ClientInitializeError) -> Self {
        match error {
            ClientInitializeError::TransportError { error, .. } => Self::of(&*error.error),
            ClientInitializeError::LegacyFallbackFailed { discover, fallback } => {
                match (Self::from(&**discover), Self::from(&**fallback)) {
                    (Self::Other(_), other) => other,
                    (actionable, _) => actionable,
                }
            }
            error => Self::of(error),
        }
    }
}

impl From<Trouble> for PortError {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::SignIn(_) => Self::OutOfReach("a person must sign in there".to_owned()),
            Trouble::Scope(scope) if scope.is_empty() => {
                Self::OutOfReach("it asks for more rights than the sign-in has".to_owned())
            }
            Trouble::Scope(scope) => Self::OutOfReach(format!(
                "it asks for more rights than the sign-in has: {scope}"
            )),
            Trouble::Token(why) => {
                Self::Unavailable(format!("its sign-in can't be refreshed now: {why}"))
            }
            Trouble::Unreachable(why) => {
                Self::Unavailable(format!("its address can't be reached: {why}"))
            }
            Trouble::Other(why) => Self::Unavailable(why),
        }
    }
}

/// A stranger's words, so that nothing in them is hidden, and not too many.
pub(crate) fn words(text: &str) -> String {
    let line: Vec<&str> = text.split_whitespace().collect();
    clipped(&visible(&line.join(" ")), MAX_TEXT, '…')
}
