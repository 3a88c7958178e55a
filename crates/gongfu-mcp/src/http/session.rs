//! The sessions of the older revisions: limited in number, and closed when nobody uses them.
//!
//! The sessions themselves are `rmcp`'s; this keeps the table of those that are open.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::stream::Stream;
use gongfu_core::account::UserId;
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientJsonRpcMessage, ClientNotification,
    ClientRequest, RequestId, ServerJsonRpcMessage, ServerResult,
};
use rmcp::transport::WorkerTransport;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, LocalSessionWorker,
};
use rmcp::transport::streamable_http_server::session::{
    ServerSseMessage, SessionId, SessionManager,
};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

pub(super) const FULL: &str =
    "too many sessions are open; close one, or use revision 2026-07-28, which needs none";
pub(super) const DUPLICATE_ID: &str =
    "a request with this id is still in progress in this session; use unique ids";
pub(super) const ALREADY_INITIALIZED: &str =
    "this session has already started; send `initialize` without a session to start another";
/// The first revision whose clients know events without data (SEP-1699).
const FIRST_WITH_PRIMING: &str = "2025-11-25";
/// The pause between two looks for expired sessions, at most.
const EXPIRY_INTERVAL: Duration = Duration::from_secs(10);

/// The number of sessions, and the time that they stay open unused.
#[derive(Debug, Clone, Copy)]
pub(super) struct SessionLimits {
    /// The number of open sessions.
    pub(super) open: usize,
    /// The number of idle ones that stay open for `idle`.
    pub(super) kept: usize,
    pub(super) idle: Duration,
    /// The time that every other one stays open.
    pub(super) crowded_idle: Duration,
}

/// The use of a session.
#[derive(Debug)]
struct Session {
    /// The time of the last request, or of the end of the last stream.
    last_used: Instant,
    /// The number of open streams.
    streams: usize,
    /// The requests whose answers they carry.
    requests: HashSet<RequestId>,
    /// False for older clients: some read an event without data as JSON.
    knows_priming: bool,
    /// The user who opened it, on a server with accounts.
    user: Option<UserId>,
}

type Table = Arc<Mutex<HashMap<SessionId, Session>>>;

fn lock(table: &Table) -> MutexGuard<'_, HashMap<SessionId, Session>> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The open sessions.
#[derive(Debug)]
pub(super) struct Sessions {
    local: Arc<LocalSessionManager>,
    table: Table,
    limits: SessionLimits,
    /// Told of requests that are being answered.
    answering: TaskTracker,
}

/// A request that a session can't serve.
#[derive(Debug, thiserror::Error)]
pub(super) enum SessionError {
    #[error("{FULL}")]
    Full,
    #[error("{DUPLICATE_ID}")]
    DuplicateId,
    #[error("{ALREADY_INITIALIZED}")]
    AlreadyInitialized,
    #[error(transparent)]
    Local(#[from] LocalSessionManagerError),
}

impl Sessions {
    /// No sessions, and a task that closes expired ones.
    pub(super) fn start(limits: SessionLimits, answering: TaskTracker) -> Arc<Self> {
        let mut local = LocalSessionManager::default();
        // To `rmcp` a session with an open stream may be idle.
        local.session_config.keep_alive = None;
        // An idle session would hold its last answers until its next request.
        local.session_config.completed_cache_ttl = Duration::ZERO;
        let sessions = Arc::new(Self {
            local: Arc::new(local),
            table: Table::default(),
            limits,
            answering,
        });
        let interval = EXPIRY_INTERVAL.min(limits.idle.min(limits.crowded_idle) / 2);
        tokio::spawn(close_expired(Arc::downgrade(&sessions), interval));
        sessions
    }

    pub(super) fn count(&self) -> usize {
        lock(&self.table).len()
    }

