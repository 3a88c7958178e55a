//! The names that people have: e-mail addresses and user names.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::skill::Digest;

/// The longest address, in characters (RFC 5321 allows a path of 256 octets with its brackets).
const MAX_EMAIL: usize = 254;
/// The longest part before the `@`.
const MAX_LOCAL_PART: usize = 64;
/// The fewest and the most characters of a user name (seed 000).
const USERNAME_LENGTH: std::ops::RangeInclusive<usize> = 3..=64;

/// An e-mail address, as its owner wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Email(String);

/// Why a text is no e-mail address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EmailError {
    /// It has no `@`, or several.
    #[error("an e-mail address has one `@` with a name before it and a domain after it")]
    Form,
    /// It has a space, a control character or a comma.
    #[error("an e-mail address has no spaces, commas, quotes, brackets or control characters")]
    Character,
    /// It is too long.
    #[error("an e-mail address has at most 254 characters, 64 of them before the `@`")]
    Length,
}

impl Email {
    /// Checks an address. Whether somebody reads what is sent there isn't known.
    ///
    /// # Errors
    /// It can't be an address.
    pub fn new(text: &str) -> Result<Self, EmailError> {
        if text.chars().count() > MAX_EMAIL {
            return Err(EmailError::Length);
        }
        let is_odd = |c: char| c.is_control() || c.is_whitespace() || ",;:\"()<>[]\\".contains(c);
        if text.chars().any(is_odd) {
            return Err(EmailError::Character);
        }
        let (local, domain) = text.split_once('@').ok_or(EmailError::Form)?;
        if local.chars().count() > MAX_LOCAL_PART {
            return Err(EmailError::Length);
        }
        let is_domain = !domain.contains('@')
            && domain
                .split('.')
                .all(|label| !label.is_empty() && !label.starts_with('-') && !label.ends_with('-'));
        if local.is_empty() || !is_domain {
            return Err(EmailError::Form);
        }
        Ok(Self(text.to_owned()))
    }

    /// The address as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The key of everybody with this address: letter case doesn't tell two apart.
    pub fn identity(&self) -> Digest {
        identity(&self.0)
    }
}

impl fmt::Display for Email {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl TryFrom<String> for Email {
    type Error = EmailError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::new(&text)
    }
}

impl From<Email> for String {
    fn from(email: Email) -> Self {
        email.0
    }
}

/// The name that others see of a user: 3 to 64 letters, digits, `.`, `-` or `_`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Username(String);

/// A text that can't be a [`Username`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a user name is 3 to 64 ASCII letters, digits, `.`, `-` or `_`, and begins with a letter or digit"
)]
pub struct UsernameError;

impl Username {
    /// Checks a user name. Only ASCII, so that no two names look alike.
    ///
    /// # Errors
    /// It can't be a user name.
    pub fn new(text: &str) -> Result<Self, UsernameError> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
        let fits = USERNAME_LENGTH.contains(&text.len())
            && text.bytes().all(is_plain)
            && text.starts_with(|c: char| c.is_ascii_alphanumeric());
        fits.then(|| Self(text.to_owned())).ok_or(UsernameError)
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The key of everybody with this name: letter case doesn't tell two apart.
    pub fn identity(&self) -> Digest {
        identity(&self.0)
    }
}

impl fmt::Display for Username {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl TryFrom<String> for Username {
    type Error = UsernameError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::new(&text)
    }
}

impl From<Username> for String {
    fn from(name: Username) -> Self {
        name.0
    }
}

fn identity(text: &str) -> Digest {
    Digest::of(text.to_lowercase().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::{Email, EmailError, Username};

    #[test]
    fn addresses_are_checked_and_compared_without_case() {
        for good in [
            "a@b",
            "ann@example.com",
            "ann+x@sub.example.org",
            "ånn@exämple.com",
        ] {
            assert!(Email::new(good).is_ok(), "{good}");
        }
        for (bad, why) in [
            ("", EmailError::Form),
            ("ann", EmailError::Form),
            ("@example.com", EmailError::Form),
            ("ann@", EmailError::Form),
            ("ann@a@b", EmailError::Form),
            ("ann@.com", EmailError::Form),
            ("ann@-a.com", EmailError::Form),
            ("ann@example.com\n", EmailError::Character),
            ("a b@example.com", EmailError::Character),
            ("<a@example.com>", EmailError::Character),
            (&format!("{}@b", "a".repeat(65)), EmailError::Length),
            (&format!("a@{}", "b".repeat(300)), EmailError::Length),
        ] {
            assert_eq!(Email::new(bad), Err(why), "{bad:?}");
        }
        let (one, other) = (Email::new("Ann@Example.com"), Email::new("ann@example.COM"));
        assert_eq!(one.unwrap().identity(), other.unwrap().identity());
    }

    #[test]
    fn user_names_are_plain() {
        for good in ["ann", "a.b-c_9", &"x".repeat(64)] {
            assert!(Username::new(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "an",
            "-ann",
            ".ann",
            "ann b",
            "аnn",
            "a/b",
            &"x".repeat(65),
        ] {
            assert!(Username::new(bad).is_err(), "{bad:?}");
        }
        let names = ["Ann", "ann"].map(|name| Username::new(name).unwrap().identity());
        assert_eq!(names[0], names[1]);
    }
}
