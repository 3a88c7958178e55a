//! Runs whose clients are gone: whoever doesn't come back soon for the answer doesn't want what is run.
//!
//! A client that lost its connection may come back for any answer (the module above keeps it). But what
//! runs holds a machine's time and may do things that nobody watches any more, so it isn't kept running
//! for somebody who may never come.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use gongfu_hub::Catalog;
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientJsonRpcMessage, ClientNotification,
    ClientRequest, JsonRpcMessage, RequestId,
};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::session::{SessionId, SessionManager as _};

use super::{Uses, locked};

/// How long a client has to come back.
const GRACE: Duration = Duration::from_millis(500);

/// The request by which something is run, if this is one.
pub(super) fn run(message: &ClientJsonRpcMessage) -> Option<RequestId> {
    let JsonRpcMessage::Request(request) = message else {
        return None;
    };
    match &request.request {
        ClientRequest::CallToolRequest(call) if Catalog::executes(&call.params.name) => {
            Some(request.id.clone())
        }
        _ => None,
    }
}

/// The runs of a session that nobody listens to, by the stream that carries their answer.
#[derive(Debug, Default)]
pub(super) struct Left(HashMap<u64, RequestId>);

impl Left {
    /// The reader of a stream is gone.
    pub(super) fn went(&mut self, stream: u64, request: &RequestId) {
        self.0.insert(stream, request.clone());
    }

    /// There is a reader again; answers what it reads about.
    pub(super) fn came_back(&mut self, stream: u64) -> Option<RequestId> {
        self.0.remove(&stream)
    }
}

/// A run that somebody listens to.
pub(super) struct Listening {
    pub(super) request: RequestId,
    /// The stream that carries its answer, where that is known before any event.
    pub(super) stream: Option<u64>,
    pub(super) sessions: Arc<LocalSessionManager>,
}

impl Listening {
    pub(super) fn begun(request: RequestId, sessions: &Arc<LocalSessionManager>) -> Self {
        Self {
            request,
            stream: None,
            sessions: Arc::clone(sessions),
        }
    }

    /// Ends the run, unless somebody comes back to listen to it; one whose stream has no number can't
    /// be come back to.
    pub(super) async fn end_unless_heard(self, uses: Uses, id: SessionId, stream: Option<u64>) {
        if let Some(stream) = stream {
            tokio::time::sleep(GRACE).await;
            let waits = locked(&uses)
                .get_mut(&id)
                .is_some_and(|known| known.left.came_back(stream).is_none());
            if waits {
                return;
            }
        }
        tracing::info!(session = &*id, "a run is ended, because its client is gone");
        let why = "the client is gone".to_owned();
        let param = CancelledNotificationParam::new(Some(self.request), Some(why));
        let cancelled = ClientNotification::from(CancelledNotification::new(param));
        let message = ClientJsonRpcMessage::notification(cancelled);
        // A session that is closed has ended it already.
        let _ = self.sessions.accept_message(&id, message).await;
    }
}
