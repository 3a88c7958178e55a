//! The skill format: reading it leniently, saying exactly what is wrong, fixing it.
//!
//! The format is that of agentskills.io; what real skills contain beyond it is in the project's
//! specification of the format. Nothing here knows where bytes come from.

pub mod check;
pub mod diagnostic;
pub mod digest;
pub mod document;
pub mod draft;
pub mod field;
pub mod finding;
pub mod fix;
pub mod folder;
pub mod frontmatter;
pub mod loader;
pub mod name;
pub mod path;
pub mod placeholder;
pub mod section;
pub mod severity;
pub mod source_text;
pub mod yaml;

/// The strict verdict: that of the format's reference validator.
pub use gongfu_skills_ref as strict;

pub use diagnostic::{Diagnostic, Position};
pub use digest::Digest;
pub use document::Document;
pub use finding::Finding;
pub use folder::{FileEntry, FileKind, Folder};
pub use loader::load;
pub use name::SkillName;
pub use path::SkillPath;
pub use severity::Severity;

/// The file that makes a folder a skill.
pub const SKILL_FILE: &str = "SKILL.md";
/// The spelling that the reference validator accepts as well.
pub const SKILL_FILE_LOWER: &str = "skill.md";
