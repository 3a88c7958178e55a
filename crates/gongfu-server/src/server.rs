//! The server: listens, serves, and shuts down in order.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::response::IntoResponse;
use tokio::net::{TcpListener, TcpStream};
#[cfg(unix)]
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tower_service::Service;

use crate::address::Address;
use crate::caller::Caller;
use crate::client_address::Peer;
use crate::connection::{self, Timeouts};
use crate::path::MCP_PATH;
use crate::route::Surface;
use crate::socket;
use crate::state::AppState;

/// The pause after a failure to accept.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// The limits of a server.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The number of open connections; more wait.
    pub connections: usize,
    /// The time until the head of the next request is there.
    pub head: Duration,
    /// The time that a client may leave an answer unread.
    pub write: Duration,
    /// The time that the shutdown waits for answers.
    pub drain: Duration,
    /// The time that the shutdown may take altogether.
    pub deadline: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 4_096,
            head: Duration::from_secs(15),
            write: Duration::from_mins(1),
            drain: Duration::from_secs(5),
            deadline: Duration::from_secs(10),
        }
    }
}

/// The result of a shutdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shutdown {
    /// Every connection was closed.
    Clean,
    /// Some connections were cut off at the deadline.
    Forced,
}

/// A listening socket.
#[derive(Debug)]
pub struct Listener {
    socket: Socket,
    address: Address,
}

#[derive(Debug)]
enum Socket {
    Tcp(TcpListener),
    #[cfg(unix)]
    Unix(UnixListener),
}

/// An accepted connection.
enum Connection {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(UnixStream),
}

impl Listener {
    /// Listens at an address. A stale Unix socket is replaced, any other file at its path is kept.
    /// Only the owner of the process may connect to a Unix socket.
    ///
    /// # Errors
    /// The address is in use, or not this machine's.
    pub async fn bind(address: &Address) -> io::Result<Self> {
        match address {
            Address::Tcp(wanted) => {
                let socket = TcpListener::bind(wanted).await?;
                let address = Address::Tcp(socket.local_addr()?);
                Ok(Self {
                    socket: Socket::Tcp(socket),
                    address,
                })
            }
            Address::Unix(path) => Self::bind_unix(path).await,
        }
    }

    #[cfg(unix)]
    async fn bind_unix(path: &std::path::Path) -> io::Result<Self> {
        socket::remove_stale(path).await?;
        let socket = socket::bind(path)?;
        Ok(Self {
            socket: Socket::Unix(UnixListener::from_std(socket)?),
            address: Address::Unix(path.to_owned()),
        })
    }

    #[cfg(not(unix))]
    async fn bind_unix(_path: &std::path::Path) -> io::Result<Self> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "this system has no Unix sockets; use an address such as 127.0.0.1:0",
        ))
    }

    /// The address, with the port that the system chose.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The URL of MCP, or the address of a Unix socket.
    pub fn url(&self) -> String {
        match &self.address {
            Address::Tcp(address) => format!("http://{address}{MCP_PATH}"),
            Address::Unix(_) => self.address.to_string(),
        }
    }

    async fn accept(&self) -> io::Result<Connection> {
        match &self.socket {
            Socket::Tcp(socket) => {
                let (stream, _): (TcpStream, SocketAddr) = socket.accept().await?;
                // Nagle's algorithm would hold back the parts of a streamed answer.
                stream.set_nodelay(true)?;
                Ok(Connection::Tcp(stream))
            }
            #[cfg(unix)]
            Socket::Unix(socket) => Ok(Connection::Unix(socket.accept().await?.0)),
        }
    }

    /// The path of a Unix socket.
    fn path(&self) -> Option<PathBuf> {
        match &self.address {
            Address::Unix(path) => Some(path.clone()),
            Address::Tcp(_) => None,
        }
    }
}

/// A server that is ready to run.
pub struct Server {
    router: Router,
    state: AppState,
    limits: Limits,
}

