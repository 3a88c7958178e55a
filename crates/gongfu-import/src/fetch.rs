//! Fetches what isn't in a git repository: sites with an index, archives, documents and packages of npm.
//!
//! Everything is kept in memory and within limits. Nothing is written but what `npm` puts into the folder that it is
//! given.

pub mod artifact;
pub mod npm;
mod public_addresses;
pub mod web;
pub mod well_known;

pub use public_addresses::PublicAddresses;

#[cfg(test)]
mod test_server;
