//! Errors of OAuth: a code that programs know, and a sentence for people.

use std::borrow::Cow;

use crate::port::PortError;

/// The code of an error (RFC 6749, sections 4.1.2.1 and 5.2; RFC 7591, section 3.2.2; RFC 8707, section 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OAuthErrorCode {
    /// A parameter is missing, twice there or malformed.
    InvalidRequest,
    /// There is no such client.
    InvalidClient,
    /// The code or the refresh token doesn't count, or belongs to another client.
    InvalidGrant,
    /// The scopes can't be had.
    InvalidScope,
    /// The resource isn't the one of this server.
    InvalidTarget,
    /// Only codes and refresh tokens give tokens.
    UnsupportedGrantType,
    /// Only codes are answered.
    UnsupportedResponseType,
    /// Parameters can't come in an object.
    RequestNotSupported,
    /// The user said no.
    AccessDenied,
    /// A redirect URI of a client isn't good.
    InvalidRedirectUri,
    /// Something else of a client isn't good.
    InvalidClientMetadata,
    /// Too many ask.
    TemporarilyUnavailable,
    /// The server fails.
    ServerError,
}

impl OAuthErrorCode {
    /// The code as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidRequest => "invalid_request",
            Self::InvalidClient => "invalid_client",
            Self::InvalidGrant => "invalid_grant",
            Self::InvalidScope => "invalid_scope",
            Self::InvalidTarget => "invalid_target",
            Self::UnsupportedGrantType => "unsupported_grant_type",
            Self::UnsupportedResponseType => "unsupported_response_type",
            Self::RequestNotSupported => "request_not_supported",
            Self::AccessDenied => "access_denied",
            Self::InvalidRedirectUri => "invalid_redirect_uri",
            Self::InvalidClientMetadata => "invalid_client_metadata",
            Self::TemporarilyUnavailable => "temporarily_unavailable",
            Self::ServerError => "server_error",
        }
    }
}

/// An error of OAuth.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub struct OAuthError {
    /// Its code.
    pub code: OAuthErrorCode,
    /// The reason, and what to do.
    pub text: Cow<'static, str>,
    /// The failure of the store, for the log of the server.
    #[source]
    pub store: Option<PortError>,
}

impl OAuthError {
    pub(super) fn new(code: OAuthErrorCode, text: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            text: text.into(),
            store: None,
        }
    }

    pub(super) fn request(text: impl Into<Cow<'static, str>>) -> Self {
        Self::new(OAuthErrorCode::InvalidRequest, text)
    }

    pub(super) fn grant(text: &'static str) -> Self {
        Self::new(OAuthErrorCode::InvalidGrant, text)
    }
}

impl From<PortError> for OAuthError {
    fn from(error: PortError) -> Self {
        Self {
            store: Some(error),
            ..Self::new(
                OAuthErrorCode::ServerError,
                "the server can't answer right now; try again",
            )
        }
    }
}
