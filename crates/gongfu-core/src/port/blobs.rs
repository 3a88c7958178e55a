//! Content by digest.

use super::{FileContent, Pending};
use crate::skill::Digest;

/// Content that is kept by its digest and never changes.
pub trait Blobs: Send + Sync {
    /// Keeps these bytes durably; keeping the same bytes twice is one blob.
    fn put<'a>(&'a self, bytes: &'a [u8]) -> Pending<'a, Digest>;

    /// The bytes of a blob, at most `limit` of them. A blob whose content no longer has its digest
    /// is [`super::PortError::Unavailable`].
    fn get<'a>(&'a self, digest: &'a Digest, limit: u64) -> Pending<'a, FileContent>;

    /// Removes a blob; answers whether there was one.
    fn remove<'a>(&'a self, digest: &'a Digest) -> Pending<'a, bool>;
}
