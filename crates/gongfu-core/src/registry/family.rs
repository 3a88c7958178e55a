//! Families of refresh tokens: each use gives the next one, and a second use ends all of them.
//!
//! A token carries the number of its place in the family. Only the newest is good; the one before is answered
//! again for a moment, because a client may have lost the answer (RFC 9700, section 4.14).

use serde::{Deserialize, Serialize};

use crate::account::Scopes;
use crate::account::UserId;
use crate::port::Timestamp;

/// The time in which the token before the newest gets the same answer again, in milliseconds.
const GRACE: i64 = 10 * 1_000;

/// A family of refresh tokens: one sign-in of one client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Family {
    /// Its user.
    pub user: UserId,
    /// The generation of the user at the sign-in; another one ends the family.
    pub generation: u64,
    /// The client that signed in; `None` for a login by password over REST.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The scopes that were agreed to.
    pub scopes: Scopes,
    /// The URL of what its access tokens are for.
    pub audience: String,
    /// The number of the newest token.
    pub newest: u32,
    /// The time at which the newest token was given, in milliseconds since 1970.
    pub rotated: i64,
    /// The time from which it is refused, in milliseconds since 1970.
    pub expires: i64,
    /// True once it was revoked or a token was used twice.
    #[serde(default)]
    pub is_ended: bool,
}

/// The answer to a refresh token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefreshOutcome {
    /// It was the newest: this is the number of its successor.
    Rotated(u32),
    /// It was used a moment ago: the successor with this number is answered again.
    Repeated(u32),
    /// It was used before: somebody else has a copy, and the family is ended.
    Reused,
    /// The family was ended or has expired.
    Ended,
}

impl Family {
    /// Uses the token with a number.
    pub fn present(&mut self, number: u32, now: Timestamp) -> RefreshOutcome {
        if self.is_ended || self.expires <= now.0 {
            return RefreshOutcome::Ended;
        }
        if number == self.newest
            && let Some(next) = self.newest.checked_add(1)
        {
            self.newest = next;
            self.rotated = now.0;
            return RefreshOutcome::Rotated(next);
        }
        // A clock that jumped back gives no more time.
        let since = now.0.saturating_sub(self.rotated);
        if self.newest.checked_sub(1) == Some(number) && (0..GRACE).contains(&since) {
            return RefreshOutcome::Repeated(self.newest);
        }
        self.is_ended = true;
        RefreshOutcome::Reused
    }
}

#[cfg(test)]
mod tests {
    use super::{Family, RefreshOutcome};
    use crate::account::Scopes;
    use crate::account::UserId;
    use crate::port::Timestamp;

    fn family() -> Family {
        Family {
            user: UserId::new("u").unwrap(),
            generation: 0,
            client: None,
            scopes: Scopes::usual(),
            audience: String::new(),
            newest: 0,
            rotated: 0,
            expires: 1_000_000,
            is_ended: false,
        }
    }

    #[test]
    fn each_token_is_used_once() {
        let mut family = family();
        let mut at = |number, now| family.present(number, Timestamp(now));
        assert_eq!(at(0, 1_000), RefreshOutcome::Rotated(1));
        assert_eq!(at(0, 10_999), RefreshOutcome::Repeated(1));
        assert_eq!(at(1, 11_000), RefreshOutcome::Rotated(2));
        assert_eq!(at(0, 11_001), RefreshOutcome::Reused);
        assert_eq!(at(2, 11_002), RefreshOutcome::Ended);
    }

    #[test]
    fn lost_answer_is_given_again_for_a_moment() {
        let mut one = family();
        assert_eq!(one.present(0, Timestamp(1_000)), RefreshOutcome::Rotated(1));
        assert_eq!(one.present(0, Timestamp(11_000)), RefreshOutcome::Reused);
        // A clock that jumped back.
        let mut other = family();
        assert_eq!(
            other.present(0, Timestamp(5_000)),
            RefreshOutcome::Rotated(1)
        );
        assert_eq!(other.present(0, Timestamp(4_000)), RefreshOutcome::Reused);
        // A number from the future was forged, or the database is an old copy.
        let mut third = family();
        assert_eq!(third.present(7, Timestamp(5_000)), RefreshOutcome::Reused);
        let mut old = family();
        assert_eq!(old.present(0, Timestamp(1_000_000)), RefreshOutcome::Ended);
    }
}
