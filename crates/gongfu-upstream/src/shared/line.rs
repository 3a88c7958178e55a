//! A client's line to the process that runs servers.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use gongfu_core::port::{Asker, PortError, ProgressListener};
use serde_json::Value;
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, oneshot, watch};

use super::wire::{self, Ask, FromProcess, ToProcess};

/// The ends of a request that hear of more than its answer.
#[derive(Default, Clone)]
pub(super) struct Listeners {
    pub(super) progress: Option<ProgressListener>,
    pub(super) asker: Option<Asker>,
}

/// A request without an answer yet.
struct Request {
    answer: oneshot::Sender<Result<Value, PortError>>,
    listeners: Listeners,
}

/// A line to the process.
pub(super) struct Line {
    messages: mpsc::UnboundedSender<Vec<u8>>,
    requests: Mutex<HashMap<u64, Request>>,
    next: AtomicU64,
    is_closed: AtomicBool,
}

impl Line {
    /// A line over this stream. `version` counts its beginning, its end, and every change.
    pub(super) fn new(stream: UnixStream, version: watch::Sender<u64>) -> Arc<Self> {
        let (reader, writer) = stream.into_split();
        let (messages, queue) = mpsc::unbounded_channel();
        let line = Arc::new(Self {
            messages,
            requests: Mutex::default(),
            next: AtomicU64::new(0),
            is_closed: AtomicBool::new(false),
        });
        tokio::spawn(write(writer, queue));
        version.send_modify(|version| *version += 1);
        tokio::spawn(read(Arc::downgrade(&line), reader, version));
        line
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    fn requests(&self) -> MutexGuard<'_, HashMap<u64, Request>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, message: &ToProcess) {
        // Of a line that is closed, the reader fails all requests.
        let _ = self.messages.send(wire::line(message));
    }

    /// Asks for something; dropping the answer cancels it.
    pub(super) async fn ask(&self, ask: Ask, listeners: Listeners) -> Result<Value, PortError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        self.requests().insert(id, Request { answer, listeners });
        let _cancel = CancelOnDrop { line: self, id };
        self.send(&ToProcess::Ask { id, ask });
        if self.is_closed() {
            return Err(ended());
        }
        answered.await.unwrap_or_else(|_| Err(ended()))
    }

    fn receive(self: &Arc<Self>, message: FromProcess, version: &watch::Sender<u64>) {
        match message {
            FromProcess::Changed => version.send_modify(|version| *version += 1),
            FromProcess::Answer { id, answer } => self.end(id, Ok(answer)),
            FromProcess::Failure { id, failure } => self.end(id, Err(failure.into())),
            FromProcess::Progress { id, progress } => {
                let listener = self.listeners(id).and_then(|all| all.progress);
                if let Some(listener) = listener {
                    listener(progress);
                }
            }
            FromProcess::Question {
                id,
                number,
                question,
            } => {
                let asker = self.listeners(id).and_then(|all| all.asker);
                let line = Arc::clone(self);
                tokio::spawn(async move {
                    let answer = match asker {
                        Some(asker) => asker(question).await.ok().flatten(),
                        None => None,
                    };
                    line.send(&ToProcess::Reply { number, answer });
                });
            }
        }
    }

    fn listeners(&self, id: u64) -> Option<Listeners> {
        let requests = self.requests();
        requests.get(&id).map(|request| request.listeners.clone())
    }

    fn end(&self, id: u64, answer: Result<Value, PortError>) {
        if let Some(request) = self.requests().remove(&id) {
            // Nobody may wait any more.
            let _ = request.answer.send(answer);
        }
    }
}

fn ended() -> PortError {
    let why = "the process that runs it has ended; another call starts it again";
    PortError::Unavailable(why.to_owned())
}

struct CancelOnDrop<'a> {
    line: &'a Line,
    id: u64,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if self.line.requests().remove(&self.id).is_some() {
            self.line.send(&ToProcess::Cancel { id: self.id });
        }
    }
}

async fn write(mut writer: OwnedWriteHalf, mut queue: mpsc::UnboundedReceiver<Vec<u8>>) {
    while let Some(message) = queue.recv().await {
        if writer.write_all(&message).await.is_err() {
            return;
        }
    }
}

async fn read(line: Weak<Line>, reader: OwnedReadHalf, version: watch::Sender<u64>) {
    let (mut reader, mut bytes) = (BufReader::new(reader), Vec::new());
    loop {
        let message = wire::next(&mut reader, &mut bytes).await;
        let Some(line) = line.upgrade() else {
            return;
        };
        let Ok(Some(message)) = message else {
            line.is_closed.store(true, Ordering::Release);
            // Dropping a request fails it.
            line.requests().clear();
            version.send_modify(|version| *version += 1);
            return;
        };
        line.receive(message, &version);
    }
}
