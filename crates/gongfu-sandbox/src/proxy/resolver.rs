//! How names become addresses: once for each connection, outside of the sandbox.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;

use gongfu_core::network::Destination;
use tokio::net::lookup_host;

/// Addresses that are still looked for.
pub(super) type Resolving<'a> =
    Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send + 'a>>;

/// Who knows addresses.
pub(super) trait Resolver: Send + Sync {
    /// The addresses of a host, the best first.
    fn resolve<'a>(&'a self, destination: &'a Destination) -> Resolving<'a>;
}

/// The machine's own.
pub(super) struct System;

impl Resolver for System {
    fn resolve<'a>(&'a self, destination: &'a Destination) -> Resolving<'a> {
        Box::pin(async move {
            let host = destination.host.as_str();
            Ok(lookup_host((host, destination.port)).await?.collect())
        })
    }
}
