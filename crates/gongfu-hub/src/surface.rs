//! The surfaces beside tools: skills as manifests, resources and prompts.
//!
//! All of them use one store and one gate: each request is a named operation (its input type, as with
//! tools) that [`crate::Catalog::operate`] lets through the same stages and writes into the same audit.
//! The names on the wire and the form of answers belong to the surface; this module names the methods
//! of MCP only because they are the terms of the field.

pub mod address;
pub mod approval;
pub mod audit;
pub(crate) mod capability;
pub mod change;
pub mod completion;
pub mod connection;
pub mod environment;
pub mod grant;
pub mod layer;
pub mod ledger;
pub mod manifest;
pub mod operation;
pub mod page;
pub mod prompt;
pub mod resource;
pub mod skill_edit;
pub mod stored_skill;
pub mod substitution;
pub mod switch;
pub mod trust;
pub(crate) mod view;
mod word;

pub use operation::Operation;
pub use page::Page;