    /// Returns true if there is a session with this id, and it is this user's.
    pub(super) fn contains(&self, id: &str, user: Option<&UserId>) -> bool {
        let table = lock(&self.table);
        table
            .get(id)
            .is_some_and(|session| session.user.as_ref() == user)
    }

    /// Makes a new session this user's; nobody knows its id before.
    pub(super) fn bind(&self, id: &str, user: &UserId) {
        if let Some(session) = lock(&self.table).get_mut(id) {
            session.user = Some(user.clone());
        }
    }

    /// Registers a stream of a session, and the request whose answer it carries.
    fn open(&self, id: &SessionId, request: Option<RequestId>) -> Result<OpenStream, SessionError> {
        let mut knows_priming = true;
        if let Some(session) = lock(&self.table).get_mut(id) {
            if let Some(request) = &request
                && !session.requests.insert(request.clone())
            {
                return Err(SessionError::DuplicateId);
            }
            session.streams += 1;
            session.last_used = Instant::now();
            knows_priming = session.knows_priming;
        }
        Ok(OpenStream {
            table: Arc::clone(&self.table),
            id: Arc::clone(id),
            _answering: request.as_ref().map(|_| self.answering.token()),
            request,
            run_by: None,
            knows_priming,
        })
    }

    /// The idle sessions and the times of their last use, in the order in which they stay.
    ///
    /// The latest one of each user is before anybody's second: who opens many closes only their own.
    fn idle(&self) -> Vec<(SessionId, Instant)> {
        let table = lock(&self.table);
        let idle = table.iter().filter(|(_, session)| session.streams == 0);
        let mut idle: Vec<_> = idle.collect();
        idle.sort_unstable_by_key(|(_, session)| Reverse(session.last_used));
        let mut counts: HashMap<Option<&UserId>, usize> = HashMap::new();
        let mut ranked: Vec<_> = idle
            .into_iter()
            .map(|(id, session)| {
                let rank = counts.entry(session.user.as_ref()).or_default();
                *rank += 1;
                (*rank, Arc::clone(id), session.last_used)
            })
            .collect();
        ranked.sort_by_key(|(rank, ..)| *rank);
        let without_rank = ranked.into_iter().map(|(_, id, last_used)| (id, last_used));
        without_rank.collect()
    }

    fn expired(&self) -> Vec<SessionId> {
        let limits = self.limits;
        let times = (0..).map(|place| {
            if place < limits.kept {
                limits.idle
            } else {
                limits.crowded_idle
            }
        });
        let idle = self.idle().into_iter().zip(times);
        idle.filter(|((_, last_used), time)| last_used.elapsed() >= *time)
            .map(|((id, _), _)| id)
            .collect()
    }

    /// Returns true if a user may open no more, because few are left and this user has a quarter of all.
    pub(super) fn is_greedy(&self, user: &UserId) -> bool {
        let table = lock(&self.table);
        if table.len() < self.limits.open / 2 {
            return false;
        }
        let theirs = table
            .values()
            .filter(|session| session.streams > 0 && session.user.as_ref() == Some(user));
        theirs.count() >= self.limits.open.div_ceil(4)
    }

