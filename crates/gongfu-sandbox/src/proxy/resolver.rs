//! Resolves names to addresses, once for each connection, outside of the sandbox.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::pin::Pin;

use gongfu_core::network::Destination;
use tokio::sync::Semaphore;

/// A lookup that goes on.
pub(super) type Resolving<'a> =
    Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send + 'a>>;

/// Resolves names.
pub(super) trait Resolver: Send + Sync {
    /// Resolves a host to its addresses, the best first; the machine's own domains count only for a private host.
    fn resolve<'a>(&'a self, destination: &'a Destination, is_private: bool) -> Resolving<'a>;
}

/// Limits the lookups of this process at once: each takes a thread until there is an answer.
static LOOKUPS: Semaphore = Semaphore::const_new(16);

/// The resolver of the machine.
pub(super) struct System;

impl Resolver for System {
    fn resolve<'a>(&'a self, destination: &'a Destination, is_private: bool) -> Resolving<'a> {
        Box::pin(async move {
            let mut name = destination.host.to_string();
            if !is_private && name.contains('.') {
                // Otherwise the machine's own domains would be tried as suffixes.
                name.push('.');
            }
            let port = destination.port;
            let permit = LOOKUPS.acquire().await.map_err(io::Error::other)?;
            let lookup = tokio::task::spawn_blocking(move || {
                let found = (name.as_str(), port).to_socket_addrs();
                drop(permit);
                found.map(Iterator::collect)
            });
            lookup.await.map_err(io::Error::other)?
        })
    }
}
