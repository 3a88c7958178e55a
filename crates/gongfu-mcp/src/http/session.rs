//! The sessions of the older revisions: bounded in number, and closed when nobody uses them.
//!
//! What a session does is `rmcp`'s; here is only which ones there are, and since when each is idle.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures_util::{Stream, StreamExt as _};
use rmcp::model::{ClientJsonRpcMessage, RequestId, ServerJsonRpcMessage, ServerResult};
use rmcp::transport::WorkerTransport;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, LocalSessionWorker,
};
use rmcp::transport::streamable_http_server::session::{
    ServerSseMessage, SessionId, SessionManager,
};
use tokio::time::Instant;

/// Said when every session that is allowed is in use.
pub(super) const FULL: &str =
    "too many sessions are open; close one, or use revision 2026-07-28, which needs none";
/// Said when a request has the id of one that isn't answered yet: nobody could tell their answers apart.
pub(super) const TWICE: &str =
    "a request with this id is still being answered in this session; give each its own id";
/// The first revision whose clients know events without data, by which a stream can be resumed
/// (SEP-1699).
const RESUMES: &str = "2025-11-25";
/// How often expired sessions are looked for, at most.
const ROUND: Duration = Duration::from_secs(30);

/// How often the end of the last answers is looked for.
const LOOK: Duration = Duration::from_millis(10);

/// How a session is used.
#[derive(Debug)]
struct Use {
    /// When the last request came, or the last stream ended.
    last: Instant,
    /// How many streams of it are open.
    streams: usize,
    /// The requests whose answers they carry.
    requests: HashSet<RequestId>,
    /// Whether its client knows events without data.
    resumes: bool,
}

type Uses = Arc<Mutex<HashMap<SessionId, Use>>>;

/// The sessions that are open.
#[derive(Debug)]
pub(super) struct Sessions {
    local: LocalSessionManager,
    uses: Uses,
    limit: usize,
    idle: Duration,
}

