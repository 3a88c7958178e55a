//! Limits how many bytes of large responses wait for clients that don't read them.
//!
//! A response is in memory until the last of it is written. A client that asks for large ones over
//! many connections and reads none would otherwise have the server hold them all.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http_body::Body;
use http_body_util::BodyExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Responses of fewer bytes don't count.
pub(super) const LARGE: usize = 256 * 1024;

/// The room for large responses; a permit is a byte.
#[derive(Debug, Clone)]
pub(super) struct LargeResponses {
    room: Arc<Semaphore>,
    limit: usize,
}

/// A part of a response; it counts until the last handle is dropped.
struct CountedBytes {
    data: Bytes,
    _permit: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for CountedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.data
    }
}

impl LargeResponses {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            room: Arc::new(Semaphore::new(limit)),
            limit,
        }
    }

    /// Counts bytes until they are written or dropped; returns `None` when there is no room.
    pub(super) fn count(&self, data: Bytes) -> Option<Bytes> {
        if data.len() < LARGE {
            return Some(data);
        }
        // One response always has room, however large it is.
        let size = u32::try_from(data.len().min(self.limit)).ok()?;
        let permit = Arc::clone(&self.room).try_acquire_many_owned(size).ok()?;
        Some(Bytes::from_owner(CountedBytes {
            data,
            _permit: permit,
        }))
    }

    /// Counts the parts of a body; `refusal` replaces one for which there is no room.
    pub(super) fn count_parts<B>(
        &self,
        body: B,
        mut refusal: impl FnMut() -> Bytes + Send + Sync + 'static,
    ) -> impl Body<Data = Bytes, Error = Infallible> + Send + Sync + 'static
    where
        B: Body<Data = Bytes, Error = Infallible> + Send + Sync + 'static,
    {
        let responses = self.clone();
        body.map_frame(move |frame| {
            frame.map_data(|data| responses.count(data).unwrap_or_else(&mut refusal))
        })
    }
}
