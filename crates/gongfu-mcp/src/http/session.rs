//! The sessions of the older revisions: bounded in number, and closed when nobody uses them.
//!
//! What a session does is `rmcp`'s; here is only which ones there are, since when each is idle, and
//! what each sent last.

mod left;
mod sent;

use std::collections::{HashMap, HashSet};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::future::Either;
use futures_util::stream::{self, Stream, StreamExt as _};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, RequestId, ServerJsonRpcMessage, ServerResult,
};
use rmcp::transport::WorkerTransport;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, LocalSessionWorker,
};
use rmcp::transport::streamable_http_server::session::{
    ServerSseMessage, SessionId, SessionManager,
};
use tokio::time::Instant;

use self::left::{Left, Listening};
use self::sent::{Behind, EventId, Room, Sent, is_behind, weight};

/// Said when every session that is allowed is in use.
pub(super) const FULL: &str =
    "too many sessions are open; close one, or use revision 2026-07-28, which needs none";
/// Said when a request has the id of one that isn't answered yet: nobody could tell their answers apart.
pub(super) const TWICE: &str =
    "a request with this id is still being answered in this session; give each its own id";
/// Said when a session that is begun is begun again.
pub(super) const AGAIN: &str =
    "this session has begun already; send `initialize` without a session to begin another";
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
    /// What its streams carried last.
    sent: Sent,
    /// Which of its runs nobody listens to.
    left: Left,
}

type Uses = Arc<Mutex<HashMap<SessionId, Use>>>;

/// The sessions that are open.
#[derive(Debug)]
pub(super) struct Sessions {
    local: Arc<LocalSessionManager>,
    uses: Uses,
    room: Arc<Room>,
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
    /// It has begun.
    #[error("{AGAIN}")]
    Again,
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
            local: Arc::new(local),
            uses: Uses::default(),
            room: Arc::default(),
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

    /// Whether a stream of a session can be continued behind this event. `rmcp` would answer with a
    /// stream that is at its end, by which a client can't tell that something is lost.
    pub(super) fn continues(&self, id: &str, last: &str) -> bool {
        let uses = locked(&self.uses);
        let Some(known) = uses.get(id) else {
            return false;
        };
        let last = EventId::parse(last);
        last.is_some_and(|last| !matches!(known.sent.behind(last), Behind::Unknown))
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
        for known in locked(&sessions.uses).values_mut() {
            known.sent.forget_old();
        }
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
            sent: Sent::new(&self.room),
            left: Left::default(),
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
            ClientJsonRpcMessage::Request(request) => {
                if matches!(request.request, ClientRequest::InitializeRequest(_)) {
                    return Err(SessionError::Again);
                }
                Some(request.id.clone())
            }
            _ => None,
        };
        let runs = left::run(&message);
        let open = self.opened(id, request)?;
        let stream = self.local.create_stream(id, message).await?;
        let mut followed = Followed::new(stream, open);
        followed.listening = runs.map(|request| Listening::begun(request, &self.local));
        Ok(followed)
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
        if let Some(known) = locked(&self.uses).get_mut(id) {
            known.sent.opened_alone();
        }
        Ok(Followed::new(stream, open))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let open = self.opened(id, None)?;
        let last = EventId::parse(&last_event_id);
        if let Some(last) = last
            && let Some(known) = locked(&self.uses).get_mut(id)
        {
            if let Behind::Ended(events) = known.sent.behind(last) {
                return Ok(Either::Left(stream::iter(events)));
            }
            if let Some(stream) = last.stream {
                known.sent.resumed(stream);
            }
        }
        let stream = self.local.resume(id, last_event_id).await?;
        // `rmcp` begins with the event that the client has. The stream that answers no request has
        // two events 0, of which the client may have the first.
        let last = last.filter(|last| last.stream.is_some() || last.index > 0);
        let rest = stream.filter(move |event| {
            std::future::ready(last.is_none_or(|last| is_behind(event, last)))
        });
        let mut followed = Followed::new(rest, open);
        if let Some(stream) = last.and_then(|last| last.stream) {
            let request = followed.left(|left| left.came_back(stream)).flatten();
            followed.listening = request.map(|request| Listening {
                stream: Some(stream),
                ..Listening::begun(request, &self.local)
            });
        }
        Ok(Either::Right(followed))
    }
}

/// A stream of a session while somebody reads it: it counts as open, and what it carries is kept for
/// a client that loses the connection.
struct Followed {
    /// None when it is at its end.
    inner: Option<Pin<Box<dyn Stream<Item = ServerSseMessage> + Send + Sync>>>,
    /// None when nobody reads it any more, while what comes is still kept.
    open: Option<Open>,
    uses: Uses,
    id: SessionId,
    /// The stream by `rmcp`'s number, while the answer on it is still to come.
    unanswered: Option<u64>,
    /// The run that its reader listens to, if it is about one.
    listening: Option<Listening>,
}

impl Followed {
    fn new(
        stream: impl Stream<Item = ServerSseMessage> + Send + Sync + 'static,
        open: Open,
    ) -> Self {
        Self {
            inner: Some(Box::pin(stream)),
            uses: Arc::clone(&open.uses),
            id: Arc::clone(&open.id),
            open: Some(open),
            unanswered: None,
            listening: None,
        }
    }

    /// Does something with the runs of the session that nobody listens to, if it is still there.
    fn left<T>(&self, change: impl FnOnce(&mut Left) -> T) -> Option<T> {
        let mut uses = locked(&self.uses);
        uses.get_mut(&self.id).map(|known| change(&mut known.left))
    }

    /// Does something with what the session sent last, if it is still there.
    fn sent<T>(&self, change: impl FnOnce(&mut Sent) -> T) -> Option<T> {
        let mut uses = locked(&self.uses);
        uses.get_mut(&self.id).map(|known| change(&mut known.sent))
    }
}

impl Stream for Followed {
    type Item = ServerSseMessage;

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<ServerSseMessage>> {
        let Some(inner) = self.inner.as_mut() else {
            return Poll::Ready(None);
        };
        let event = ready!(inner.as_mut().poll_next(context));
        if let Some(event) = &event {
            // Before the others have to wait.
            let weight = weight(event);
            self.unanswered = self.sent(|sent| sent.note(event, weight)).flatten();
        } else {
            self.inner = None;
            if let Some(stream) = self.unanswered.take() {
                self.sent(|sent| sent.stopped(stream));
            }
        }
        Poll::Ready(event)
    }
}

impl Drop for Followed {
    /// A client that is gone may come back for its answer: somebody must take it meanwhile.
    fn drop(&mut self) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        // One that is at its end has its answer.
        if self.inner.is_some()
            && let Some(listening) = self.listening.take()
        {
            let stream = listening.stream.or(self.unanswered);
            if let Some(stream) = stream {
                self.left(|left| left.went(stream, &listening.request));
            }
            let (uses, id) = (Arc::clone(&self.uses), Arc::clone(&self.id));
            runtime.spawn(listening.end_unless_heard(uses, id, stream));
        }
        if self.open.take().is_none() || self.unanswered.is_none() {
            return;
        }
        let mut left = Self {
            inner: self.inner.take(),
            open: None,
            uses: Arc::clone(&self.uses),
            id: Arc::clone(&self.id),
            unanswered: self.unanswered.take(),
            listening: None,
        };
        runtime.spawn(async move { while left.next().await.is_some() {} });
    }
}
