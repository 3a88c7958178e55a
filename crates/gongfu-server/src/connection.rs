//! One connection: HTTP/1.1 over a socket, with time limits so that no client holds up the server.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use prometheus_client::metrics::gauge::Gauge;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio_io_timeout::TimeoutStream;

use crate::caller::Caller;
use crate::client_address::Peer;

#[cfg(test)]
mod tests;

/// The largest head of a request, in bytes.
const MAX_HEAD: usize = 64 * 1024;

/// The timeouts of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timeouts {
    /// Until the next request has a whole head.
    pub(crate) head: Duration,
    /// Until the client reads on.
    pub(crate) write: Duration,
}

/// Counts a connection while it is open.
struct OpenConnection(Gauge);

impl OpenConnection {
    fn new(gauge: Gauge) -> Self {
        gauge.inc();
        Self(gauge)
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// Serves a connection to its end. Once `shutdown` changes, the request that is there is still
/// answered, and a connection without one is closed.
pub(crate) async fn serve<I>(
    io: I,
    (caller, peer): (Caller, Peer),
    router: Router,
    timeouts: Timeouts,
    mut shutdown: watch::Receiver<()>,
    gauge: Gauge,
) where
    I: AsyncRead + AsyncWrite + Send + 'static,
{
    let _open = OpenConnection::new(gauge);
    let mut io = TimeoutStream::new(io);
    io.set_write_timeout(Some(timeouts.write));
    let has_request = Arc::new(AtomicBool::new(false));
    let service = service_fn({
        let (has_request, router) = (Arc::clone(&has_request), TowerToHyperService::new(router));
        move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(caller);
            request.extensions_mut().insert(peer);
            has_request.store(true, Ordering::Relaxed);
            router.call(request)
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(timeouts.head)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(Box::pin(io)), service);
    let mut connection = pin!(connection);
    let mut is_ending = false;
    let ended = loop {
        tokio::select! {
            // The connection first: it may have a request to read.
            biased;
            ended = connection.as_mut() => break ended,
            _ = shutdown.changed(), if !is_ending => {
                is_ending = true;
                connection.as_mut().graceful_shutdown();
            }
            // hyper would wait for the rest of a first head that has begun.
            () = std::future::ready(()), if is_ending && !has_request.load(Ordering::Relaxed) => {
                tracing::debug!("closed a connection without a request");
                return;
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}
