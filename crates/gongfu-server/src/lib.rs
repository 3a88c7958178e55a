//! The HTTP server: sockets, routes, hygiene, health and metrics.
//!
//! Knows no MCP and no tool: what it serves below a path is a service that the binary hands in. The
//! only crate that names `axum`.

pub mod address;
mod connection;
mod guard;
pub mod metric;
mod problem;
mod public_url;
mod request;
mod route;
mod server;
mod socket;

pub use address::{Address, AddressError};
pub use guard::{hosts, origins};
pub use metric::Metrics;
pub use public_url::{PublicUrl, PublicUrlError};
pub use route::{Adopt, Health, MCP_PATH, Surface};
pub use server::{Ended, Limits, Listener, Server};
pub use socket::raise_descriptor_limit;
