//! What a session sent last, for a client that lost the connection before it had all of it.
//!
//! `rmcp` continues a stream whose request is still being answered, and forgets an answer with its
//! last byte: here the last answers are kept a while longer (MCP 2025-11-25, transports,
//! "resumability and redelivery"). How many bytes they may take is bounded for each session and for
//! all; what has no room isn't kept, and a client that asks for it is told so.

use std::collections::{HashMap, VecDeque};
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rmcp::model::ServerJsonRpcMessage;
use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use tokio::time::Instant;

/// How long an answer is kept.
const KEPT: Duration = Duration::from_mins(1);
/// How many answers of a session are kept.
const MOST: usize = 16;
/// How many streams of a session that nobody reads and that have no answer yet are known.
const LEFT: usize = 64;
/// How many bytes of one answer are kept at most.
const ANSWER: usize = 256 * 1024;
/// How many bytes a session keeps at most.
const SESSION: usize = 512 * 1024;
/// How many bytes all sessions keep at most.
const ALL: usize = 16 * 1024 * 1024;
/// What an event weighs besides its message, in bytes.
const EVENT: usize = 128;

/// An event of a stream, as `rmcp` names it: `<index>/<stream>`, or `<index>` where no request is
/// answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EventId {
    pub(super) index: u64,
    pub(super) stream: Option<u64>,
}

impl EventId {
    /// Reads one; `None` where it is no name of an event.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (index, stream) = match text.split_once('/') {
            Some((index, stream)) => (index, Some(number(stream)?)),
            None => (text, None),
        };
        Some(Self {
            index: number(index)?,
            stream,
        })
    }
}

/// A number in digits alone.
fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits)
}

/// What comes behind an event.
#[derive(Debug)]
pub(super) enum Behind {
    /// There is no such event, or what came behind it isn't kept any more.
    Unknown,
    /// The stream goes on.
    Open,
    /// All that came until the stream ended.
    Ended(Vec<ServerSseMessage>),
}

/// How many bytes all sessions keep.
#[derive(Debug, Default)]
pub(super) struct Room(AtomicUsize);

impl Room {
    fn take(&self, bytes: usize) -> bool {
        let before = self.0.fetch_add(bytes, Ordering::Relaxed);
        let fits = before.saturating_add(bytes) <= ALL;
        if !fits {
            self.give(bytes);
        }
        fits
    }

