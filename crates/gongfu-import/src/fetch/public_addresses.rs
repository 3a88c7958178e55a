//! Resolves the names of hosts to public addresses alone.
//!
//! For addresses that a stranger names: a name may lead into the network of this machine.

use std::net::SocketAddr;

use gongfu_core::network::is_public;
use ureq::Error;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

/// Resolves names to public addresses, and those of some hosts to any.
///
/// A host without a public address isn't found.
#[derive(Debug, Default)]
pub struct PublicAddresses {
    /// Hosts that may have any address, in lower case.
    hosts: Vec<String>,
}

impl PublicAddresses {
    /// Public addresses, and those of these hosts at any.
    pub fn and(hosts: &[String]) -> Self {
        let hosts = hosts.iter().map(|host| host.to_ascii_lowercase());
        Self {
            hosts: hosts.collect(),
        }
    }
}

impl Resolver for PublicAddresses {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, Error> {
        let resolved = DefaultResolver::default().resolve(uri, config, timeout)?;
        let host = uri.host().unwrap_or_default().to_ascii_lowercase();
        let is_named = self.hosts.contains(&host);
        let mut allowed = self.empty();
        let addresses = resolved.iter().copied();
        addresses
            .filter(|address: &SocketAddr| is_named || is_public(address.ip()))
            .for_each(|address| allowed.push(address));
        if allowed.is_empty() {
            return Err(Error::HostNotFound);
        }
        Ok(allowed)
    }
}
