//! MCP over HTTP seen from outside: a client that measures, a load of many of them, and the process
//! of a server in front of them.
//!
//! Knows the wire of both eras, and nothing of what is measured or of who the server is.

pub(crate) mod client;
pub(crate) mod echo;
pub(crate) mod load;
pub(crate) mod process;
pub(crate) mod wire;

use anyhow::{Context as _, Result};
use tokio::runtime::{Builder, Runtime};

/// A runtime on the calling thread alone: the client takes one core at most, and the clock of
/// that thread shows its cost.
pub(crate) fn runtime() -> Result<Runtime> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .context("no asynchronous runtime")
}
