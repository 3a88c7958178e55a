//! Waiting for another revision of a library.

use gongfu_core::library::Revision;
use gongfu_core::port::{Pending, PortError};
use tokio::sync::watch::Sender;

/// Waits until another revision than `since` is reported, and answers it.
pub(crate) fn changed(reported: &Sender<Revision>, since: Revision) -> Pending<'_, Revision> {
    let mut reported = reported.subscribe();
    Box::pin(async move {
        let another = reported.wait_for(|revision| *revision != since).await;
        another
            .map(|revision| *revision)
            .map_err(|error| PortError::Other(Box::new(error)))
    })
}
