//! The traffic of a connection: unanswered requests and unwritten lines.
//!
//! Everything that grows while a client does not read is counted here.

use std::collections::HashMap;
use std::io;
use std::time::Duration;

use rmcp::model::{ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use tokio::io::{AsyncWrite, AsyncWriteExt as _, BufWriter};
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};

use crate::message::Refusal;

/// The time that answers are waited for after the end of the input, or the last progress since.
pub(super) const GRACE: Duration = Duration::from_millis(300);
/// The number of requests and unwritten lines from which on no line is read.
const MAX_PENDING: usize = 320;
/// The number of bytes of unanswered requests from which on no line is read.
const MAX_PENDING_BYTES: usize = 16 << 20;
/// The number of unwritten lines from which on notifications wait.
const MAX_UNWRITTEN: usize = 64;
/// The number of bytes that are written at once.
const CHUNK: usize = 64 << 10;

/// A request without an answer.
#[derive(Debug)]
struct Request {
    bytes: usize,
    /// Allows another call to run once the answer to this one is written.
    permit: Option<OwnedSemaphorePermit>,
}

#[derive(Debug, Default)]
struct State {
    requests: HashMap<RequestId, Request>,
    request_bytes: usize,
    unwritten: usize,
    broken: bool,
    closed: bool,
    /// The input has ended, so that every step towards the last answer is waited for.
    ending: bool,
}

impl State {
    /// Changes the state; returns whether anybody waits for what changed. Waking somebody for each
    /// message would cost more than the message.
    fn change(&mut self, change: impl FnOnce(&mut Self)) -> bool {
        let before = self.limits();
        change(self);
        self.ending || self.limits() != before
    }

    /// The conditions that are waited for.
    fn limits(&self) -> [bool; 4] {
        [self.has_room(), self.may_notify(), self.broken, self.closed]
    }

    fn may_notify(&self) -> bool {
        self.unwritten < MAX_UNWRITTEN
    }

    fn remove(&mut self, id: &RequestId) -> Option<Request> {
        let request = self.requests.remove(id)?;
        self.request_bytes -= request.bytes;
        Some(request)
    }

    fn has_room(&self) -> bool {
        self.requests.len() + self.unwritten < MAX_PENDING && self.request_bytes < MAX_PENDING_BYTES
    }
}

/// A line on its way to the client.
struct Outgoing {
    line: Vec<u8>,
    /// Released when the line is written.
    _permit: Option<OwnedSemaphorePermit>,
}

/// The traffic of one connection.
#[derive(Clone)]
pub(super) struct Traffic {
    state: watch::Sender<State>,
    queue: mpsc::UnboundedSender<Outgoing>,
}

impl Traffic {
    /// An idle connection, and the future that writes its lines until the traffic is dropped.
    pub(super) fn new<W>(output: W) -> (Self, impl Future<Output = ()> + Send + 'static)
    where
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let (queue, lines) = mpsc::unbounded_channel();
        let state = watch::Sender::new(State::default());
        let writing = write_lines(output, lines, state.clone());
        (Self { state, queue }, writing)
    }

    /// Registers a request that was read; answers whether its id is free.
    pub(super) fn open(&self, id: &RequestId, bytes: usize) -> bool {
        let mut is_free = false;
        self.state.send_if_modified(|state| {
            is_free = !state.requests.contains_key(id);
            if is_free {
                let permit = None;
                state.requests.insert(id.clone(), Request { bytes, permit });
                state.request_bytes += bytes;
            }
            false
        });
        is_free
    }

    /// Keeps a permit until the answer to a request is written.
    pub(super) fn keep(&self, id: &RequestId, permit: Option<OwnedSemaphorePermit>) {
        self.state.send_if_modified(|state| {
            if let Some(request) = state.requests.get_mut(id) {
                request.permit = permit;
            }
            false
        });
    }

    /// Forgets a request that gets no answer.
    pub(super) fn forget(&self, id: &RequestId) {
        self.change(|state| drop(state.remove(id)));
    }

