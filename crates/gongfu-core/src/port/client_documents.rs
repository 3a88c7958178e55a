//! The documents by which clients describe themselves.

use super::Pending;

/// The longest document, in bytes.
pub const MAX_CLIENT_DOCUMENT: usize = 16 * 1024;

/// Fetches the documents of clients whose id is a URL (client id metadata documents).
///
/// A URL comes from a stranger, through the browser of a user. So an implementation connects to public addresses
/// alone, checked after the name was resolved, follows no redirect, takes only status 200 and a JSON media type, ends
/// at [`MAX_CLIENT_DOCUMENT`] bytes and after a few seconds, and sends no credential. It may keep a document for some
/// minutes.
pub trait ClientDocuments: Send + Sync {
    /// The document at an `https` URL.
    ///
    /// A document that can't be taken is [`PortError::Denied`](super::PortError::Denied), with the reason for people.
    fn fetch<'a>(&'a self, url: &'a str) -> Pending<'a, Vec<u8>>;
}
