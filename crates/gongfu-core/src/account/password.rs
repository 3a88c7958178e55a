//! Passwords: which ones are taken, and never what they are.

use std::fmt;

use super::name::{Email, Username};

/// The fewest characters of a password.
pub const MIN_LENGTH: usize = 8;
/// The most characters: hashing is asked for by strangers.
pub const MAX_LENGTH: usize = 128;
/// Passwords that everybody tries first, in lower case; shorter ones are refused for their length.
const COMMON: &str = include_str!("common_passwords.txt");

/// A password that a person chose. Any characters, also spaces and those of other scripts.
#[derive(Clone)]
pub struct Password(String);

/// Why a password isn't taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PasswordError {
    /// Too short.
    #[error("a password has at least 8 characters; 15 or more are better")]
    Short,
    /// Too long.
    #[error("a password has at most 128 characters")]
    Long,
    /// Everybody tries it first.
    #[error("this password is on the lists that attackers try first; use several unrelated words")]
    Common,
    /// It is the name of its user.
    #[error("a password isn't the user name or the e-mail address")]
    Name,
}

impl Password {
    /// The password of somebody who signs in: it is compared, not judged. `None` for one that nobody can have.
    pub fn given(text: String) -> Option<Self> {
        (1..=MAX_LENGTH)
            .contains(&text.chars().count())
            .then_some(Self(text))
    }

    /// Checks a new password of a user.
    ///
    /// # Errors
    /// It is too short, too long, too common, or the user's name.
    pub fn new(text: String, username: &Username, email: &Email) -> Result<Self, PasswordError> {
        match text.chars().count() {
            ..MIN_LENGTH => return Err(PasswordError::Short),
            MIN_LENGTH..=MAX_LENGTH => {}
            _ => return Err(PasswordError::Long),
        }
        let lower = text.to_lowercase();
        let local = email.as_str().split('@').next().unwrap_or_default();
        let names = [username.as_str(), email.as_str(), local];
        if names.iter().any(|name| name.to_lowercase() == lower) {
            return Err(PasswordError::Name);
        }
        let mut characters = lower.chars();
        let first = characters.next();
        if characters.all(|c| Some(c) == first) || COMMON.lines().any(|common| common == lower) {
            return Err(PasswordError::Common);
        }
        Ok(Self(text))
    }

    /// The bytes that are hashed.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl fmt::Debug for Password {
    /// Shows nothing of the password: logs are read by others.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Password")
    }
}

#[cfg(test)]
mod tests {
    use super::{COMMON, MIN_LENGTH, Password, PasswordError};
    use crate::account::{Email, Username};

    fn check(text: &str) -> Result<(), PasswordError> {
        let (name, email) = (
            Username::new("ann-lee").unwrap(),
            Email::new("Lee.Ann.Marie@example.com").unwrap(),
        );
        Password::new(text.to_owned(), &name, &email).map(drop)
    }

    #[test]
    fn new_passwords_are_judged() {
        for good in [
            "correct horse",
            "密码密碼合并文件夹啊",
            "x y z 1 2",
            &"ab".repeat(64),
        ] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for (bad, why) in [
            ("", PasswordError::Short),
            ("1234567", PasswordError::Short),
            ("Password123", PasswordError::Common),
            ("aaaaaaaaaaaa", PasswordError::Common),
            ("lee.ann.MARIE", PasswordError::Name),
            ("lee.ann.marie@example.com", PasswordError::Name),
            (&"ab".repeat(65), PasswordError::Long),
        ] {
            assert_eq!(check(bad), Err(why), "{bad}");
        }
        let shown = format!("{:?}", Password::given("secret words".to_owned()));
        assert_eq!(shown, "Some(Password)");
    }

    #[test]
    fn common_ones_are_lower_case_and_long_enough_to_matter() {
        for common in COMMON.lines() {
            assert!(
                common.len() >= MIN_LENGTH && common == common.to_lowercase(),
                "{common}"
            );
        }
    }
}
