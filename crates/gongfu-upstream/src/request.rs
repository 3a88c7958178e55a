//! A request to a server, which hears when nobody waits for the answer any more.

use gongfu_core::text::clipped;
use rmcp::RoleClient;
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientRequest, ProgressToken, RequestId,
    ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestHandle, ServiceError};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A request that was sent.
pub(crate) struct SentRequest {
    handle: RequestHandle<RoleClient>,
    cancel: CancelOnDrop,
}

impl SentRequest {
    /// Sends a request.
    ///
    /// # Errors
    /// The server has ended.
    pub(crate) async fn new(
        peer: &Peer<RoleClient>,
        request: ClientRequest,
    ) -> Result<Self, ServiceError> {
        let options = PeerRequestOptions::no_options();
        let handle = peer.send_cancellable_request(request, options).await?;
        let cancel = CancelOnDrop {
            peer: peer.clone(),
            id: Some(handle.id.clone()),
        };
        Ok(Self { handle, cancel })
    }

    pub(crate) fn progress_token(&self) -> ProgressToken {
        self.handle.progress_token.clone()
    }

    /// Waits for the answer; dropping it cancels the request.
    ///
    /// # Errors
    /// The server refuses, or gives no answer.
    pub(crate) async fn answer(mut self) -> Result<ServerResult, ServiceError> {
        let answer = self.handle.await_response().await;
        self.cancel.id = None;
        answer
    }
}

/// Tells a server that nobody waits for the answer to a request any more, unless it was answered.
struct CancelOnDrop {
    peer: Peer<RoleClient>,
    id: Option<RequestId>,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current())
        else {
            return;
        };
        let reason = "the caller cancelled it".to_owned();
        let params = CancelledNotificationParam::new(Some(id), Some(reason));
        let peer = self.peer.clone();
        runtime.spawn(async move {
            let _ = peer
                .send_notification(CancelledNotification::new(params).into())
                .await;
        });
    }
}

/// A page of a list.
pub(crate) struct ListPage<T> {
    /// Its entries, without those that are malformed.
    pub(crate) entries: Vec<T>,
    /// The cursor of the next one.
    pub(crate) next: Option<String>,
}

/// Asks for a page of a list, whose entries are under `field`. One that is malformed costs no other.
///
/// # Errors
/// The server refuses, or gives no list.
pub(crate) async fn list_page<T: DeserializeOwned>(
    peer: &Peer<RoleClient>,
    request: ClientRequest,
    field: &str,
) -> Result<ListPage<T>, ServiceError> {
    let answer = SentRequest::new(peer, request).await?.answer().await?;
    // The result of a list with a malformed entry has no type of the protocol, and comes as it is.
    let mut answer = serde_json::to_value(answer).unwrap_or_default();
    let Some(Value::Array(all)) = answer.get_mut(field).map(Value::take) else {
        return Err(ServiceError::UnexpectedResponse);
    };
    let mut entries = Vec::with_capacity(all.len());
    for entry in all {
        let name = entry.get("name").or_else(|| entry.get("uri"));
        let name = clipped(&name.unwrap_or(&Value::Null).to_string(), 64, '…');
        match serde_json::from_value(entry) {
            Ok(entry) => entries.push(entry),
            Err(error) => tracing::warn!("an entry of {field} is left out: {name}: {error}"),
        }
    }
    let next = answer.get("nextCursor").and_then(Value::as_str);
    Ok(ListPage {
        entries,
        next: next.map(str::to_owned),
    })
}
