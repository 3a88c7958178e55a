//! Skills from elsewhere: where they come from, the locks that say so, and the folders that they go to.
//!
//! An import has stages: a [`source`] is parsed, fetched as [`content`], searched for skills, shown, placed and locked.
//! Nothing is written where skills are before the last stage. Reads no environment and no clock: both are passed in.

pub mod adoption;
pub mod agents;
pub mod cache;
pub mod candidate;
pub mod content;
pub mod discover;
pub mod error;
pub mod fetch;
pub mod inventory;
pub mod lock;
pub mod origin;
pub mod place;
mod program;
pub mod publication;
pub mod scope;
pub mod source;
pub mod survey;
pub mod target;
pub mod update;
pub mod verify;
