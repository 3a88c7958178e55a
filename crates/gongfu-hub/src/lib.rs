//! Tools, their catalog and the gate that every call goes through.
//!
//! Knows the ports of the core and nothing of who implements them; no surface (MCP, REST, command
//! line) is named here. There is no model in this crate's tools, and none can get in: only the
//! agent's driver will hold that port.

pub mod argument;
pub mod binary;
pub mod call;
pub mod catalog;
mod dialect;
pub mod entry;
pub mod error;
pub mod excerpt;
pub mod file;
pub mod gate;
mod guide;
pub mod media;
mod overview;
pub mod problem;
pub mod profile;
pub mod run;
pub mod schema;
pub mod shelf;
pub mod surface;
pub mod tool;
pub mod writing;

pub use call::{Call, Event, EventSink, Events, Question};
pub use catalog::{Catalog, CatalogRevision, Fingerprints, NameCollision, Request};
pub use error::{ErrorCode, ToolError};
pub use gate::{AuditObserver, Quota};
pub use problem::Problem;
pub use profile::Profile;
pub use tool::{Content, Tool, ToolResult, ToolSpec};
