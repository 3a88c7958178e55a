//! Authorization codes: given once, used once, for a minute.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{AuthorizationRequest, AuthorizationServer, OAuthError};
use crate::account::{Scopes, User, UserId};
use crate::port::{PortError, RecordKey};
use crate::registry::hex::{hex, is_hex};
use crate::registry::{MAX_ATTEMPTS, Write, busy, key};
use crate::skill::Digest;

/// The start of every code.
const PREFIX: &str = "gfa_";
/// The digits of a code.
const DIGITS: usize = 64;
/// The life of a code, in milliseconds.
const LIFE: i64 = 60 * 1_000;
/// The time for which a code is kept, so that a second use is noticed, in milliseconds.
const KEPT: i64 = 60 * 60 * 1_000;

/// The text of a code. Only its digest is stored.
pub(super) struct Code(String);

impl Code {
    /// The code of 256 random bits.
    fn of(bits: &[u8; DIGITS / 2]) -> Self {
        Self(format!("{PREFIX}{}", hex(bits)))
    }

    /// Reads a code; `None` for a text of another form.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(PREFIX)?;
        is_hex(digits, DIGITS).then(|| Self(text.to_owned()))
    }

    pub(super) fn key(&self) -> Result<RecordKey, PortError> {
        key("code", &Digest::of(self.0.as_bytes()).hex(64))
    }
}

impl fmt::Debug for Code {
    /// Shows nothing of the code: logs are read by others.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Code")
    }
}

/// The record of a code: everything that its use must match.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CodeRecord {
    pub(super) client: String,
    /// The client's name for itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    pub(super) redirect: String,
    /// The host or the scheme of the redirect, for the user.
    pub(super) place: String,
    pub(super) challenge: String,
    pub(super) user: UserId,
    pub(super) generation: u64,
    pub(super) scopes: Scopes,
    /// The time from which it is refused, in milliseconds since 1970.
    pub(super) expires: i64,
    /// True once it was presented, whatever came of it.
    #[serde(default)]
    pub(super) is_used: bool,
    /// The family that it gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) family: Option<String>,
}

impl AuthorizationServer {
    /// Gives a client its code: the user said yes, now or before. Answers the URI that their browser is sent to.
    ///
    /// # Errors
    /// The client is gone, or the store fails.
    pub async fn allow(
        &self,
        request: &AuthorizationRequest,
        user: &User,
    ) -> Result<String, OAuthError> {
        let now = self.accounts.now().0;
        let code = Code::of(&self.accounts.random::<32>()?);
        let record = CodeRecord {
            client: request.client.id.clone(),
            name: request.client.name.clone(),
            redirect: request.redirect.as_str().to_owned(),
            place: request.redirect.place(),
            challenge: request.challenge.clone(),
            user: user.id.clone(),
            generation: user.generation,
            scopes: request.scopes.clone(),
            expires: now.saturating_add(LIFE),
            is_used: false,
            family: None,
        };
        let is_over = |code: &CodeRecord| code.expires.saturating_add(KEPT) <= now;
        for _ in 0..MAX_ATTEMPTS {
            let mut writes = vec![Write::put(code.key()?, None, &record)?];
            writes.extend(self.use_of(&request.client).await?);
            writes.extend(self.remember(request, user).await?);
            writes.extend(self.accounts.sweep("code", is_over).await?);
            let about = Some(&*request.client.id);
            let commit =
                self.accounts
                    .commit(&writes, "client.allow", Some(&user.id), &user.id, about);
            match commit.await {
                Ok(()) => return Ok(self.answer(request, &code.0)),
                Err(PortError::Conflict(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(busy("list of codes").into())
    }
}
