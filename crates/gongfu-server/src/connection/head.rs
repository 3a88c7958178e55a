//! How long the head of a request takes, as seen from below HTTP: from its first byte on.
//!
//! hyper counts from the request before; so a client that sends nothing for a while would have to be
//! as quick as one that is in the middle of a head.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes};
use http::Response;
use hyper::body::{Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

/// What is known of the requests of a connection.
#[derive(Debug, Clone, Default)]
pub(super) struct Requests(Arc<Known>);

#[derive(Debug, Default)]
struct Known {
    /// How many have had a whole head.
    count: AtomicUsize,
    /// Whether one is being answered; what is read then is its body.
    answering: AtomicBool,
}

/// A request is being answered as long as this is there.
#[derive(Debug)]
pub(super) struct Answering(Requests);

impl Requests {
    /// The next one has its whole head.
    pub(super) fn begin(&self) -> Answering {
        self.0.count.fetch_add(1, Ordering::Relaxed);
        self.0.answering.store(true, Ordering::Relaxed);
        Answering(self.clone())
    }

    /// How many have had a whole head.
    pub(super) fn count(&self) -> usize {
        self.0.count.load(Ordering::Relaxed)
    }

    fn answering(&self) -> bool {
        self.0.answering.load(Ordering::Relaxed)
    }
}

impl Answering {
    /// The answer, which takes until its last byte is out of hand.
    pub(super) fn until_the_end_of(self, answer: Response<Body>) -> Response<Answer> {
        answer.map(|body| Answer {
            body,
            _answering: self,
        })
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        let Self(Requests(known)) = self;
        known.answering.store(false, Ordering::Relaxed);
    }
}

/// The body of an answer.
#[derive(Debug)]
pub(super) struct Answer {
    body: Body,
    _answering: Answering,
}

impl hyper::body::Body for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A connection that ends when a head that has begun doesn't come to its end.
pub(super) struct Heads<I> {
    io: Pin<Box<I>>,
    requests: Requests,
    patience: Duration,
    /// Which head has begun, and until when it may take.
    begun: Option<(usize, Instant)>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl<I> Heads<I> {
    /// A connection whose heads may take so long.
    pub(super) fn new(io: I, requests: Requests, patience: Duration) -> Self {
        Self {
            io: Box::pin(io),
            requests,
            patience,
            begun: None,
            timer: None,
        }
    }

    /// Something was read.
    fn begin(&mut self) {
        let number = self.requests.count();
        let is_known = self.begun.is_some_and(|(begun, _)| begun == number);
        if !is_known && !self.requests.answering() {
            self.begun = Some((number, Instant::now() + self.patience));
        }
    }

    /// Waits until a head that has begun has taken too long.
    fn poll_late(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let number = self.requests.count();
        let Some((_, until)) = self.begun.filter(|(begun, _)| *begun == number) else {
            return Poll::Pending;
        };
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(sleep_until(until)));
        if timer.deadline() != until {
            timer.as_mut().reset(until);
        }
        timer.as_mut().poll(context)
    }
}

impl<I: AsyncRead> AsyncRead for Heads<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        if let Poll::Ready(read) = self.io.as_mut().poll_read(context, buffer) {
            if buffer.filled().len() > before {
                self.begin();
            }
            return Poll::Ready(read);
        }
        ready!(self.poll_late(context));
        Poll::Ready(Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "the head of a request took too long",
        )))
    }
}

impl<I: AsyncWrite> AsyncWrite for Heads<I> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.io.as_mut().poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io.as_mut().poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io.as_mut().poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.io.as_mut().poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }
}