    /// Closes idle sessions until there is room for another.
    async fn make_room(&self) -> Result<(), SessionError> {
        while self.count() >= self.limits.open {
            let (id, _) = self.idle().pop().ok_or(SessionError::Full)?;
            tracing::info!(
                session = &*id,
                "closed a session to make room for a new one"
            );
            self.close_session(&id).await?;
        }
        Ok(())
    }
}

/// Closes expired sessions until the table is dropped.
async fn close_expired(sessions: Weak<Sessions>, interval: Duration) {
    loop {
        tokio::time::sleep(interval).await;
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
        let session = Session {
            last_used: Instant::now(),
            streams: 0,
            requests: HashSet::new(),
            knows_priming: true,
            user: None,
        };
        lock(&self.table).insert(Arc::clone(&id), session);
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, SessionError> {
        let answer = match self.local.initialize_session(id, message).await {
            Ok(answer) => answer,
            Err(error) => {
                self.close_session(id).await?;
                return Err(error.into());
            }
        };
        if let ServerJsonRpcMessage::Response(response) = &answer
            && let ServerResult::InitializeResult(agreed) = &response.result
            && let Some(session) = lock(&self.table).get_mut(id)
        {
            session.knows_priming = agreed.protocol_version.as_str() >= FIRST_WITH_PRIMING;
        }
        Ok(answer)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, SessionError> {
        if let Some(session) = lock(&self.table).get_mut(id) {
            session.last_used = Instant::now();
        }
        Ok(self.local.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), SessionError> {
        lock(&self.table).remove(id);
        Ok(self.local.close_session(id).await?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let (mut request_id, mut is_run) = (None, false);
        if let ClientJsonRpcMessage::Request(request) = &message {
            request_id = Some(request.id.clone());
            match &request.request {
                ClientRequest::InitializeRequest(_) => {
                    return Err(SessionError::AlreadyInitialized);
                }
                // A call may run something; one that only reads ends long before the grace.
                ClientRequest::CallToolRequest(_) => is_run = true,
                _ => {}
            }
        }
        let mut open = self.open(id, request_id)?;
        let events = self.local.create_stream(id, message).await?;
        open.run_by = is_run.then(|| Arc::clone(&self.local));
        Ok(SessionStream::new(events, open))
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
        let open = self.open(id, None)?;
        let events = self.local.create_standalone_stream(id).await?;
        Ok(SessionStream::new(events, open))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let open = self.open(id, None)?;
        let events = self.local.resume(id, last_event_id).await?;
        Ok(SessionStream::new(events, open))
    }
}

/// An open stream of a session.
struct OpenStream {
    table: Table,
    id: SessionId,
    /// The request whose answer it carries.
    request: Option<RequestId>,
    _answering: Option<TaskTrackerToken>,
    /// Set while the request is a run: its sessions cancel it.
    run_by: Option<Arc<LocalSessionManager>>,
    knows_priming: bool,
}

impl Drop for OpenStream {
    /// Ends what runs for a client that is gone: it holds the machine, and nobody gets the answer.
    fn drop(&mut self) {
        if let Some(session) = lock(&self.table).get_mut(&self.id) {
            session.streams = session.streams.saturating_sub(1);
            if let Some(request) = &self.request {
                session.requests.remove(request);
            }
            session.last_used = Instant::now();
        }
        if let Some(local) = self.run_by.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let (id, request) = (Arc::clone(&self.id), self.request.take());
            tracing::info!(
                session = &*id,
                "ended a run because its client disconnected"
            );
            let why = Some("the client disconnected".to_owned());
            let params = CancelledNotificationParam::new(request, why);
            let cancelled = ClientNotification::from(CancelledNotification::new(params));
            let message = ClientJsonRpcMessage::notification(cancelled);
            // A session that is closed has ended it already.
            runtime.spawn(async move { local.accept_message(&id, message).await.ok() });
        }
    }
}

/// The events of an open stream.
struct SessionStream {
    events: Pin<Box<dyn Stream<Item = ServerSseMessage> + Send + Sync>>,
    open: OpenStream,
}

impl SessionStream {
    fn new(
        events: impl Stream<Item = ServerSseMessage> + Send + Sync + 'static,
        open: OpenStream,
    ) -> Self {
        let events = Box::pin(events);
        Self { events, open }
    }
}

impl Stream for SessionStream {
    type Item = ServerSseMessage;

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<ServerSseMessage>> {
        loop {
            let event = ready!(self.events.as_mut().poll_next(context));
            match &event {
                Some(event) if event.message.is_none() && !self.open.knows_priming => {}
                Some(_) => return Poll::Ready(event),
                None => {
                    self.open.run_by = None;
                    return Poll::Ready(None);
                }
            }
        }
    }
}
