//! URIs of skills: `skill://<source>/<path>`, as they are written and read.
//!
//! Each place has one URI, and reading is strict: what climbs, hides a separator or isn't of this
//! form is refused, so that the holder of an [`Address`] needs no check of its own. Knows nothing of
//! what is there.

use std::fmt::Write as _;

/// The scheme of every URI of a skill (SEP-2640).
pub const SCHEME: &str = "skill";
/// The longest URI that is looked at, in bytes: two of the longest paths, all of it encoded.
const MAX_URI: usize = 32 * 1024;

/// A place in the library: a source's id and a path, `/` between the parts; empty above all sources.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address(String);

impl Address {
    /// The place as text, nothing encoded.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Why a text is no URI of a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressError {
    /// Longer than any place can be.
    TooLong,
    /// Another scheme, or none.
    Scheme,
    /// A query.
    Query,
    /// A fragment.
    Fragment,
    /// A user before the source.
    User,
    /// A port behind the source.
    Port,
    /// A path without a source.
    NoSource,
    /// A slash at the end.
    TrailingSlash,
    /// Two slashes in a row.
    Empty,
    /// `.` or `..`, encoded or not.
    Dots,
    /// An encoded `/`.
    Slash,
    /// A `\`, encoded or not.
    Backslash,
    /// A control character, encoded or not.
    Control,
    /// A `%` without two hexadecimal digits.
    Percent,
    /// A character that stands in a URI only when it is encoded.
    Character,
    /// Encoded bytes that are no UTF-8.
    NotText,
}

impl AddressError {
    /// For people.
    pub fn reason(self) -> &'static str {
        match self {
            Self::TooLong => "it is too long",
            Self::Scheme => "it doesn't start with skill://",
            Self::Query => "it has a query",
            Self::Fragment => "it has a fragment",
            Self::User => "it contains a user name",
            Self::Port => "it contains a port",
            Self::NoSource => "it has no source",
            Self::TrailingSlash => "it ends with a slash; write folders without one",
            Self::Empty => "a part between two slashes is empty",
            Self::Dots => "it contains `.` or `..`",
            Self::Slash => "it contains an encoded slash",
            Self::Backslash => "it contains a backslash",
            Self::Control => "it contains a control character",
            Self::Percent => "a `%` isn't followed by two hexadecimal digits",
            Self::Character => {
                "it contains a character that must be percent-encoded (a space is %20)"
            }
            Self::NotText => "its encoded bytes are not UTF-8",
        }
    }
}

/// Returns true if a byte stands in a path as it is: a `pchar` of RFC 3986.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(&byte)
}

/// The URI of a place: `source/path`, nothing encoded.
pub fn encode(place: &str) -> String {
    let mut uri = String::with_capacity(SCHEME.len() + 3 + place.len() + 16);
    uri.push_str(SCHEME);
    uri.push_str("://");
    encode_into(&mut uri, place);
    uri
}

/// The URI of something below a place whose URI is known.
pub fn join(root: &str, below: &str) -> String {
    let mut uri = String::with_capacity(root.len() + 1 + below.len() + 16);
    uri.push_str(root);
    if !below.is_empty() {
        uri.push('/');
        encode_into(&mut uri, below);
    }
    uri
}

/// A path as it stands in a URI.
pub fn encode_path(path: &str) -> String {
    let mut uri = String::with_capacity(path.len() + 16);
    encode_into(&mut uri, path);
    uri
}

fn encode_into(uri: &mut String, path: &str) {
    if path.bytes().all(|byte| is_plain(byte) || byte == b'/') {
        uri.push_str(path);
        return;
    }
    for byte in path.bytes() {
        if is_plain(byte) || byte == b'/' {
            uri.push(char::from(byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
}

/// Reads a URI.
///
/// Scheme and source may be in any case, and what needs no encoding may be encoded, as RFC 3986
/// (6.2.2) has it; [`encode`] writes the one form that gongfu itself gives out.
///
/// # Errors
/// It doesn't belong to a skill.
pub fn decode(uri: &str) -> Result<Address, AddressError> {
    if uri.len() > MAX_URI {
        return Err(AddressError::TooLong);
    }
    let (scheme, rest) = uri.split_once("://").ok_or(AddressError::Scheme)?;
    if !scheme.eq_ignore_ascii_case(SCHEME) {
        return Err(AddressError::Scheme);
    }
    if rest.contains('?') {
        return Err(AddressError::Query);
    }
    if rest.contains('#') {
        return Err(AddressError::Fragment);
    }
    if rest.is_empty() {
        return Ok(Address(String::new()));
    }
    let (source, path) = rest
        .split_once('/')
        .map_or((rest, None), |(source, path)| (source, Some(path)));
    if source.is_empty() {
        return Err(AddressError::NoSource);
    }
    if source.contains('@') {
        return Err(AddressError::User);
    }
    if source.contains(':') {
        return Err(AddressError::Port);
    }
    let mut place = String::with_capacity(rest.len());
    decode_segment(source, &mut place)?;
    place.make_ascii_lowercase();
    if let Some(path) = path {
        if path.ends_with('/') || path.is_empty() {
            return Err(AddressError::TrailingSlash);
        }
        for segment in path.split('/') {
            place.push('/');
            decode_segment(segment, &mut place)?;
        }
    }
    Ok(Address(place))
}

fn decode_segment(segment: &str, into: &mut String) -> Result<(), AddressError> {
    let mut decoded = Vec::with_capacity(segment.len());
    let mut bytes = segment.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'%' => {
                let mut digit = || {
                    let digit = bytes.next().and_then(|byte| char::from(byte).to_digit(16));
                    digit.and_then(|digit| u8::try_from(digit).ok())
                };
                let pair = (digit(), digit());
                let (Some(high), Some(low)) = pair else {
                    return Err(AddressError::Percent);
                };
                decoded.push(high << 4 | low);
            }
            b'\\' => return Err(AddressError::Backslash),
            plain if is_plain(plain) => decoded.push(plain),
            control if control.is_ascii_control() => return Err(AddressError::Control),
            _ => return Err(AddressError::Character),
        }
    }
    if decoded.contains(&b'/') {
        return Err(AddressError::Slash);
    }
    let text = String::from_utf8(decoded).map_err(|_| AddressError::NotText)?;
    if text.contains('\\') {
        return Err(AddressError::Backslash);
    }
    if text.chars().any(char::is_control) {
        return Err(AddressError::Control);
    }
    match text.as_str() {
        "" => Err(AddressError::Empty),
        "." | ".." => Err(AddressError::Dots),
        plain => {
            into.push_str(plain);
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests;
