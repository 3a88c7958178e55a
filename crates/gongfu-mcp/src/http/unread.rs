//! How much of large answers may wait for clients that don't read them.
//!
//! An answer is in memory until the last of it is written. A client that asks for large ones on many
//! connections and reads none would otherwise have the server hold them all.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http_body::Body;
use http_body_util::BodyExt as _;

/// From how many bytes on an answer counts.
pub(super) const LARGE: usize = 256 * 1024;
/// Said instead of an answer for which there is no room.
pub(super) const CROWDED: &str =
    "too many large answers wait to be read; read them, or ask for less at once";

/// The large answers that aren't written yet.
#[derive(Debug)]
pub(super) struct Unread {
    bytes: AtomicUsize,
    limit: usize,
}

/// An answer, counted for as long as anybody holds it.
struct Held {
    data: Bytes,
    unread: Arc<Unread>,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.data
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.unread
            .bytes
            .fetch_sub(self.data.len(), Ordering::Relaxed);
    }
}

impl Unread {
    /// None yet, and at most so many bytes.
    pub(super) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            bytes: AtomicUsize::new(0),
            limit,
        })
    }

    /// The same bytes, counted until they are written or given up; none when there is no room. One
    /// answer always has room, however large it is.
    pub(super) fn hold(self: &Arc<Self>, data: Bytes) -> Option<Bytes> {
        let size = data.len();
        if size < LARGE {
            return Some(data);
        }
        let before = self.bytes.fetch_add(size, Ordering::Relaxed);
        let held = Held {
            data,
            unread: Arc::clone(self),
        };
        let fits = before == 0 || before.saturating_add(size) <= self.limit;
        fits.then(|| Bytes::from_owner(held))
    }

    /// A body whose pieces are counted; `instead` stands in for one that has no room.
    pub(super) fn counted<B>(
        self: &Arc<Self>,
        body: B,
        mut instead: impl FnMut() -> Bytes + Send + Sync + 'static,
    ) -> impl Body<Data = Bytes, Error = Infallible> + Send + Sync + 'static
    where
        B: Body<Data = Bytes, Error = Infallible> + Send + Sync + 'static,
    {
        let unread = Arc::clone(self);
        body.map_frame(move |frame| {
            frame.map_data(|data| unread.hold(data).unwrap_or_else(&mut instead))
        })
    }
}
