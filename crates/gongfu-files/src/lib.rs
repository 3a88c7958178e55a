//! Files below folders that nothing leads out of: gongfu's home, workspaces, and the folders of runs.
//!
//! Every path is reached through a [`disk::Root`]. Knows no skills folder, no index and no record;
//! reads no environment and no clock: both are passed in.

pub mod disk;
mod held_folder;
mod home;
mod layers;
mod mount;
mod port;
mod private;
mod project;
mod run_folders;
mod slug;
pub mod transaction;
mod workspace;

pub use held_folder::HeldFolder;
pub use home::Home;
pub use layers::FileLayers;
pub use mount::{Mount, MountError};
pub use private::PrivatePaths;
pub use project::{project_of, refusal_of};
pub use run_folders::{LocalRunFolders, PlacesOfSkills, ProgramFolder, Programs};
pub use slug::slug;
pub use workspace::LocalWorkspace;
