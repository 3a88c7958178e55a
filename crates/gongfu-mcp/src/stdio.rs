//! One client on standard input and output: lines of JSON-RPC.
//!
//! Takes the place of `rmcp`'s own transport for lines, which says nothing to a line that it can't
//! read and reads on however many answers nobody takes. Here each line is answered or is known to
//! want no answer, and what a client can make this process keep is limited:
//!
//! - [`MAX_RUNNING`](flow::MAX_RUNNING) requests are worked on; up to [`MAX_WAITING`] more were read
//!   and wait. What isn't a request overtakes them, so cancelling works, and so does answering.
//! - While [`MAX_UNSENT`](flow::MAX_UNSENT) bytes of answers aren't taken, no request is begun.
//! - Beyond that nothing is read: the pipe fills, and the client's own writing waits.

mod flow;
mod line;
mod output;

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::sync::Arc;

use rmcp::ServiceExt as _;
use rmcp::model::{
    ClientNotification, ClientRequest, GetExtensions as _, JsonRpcMessage, JsonRpcRequest,
    ServerJsonRpcMessage as Outgoing,
};
use rmcp::service::{RoleServer, ServerInitializeError, Service};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinHandle;

use crate::end::{End, GRACE};
use crate::message::{self, Incoming, Refusal};
use crate::server::Server;

use flow::Flow;
use line::{Lines, Read};

/// How many lines may wait for their turn.
const MAX_WAITING: usize = 256;
/// How many bytes may wait for their turn before no line is read any more.
const MAX_WAITING_BYTES: usize = 1 << 20;

/// Why serving ended with an error.
#[derive(Debug, thiserror::Error)]
pub enum StdioError {
    /// The client went away, or said something else, before the session began.
    #[error("the session did not begin: {0}")]
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
    let (telling, end) = (Arc::clone(&server.telling), server.end.clone());
    let served = serve(server, input, output, end).await;
    telling.lock().await.abort_all();
    served
}

/// Serves one client until it closes its end, or can't be reached any more.
async fn serve<S, R, W>(service: S, input: R, output: W, end: End) -> Result<(), StdioError>
where
    S: Service<RoleServer>,
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let (transport, mut writer) = Stdio::new(input, output, end.clone());
    let running = match service.serve(transport).await {
        Ok(running) => running,
        Err(error) => {
            // What was said last is still on its way.
            let _ = tokio::time::timeout(GRACE, writer).await;
            return match error {
                // A client that closes at once asked for nothing: that is no fault.
                ServerInitializeError::ConnectionClosed(_) => Ok(()),
                error => Err(StdioError::Start(error.to_string())),
            };
        }
    };
    tokio::select! {
        ended = running.waiting() => {
            end.reach();
            // So it is here, however slowly the client reads.
            tokio::select! {
                _ = &mut writer => {}
                () = end.quiet() => {}
            }
            ended.map(|_| ()).map_err(|error| StdioError::Stopped(error.to_string()))
        }
        () = end.quiet() => Ok(()),
    }
}

/// A line that waits for its turn.
enum Waiting {
    Request(Box<JsonRpcRequest<ClientRequest>>),
    Refusal(Box<Refusal>),
}

/// The transport: lines in, lines out.
struct Stdio<R> {
    input: Lines<R>,
    /// The input has ended.
    ended: bool,
    /// A session began: from now on more than requests is expected.
    begun: bool,
    /// What was read and may not go on yet, each with its length.
    waiting: VecDeque<(Waiting, usize)>,
    waiting_bytes: usize,
    flow: Arc<Flow>,
}

