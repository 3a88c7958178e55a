//! Access tokens: short-lived JSON Web Tokens for a sign-in (RFC 7519, RFC 9068).
//!
//! One algorithm, HS256 with the server's key, and one form of header: nothing that a token says about itself
//! decides how it is checked. The family that it belongs to is looked up with each request, so revoking it counts
//! at once.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use crate::account::Scopes;
use crate::account::UserId;
use crate::port::{Secrets, Timestamp};

const PURPOSE: &str = "access token";
/// The header of every token, and the only one that is accepted: `{"alg":"HS256","typ":"at+jwt"}`.
const HEADER: &str = "eyJhbGciOiJIUzI1NiIsInR5cCI6ImF0K2p3dCJ9";
/// The longest token.
const MAX_LENGTH: usize = 4_096;

/// The claims of an access token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claims {
    /// The URL of the server.
    pub iss: String,
    /// The URL of what it is for: the server's API, or its MCP endpoint (RFC 8707).
    pub aud: String,
    /// The user.
    pub sub: UserId,
    /// The family that it belongs to.
    pub sid: String,
    /// Its scopes.
    pub scope: Scopes,
    /// The time at which it was issued, in seconds since 1970.
    pub iat: i64,
    /// The time from which it is refused, in seconds since 1970.
    pub exp: i64,
}

/// Why a text is no access token that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessTokenError {
    /// It isn't one of this server.
    Unknown,
    /// It is too old.
    Expired,
    /// It is for something else.
    Audience,
}

/// The text of an access token.
#[derive(Clone, PartialEq, Eq)]
pub struct AccessToken(String);

impl AccessToken {
    /// The token with these claims; `None` if they can't be written.
    pub fn issue(claims: &Claims, secrets: &dyn Secrets) -> Option<Self> {
        let claims = URL_SAFE_NO_PAD.encode(serde_json::to_vec(claims).ok()?);
        let signed = format!("{HEADER}.{claims}");
        let signature = URL_SAFE_NO_PAD.encode(secrets.sign(PURPOSE, signed.as_bytes()));
        Some(Self(format!("{signed}.{signature}")))
    }

    /// The claims of a token for one of these audiences.
    ///
    /// # Errors
    /// It isn't a token of this server, has expired, or is for something else.
    pub fn read(
        text: &str,
        audiences: &[&str],
        now: Timestamp,
        secrets: &dyn Secrets,
    ) -> Result<Claims, AccessTokenError> {
        let claims = Self::claims(text, secrets).ok_or(AccessTokenError::Unknown)?;
        if claims.exp <= now.0.div_euclid(1_000) {
            return Err(AccessTokenError::Expired);
        }
        if !audiences.contains(&&*claims.aud) {
            return Err(AccessTokenError::Audience);
        }
        Ok(claims)
    }

    /// The claims of a token that this server signed.
    fn claims(text: &str, secrets: &dyn Secrets) -> Option<Claims> {
        if text.len() > MAX_LENGTH {
            return None;
        }
        let (signed, signature) = text.rsplit_once('.')?;
        let claims = signed.strip_prefix(HEADER)?.strip_prefix('.')?;
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        if !secrets.verify(PURPOSE, signed.as_bytes(), &signature) {
            return None;
        }
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).ok()?).ok()
    }

    /// The token as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for AccessToken {
    /// Shows nothing of the token: logs are read by others.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("AccessToken")
    }
}
