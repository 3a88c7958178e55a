//! One client on standard input and output: JSON-RPC, one message a line.
//!
//! `rmcp` has a transport for lines, but it says nothing to a line that it can't read and reads on
//! however many answers wait. This one answers each line that wants an answer, and limits what a
//! client can make the process keep:
//!
//! - [`MAX_RUNNING`](limit::MAX_RUNNING) calls run at once, and as many other requests, each until its answer is written.
//! - A few hundred more are read and wait, so that a cancellation behind them is still seen.
//! - Beyond that nothing is read: the pipe fills, and the client waits.

mod limit;
mod line;
mod traffic;

use std::future::Future;
use std::io;
use std::sync::Arc;

use futures_util::StreamExt as _;
use rmcp::ServiceExt as _;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, JsonRpcMessage, ServerJsonRpcMessage,
};
use rmcp::service::{RoleServer, ServerInitializeError, Service};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::codec::FramedRead;
use tokio_util::sync::CancellationToken;

use self::limit::LimitedService;
use self::line::{Line, LineDecoder};
use self::traffic::{GRACE, Traffic};
use crate::message::{self, Refusal};
use crate::server::Server;

/// The size of the read buffer: as much as a pipe holds.
const READ_BUFFER: usize = 64 << 10;

/// Why serving ended with an error.
#[derive(Debug, thiserror::Error)]
pub enum StdioError {
    /// The session did not begin.
    #[error("the session did not start: {0}")]
    Start(String),
    /// The server's own task failed.
    #[error("the server stopped: {0}")]
    Stopped(String),
}

/// Serves one client on standard input and output until the client closes them.
///
/// Calls that are still running then have a short while to end.
///
/// # Errors
/// The session did not begin, or the server stopped by a fault of its own.
pub async fn serve_stdio(server: Server) -> Result<(), StdioError> {
    let (input, output) = rmcp::transport::io::stdio_pipes();
    Box::pin(serve_streams(server, input, output)).await
}

/// Serves one client on two streams, as [`serve_stdio`] does on standard input and output.
///
/// # Errors
/// The session did not begin, or the server stopped by a fault of its own.
pub async fn serve_streams<R, W>(server: Server, input: R, output: W) -> Result<(), StdioError>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let (telling, end) = (Arc::clone(&server.telling), server.end.clone());
    let served = serve(server, input, output, end).await;
    telling.lock().await.abort_all();
    served
}

/// Serves one client until it closes its end or can't be reached any more; cancels `end` then.
pub(crate) async fn serve<S, R, W>(
    service: S,
    input: R,
    output: W,
    end: CancellationToken,
) -> Result<(), StdioError>
where
    S: Service<RoleServer>,
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let (traffic, writing) = Traffic::new(output);
    let writer = tokio::spawn(writing);
    let transport = Stdio {
        lines: FramedRead::with_capacity(input, LineDecoder::new(message::MAX_BYTES), READ_BUFFER),
        started: false,
        traffic: traffic.clone(),
        end,
    };
    let service = LimitedService::new(service, traffic.clone());
    match service.serve(transport).await {
        // `rmcp` waits five seconds for calls that hang; `closed` is soon after the last progress.
        Ok(running) => tokio::select! {
            ended = running.waiting() => {
                ended.map(|_| ()).map_err(|error| StdioError::Stopped(error.to_string()))
            }
            () = traffic.closed() => Ok(()),
        },
        // A client that closes at once asked for nothing.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => {
            drop(traffic);
            // It says why.
            let _ = tokio::time::timeout(GRACE, writer).await;
            Err(StdioError::Start(error.to_string()))
        }
    }
}

/// The transport: lines in, lines out.
struct Stdio<R> {
    lines: FramedRead<R, LineDecoder>,
    /// True once the session has begun; until then `rmcp` takes requests alone.
    started: bool,
    traffic: Traffic,
    /// Cancelled at the end of the input.
    end: CancellationToken,
}

impl<R> Stdio<R> {
    /// Reads a message from a line; answers a line without one.
    fn read(&mut self, line: &Line) -> Option<ClientJsonRpcMessage> {
        let (bytes, read) = match line {
            Line::TooLong(start) => (start, Err(Refusal::too_large(start, message::MAX_BYTES))),
            Line::Whole(line) if line.trim_ascii().is_empty() => return None,
            Line::Whole(line) if self.started => (line, message::read(line)),
            Line::Whole(line) => (line, message::read_first(line)),
            // It may be whole, like the last line of a file, or cut.
            Line::Unterminated(line) => (line, Ok(message::read(line).ok()?)),
        };
        match read.and_then(|message| self.admit(message, bytes.len())) {
            Ok(message) => message,
            Err(refusal) => {
                if !refusal.is_notification {
                    self.traffic.refuse(refusal);
                }
                None
            }
        }
    }

    /// Lets a message through to `rmcp`, unless it would break the session.
    fn admit(
        &mut self,
        message: ClientJsonRpcMessage,
        bytes: usize,
    ) -> Result<Option<ClientJsonRpcMessage>, Refusal> {
        if let JsonRpcMessage::Request(request) = &message {
            let refused = |text| Err(Refusal::invalid(text, Some(request.id.clone())));
            let initializes = matches!(request.request, ClientRequest::InitializeRequest(_));
            if initializes && self.started {
                return refused("the session has already started: send `initialize` only once");
            }
            if !self.traffic.open(&request.id, bytes) {
                return refused("a request with this `id` is still in progress: use another id");
            }
            self.started |= initializes;
            return Ok(Some(message));
        }
        // Until the session has begun `rmcp` answers each request before it reads on.
        self.started = self.started || !self.traffic.is_idle();
        if let JsonRpcMessage::Notification(notification) = &message
            && let ClientNotification::CancelledNotification(cancelled) = &notification.notification
            && let Some(id) = &cancelled.params.request_id
        {
            self.traffic.forget(id);
        }
        Ok(Some(message).filter(|_| self.started))
    }
}

impl<R: AsyncRead + Unpin + Send> Transport<RoleServer> for Stdio<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let traffic = self.traffic.clone();
        async move { traffic.send(message).await }
    }

    /// The next message. Dropping the future loses nothing.
    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let (traffic, lines) = (&self.traffic, &mut self.lines);
            let line = tokio::select! {
                biased;
                () = traffic.broken() => None,
                line = async { traffic.room().await; lines.next().await } => line,
            };
            // Input that fails has ended.
            let Some(Ok(line)) = line else {
                self.end.cancel();
                self.traffic.settled().await;
                self.traffic.close();
                return None;
            };
            if let Some(message) = self.read(&line) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
