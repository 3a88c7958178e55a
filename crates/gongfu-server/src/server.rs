//! The server: listens, serves, and ends in order.

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
use crate::connection::{self, Patience};
use crate::route::{MCP_PATH, Shared, Surface};
use crate::socket;

/// How long a server that can't accept waits before it tries again.
const BREATH: Duration = Duration::from_millis(50);

/// How much a server takes on, and how long it waits.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// How many connections are open at once; more wait.
    pub connections: usize,
    /// How long the head of a request may take, from its first byte on.
    pub head: Duration,
    /// How long a connection waits for a request, its head included.
    pub idle: Duration,
    /// How long a client may leave unread what it is sent.
    pub write: Duration,
    /// How long requests that are being answered are waited for at the end.
    pub drain: Duration,
    /// How long the end may take altogether.
    pub deadline: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 4_096,
            head: Duration::from_secs(15),
            idle: Duration::from_mins(1),
            write: Duration::from_mins(1),
            drain: Duration::from_secs(5),
            deadline: Duration::from_secs(10),
        }
    }
}

/// How a server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Every connection was closed.
    Orderly,
    /// Some were cut off at the deadline.
    Late,
}

/// A socket that is listened at.
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

/// One end of a connection.
enum Accepted {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(UnixStream),
}

impl Listener {
    /// Listens at an address. A Unix socket that nobody listens at any more is replaced; what else
    /// stands at its path is left alone. Only its owner may connect to it.
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
        socket::forget(path).await?;
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
            "there are no unix sockets on this system; give an address such as 127.0.0.1:0",
        ))
    }

    /// Where it listens, with the port that it got.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The URL of MCP here; of a Unix socket, its address.
    pub fn url(&self) -> String {
        match &self.address {
            Address::Tcp(address) => format!("http://{address}{MCP_PATH}"),
            Address::Unix(_) => self.address.to_string(),
        }
    }

    async fn accept(&self) -> io::Result<Accepted> {
        match &self.socket {
            Socket::Tcp(socket) => {
                let (stream, _): (TcpStream, SocketAddr) = socket.accept().await?;
                // Without it the parts of a streamed answer wait for each other.
                stream.set_nodelay(true)?;
                Ok(Accepted::Tcp(stream))
            }
            #[cfg(unix)]
            Socket::Unix(socket) => Ok(Accepted::Unix(socket.accept().await?.0)),
        }
    }

    /// The path that goes with the socket.
    fn path(&self) -> Option<PathBuf> {
        match &self.address {
            Address::Unix(path) => Some(path.clone()),
            Address::Tcp(_) => None,
        }
    }
}

/// A server about to run.
pub struct Server {
    router: Router,
    shared: Shared,
    limits: Limits,
}

impl Server {
    /// A server of this surface.
    pub fn new<M>(surface: Surface<M>, limits: Limits) -> Self
    where
        M: Service<Request, Error = Infallible> + Clone + Send + Sync + 'static,
        M::Response: IntoResponse,
        M::Future: Send + 'static,
    {
        let (router, shared) = surface.router();
        Self {
            router,
            shared,
            limits,
        }
    }

    /// Serves until `stop`, then ends in order: it says that it isn't ready, accepts nothing more,
    /// lets `drain` finish what is being answered and end the streams, and closes every connection.
    pub async fn run<D>(
        self,
        listener: Listener,
        stop: impl Future<Output = ()>,
        drain: impl FnOnce(Duration) -> D,
    ) -> Ended
    where
        D: Future<Output = ()>,
    {
        let (ending, _) = watch::channel(());
        let room = Arc::new(Semaphore::new(self.limits.connections));
        let mut running = JoinSet::new();
        let mut stop = std::pin::pin!(stop);
        loop {
            let (accepted, permit) = tokio::select! {
                () = &mut stop => break,
                next = next(&listener, &room) => next,
            };
            // Those that have ended leave nothing behind.
            while running.try_join_next().is_some() {}
            self.begin(accepted, permit, ending.subscribe(), &mut running);
        }
        self.shared.stopping.store(true, Ordering::Relaxed);
        let path = listener.path();
        drop(listener);
        if let Some(path) = path {
            socket::remove(&path);
        }
        let limits = self.limits;
        let ending = async {
            drain(limits.drain).await;
            // Every connection has a receiver until it is closed; without any nobody is told.
            let _ = ending.send(());
            ending.closed().await;
        };
        match tokio::time::timeout(limits.deadline, ending).await {
            Ok(()) => Ended::Orderly,
            Err(_) => Ended::Late,
        }
    }

    fn begin(
        &self,
        accepted: Accepted,
        permit: OwnedSemaphorePermit,
        ending: watch::Receiver<()>,
        running: &mut JoinSet<()>,
    ) {
        let router = self.router.clone();
        let patience = Patience {
            head: self.limits.head,
            idle: self.limits.idle,
            write: self.limits.write,
        };
        let gauge = self.shared.metrics.connections.clone();
        running.spawn(async move {
            let _permit = permit;
            match accepted {
                Accepted::Tcp(stream) => {
                    connection::serve(stream, router, patience, ending, gauge).await;
                }
                #[cfg(unix)]
                Accepted::Unix(stream) => {
                    connection::serve(stream, router, patience, ending, gauge).await;
                }
            }
        });
    }
}

/// The next connection, once there is room for it.
async fn next(listener: &Listener, room: &Arc<Semaphore>) -> (Accepted, OwnedSemaphorePermit) {
    loop {
        let Ok(permit) = Arc::clone(room).acquire_owned().await else {
            // The semaphore is never closed.
            std::future::pending::<()>().await;
            continue;
        };
        match listener.accept().await {
            Ok(accepted) => return (accepted, permit),
            Err(error) => {
                // Out of descriptors, or a client that left at once: it passes.
                tracing::warn!(%error, "a connection can't be accepted");
                tokio::time::sleep(BREATH).await;
            }
        }
    }
}
