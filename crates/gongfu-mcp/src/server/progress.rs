//! The output of a running program, or the progress of another server, as progress for a client that gave a token
//! for it.
//!
//! At most ten times a second, as plain text; what comes too fast is shortened, because the answer
//! holds it anyway.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gongfu_core::port::{self, Listener, ProgressListener};
use gongfu_core::sandbox::Stream;
use gongfu_core::text::visible_lines;
use gongfu_hub::run::Plain;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RoleServer};
use tokio::sync::Notify;
use tokio::time::Instant;

/// The least time between two messages.
const PAUSE: Duration = Duration::from_millis(100);
/// The bytes of text in a message; the latest are kept.
const MAX_MESSAGE_BYTES: usize = 16 * 1024;
/// The time that a client may take for a notification.
const NOTIFY_TIMEOUT: Duration = Duration::from_secs(1);

/// The output that isn't sent yet.
#[derive(Default)]
struct PendingOutput {
    out: Plain,
    error: Plain,
    text: String,
    left_out: usize,
    /// The progress of another server.
    far: Option<port::Progress>,
}

impl PendingOutput {
    fn take(&mut self, stream: Stream, bytes: &[u8]) {
        let plain = match stream {
            Stream::Stdout => &mut self.out,
            Stream::Stderr => &mut self.error,
        };
        self.text.push_str(&plain.take(bytes));
        let over = self.text.len().saturating_sub(MAX_MESSAGE_BYTES);
        if over > 0 {
            let over = (over..self.text.len()).find(|at| self.text.is_char_boundary(*at));
            let over = over.unwrap_or(self.text.len());
            self.text.drain(..over);
            self.left_out += over;
        }
    }

    /// The next thing to tell, if there is one.
    fn next(&mut self) -> Option<(Option<port::Progress>, Option<String>)> {
        let (far, message) = (self.far.take(), self.message());
        (far.is_some() || message.is_some()).then_some((far, message))
    }

    /// The next message, if there is something to tell.
    fn message(&mut self) -> Option<String> {
        let text = std::mem::take(&mut self.text);
        let left_out = std::mem::take(&mut self.left_out);
        match left_out {
            0 => (!text.is_empty()).then(|| visible_lines(&text).into_owned()),
            left_out => Some(format!("… [{left_out} bytes] …\n{}", visible_lines(&text))),
        }
    }
}

/// The report of a call: its output and progress that its client has not heard yet.
#[derive(Clone, Default)]
pub(super) struct Report {
    said: Arc<Mutex<PendingOutput>>,
    news: Arc<Notify>,
}

/// Tells one client of one call.
pub(super) struct Progress {
    token: ProgressToken,
    peer: Peer<RoleServer>,
    report: Report,
    /// The number of messages; progress must grow.
    count: u32,
    last: Option<Instant>,
}

impl Report {
    fn said(&self) -> MutexGuard<'_, PendingOutput> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hears what is said.
    pub(super) fn listener(&self) -> Listener {
        let report = self.clone();
        Arc::new(move |stream, bytes| {
            report.said().take(stream, bytes);
            report.news.notify_one();
        })
    }

    /// Hears how far another server is.
    pub(super) fn far(&self) -> ProgressListener {
        let report = self.clone();
        Arc::new(move |far| {
            report.said().far = Some(far);
            report.news.notify_one();
        })
    }
}

impl Progress {
    pub(super) fn new(token: ProgressToken, peer: Peer<RoleServer>, report: Report) -> Self {
        Self {
            token,
            peer,
            report,
            count: 0,
            last: None,
        }
    }

    /// Waits until there is something to tell and it is time for it.
    async fn due(&self) {
        self.report.news.notified().await;
        if let Some(last) = self.last {
            tokio::time::sleep_until(last + PAUSE).await;
        }
    }

    fn next(&self) -> Option<(Option<port::Progress>, Option<String>)> {
        self.report.said().next()
    }

    /// Tells what was said until now.
    async fn tell(&mut self) {
        let Some((far, message)) = self.next() else {
            return;
        };
        self.count += 1;
        self.last = Some(Instant::now());
        let done = far.as_ref().map_or(f64::from(self.count), |far| far.done);
        let mut progress = ProgressNotificationParam::new(self.token.clone(), done);
        progress.total = far.as_ref().and_then(|far| far.total);
        let told = far.and_then(|far| far.message);
        progress.message = message.or(told.map(|told| visible_lines(&told).into_owned()));
        let telling = self.peer.notify_progress(progress);
        // A client that left, or doesn't read, isn't waited for.
        let _ = tokio::time::timeout(NOTIFY_TIMEOUT, telling).await;
    }
}

/// Waits until there is something to tell, which is never for a client that wants none of it; may be
/// given up at any moment.
pub(super) async fn due(progress: Option<&Progress>) {
    match progress {
        Some(progress) => progress.due().await,
        None => std::future::pending().await,
    }
}

/// Tells a client that wants to know what was said until now.
pub(super) async fn tell(progress: &mut Option<Progress>) {
    if let Some(progress) = progress {
        progress.tell().await;
    }
}

#[cfg(test)]
mod tests {
    use gongfu_core::sandbox::Stream;

    use super::{MAX_MESSAGE_BYTES, PendingOutput};

    #[test]
    fn fast_output_is_shortened_at_whole_characters() {
        let mut said = PendingOutput::default();
        assert_eq!(said.message(), None);
        said.take(Stream::Stdout, "a\u{1b}[1mb日".as_bytes());
        said.take(Stream::Stderr, b"!\xe6");
        said.take(Stream::Stdout, b"c");
        said.take(Stream::Stderr, b"\x97\xa5");
        assert_eq!(said.message().as_deref(), Some("ab日!c日"));
        assert_eq!(said.message(), None);
        said.take(Stream::Stdout, "日".repeat(MAX_MESSAGE_BYTES).as_bytes());
        let message = said.message().unwrap();
        assert!(
            message.starts_with("… [32769 bytes] …\n日"),
            "{}",
            &message[..40]
        );
        assert!(message.len() <= MAX_MESSAGE_BYTES + 40);
    }
}
