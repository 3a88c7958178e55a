//! The parts that all pages use.

use std::sync::Arc;

use gongfu_core::registry::Accounts;
use gongfu_core::registry::oauth::AuthorizationServer;
use http::Uri;

use crate::rate::RateLimits;

/// The parts that all pages use.
pub(crate) struct Site {
    pub(crate) server: AuthorizationServer,
    pub(crate) rates: Arc<RateLimits>,
    /// True if clients come through a proxy.
    pub(crate) has_proxy: bool,
    /// True if browsers speak TLS with the server, so that its cookies are for TLS alone.
    pub(crate) is_secure: bool,
    /// The origin of the pages, as browsers write it.
    pub(crate) origin: String,
    /// The path of the server's URL, before every path of a page; empty for most.
    base: String,
}

impl Site {
    /// The site of a server at its issuer's URL; `None` where a sign-in wouldn't be safe: without TLS, except on
    /// this machine.
    pub(crate) fn new(
        server: AuthorizationServer,
        rates: Arc<RateLimits>,
        has_proxy: bool,
    ) -> Option<Self> {
        let issuer: Uri = server.accounts().settings().issuer.parse().ok()?;
        let (scheme, authority) = (issuer.scheme_str()?, issuer.authority()?);
        let is_secure = scheme == "https";
        let is_local = ["localhost", "127.0.0.1", "[::1]"].contains(&authority.host());
        let is_plain = scheme == "http";
        if !(is_secure || is_plain && is_local) {
            return None;
        }
        let default_port = if is_secure { 443 } else { 80 };
        let host = authority.host();
        let origin = match authority.port_u16() {
            Some(port) if port != default_port => format!("{scheme}://{host}:{port}"),
            _ => format!("{scheme}://{host}"),
        };
        Some(Self {
            base: issuer.path().trim_end_matches('/').to_owned(),
            server,
            rates,
            has_proxy,
            is_secure,
            origin,
        })
    }

    pub(crate) fn accounts(&self) -> &Accounts {
        self.server.accounts()
    }

    /// The path of a page as browsers ask for it.
    pub(crate) fn path(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }
}
