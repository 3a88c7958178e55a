//! The sign-in of MCP clients over HTTP: an authorization server (OAuth 2.1), and the pages around it.
//!
//! The core decides; here parameters are read, and answers are written as the standards want them.

mod authorize;
mod endpoint;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};
use gongfu_core::registry::oauth::AuthorizationServer;

use crate::page::{self, AUTHORIZE, Site};
use crate::rate::RateLimits;

/// The paths of the endpoints.
const TOKEN: &str = "/token";
const REGISTER: &str = "/register";
const REVOKE: &str = "/revoke";
const METADATA: &str = "/.well-known/oauth-authorization-server";

/// The parts of the sign-in of clients.
pub struct OAuthParts {
    /// The rules, over the accounts. The issuer is the URL of the server as its clients see it.
    pub server: AuthorizationServer,
    /// The limits on how often somebody may ask, shared with the API.
    pub rates: Arc<RateLimits>,
    /// True if clients come through a proxy.
    pub has_proxy: bool,
}

/// The routes of the sign-in of clients, of the pages and of their style.
///
/// Without TLS a password may cross no network: unless the issuer is `https` or on this machine, there are no routes,
/// and clients use API tokens.
pub fn router(parts: OAuthParts) -> Router {
    let Some(site) = Site::new(parts.server, parts.rates, parts.has_proxy) else {
        return Router::new();
    };
    // The metadata of a server below a path is at the path after it (RFC 8414, section 3.1).
    let below = format!("{METADATA}{}", site.path(""));
    let mut routes = page::routes()
        .route(AUTHORIZE, get(authorize::show).post(authorize::answer))
        .route(TOKEN, post(endpoint::token))
        .route(REGISTER, post(endpoint::register))
        .route(REVOKE, post(endpoint::revoke))
        .route(METADATA, get(endpoint::metadata));
    if below != METADATA {
        routes = routes.route(&below, get(endpoint::metadata));
    }
    routes.with_state(Arc::new(site))
}
