//! The HTTP server: sockets, routes, security headers, health and metrics.
//!
//! MCP is a service that the binary mounts here. The only crate that names `axum`.

pub mod address;
mod api;
mod caller;
mod client_address;
mod connection;
mod guard;
pub mod metric;
pub mod oauth;
mod page;
mod path;
mod problem;
mod public_url;
mod published;
mod rate;
mod request;
mod route;
mod server;
mod socket;
mod state;
mod teams;
mod token;
mod unread_body;

pub use address::{Address, AddressError};
pub use api::{AccountApiParts, ApiParts};
pub use guard::{hosts, origins};
pub use metric::Metrics;
pub use oauth::OAuthParts;
pub use path::MCP_PATH;
pub use public_url::{PublicUrl, PublicUrlError};
pub use published::{PublishedFile, PublishedFiles};
pub use rate::{HashingPermit, RateLimits, RateSettings, RetryAfter};
pub use route::Surface;
pub use server::{Limits, Listener, Server, Shutdown};
pub use socket::raise_descriptor_limit;
pub use state::{Health, LinkParentTrace};
pub use teams::TeamsChanged;
pub use token::Token;
