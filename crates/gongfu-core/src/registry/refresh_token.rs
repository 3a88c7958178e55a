//! Refresh tokens: the family, the number in it, and the server's signature.
//!
//! Signed and not stored: the same successor can be answered again, and a family is one record however often it
//! is used.

use std::fmt;

use super::hex::{bytes, hex, is_hex};
use crate::port::Secrets;

/// The start of every refresh token.
const PREFIX: &str = "gfr_";
const PURPOSE: &str = "refresh token";
/// The digits of a family, a number and a signature.
const FAMILY_DIGITS: usize = 32;
const NUMBER_DIGITS: usize = 8;
const SIGNATURE_DIGITS: usize = 64;

/// The id of a family: 128 random bits as hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FamilyId(String);

impl FamilyId {
    /// The id of 128 random bits.
    pub fn of(bits: [u8; FAMILY_DIGITS / 2]) -> Self {
        Self(hex(&bits))
    }

    /// Reads an id; `None` for a text of another form.
    pub(super) fn parse(text: &str) -> Option<Self> {
        is_hex(text, FAMILY_DIGITS).then(|| Self(text.to_owned()))
    }

    /// Its digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The text of a refresh token.
#[derive(Clone, PartialEq, Eq)]
pub struct RefreshToken(String);

impl RefreshToken {
    /// The token with a number in a family.
    pub fn issue(family: &FamilyId, number: u32, secrets: &dyn Secrets) -> Self {
        let signed = format!("{}{number:08x}", family.0);
        let signature = secrets.sign(PURPOSE, signed.as_bytes());
        Self(format!("{PREFIX}{signed}{}", hex(&signature)))
    }

    /// The family and the number of a token; `None` for a text that this server didn't sign.
    pub fn read(text: &str, secrets: &dyn Secrets) -> Option<(FamilyId, u32)> {
        let digits = text.strip_prefix(PREFIX)?;
        if !is_hex(digits, FAMILY_DIGITS + NUMBER_DIGITS + SIGNATURE_DIGITS) {
            return None;
        }
        let (signed, signature) = digits.split_at(FAMILY_DIGITS + NUMBER_DIGITS);
        if !secrets.verify(PURPOSE, signed.as_bytes(), &bytes(signature)?) {
            return None;
        }
        let (family, number) = signed.split_at(FAMILY_DIGITS);
        let number = u32::from_str_radix(number, 16).ok()?;
        Some((FamilyId(family.to_owned()), number))
    }

    /// The token as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for RefreshToken {
    /// Shows nothing of the token: logs are read by others.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("RefreshToken")
    }
}
