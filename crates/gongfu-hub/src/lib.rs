//! Tools, their catalog and the gate that every call goes through.
//!
//! Uses the ports of the core and knows no implementation; no surface (MCP, REST, command line) is
//! named here. There is no model in this crate's tools, and none can get in: only the agent's driver
//! holds that port.

pub mod agent;
pub mod argument;
pub mod binary;
pub mod call;
pub mod capability;
pub mod catalog;
pub mod change;
mod confirmation;
mod dialect;
pub mod directory;
pub mod encoding;
pub mod entry;
pub mod error;
pub mod error_code;
pub mod excerpt;
pub mod file;
mod foreign;
pub mod gate;
mod guide;
mod instructions;
pub mod media;
pub mod output;
mod overview;
pub mod problem;
pub mod profile;
pub mod run;
pub mod schema;
mod script;
pub mod shelf;
mod skill_prompt;
pub mod surface;
pub mod tool;
pub mod upstream;
pub mod writing;

// Surfaces know the hub and the core alone.
pub use gongfu_archive::zip as archive;

pub use call::{Call, Event, EventSink, Events, Question};
pub use capability::{Capability, CapabilityContext, CapabilityKind};
pub use catalog::{
    CapabilityQuery, Catalog, CatalogRevision, ContentList, Fingerprints, NameCollision, Request,
};
pub use directory::KnownTools;
pub use error::ToolError;
pub use error_code::ErrorCode;
pub use foreign::content::{ContentEntry, ContentRequest};
pub use gate::{AuditObserver, Quota};
pub use instructions::InstructionRoom;
pub use output::{Content, ToolResult};
pub use problem::Problem;
pub use profile::Profile;
pub use tool::{Tool, ToolSpec};
