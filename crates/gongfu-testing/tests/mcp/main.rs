//! The MCP server and everything below it in this process: each test speaks the protocol over streams
//! in memory. The spaces are in memory, or on disk where a path or a link could lead somewhere.

mod approval;
mod argument;
mod climb;
#[path = "../contract/disk.rs"]
mod disk;
mod document;
mod fixture;
mod folders;
mod protocol;
mod resource;
mod surface;
mod writing;
