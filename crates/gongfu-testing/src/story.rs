//! One story for each port that stores: the promises of its documentation, as checks that run on
//! every backend.
//!
//! A backend opens a space for each owner. The same checks run on files, in memory, and on a planted
//! backend that ignores the owner, which must break the promises about owners.

mod blobs;
mod files;
mod forgetful;
mod ground;
mod layers;
mod records;
mod search;
mod skills;

pub use forgetful::Forgetful;
pub use ground::{Backend, Ground, Promise};

/// A port and its promises.
pub struct Story {
    /// The port.
    pub port: &'static str,
    /// Its promises.
    pub promises: &'static [Promise],
}

/// The stories, one for each port that stores.
pub const STORIES: [Story; 6] = [
    Story {
        port: "skills",
        promises: skills::PROMISES,
    },
    Story {
        port: "files",
        promises: files::PROMISES,
    },
    Story {
        port: "layers",
        promises: layers::PROMISES,
    },
    Story {
        port: "blobs",
        promises: blobs::PROMISES,
    },
    Story {
        port: "records",
        promises: records::PROMISES,
    },
    Story {
        port: "search",
        promises: search::PROMISES,
    },
];
