//! Content by digest, in memory.

use std::collections::HashMap;
use std::sync::Mutex;

use gongfu_core::port::{Blobs, FileContent, Pending, PortError, ready};
use gongfu_core::skill::Digest;

use super::file_tree::content;

/// The blobs of one space.
#[derive(Debug, Default)]
pub struct MemoryBlobs(Mutex<HashMap<Digest, Vec<u8>>>);

impl MemoryBlobs {
    /// Replaces the bytes of a blob, so that they no longer have its digest.
    pub fn damage(&self, digest: &Digest, bytes: &[u8]) {
        self.0.lock().unwrap().insert(*digest, bytes.to_vec());
    }
}

impl Blobs for MemoryBlobs {
    fn put<'a>(&'a self, bytes: &'a [u8]) -> Pending<'a, Digest> {
        let digest = Digest::of(bytes);
        self.0.lock().unwrap().insert(digest, bytes.to_vec());
        ready(Ok(digest))
    }

    fn get<'a>(&'a self, digest: &'a Digest, limit: u64) -> Pending<'a, FileContent> {
        let blobs = self.0.lock().unwrap();
        ready(match blobs.get(digest) {
            Some(bytes) if Digest::of(bytes) == *digest => Ok(content(bytes, limit)),
            Some(_) => Err(PortError::Unavailable(format!("{digest} is damaged"))),
            None => Err(PortError::NotFound),
        })
    }

    fn remove<'a>(&'a self, digest: &'a Digest) -> Pending<'a, bool> {
        ready(Ok(self.0.lock().unwrap().remove(digest).is_some()))
    }
}
