//! How names become addresses: once for each connection, outside of the sandbox.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::pin::Pin;

use gongfu_core::network::Destination;
use tokio::sync::Semaphore;

/// Addresses that are still looked for.
pub(super) type Resolving<'a> =
    Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send + 'a>>;

/// Who knows addresses.
pub(super) trait Resolver: Send + Sync {
    /// The addresses of a host, the best first; one of the internet is looked for there alone.
    fn resolve<'a>(&'a self, destination: &'a Destination, is_private: bool) -> Resolving<'a>;
}

/// How many names are looked for at once in this process: each takes a thread, which stays until there is an
/// answer, whoever waits for it.
static LOOKUPS: Semaphore = Semaphore::const_new(16);

/// The machine's own.
pub(super) struct System;

impl Resolver for System {
    fn resolve<'a>(&'a self, destination: &'a Destination, is_private: bool) -> Resolving<'a> {
        Box::pin(async move {
            let mut name = destination.host.to_string();
            if !is_private && name.contains('.') {
                // Else the machine's own domain would be tried behind it.
                name.push('.');
            }
            let port = destination.port;
            let permit = LOOKUPS.acquire().await.map_err(io::Error::other)?;
            let looking = tokio::task::spawn_blocking(move || {
                let found = (name.as_str(), port).to_socket_addrs();
                drop(permit);
                found.map(Iterator::collect)
            });
            looking.await.map_err(io::Error::other)?
        })
    }
}