    /// Returns true if no request waits for its answer.
    pub(super) fn is_idle(&self) -> bool {
        self.state.borrow().requests.is_empty()
    }

    /// Queues a message. What is not an answer waits while many lines are unwritten.
    pub(super) async fn send(&self, message: ServerJsonRpcMessage) -> io::Result<()> {
        let id = match &message {
            JsonRpcMessage::Response(response) => Some(response.id.clone()),
            JsonRpcMessage::Error(error) => error.id.clone(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => {
                self.wait_for(|state| state.may_notify() || state.broken)
                    .await;
                None
            }
        };
        let line = to_line(&message).or_else(|_| {
            let error = ErrorData::internal_error("the answer can't be written as JSON", None);
            to_line(&ServerJsonRpcMessage::error(error, id.clone()))
        })?;
        self.enqueue(line, id.as_ref())
    }

    /// Queues the answer to a line that is no message.
    pub(super) fn refuse(&self, refusal: Refusal) {
        if let Ok(line) = to_line(&refusal.into_message()) {
            // A connection that is broken ends elsewhere.
            let _ = self.enqueue(line, None);
        }
    }

    fn enqueue(&self, line: Vec<u8>, answered: Option<&RequestId>) -> io::Result<()> {
        let mut permit = None;
        self.change(|state| {
            let request = answered.and_then(|id| state.remove(id));
            permit = request.and_then(|request| request.permit);
            state.unwritten += 1;
        });
        let outgoing = Outgoing {
            line,
            _permit: permit,
        };
        self.queue
            .send(outgoing)
            .map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    /// Waits until another line may be read.
    pub(super) async fn room(&self) {
        self.wait_for(State::has_room).await;
    }

    /// Waits until the client can't be reached any more.
    pub(super) async fn broken(&self) {
        self.wait_for(|state| state.broken).await;
    }

    /// Waits until every request is answered and every line written, or nothing goes on any more.
    pub(super) async fn settled(&self) {
        let mut state = self.state.subscribe();
        self.change(|state| state.ending = true);
        loop {
            let is_settled = {
                let state = state.borrow_and_update();
                state.broken || state.requests.is_empty() && state.unwritten == 0
            };
            if is_settled || tokio::time::timeout(GRACE, state.changed()).await.is_err() {
                return;
            }
        }
    }

    /// Notes that nothing more is read.
    pub(super) fn close(&self) {
        self.change(|state| state.closed = true);
    }

    /// Waits until nothing more is read.
    pub(super) async fn closed(&self) {
        self.wait_for(|state| state.closed).await;
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        self.state.send_if_modified(|state| state.change(change));
    }

    async fn wait_for(&self, condition: impl FnMut(&State) -> bool) {
        // It fails only without a sender, and `self` has one.
        let _ = self.state.subscribe().wait_for(condition).await;
    }
}

fn to_line(message: &ServerJsonRpcMessage) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

async fn write_lines<W: AsyncWrite + Unpin>(
    output: W,
    mut lines: mpsc::UnboundedReceiver<Outgoing>,
    state: watch::Sender<State>,
) {
    let mut output = BufWriter::with_capacity(CHUNK, output);
    let mut batch = Vec::new();
    while lines.recv_many(&mut batch, MAX_UNWRITTEN).await > 0 {
        if write_batch(&mut output, &batch, &state).await.is_err() {
            state.send_if_modified(|state| state.change(|state| state.broken = true));
            return;
        }
        state.send_if_modified(|state| state.change(|state| state.unwritten -= batch.len()));
        batch.clear();
    }
    let _ = output.shutdown().await;
}

async fn write_batch<W: AsyncWrite + Unpin>(
    output: &mut BufWriter<W>,
    batch: &[Outgoing],
    state: &watch::Sender<State>,
) -> io::Result<()> {
    for outgoing in batch {
        for chunk in outgoing.line.chunks(CHUNK) {
            output.write_all(chunk).await?;
            // A slow client is not one that is gone.
            state.send_if_modified(|state| state.change(|_| {}));
        }
    }
    output.flush().await
}