/// Why a session can't do what it is asked.
#[derive(Debug, thiserror::Error)]
pub(super) enum SessionError {
    /// There are as many as there may be, and all in use.
    #[error("{FULL}")]
    Full,
    /// The id of a request isn't its own.
    #[error("{TWICE}")]
    Twice,
    /// By `rmcp`.
    #[error(transparent)]
    Local(#[from] LocalSessionManagerError),
}

/// A stream of a session while it is open.
struct Open {
    uses: Uses,
    id: SessionId,
    /// The request whose answer it carries.
    request: Option<RequestId>,
}

impl Drop for Open {
    fn drop(&mut self) {
        if let Some(known) = locked(&self.uses).get_mut(&self.id) {
            known.streams = known.streams.saturating_sub(1);
            if let Some(request) = &self.request {
                known.requests.remove(request);
            }
            known.last = Instant::now();
        }
    }
}

fn locked(uses: &Uses) -> MutexGuard<'_, HashMap<SessionId, Use>> {
    uses.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Sessions {
    /// No sessions yet, and the task that closes the expired ones.
    pub(super) fn start(limit: usize, idle: Duration) -> Arc<Self> {
        let mut local = LocalSessionManager::default();
        // Which session is idle is told here: one with an open stream is in use however quiet it is.
        local.session_config.keep_alive = None;
        let sessions = Arc::new(Self {
            local,
            uses: Uses::default(),
            limit,
            idle,
        });
        tokio::spawn(expire(Arc::downgrade(&sessions), ROUND.min(idle / 2)));
        sessions
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        locked(&self.uses).len()
    }

    /// Whether there is one of that name.
    pub(super) fn knows(&self, id: &str) -> bool {
        locked(&self.uses).contains_key(id)
    }

    /// Notes that a session is used; answers whether it is there.
    fn touched(&self, id: &SessionId) -> bool {
        match locked(&self.uses).get_mut(id) {
            Some(known) => {
                known.last = Instant::now();
                true
            }
            None => false,
        }
    }

    /// Notes that a stream of a session is open for as long as the answer lives; a request may have
    /// only one.
    fn opened(&self, id: &SessionId, request: Option<RequestId>) -> Result<Open, SessionError> {
        if let Some(known) = locked(&self.uses).get_mut(id) {
            if let Some(request) = &request
                && !known.requests.insert(request.clone())
            {
                return Err(SessionError::Twice);
            }
            known.streams += 1;
            known.last = Instant::now();
        }
        Ok(Open {
            uses: Arc::clone(&self.uses),
            id: Arc::clone(id),
            request,
        })
    }

    /// Whether the client of a session knows events without data.
    pub(super) fn resumes(&self, id: &str) -> bool {
        let uses = locked(&self.uses);
        uses.get(id).is_none_or(|known| known.resumes)
    }

    /// Waits until no session answers a request.
    pub(super) async fn answered(&self) {
        while locked(&self.uses)
            .values()
            .any(|known| !known.requests.is_empty())
        {
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Those without a stream that were not used for so long.
    fn expired(&self) -> Vec<SessionId> {
        let uses = locked(&self.uses);
        let idle = uses
            .iter()
            .filter(|(_, known)| known.streams == 0 && known.last.elapsed() >= self.idle);
        idle.map(|(id, _)| Arc::clone(id)).collect()
    }

    /// The one without a stream that was not used for longest.
    fn idlest(&self) -> Option<SessionId> {
        let uses = locked(&self.uses);
        let idle = uses.iter().filter(|(_, known)| known.streams == 0);
        idle.min_by_key(|(_, known)| known.last)
            .map(|(id, _)| Arc::clone(id))
    }

    async fn make_room(&self) -> Result<(), SessionError> {
        while self.count() >= self.limit {
            let idlest = self.idlest().ok_or(SessionError::Full)?;
            tracing::info!(
                session = &*idlest,
                "a session is closed to make room for a new one"
            );
            self.close_session(&idlest).await?;
        }
        Ok(())
    }
}

/// Closes what has expired, until there are no sessions to look at.
async fn expire(sessions: Weak<Sessions>, round: Duration) {
    loop {
        tokio::time::sleep(round).await;
        let Some(sessions) = sessions.upgrade() else {
            return;
        };
        for id in sessions.expired() {
            if let Err(error) = sessions.close_session(&id).await {
                tracing::debug!(session = &*id, %error, "an expired session did not close");
            }
        }
    }
}

impl SessionManager for Sessions {
    type Error = SessionError;
    type Transport = WorkerTransport<LocalSessionWorker>;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), SessionError> {
        self.make_room().await?;
        let (id, transport) = self.local.create_session().await?;
        let fresh = Use {
            last: Instant::now(),
            streams: 0,
            requests: HashSet::new(),
            resumes: true,
        };
        locked(&self.uses).insert(Arc::clone(&id), fresh);
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, SessionError> {
        let begun = self.local.initialize_session(id, message).await;
        match &begun {
            Ok(ServerJsonRpcMessage::Response(answer)) => {
                if let ServerResult::InitializeResult(agreed) = &answer.result
                    && let Some(known) = locked(&self.uses).get_mut(id)
                {
                    known.resumes = agreed.protocol_version.as_str() >= RESUMES;
                }
            }
            Ok(_) => {}
            Err(_) => self.close_session(id).await?,
        }
        Ok(begun?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, SessionError> {
        Ok(self.touched(id) && self.local.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), SessionError> {
        locked(&self.uses).remove(id);
        Ok(self.local.close_session(id).await?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let request = match &message {
            ClientJsonRpcMessage::Request(request) => Some(request.id.clone()),
            _ => None,
        };
        let open = self.opened(id, request)?;
        let stream = self.local.create_stream(id, message).await?;
        Ok(kept(stream, open))
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), SessionError> {
        Ok(self.local.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let open = self.opened(id, None)?;
        let stream = self.local.create_standalone_stream(id).await?;
        Ok(kept(stream, open))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let open = self.opened(id, None)?;
        let stream = self.local.resume(id, last_event_id).await?;
        Ok(kept(stream, open))
    }
}

/// The stream, which is noted as open while it lives.
fn kept<T>(
    stream: impl Stream<Item = T> + Send + Sync + 'static,
    open: Open,
) -> impl Stream<Item = T> + Send + Sync + 'static {
    stream.map(move |message| {
        let _ = &open;
        message
    })
}
