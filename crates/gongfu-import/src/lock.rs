//! Locks: files that say where each skill came from.
//!
//! `gongfu.lock` holds what a skill is, byte for byte. Beside it, the locks of `npx skills` are kept as that program
//! keeps them, so that both go on working in the same folder.

pub mod digest;
mod document;
pub mod npx;
pub mod own;

pub use document::LockDocument;
