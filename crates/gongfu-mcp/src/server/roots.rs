//! The roots of a client: the folders that it says it works in (`roots/list`).
//!
//! Only clients of the older revisions on standard input and output are asked, and only where the server's own
//! start folder is no project. 2026-07-28 deprecates roots.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rmcp::model::{ClientResult, ServerRequest};
use rmcp::service::{Peer, PeerRequestOptions, RoleServer};
use tokio::sync::watch::Sender;

/// Takes the folders of a client, in its order.
pub type AdoptRoots = Arc<dyn Fn(Vec<PathBuf>) + Send + Sync>;

/// The time that calls wait for a client's roots.
const ROOTS_TIMEOUT: Duration = Duration::from_secs(5);
/// The most roots that are looked at.
const MAX_ROOTS: usize = 64;

/// The state of asking one client.
#[derive(Clone)]
pub(super) struct Roots {
    adopt: Option<AdoptRoots>,
    /// True for a client that said that it has roots; no other one is asked.
    is_offered: Arc<AtomicBool>,
    /// True while the client is to be asked, or is asked.
    is_pending: Sender<bool>,
}

impl Roots {
    pub(super) fn new(adopt: Option<AdoptRoots>) -> Self {
        Self {
            adopt,
            is_offered: Arc::default(),
            is_pending: Sender::new(false),
        }
    }

    /// The same for another connection.
    pub(super) fn connection(&self) -> Self {
        Self::new(self.adopt.clone())
    }

    /// Makes calls wait, because a client said that it has roots.
    pub(super) fn expect(&self, has_roots: bool) {
        self.is_offered.store(has_roots, Ordering::Relaxed);
        self.is_pending
            .send_replace(has_roots && self.adopt.is_some());
    }

    /// Returns whether the client is to be asked.
    pub(super) fn is_expected(&self) -> bool {
        *self.is_pending.borrow()
    }

    /// Asks a client, and lets the calls go on that wait for its answer.
    pub(super) async fn ask(&self, peer: &Peer<RoleServer>) {
        let is_offered = self.is_offered.load(Ordering::Relaxed);
        let Some(adopt) = self.adopt.as_ref().filter(|_| is_offered) else {
            return;
        };
        if let Some(roots) = listed(peer).await {
            let adopt = Arc::clone(adopt);
            let _ = tokio::task::spawn_blocking(move || adopt(roots)).await;
        }
        self.is_pending.send_replace(false);
    }

    /// Waits until the client has said its roots; not for ever.
    pub(super) async fn settled(&self) {
        let mut is_pending = self.is_pending.subscribe();
        let settled = is_pending.wait_for(|is_pending| !is_pending);
        if tokio::time::timeout(ROOTS_TIMEOUT, settled).await.is_err() {
            tracing::warn!(
                "the client doesn't answer `roots/list`; the workspace is a private folder"
            );
            self.is_pending.send_replace(false);
        }
    }
}

/// The folders on this machine among the roots of a client; `None` without an answer.
#[expect(
    deprecated,
    reason = "SEP-2577 deprecates roots, which clients of the older revisions have"
)]
async fn listed(peer: &Peer<RoleServer>) -> Option<Vec<PathBuf>> {
    let request = ServerRequest::ListRootsRequest(rmcp::model::ListRootsRequest::default());
    let options = PeerRequestOptions::with_timeout(ROOTS_TIMEOUT);
    let handle = peer.send_request_with_option(request, options).await.ok()?;
    let Ok(ClientResult::ListRootsResult(answer)) = handle.await_response().await else {
        return None;
    };
    let roots = answer.roots.iter().take(MAX_ROOTS);
    Some(roots.filter_map(|root| folder(&root.uri)).collect())
}

/// The folder that a `file:` URI of this machine means.
fn folder(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte == b'%' {
            let digits = std::str::from_utf8(after.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = after.get(2..)?;
        } else {
            bytes.push(byte);
        }
    }
    let path = String::from_utf8(bytes).ok()?;
    let is_clean = path.starts_with('/') && !path.contains('\0');
    is_clean.then(|| PathBuf::from(path))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::folder;

    #[test]
    fn only_file_uris_of_this_machine_are_folders() {
        for (uri, wanted) in [
            ("file:///home/me/x", Some("/home/me/x")),
            ("file://localhost/home/me/x", Some("/home/me/x")),
            ("file:///home/me/a%20b%C3%A4", Some("/home/me/a bä")),
            ("file:///", Some("/")),
            ("file://other/home/me", None),
            ("file:///a%00b", None),
            ("file:///a%2", None),
            ("file:///a%zz", None),
            ("file:///a%ff", None),
            ("/home/me/x", None),
            ("https://example.com/", None),
            ("", None),
        ] {
            assert_eq!(folder(uri), wanted.map(PathBuf::from), "{uri}");
        }
    }
}
