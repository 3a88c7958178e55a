//! The MCP server: the catalog of tools on the wire, by `rmcp`.
//!
//! Holds no rule of its own: every call goes through the catalog's gate. The only crate that names
//! `rmcp`.

mod client_limits;
mod http;
mod message;
mod server;
mod stdio;
mod visible;
mod wire;

pub use http::{Handler, HttpEndpoint, HttpResponse, HttpSettings};
pub use server::{Adopt, AdoptRoots, Server, Settings};
pub use stdio::{StdioError, serve_stdio, serve_streams};
