//! What is under way between a client and the server: requests without an answer, and answers that
//! the client hasn't taken.
//!
//! Everything that may grow while a client doesn't read is counted here. Knows no lines and no pipe.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage as Outgoing};
use tokio::sync::{Notify, mpsc, oneshot};

use crate::end::End;
use crate::message::Refusal;

/// How many requests are worked on at once; more wait for their turn.
pub(super) const MAX_RUNNING: usize = 64;
/// How many subscriptions a client may hold: they run until it ends them, so they don't wait.
pub(super) const MAX_SUBSCRIPTIONS: usize = 64;
/// How many bytes of answers may be waiting for the client before no further request is begun.
pub(super) const MAX_UNSENT: usize = 8 << 20;
/// How many ids of cancelled requests are remembered: their answers may still be under way inside
/// of the server, and must not be taken for those of new requests.
const MAX_SPENT: usize = 1024;

/// A message on its way out, or the end of all.
pub(super) enum Unsent {
    /// One line, and who wants to know when it is written.
    Line(Vec<u8>, Option<oneshot::Sender<()>>),
    /// Nothing follows.
    Close,
}

/// How far a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Waiting,
    Begun,
    /// Its handler is done: the answer is on its way here, unless it was cancelled.
    Done,
}

/// A request that has no answer yet.
#[derive(Debug)]
struct Request {
    /// Tells this request from another one with the same id.
    serial: u64,
    subscription: bool,
    stage: Stage,
    cancelled: bool,
}

#[derive(Debug, Default)]
struct State {
    requests: HashMap<RequestId, Request>,
    running: usize,
    subscriptions: usize,
    serial: u64,
    spent: VecDeque<RequestId>,
    unsent: usize,
    broken: bool,
}

impl State {
    /// Forgets a request, and makes room for another one.
    fn finish(&mut self, id: &RequestId) {
        let Some(request) = self.requests.remove(id) else {
            return;
        };
        if request.subscription {
            self.subscriptions = self.subscriptions.saturating_sub(1);
        } else if request.stage != Stage::Waiting {
            self.running = self.running.saturating_sub(1);
        }
    }

    /// Forgets a cancelled request, but not its id.
    fn spend(&mut self, id: &RequestId) {
        self.finish(id);
        self.spent.push_back(id.clone());
        if self.spent.len() > MAX_SPENT {
            self.spent.pop_front();
        }
    }
}

/// The state of one connection.
#[derive(Debug)]
pub(super) struct Flow {
    state: Mutex<State>,
    queue: mpsc::UnboundedSender<Unsent>,
    /// Something made room, or the connection broke.
    pub(super) changed: Notify,
    pub(super) end: End,
}

impl Flow {
    /// A connection without requests, and what goes out of it.
    pub(super) fn new(end: End) -> (Arc<Self>, mpsc::UnboundedReceiver<Unsent>) {
        let (queue, unsent) = mpsc::unbounded_channel();
        let flow = Self {
            state: Mutex::default(),
            queue,
            changed: Notify::new(),
            end,
        };
        (Arc::new(flow), unsent)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No code between a lock and its release leaves anything half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a request that was read.
    pub(super) fn admit(&self, id: &RequestId, subscription: bool) -> Result<(), Box<Refusal>> {
        let refused = |text: String| Err(Box::new(Refusal::invalid(text, Some(id.clone()))));
        let mut state = self.state();
        if state.requests.contains_key(id) {
            let text = "this `id` belongs to a request that isn't answered yet: give each request \
                        one of its own";
            return refused(text.to_owned());
        }
        if state.spent.contains(id) {
            let text = "this `id` belonged to a request that was cancelled: give each request one \
                        of its own";
            return refused(text.to_owned());
        }
        if subscription && state.subscriptions >= MAX_SUBSCRIPTIONS {
            return refused(format!(
                "there are {MAX_SUBSCRIPTIONS} subscriptions already: cancel one, or ask for more \
                 in one request"
            ));
        }
        state.subscriptions += usize::from(subscription);
        state.serial += 1;
        let request = Request {
            serial: state.serial,
            subscription,
            stage: Stage::Waiting,
            cancelled: false,
        };
        state.requests.insert(id.clone(), request);
        Ok(())
    }

    /// Begins a request that was admitted, if there is room.
    pub(super) fn begin(self: &Arc<Self>, id: &RequestId) -> Option<Ticket> {
        let mut state = self.state();
        let state = &mut *state;
        let request = state.requests.get_mut(id)?;
        if state.unsent >= MAX_UNSENT || !request.subscription && state.running >= MAX_RUNNING {
            return None;
        }
        request.stage = Stage::Begun;
        state.running += usize::from(!request.subscription);
        Some(Ticket(Arc::new(Stub {
            flow: Arc::clone(self),
            id: id.clone(),
            serial: request.serial,
        })))
    }

    /// Notes that the client wants no answer any more; answers whether the request had begun.
    pub(super) fn cancel(&self, id: &RequestId) -> bool {
        let mut state = self.state();
        let Some(request) = state.requests.get_mut(id) else {
            return true;
        };
        request.cancelled = true;
        match request.stage {
            Stage::Waiting => {
                state.finish(id);
                return false;
            }
            Stage::Begun => {}
            Stage::Done => state.spend(id),
        }
        true
    }

    /// Whether nothing is worked on.
    pub(super) fn is_idle(&self) -> bool {
        let state = self.state();
        let mut requests = state.requests.values();
        requests.all(|request| request.stage == Stage::Waiting)
    }

    /// Whether another answer may be made.
    pub(super) fn has_room(&self) -> bool {
        self.state().unsent < MAX_UNSENT
    }

    /// Whether the client can't be reached any more.
    pub(super) fn is_broken(&self) -> bool {
        self.state().broken
    }

    /// Puts a message into the queue; one that isn't an answer is waited for until it is written, so
    /// that who makes many of them is held back.
    pub(super) async fn send(&self, message: Outgoing) -> io::Result<()> {
        let id = match &message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => {
                let (written, wait) = oneshot::channel();
                self.enqueue(line(&message)?, Some(written), None)?;
                return wait.await.map_err(|_| broken());
            }
        };
        let text = line(&message).or_else(|_| {
            let error = ErrorData::internal_error("the answer can't be written as JSON", None);
            line(&Outgoing::error(error, id.cloned()))
        })?;
        self.enqueue(text, None, id)
    }

