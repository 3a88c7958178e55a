//! The MCP server and everything below it in this process: each test speaks the protocol over streams
//! in memory. The spaces are in memory, or on disk where a path or a link could lead somewhere.

#[cfg(test)]
mod approval;
#[cfg(test)]
mod argument;
#[cfg(test)]
mod changes;
#[cfg(test)]
mod clients;
#[cfg(test)]
mod climb;
#[cfg(test)]
#[path = "../contract/disk.rs"]
mod disk;
#[cfg(test)]
mod document;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod folders;
#[cfg(test)]
mod protocol;
#[cfg(test)]
mod resource;
#[cfg(test)]
mod surface;
#[cfg(test)]
mod visible;
#[cfg(test)]
mod writing;
