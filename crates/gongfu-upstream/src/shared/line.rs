//! A client's line to the process that runs servers.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use gongfu_core::port::{Asker, PortError, ProgressListener};
use serde_json::value::RawValue;
use tokio::net::UnixStream;
use tokio::sync::{oneshot, watch};

use super::wire::{self, Ask, FromProcess, ToProcess};
use super::writer::Writer;
use crate::stream::{self, SocketReader};

/// The time in which the process says that it has begun a call.
const BEGIN_TIMEOUT: Duration = Duration::from_secs(10);

/// The ends of a request that hear of more than its answer.
#[derive(Default, Clone)]
pub(super) struct Listeners {
    pub(super) progress: Option<ProgressListener>,
    pub(super) asker: Option<Asker>,
}

/// A request without an answer yet.
struct Request {
    answer: oneshot::Sender<Result<Box<RawValue>, AskFailure>>,
    listeners: Listeners,
    has_effect: bool,
    /// True once the process may have done something of it.
    is_begun: bool,
}

/// Why a request has no answer.
#[derive(Debug)]
pub(super) enum AskFailure {
    /// The process says why.
    Refused(PortError),
    /// The process ended before it did anything of it: another one can be asked.
    NotBegun,
    /// The process ended in the middle of it.
    Ended,
    /// The process doesn't read what it is asked.
    Stuck,
}

/// A line to the process.
pub(super) struct Line {
    writer: Writer,
    requests: Mutex<HashMap<u64, Request>>,
    next: AtomicU64,
    is_closed: AtomicBool,
    /// True while an answer is overdue that costs the process nothing.
    is_stuck: AtomicBool,
}

impl Line {
    /// A line over this stream. `version` counts its beginning, its end, and every change.
    ///
    /// # Errors
    /// The stream can't be used.
    pub(super) fn new(stream: UnixStream, version: watch::Sender<u64>) -> io::Result<Arc<Self>> {
        let (reader, writer) = stream::split(stream)?;
        let line = Arc::new(Self {
            writer: Writer::new(writer),
            requests: Mutex::default(),
            next: AtomicU64::new(0),
            is_closed: AtomicBool::new(false),
            is_stuck: AtomicBool::new(false),
        });
        version.send_modify(|version| *version += 1);
        tokio::spawn(read(Arc::downgrade(&line), reader, version));
        Ok(line)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    pub(super) fn is_stuck(&self) -> bool {
        self.is_stuck.load(Ordering::Relaxed)
    }

    /// Notes that an answer is overdue.
    pub(super) fn stick(&self) {
        self.is_stuck.store(true, Ordering::Relaxed);
    }

    fn requests(&self) -> MutexGuard<'_, HashMap<u64, Request>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, message: &ToProcess) {
        // Of a line that is closed, the reader fails all requests.
        self.writer.send(&wire::line(message));
    }