    fn give(&self, bytes: usize) {
        self.0.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// What was sent on one stream that answers a request.
#[derive(Debug)]
struct Answer {
    /// The highest index that was sent.
    last: u64,
    events: Vec<ServerSseMessage>,
    bytes: usize,
    /// Whether every event is still there.
    is_whole: bool,
}

/// What a session sent last.
#[derive(Debug)]
pub(super) struct Sent {
    room: Arc<Room>,
    answers: HashMap<u64, Answer>,
    /// The streams that ended and when, the oldest first.
    ended: VecDeque<(u64, Instant)>,
    /// The streams that stopped without an answer, the oldest first: cancelled ones, and those that
    /// the server wants to be asked for again.
    left: VecDeque<u64>,
    bytes: usize,
    /// The highest index of the stream that answers no request, if there ever was one.
    alone: Option<u64>,
}

impl Drop for Sent {
    fn drop(&mut self) {
        self.room.give(self.bytes);
    }
}

impl Sent {
    /// Nothing yet.
    pub(super) fn new(room: &Arc<Room>) -> Self {
        Self {
            room: Arc::clone(room),
            answers: HashMap::new(),
            ended: VecDeque::new(),
            left: VecDeque::new(),
            bytes: 0,
            alone: None,
        }
    }

    /// Notes that the stream that answers no request was opened: it begins with an event 0.
    pub(super) fn opened_alone(&mut self) {
        self.alone = self.alone.or(Some(0));
    }

    /// Notes an event of this [`weight`]; answers the stream whose last one it isn't.
    pub(super) fn note(&mut self, event: &ServerSseMessage, weight: Option<usize>) -> Option<u64> {
        let id = event.event_id.as_deref().and_then(EventId::parse)?;
        let Some(stream) = id.stream else {
            self.alone = self.alone.max(Some(id.index));
            return None;
        };
        let is_last = event.message.as_deref().is_some_and(ends);
        self.keep(stream, id.index, event, weight);
        if !is_last {
            return Some(stream);
        }
        self.ended.push_back((stream, Instant::now()));
        self.forget_old();
        None
    }

    /// Keeps an event, unless it came before or there is no room for it.
    fn keep(&mut self, stream: u64, index: u64, event: &ServerSseMessage, weight: Option<usize>) {
        let known = self.answers.get(&stream);
        if known.is_some_and(|answer| !answer.is_whole || answer.last >= index) {
            return;
        }
        let taken = known.map_or(0, |answer| answer.bytes);
        let kept = weight.filter(|bytes| taken + bytes <= ANSWER && self.admit(*bytes));
        let answer = self.answers.entry(stream).or_insert_with(|| Answer {
            last: index,
            events: Vec::new(),
            bytes: 0,
            is_whole: true,
        });
        answer.last = index;
        if let Some(bytes) = kept {
            answer.events.push(event.clone());
            answer.bytes += bytes;
        } else {
            answer.is_whole = false;
            answer.events = Vec::new();
            let bytes = std::mem::take(&mut answer.bytes);
            self.bytes -= bytes;
            self.room.give(bytes);
        }
    }

    /// Makes room for so many bytes, at the cost of the oldest answers of this session.
    fn admit(&mut self, bytes: usize) -> bool {
        while self.bytes + bytes > SESSION && self.forget_oldest() {}
        let fits = self.bytes + bytes <= SESSION && self.room.take(bytes);
        if fits {
            self.bytes += bytes;
        }
        fits
    }

    /// Forgets what was kept for long enough.
    pub(super) fn forget_old(&mut self) {
        while self.ended.len() > MOST
            || self
                .ended
                .front()
                .is_some_and(|(_, ended)| ended.elapsed() >= KEPT)
        {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) -> bool {
        let Some((stream, _)) = self.ended.pop_front() else {
            return false;
        };
        self.forget(stream);
        true
    }

    fn forget(&mut self, stream: u64) {
        if let Some(answer) = self.answers.remove(&stream) {
            self.bytes -= answer.bytes;
            self.room.give(answer.bytes);
        }
    }

    /// Notes that a stream stopped without an answer.
    pub(super) fn stopped(&mut self, stream: u64) {
        self.left.push_back(stream);
        if self.left.len() > LEFT
            && let Some(oldest) = self.left.pop_front()
        {
            self.forget(oldest);
        }
    }

    /// Notes that a stream goes on.
    pub(super) fn resumed(&mut self, stream: u64) {
        self.left.retain(|left| *left != stream);
    }

    /// What comes behind an event.
    pub(super) fn behind(&self, last: EventId) -> Behind {
        let Some(stream) = last.stream else {
            let known = self.alone.is_some_and(|alone| last.index <= alone);
            return if known { Behind::Open } else { Behind::Unknown };
        };
        let Some(answer) = self.answers.get(&stream) else {
            return Behind::Unknown;
        };
        if last.index > answer.last {
            return Behind::Unknown;
        }
        if !self.ended.iter().any(|(ended, _)| *ended == stream) {
            return Behind::Open;
        }
        if !answer.is_whole {
            return Behind::Unknown;
        }
        let rest = answer.events.iter().filter(|event| is_behind(event, last));
        Behind::Ended(rest.cloned().collect())
    }
}

/// Whether an event of a stream comes behind another of it.
pub(super) fn is_behind(event: &ServerSseMessage, last: EventId) -> bool {
    let id = event.event_id.as_deref().and_then(EventId::parse);
    id.is_none_or(|id| id.index > last.index)
}

/// Whether a message is the last of its stream.
fn ends(message: &ServerJsonRpcMessage) -> bool {
    matches!(
        message,
        ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_)
    )
}

/// About how many bytes an event takes; `None` when they are more than are kept of an answer.
pub(super) fn weight(event: &ServerSseMessage) -> Option<usize> {
    let mut counted = Counted(EVENT);
    if let Some(message) = &event.message {
        serde_json::to_writer(&mut counted, message).ok()?;
    }
    Some(counted.0)
}

/// Counts what is written, and refuses more than is kept.
struct Counted(usize);

impl Write for Counted {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.0 += data.len();
        if self.0 > ANSWER {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
