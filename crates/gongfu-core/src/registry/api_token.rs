//! API tokens: `ask_live_` and 64 hexadecimal digits (seed 000).
//!
//! 56 digits are random, and the last 8 are their CRC-32: a typo is told from a token that doesn't exist
//! without asking the store, and scanners for leaked secrets find few false ones.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::hex::{hex, is_hex};
use crate::account::Scopes;
use crate::account::UserId;
use crate::port::Timestamp;
use crate::skill::Digest;

/// The start of every API token.
pub const PREFIX: &str = "ask_live_";
/// The digits that are random.
const RANDOM_DIGITS: usize = 56;
/// All digits.
const DIGITS: usize = 64;
/// The most characters of a token's name (seed 000).
pub const MAX_NAME: usize = 100;

/// The text of an API token. Shown once to its user; only its digest is stored.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiToken(String);

impl ApiToken {
    /// The token of 224 random bits.
    pub fn of(bits: &[u8; RANDOM_DIGITS / 2]) -> Self {
        let random = hex(bits);
        let check = crc32fast::hash(random.as_bytes());
        Self(format!("{PREFIX}{random}{check:08x}"))
    }

    /// Reads a token; `None` for a text of another form or with another check sum.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(PREFIX)?;
        if !is_hex(digits, DIGITS) {
            return None;
        }
        let (random, check) = digits.split_at(RANDOM_DIGITS);
        let is_right = u32::from_str_radix(check, 16) == Ok(crc32fast::hash(random.as_bytes()));
        is_right.then(|| Self(text.to_owned()))
    }

    /// The token as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The digest that is stored.
    pub fn digest(&self) -> Digest {
        Digest::of(self.0.as_bytes())
    }
}

impl fmt::Debug for ApiToken {
    /// Shows nothing of the token: logs are read by others.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ApiToken")
    }
}

/// The record of an API token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApiTokenRecord {
    /// Its id, which may be shown.
    pub id: String,
    /// Its user.
    pub user: UserId,
    /// Its name, for its user.
    pub name: String,
    /// Its scopes.
    pub scopes: Scopes,
    /// The only skills that it reaches, by full name; `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skills: Option<Vec<String>>,
    /// The profile of its connections; `None` for the server's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The time at which it was created, in milliseconds since 1970.
    pub created: i64,
    /// The time from which it is refused, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<i64>,
    /// True once its user revoked it.
    #[serde(default)]
    pub is_revoked: bool,
}

impl ApiTokenRecord {
    /// Returns true if it is refused for its age.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires.is_some_and(|expires| expires <= now.0)
    }
}

#[cfg(test)]
mod tests {
    use super::ApiToken;

    #[test]
    fn reads_its_own_tokens_alone_and_shows_none() {
        let token = ApiToken::of(&[0x5a; 28]);
        let text = token.as_str().to_owned();
        assert_eq!(text.len(), "ask_live_".len() + 64);
        assert_eq!(ApiToken::parse(&text), Some(token.clone()));
        assert_eq!(format!("{token:?}"), "ApiToken");
        let last = text.len() - 1;
        for wrong in [
            String::new(),
            text[9..].to_owned(),
            text[..last].to_owned(),
            format!("{text}0"),
            text.to_uppercase(),
            text.replacen("5a", "5b", 1),
            format!("ask_test_{}", &text[9..]),
            format!("{}é", &text[..last - 1]),
        ] {
            assert_eq!(ApiToken::parse(&wrong), None, "{wrong}");
        }
    }
}