impl<R: AsyncRead + Unpin> Stdio<R> {
    /// A transport, and the task that writes.
    fn new<W>(input: R, output: W, end: End) -> (Self, JoinHandle<()>)
    where
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let (flow, queue) = Flow::new(end);
        let writer = tokio::spawn(output::write(output, queue, Arc::clone(&flow)));
        let stdio = Self {
            input: Lines::new(input, message::MAX_BYTES),
            ended: false,
            begun: false,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            flow,
        };
        (stdio, writer)
    }

    fn may_read(&self) -> bool {
        !self.ended && self.waiting.len() < MAX_WAITING && self.waiting_bytes < MAX_WAITING_BYTES
    }

    /// Acts upon what was read; answers a message that overtakes those that wait.
    fn take(&mut self, read: &Read) -> Option<Incoming> {
        let line = self.input.line();
        let size = line.len();
        let message = match read {
            Read::TooLong => {
                let mut refusal = Refusal::too_large(message::MAX_BYTES);
                refusal.id = message::id(line);
                Err(Box::new(refusal))
            }
            Read::Line | Read::End if line.is_empty() => return None,
            Read::Line if self.begun => message::read(line),
            Read::Line => message::read_first(line),
            // A whole object can't be the beginning of a longer one, so it counts without a line's
            // end, as the last line of a file would; anything else was cut by the client's end, and
            // nobody waits for an answer to it.
            Read::End => Ok(message::read(line).ok()?),
        };
        let message = message.and_then(|message| message::paged(line).map(|()| message));
        match message {
            Ok(JsonRpcMessage::Request(request)) => {
                let subscription = matches!(
                    request.request,
                    ClientRequest::SubscriptionsListenRequest(_)
                );
                let greeting = matches!(request.request, ClientRequest::InitializeRequest(_));
                let admitted = if greeting && self.begun {
                    // It would change in the middle of calls what the client is taken for.
                    let text = "the session has begun: `initialize` comes once, before anything \
                                else";
                    Err(Box::new(Refusal::invalid(text, Some(request.id.clone()))))
                } else {
                    self.flow.admit(&request.id, subscription)
                };
                match admitted {
                    Ok(()) => {
                        self.begun |= greeting;
                        self.wait(Waiting::Request(Box::new(request)), size);
                    }
                    Err(refusal) => self.wait(Waiting::Refusal(refusal), size),
                }
                None
            }
            Ok(message) => self.overtaking(message),
            Err(refusal) if refusal.is_notification() => None,
            Err(refusal) => {
                self.wait(Waiting::Refusal(refusal), size);
                None
            }
        }
    }

    /// A notification or an answer; none where nobody expects it.
    fn overtaking(&mut self, message: Incoming) -> Option<Incoming> {
        if let JsonRpcMessage::Notification(notification) = &message
            && let ClientNotification::CancelledNotification(cancelled) = &notification.notification
            && let Some(id) = &cancelled.params.request_id
            && !self.flow.cancel(id)
        {
            self.waiting.retain(|(waiting, size)| {
                let stays = !matches!(waiting, Waiting::Request(request) if request.id == *id);
                self.waiting_bytes -= if stays { 0 } else { *size };
                stays
            });
            return None;
        }
        // `rmcp` takes anything but a request before the session for a reason to end.
        self.begun = self.begun || !self.flow.is_idle();
        Some(message).filter(|_| self.begun)
    }

    fn wait(&mut self, line: Waiting, size: usize) {
        self.waiting.push_back((line, size));
        self.waiting_bytes += size;
    }

    /// The next request whose turn it is; refusals before it are answered on the way.
    fn turn(&mut self) -> Option<Incoming> {
        loop {
            let ticket = match self.waiting.front()? {
                (Waiting::Request(request), _) => Some(self.flow.begin(&request.id)?),
                (Waiting::Refusal(_), _) if self.flow.has_room() => None,
                (Waiting::Refusal(_), _) => return None,
            };
            let (waiting, size) = self.waiting.pop_front()?;
            self.waiting_bytes -= size;
            match (waiting, ticket) {
                (Waiting::Request(mut request), ticket) => {
                    if let Some(ticket) = ticket {
                        request.request.extensions_mut().insert(ticket);
                    }
                    return Some(JsonRpcMessage::Request(*request));
                }
                (Waiting::Refusal(refusal), _) => self.flow.refuse(*refusal),
            }
        }
    }
}

impl<R: AsyncRead + Unpin + Send> Transport<RoleServer> for Stdio<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        message: Outgoing,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let flow = Arc::clone(&self.flow);
        async move { flow.send(message).await }
    }

    /// The next message to act upon. Its caller may stop waiting at any time: nothing is lost.
    async fn receive(&mut self) -> Option<Incoming> {
        loop {
            if self.flow.is_broken() {
                self.flow.end.reach();
                return None;
            }
            if let Some(message) = self.turn() {
                return Some(message);
            }
            if self.ended && self.waiting.is_empty() {
                return None;
            }
            let may_read = self.may_read();
            tokio::select! {
                biased;
                () = self.flow.changed.notified() => {}
                read = self.input.next(), if may_read => {
                    let message = self.take(&read);
                    if read == Read::End {
                        self.ended = true;
                        self.flow.end.reach();
                    }
                    if message.is_some() {
                        return message;
                    }
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.flow.close();
        Ok(())
    }
}

impl<R> Drop for Stdio<R> {
    fn drop(&mut self) {
        self.flow.close();
    }
}

#[cfg(test)]
mod tests;
