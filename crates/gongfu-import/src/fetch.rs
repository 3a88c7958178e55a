//! Fetching: from each kind of source to its files.

pub mod folder;
pub mod git;
