//! The client of other MCP servers: starts or contacts them, lists their tools, calls those that a person approved,
//! and knows how they are.
//!
//! Knows no tool of gongfu's own and no surface. It starts no process itself: [`gongfu_core::port::Processes`] does.

mod call;
mod client;
mod content;
mod convert;
mod link;
mod message_limit;
mod parts;
mod request;
mod room;
mod servers;
mod session;
mod shared;
mod sign_in;
mod silence;
mod skill;
mod stream;
mod token;
mod trouble;
mod upstream;
mod user_servers;
mod web;

pub use parts::{ConnectionEntry, SecretsSource, ServerParts};
pub use servers::LocalServers;
pub use shared::{Process, ProcessAddress, SharedServers, serve};
pub use token::refreshes_ended;
pub use user_servers::UserServers;