impl Server {
    /// A server for a surface.
    pub fn new<M>(surface: Surface<M>, limits: Limits) -> Self
    where
        M: Service<Request, Error = Infallible> + Clone + Send + Sync + 'static,
        M::Response: IntoResponse,
        M::Future: Send + 'static,
    {
        let (router, state) = surface.router();
        Self {
            router,
            state,
            limits,
        }
    }

    /// Serves until `stop` and shuts down in order: reports that it is not ready, accepts nothing
    /// more, lets `drain` finish answers and end streams, and closes every connection.
    pub async fn run<D>(
        self,
        listener: Listener,
        stop: impl Future<Output = ()>,
        drain: impl FnOnce(Duration) -> D,
    ) -> Shutdown
    where
        D: Future<Output = ()>,
    {
        let (shutdown, _) = watch::channel(());
        let permits = Arc::new(Semaphore::new(self.limits.connections));
        let mut running = JoinSet::new();
        let mut stop = std::pin::pin!(stop);
        loop {
            let (connection, permit) = tokio::select! {
                () = &mut stop => break,
                accepted = accept(&listener, &permits) => accepted,
            };
            while running.try_join_next().is_some() {}
            self.spawn(connection, permit, shutdown.subscribe(), &mut running);
        }
        self.state.stopping.store(true, Ordering::Relaxed);
        let path = listener.path();
        drop(listener);
        if let Some(path) = path {
            socket::remove(&path);
        }
        let limits = self.limits;
        let closing = async {
            drain(limits.drain).await;
            // Every open connection has a receiver.
            let _ = shutdown.send(());
            shutdown.closed().await;
        };
        let stopping_turns = async {
            tokio::time::sleep(limits.drain).await;
            self.state.turns.cancel();
            std::future::pending::<()>().await;
        };
        let closing = async {
            tokio::select! {
                () = closing => {}
                () = stopping_turns => {}
            }
        };
        match tokio::time::timeout(limits.deadline, closing).await {
            Ok(()) => Shutdown::Clean,
            Err(_) => Shutdown::Forced,
        }
    }

    fn spawn(
        &self,
        connection: Connection,
        permit: OwnedSemaphorePermit,
        shutdown: watch::Receiver<()>,
        running: &mut JoinSet<()>,
    ) {
        let router = self.router.clone();
        let timeouts = Timeouts {
            head: self.limits.head,
            write: self.limits.write,
        };
        let gauge = self.state.metrics.connections.clone();
        let is_asked = !self.state.has_proxy && !self.state.has_accounts;
        running.spawn(async move {
            let _permit = permit;
            match connection {
                Connection::Tcp(stream) => {
                    let caller = if is_asked {
                        Caller::of(&stream)
                    } else {
                        Caller::Proxy
                    };
                    let peer = Peer(stream.peer_addr().ok().map(|peer| peer.ip()));
                    let client = (caller, peer);
                    connection::serve(stream, client, router, timeouts, shutdown, gauge).await;
                }
                #[cfg(unix)]
                Connection::Unix(stream) => {
                    // Only the server's user may open it.
                    let client = (Caller::Own, Peer(None));
                    connection::serve(stream, client, router, timeouts, shutdown, gauge).await;
                }
            }
        });
    }
}

/// Accepts the next connection once there is a permit for it.
async fn accept(
    listener: &Listener,
    permits: &Arc<Semaphore>,
) -> (Connection, OwnedSemaphorePermit) {
    loop {
        let Ok(permit) = Arc::clone(permits).acquire_owned().await else {
            // The semaphore is never closed.
            std::future::pending::<()>().await;
            continue;
        };
        match listener.accept().await {
            Ok(connection) => return (connection, permit),
            Err(error) => {
                // There are no descriptors left, or the client is gone already.
                tracing::warn!(%error, "can't accept a connection");
                tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
            }
        }
    }
}
