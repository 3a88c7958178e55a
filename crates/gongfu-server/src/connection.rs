//! One connection: HTTP/1.1 over a socket that can't hold the server up.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use prometheus_client::metrics::gauge::Gauge;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio_io_timeout::TimeoutStream;

#[cfg(test)]
mod tests;

/// How many bytes the head of a request may have.
const MAX_HEAD: usize = 64 * 1024;

/// How long a connection is waited for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// For the head of the first request.
    pub(crate) first: Duration,
    /// For the head of every other, the time between two requests included.
    pub(crate) next: Duration,
    /// For a client that doesn't read what it is sent.
    pub(crate) write: Duration,
}

/// Counts a connection while it is there.
struct Counted(Gauge);

impl Counted {
    fn new(gauge: Gauge) -> Self {
        gauge.inc();
        Self(gauge)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// Serves a connection to its end. Once `ending` changes, what is being answered is answered still,
/// and a connection that waits for a request is closed, however much of its head is there.
pub(crate) async fn serve<I>(
    io: I,
    router: Router,
    patience: Patience,
    mut ending: watch::Receiver<()>,
    gauge: Gauge,
) where
    I: AsyncRead + AsyncWrite + Send + 'static,
{
    let _counted = Counted::new(gauge);
    let mut io = TimeoutStream::new(io);
    io.set_write_timeout(Some(patience.write));
    let io = TokioIo::new(Box::pin(io));
    let asked = Arc::new(AtomicBool::new(false));
    let service = service_fn({
        let (asked, router) = (Arc::clone(&asked), TowerToHyperService::new(router));
        move |request| {
            asked.store(true, Ordering::Relaxed);
            router.call(request)
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(patience.next)
        .max_buf_size(MAX_HEAD)
        .serve_connection(io, service);
    let mut connection = pin!(connection);
    let mut first = pin!(tokio::time::sleep(patience.first));
    let mut is_ending = false;
    let ended = loop {
        // Asked only after the connection has read what is there.
        let no_request = async {
            if asked.load(Ordering::Relaxed) {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            biased;
            ended = connection.as_mut() => break ended,
            _ = ending.changed(), if !is_ending => {
                is_ending = true;
                connection.as_mut().graceful_shutdown();
            }
            // hyper would wait for the rest of a head that has begun.
            () = no_request, if is_ending || first.is_elapsed() => {
                tracing::debug!("a connection without a request was closed");
                return;
            }
            () = first.as_mut(), if !first.is_elapsed() => {}
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}
