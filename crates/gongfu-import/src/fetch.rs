//! Fetching: from each kind of source to its files.
//!
//! Downloads are kept in memory and within limits. Only `git` and `npm` write, into the folder that they are given.

pub mod any;
pub mod artifact;
pub mod folder;
pub mod git;
mod links;
pub mod npm;
mod public_addresses;
pub mod web;
pub mod well_known;

pub use public_addresses::PublicAddresses;

#[cfg(test)]
mod test_server;
