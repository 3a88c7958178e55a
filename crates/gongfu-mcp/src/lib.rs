//! The MCP server: the catalog of tools on the wire, by `rmcp`.
//!
//! Holds no rule of its own: every call goes through the catalog's gate. The only crate that names
//! `rmcp`.

#[cfg(feature = "fixtures")]
mod fixture;
mod input;
mod server;
mod wire;

#[cfg(feature = "fixtures")]
pub use fixture::fixtures;
pub use server::{Server, Settings, StdioError, serve_stdio};