    /// Asks for something; dropping the answer cancels it.
    pub(super) async fn ask(
        &self,
        ask: Ask,
        listeners: Listeners,
    ) -> Result<Box<RawValue>, AskFailure> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (answer, mut answered) = oneshot::channel();
        let (is_long, has_effect) = (ask.is_long(), ask.has_effect());
        let request = Request {
            answer,
            listeners,
            has_effect,
            is_begun: false,
        };
        self.requests().insert(id, request);
        let _cancel = CancelOnDrop { line: self, id };
        self.send(&ToProcess::Ask { id, ask });
        if self.is_closed() {
            // The reader may have looked for requests before this one was there.
            self.fail_all();
        }
        let early = tokio::time::timeout(BEGIN_TIMEOUT, &mut answered).await;
        if let Ok(answer) = early {
            return answer.unwrap_or(Err(AskFailure::Ended));
        }
        let has_begun = self.requests().get(&id).is_none_or(|one| one.is_begun);
        if is_long && !has_begun {
            return Err(AskFailure::Stuck);
        }
        answered.await.unwrap_or(Err(AskFailure::Ended))
    }

    fn receive(self: &Arc<Self>, message: FromProcess, version: &watch::Sender<u64>) {
        self.is_stuck.store(false, Ordering::Relaxed);
        match message {
            FromProcess::Changed => version.send_modify(|version| *version += 1),
            FromProcess::Answer { id, answer } => self.end(id, Ok(answer)),
            FromProcess::Failure { id, failure } => {
                self.end(id, Err(AskFailure::Refused(failure.into())));
            }
            FromProcess::Begun { id } => {
                if let Some(request) = self.requests().get_mut(&id) {
                    request.is_begun = true;
                }
            }
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

    fn end(&self, id: u64, answer: Result<Box<RawValue>, AskFailure>) {
        if let Some(request) = self.requests().remove(&id) {
            // Nobody may wait any more.
            let _ = request.answer.send(answer);
        }
    }

    fn fail_all(&self) {
        let all: Vec<Request> = self
            .requests()
            .drain()
            .map(|(_, request)| request)
            .collect();
        for request in all {
            let why = if request.is_begun && request.has_effect {
                AskFailure::Ended
            } else {
                AskFailure::NotBegun
            };
            // Nobody may wait any more.
            let _ = request.answer.send(Err(why));
        }
    }
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

async fn read(line: Weak<Line>, mut reader: SocketReader, version: watch::Sender<u64>) {
    let mut bytes = Vec::new();
    loop {
        let message = wire::next(&mut reader, &mut bytes).await;
        let Some(line) = line.upgrade() else {
            return;
        };
        let Ok(Some(message)) = message else {
            line.is_closed.store(true, Ordering::Release);
            line.fail_all();
            version.send_modify(|version| *version += 1);
            return;
        };
        match message {
            Ok(message) => line.receive(message, &version),
            Err(unreadable) => {
                if let Some(question) = unreadable.question {
                    let (number, answer) = (question.number, None);
                    line.send(&ToProcess::Reply { number, answer });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use serde_json::value::{RawValue, to_raw_value};
    use tokio::io::{AsyncWriteExt as _, BufReader};
    use tokio::net::UnixStream;
    use tokio::sync::watch;

    use super::{AskFailure, Line, Listeners};
    use crate::shared::wire::{self, Ask, FromProcess, ToProcess};

    /// Makes a call to a process that sends these messages, and ends.
    async fn call(messages: fn(u64) -> Vec<FromProcess>) -> Result<Box<RawValue>, AskFailure> {
        let (client, mut process) = UnixStream::pair().unwrap();
        let line = Line::new(client, watch::Sender::new(0)).unwrap();
        let serving = async move {
            let (reader, mut writer) = process.split();
            let asked = wire::next(&mut BufReader::new(reader), &mut Vec::new()).await;
            let Some(Ok(ToProcess::Ask { id, .. })) = asked.unwrap() else {
                panic!("it asks");
            };
            for message in messages(id) {
                writer.write_all(&wire::line(&message)).await.unwrap();
            }
        };
        let ask = Ask::Call {
            connection: "notes".parse().unwrap(),
            tool: "add".to_owned(),
            arguments: serde_json::Map::new(),
            trace: None,
        };
        let ((), answer) = tokio::join!(serving, line.ask(ask, Listeners::default()));
        let again = line.ask(Ask::Tools, Listeners::default()).await;
        assert!(matches!(again, Err(AskFailure::NotBegun)), "{again:?}");
        answer
    }

    #[tokio::test]
    async fn call_of_a_process_that_ended_may_be_repeated_only_before_it_began() {
        let early = call(|_| Vec::new()).await;
        assert!(matches!(early, Err(AskFailure::NotBegun)), "{early:?}");
        let late = call(|id| vec![FromProcess::Begun { id }]).await;
        assert!(matches!(late, Err(AskFailure::Ended)), "{late:?}");
        let whole = call(|id| {
            let answer = to_raw_value(&json!({"content": []})).unwrap();
            vec![
                FromProcess::Begun { id },
                FromProcess::Answer { id, answer },
            ]
        });
        assert_eq!(whole.await.unwrap().get(), r#"{"content":[]}"#);
    }
}
