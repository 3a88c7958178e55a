//! One connection: HTTP/1.1 over a socket that can't hold the server up.

use std::pin::pin;
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

mod head;
#[cfg(test)]
mod tests;

use head::{Heads, Requests};

/// How many bytes the head of a request may have.
const MAX_HEAD: usize = 64 * 1024;

/// How long a connection is waited for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// For the head of a request, from its first byte on.
    pub(crate) head: Duration,
    /// For the next request, its head included.
    pub(crate) idle: Duration,
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
    let requests = Requests::default();
    let io = TokioIo::new(Heads::new(io, requests.clone(), patience.head));
    let service = service_fn({
        let (requests, router) = (requests.clone(), TowerToHyperService::new(router));
        move |request| {
            let answering = requests.begin();
            let answer = router.call(request);
            async move {
                answer
                    .await
                    .map(|answer| answering.until_the_end_of(answer))
            }
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(patience.idle)
        .max_buf_size(MAX_HEAD)
        .serve_connection(io, service);
    let mut connection = pin!(connection);
    let mut is_ending = false;
    let ended = loop {
        // Asked only after the connection has read what is there.
        let no_request = async {
            if requests.count() > 0 {
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
            // hyper would wait for the rest of a first head that has begun.
            () = no_request, if is_ending => {
                tracing::debug!("a connection without a request was closed");
                return;
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}
