//! One connection: HTTP/1.1 over a socket that can't hold the server up.

use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::Watcher;
use hyper_util::service::TowerToHyperService;
use prometheus_client::metrics::gauge::Gauge;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_io_timeout::TimeoutStream;

/// How many bytes the head of a request may have.
const MAX_HEAD: usize = 64 * 1024;

/// How long a connection is waited for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// For the head of a request, the first or the next.
    pub(crate) head: Duration,
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

/// Serves a connection to its end.
pub(crate) async fn serve<I>(
    io: I,
    router: Router,
    patience: Patience,
    watcher: Watcher,
    gauge: Gauge,
) where
    I: AsyncRead + AsyncWrite + Send + 'static,
{
    let _counted = Counted::new(gauge);
    let mut io = TimeoutStream::new(io);
    io.set_write_timeout(Some(patience.write));
    let io = TokioIo::new(Box::pin(io));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(patience.head)
        .max_buf_size(MAX_HEAD)
        .serve_connection(io, TowerToHyperService::new(router));
    if let Err(error) = watcher.watch(connection).await {
        tracing::debug!(%error, "a connection ended early");
    }
}