    /// Answers a line that nobody can act upon; the requests under way go on.
    pub(super) fn refuse(&self, refusal: Refusal) {
        // Where it can't be sent the connection is broken, and noted as that.
        if let Ok(text) = line(&refusal.answer()) {
            let _ = self.enqueue(text, None, None);
        }
    }

    fn enqueue(
        &self,
        line: Vec<u8>,
        written: Option<oneshot::Sender<()>>,
        answered: Option<&RequestId>,
    ) -> io::Result<()> {
        {
            let mut state = self.state();
            if let Some(id) = answered {
                state.finish(id);
            }
            if state.broken {
                return Err(broken());
            }
            state.unsent += line.len();
            let sent = self.queue.send(Unsent::Line(line, written));
            sent.map_err(|_| broken())?;
        }
        self.changed.notify_one();
        Ok(())
    }

    /// Notes that the client took this many bytes.
    pub(super) fn taken(&self, bytes: usize) {
        {
            let mut state = self.state();
            state.unsent = state.unsent.saturating_sub(bytes);
        }
        self.changed.notify_one();
        self.end.answered();
    }

    /// Notes that the client can't be reached any more.
    pub(super) fn fail(&self) {
        self.state().broken = true;
        self.changed.notify_one();
    }

    /// Lets the queue run empty and end.
    pub(super) fn close(&self) {
        let _ = self.queue.send(Unsent::Close);
    }

    /// Notes that the work on a request is over.
    fn leave(&self, stub: &Stub) {
        let mut state = self.state();
        let request = state.requests.get_mut(&stub.id);
        let Some(request) = request.filter(|request| request.serial == stub.serial) else {
            return;
        };
        request.stage = Stage::Done;
        if request.cancelled {
            // No answer comes past here that could tell.
            state.spend(&stub.id);
            drop(state);
            self.changed.notify_one();
        } else if std::thread::panicking() {
            drop(state);
            let error = ErrorData::internal_error("a fault of the server ended this request", None);
            if let Ok(text) = line(&Outgoing::error(error, Some(stub.id.clone()))) {
                let _ = self.enqueue(text, None, Some(&stub.id));
            }
        }
    }
}

fn line(message: &Outgoing) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

fn broken() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "the client is gone")
}

/// Travels with a request and tells by its end that nobody works on it any more.
///
/// The answer of a cancelled request never comes past the transport, and neither does that of one
/// whose handler panicked.
#[derive(Debug, Clone)]
pub(super) struct Ticket(#[expect(dead_code, reason = "its end is what it is for")] Arc<Stub>);

#[derive(Debug)]
struct Stub {
    flow: Arc<Flow>,
    id: RequestId,
    serial: u64,
}

impl Drop for Stub {
    fn drop(&mut self) {
        self.flow.leave(self);
    }
}
