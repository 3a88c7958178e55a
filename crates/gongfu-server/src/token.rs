//! The token of the server: it stands for the server's user where the system can't.

use std::fmt::{self, Write as _};

use http::HeaderMap;
use http::header::AUTHORIZATION;
use subtle::ConstantTimeEq as _;

/// The number of hexadecimal digits of a token.
const DIGITS: usize = 64;
const SCHEME: &str = "Bearer ";

/// The token of the server: 256 random bits, as hexadecimal digits.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// The token of 256 random bits.
    pub fn of(bits: &[u8; DIGITS / 2]) -> Self {
        let mut digits = String::with_capacity(DIGITS);
        for byte in bits {
            // Writing to a string does not fail.
            let _ = write!(digits, "{byte:02x}");
        }
        Self(digits)
    }

    /// Reads a token; `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let is_token = text.len() == DIGITS && text.bytes().all(is_digit);
        is_token.then(|| Self(text.to_owned()))
    }

    /// Its digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The value of the header that carries it, `Authorization`.
    pub fn header(&self) -> String {
        format!("{SCHEME}{}", self.0)
    }

    /// Returns true if a request carries this token. The time that this takes tells nothing about it.
    pub(crate) fn is_in(&self, headers: &HeaderMap) -> bool {
        headers.get_all(AUTHORIZATION).iter().any(|value| {
            let sent = value.as_bytes().split_at_checked(SCHEME.len());
            sent.is_some_and(|(scheme, sent)| {
                scheme.eq_ignore_ascii_case(SCHEME.as_bytes())
                    && bool::from(sent.ct_eq(self.0.as_bytes()))
            })
        })
    }
}

impl fmt::Debug for Token {
    /// Shows nothing of the token: logs are read by others.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token")
    }
}

#[cfg(test)]
mod tests {
    use http::header::AUTHORIZATION;
    use http::{HeaderMap, HeaderValue};

    use super::Token;

    fn is_taken(token: &Token, sent: &str) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, HeaderValue::from_str(sent).unwrap());
        token.is_in(&headers)
    }

    #[test]
    fn takes_the_whole_token_alone() {
        let token = Token::of(&[0xa5; 32]);
        let digits = "a5".repeat(32);
        assert_eq!(token.header(), format!("Bearer {digits}"));
        for right in [token.header(), format!("bEARER {digits}")] {
            assert!(is_taken(&token, &right), "{right}");
        }
        for wrong in [
            String::new(),
            "Bearer ".to_owned(),
            digits.clone(),
            format!("Basic {digits}"),
            format!("Bearer {}", &digits[1..]),
            format!("Bearer {digits}0"),
            format!("Bearer  {digits}"),
            format!("Bearer {}", digits.replacen('a', "b", 1)),
            format!("Bearer {}", digits.to_uppercase()),
        ] {
            assert!(!is_taken(&token, &wrong), "{wrong}");
        }
        assert!(!token.is_in(&HeaderMap::new()));
    }

    #[test]
    fn reads_only_tokens_and_shows_none() {
        let digits = "0f".repeat(32);
        let token = Token::parse(&digits).unwrap();
        assert_eq!(token.as_str(), digits);
        assert_eq!(format!("{token:?}"), "Token");
        for wrong in ["", "x", &digits[2..], &"0F".repeat(32), &"é".repeat(32)] {
            assert!(Token::parse(wrong).is_none(), "{wrong}");
        }
    }
}
