//! The ports that store, in memory. Each value belongs to one space.

mod blobs;
mod change_sets;
mod file_tree;
mod files;
mod layers;
mod records;
mod search;
mod skills;

pub use blobs::MemoryBlobs;
pub use change_sets::MemoryChangeSets;
pub use files::MemoryFiles;
pub use layers::MemoryLayers;
pub use records::MemoryRecords;
pub use search::MemorySearch;
pub use skills::{MemorySkills, SkillFiles};
