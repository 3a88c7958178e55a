//! Content digests: SHA-256, as SEP-2640 writes them.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

/// The SHA-256 of a content.
///
/// Shown as `sha256:<64 hexadecimal digits>`, and written so in formats that people read, such as JSON. Others have its 32
/// bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of bytes in memory.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// A digest that was made before.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes of it, where they are.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The first hexadecimal digits, at most 64: a short name for what has this digest.
    pub fn hex(&self, digits: usize) -> String {
        let text = self.to_string();
        text.chars().skip("sha256:".len()).take(digits).collect()
    }

    /// The 32 bytes of it.
    pub fn to_bytes(self) -> [u8; 32] {
        self.0
    }
}

/// A text that is no digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a digest is `sha256:` and 64 lower-case hexadecimal digits")]
pub struct DigestError;

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.strip_prefix("sha256:").ok_or(DigestError)?;
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if digits.len() != 64 || !digits.bytes().all(is_digit) {
            return Err(DigestError);
        }
        let mut bytes = [0; 32];
        for (at, byte) in bytes.iter_mut().enumerate() {
            let pair = digits.get(2 * at..2 * at + 2).ok_or(DigestError)?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| DigestError)?;
        }
        Ok(Self(bytes))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("sha256:")?;
        self.0
            .iter()
            .try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if to.is_human_readable() {
            return to.collect_str(self);
        }
        self.0.serialize(to)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        if from.is_human_readable() {
            return String::deserialize(from)?.parse().map_err(D::Error::custom);
        }
        <[u8; 32]>::deserialize(from).map(Self)
    }
}

/// A digest that is fed piece by piece.
#[derive(Debug, Default)]
pub struct Hasher(Sha256);

impl Hasher {
    /// Takes the next piece of the content.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of all pieces.
    pub fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::{Digest, Hasher};

    #[test]
    fn a_digest_is_the_standard_one() {
        let known = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Digest::of(b"abc").to_string(), known);
        assert_eq!(Digest::of(b"abc").hex(5), known[7..12]);
        assert_eq!(known.parse(), Ok(Digest::of(b"abc")));
        for bad in [
            &known[7..],
            &known[..70],
            &known.to_uppercase(),
            "md5:00",
            "",
        ] {
            assert!(bad.parse::<Digest>().is_err(), "{bad}");
        }
        let mut hasher = Hasher::default();
        hasher.update(b"a");
        hasher.update(b"bc");
        assert_eq!(hasher.finish().to_string(), known);
    }
}
