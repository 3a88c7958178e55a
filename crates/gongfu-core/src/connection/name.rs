//! The names of connections, and of their tools.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::skill::Digest;

/// The longest name of a connection, so that room is left for the name of a tool.
const MAX_LENGTH: usize = 32;
/// The longest name of a tool that all clients take.
const MAX_WIRE: usize = 64;
/// The digits that tell two shortened names apart.
const DIGITS: usize = 8;
/// Stands between the name of a connection and that of its tool.
pub const SEPARATOR: &str = "__";

/// The name of a connection: 1 to 32 lower-case ASCII letters, digits, `-` or single `_`, of which the first and the
/// last are letters or digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ConnectionName(String);

/// A text that can't be a [`ConnectionName`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the name of a connection is 1 to {MAX_LENGTH} lower-case ascii letters, digits, `-` or single `_`, and starts and ends with a letter or digit"
)]
pub struct ConnectionNameError;

impl ConnectionName {
    /// Checks and wraps a name.
    ///
    /// # Errors
    /// It has another form.
    pub fn new(name: &str) -> Result<Self, ConnectionNameError> {
        let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let is_plain = |byte: u8| is_letter(byte) || byte == b'-' || byte == b'_';
        let ends_well = |byte: Option<&u8>| byte.is_some_and(|byte| is_letter(*byte));
        let bytes = name.as_bytes();
        let fits = bytes.len() <= MAX_LENGTH
            && bytes.iter().all(|byte| is_plain(*byte))
            && ends_well(bytes.first())
            && ends_well(bytes.last())
            && !name.contains(SEPARATOR);
        fits.then(|| Self(name.to_owned()))
            .ok_or(ConnectionNameError)
    }

    /// The nearest name to a text that another program allows; `None` where nothing of it can stay.
    pub fn nearest(text: &str) -> Option<Self> {
        let mut name = String::new();
        for letter in text.chars() {
            if letter.is_ascii_alphanumeric() {
                name.push(letter.to_ascii_lowercase());
            } else if !name.is_empty() && !name.ends_with(['-', '_']) {
                name.push(if letter == '_' { '_' } else { '-' });
            }
        }
        name.truncate(MAX_LENGTH);
        Self::new(name.trim_end_matches(['-', '_'])).ok()
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ConnectionName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl FromStr for ConnectionName {
    type Err = ConnectionNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::new(text)
    }
}

impl TryFrom<String> for ConnectionName {
    type Error = ConnectionNameError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::new(&text)
    }
}

impl From<ConnectionName> for String {
    fn from(name: ConnectionName) -> Self {
        name.0
    }
}

/// The id of a tool, which is its permission as well: `mcp.<connection>.<tool>`.
pub fn permission(connection: &ConnectionName, tool: &str) -> String {
    format!("mcp.{connection}.{tool}")
}

/// The name of a tool for clients, which take `[A-Za-z0-9_-]{1,64}`: `<connection>__<tool>`. Where that has other
/// characters or is too long, a digest of the tool's own name tells it apart.
pub fn wire_name(connection: &ConnectionName, tool: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    let plain: String = tool
        .chars()
        .map(|letter| if is_plain(letter) { letter } else { '_' })
        .collect();
    let whole = format!("{connection}{SEPARATOR}{plain}");
    if plain == tool && !tool.is_empty() && whole.len() <= MAX_WIRE {
        return whole;
    }
    let start: String = whole.chars().take(MAX_WIRE - DIGITS - 1).collect();
    format!("{start}_{}", Digest::of(tool.as_bytes()).hex(DIGITS))
}
