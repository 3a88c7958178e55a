//! Base64 and percent-encoding for answers.

use std::fmt::Write as _;

use base64::Engine as _;

/// Bytes in base64, as answers carry them.
pub fn base64(bytes: &[u8]) -> String {
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

/// A URI (RFC 3986) of a path: everything but unreserved characters and `/` is encoded.
pub fn uri(scheme: &str, path: &str) -> String {
    let mut uri = format!("{scheme}://");
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}
