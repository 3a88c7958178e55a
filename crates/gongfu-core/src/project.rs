//! Projects: the folder that somebody works on, found from the folder that they started in.
//!
//! A pure rule over facts: who reads them decides nothing.

use std::path::{Path, PathBuf};

/// The entries of a folder by which it is the root of a repository: a folder, or a file in a worktree.
pub const MARKERS: [&str; 4] = [".git", ".hg", ".jj", ".svn"];
/// The most folders above the start in which a marker is looked for.
const MAX_LEVELS: usize = 64;
/// System folders: no project is in them.
const SYSTEM: [&str; 15] = [
    "/Applications",
    "/Library",
    "/System",
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/proc",
    "/run",
    "/sbin",
    "/sys",
    "/usr",
];
/// Folders that many share: projects are in them, but they aren't projects.
const SHARED: [&str; 16] = [
    "/Users",
    "/Volumes",
    "/home",
    "/media",
    "/mnt",
    "/opt",
    "/private",
    "/private/tmp",
    "/private/var",
    "/root",
    "/snap",
    "/srv",
    "/tmp",
    "/var",
    "/var/lib",
    "/var/tmp",
];

/// The facts of a machine that decide about a project. All paths are real ones.
#[derive(Clone, Copy)]
pub struct Machine<'a> {
    /// The home folder of the person.
    pub user: Option<&'a Path>,
    /// The home folders of all users.
    pub homes: &'a [PathBuf],
    /// gongfu's home.
    pub own: &'a Path,
    /// Returns whether a folder has one of the [`MARKERS`].
    pub is_marked: &'a dyn Fn(&Path) -> bool,
    /// Returns whether a folder holds keys or passwords.
    pub is_private: &'a dyn Fn(&Path) -> bool,
}

/// Why a folder is no project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoProject {
    /// There is no such folder.
    #[error("there is no such folder")]
    Missing,
    /// The root of the file system.
    #[error("it is the root of the file system")]
    Root,
    /// Somebody's home folder.
    #[error("it is a home folder")]
    Home,
    /// The person's home folder is in it.
    #[error("your home folder is in it")]
    AboveHome,
    /// gongfu's home, or a folder in it.
    #[error("it belongs to gongfu")]
    Own,
    /// A folder of the system.
    #[error("it is a system folder")]
    System,
    /// A folder that many share.
    #[error("it is a shared folder")]
    Shared,
    /// Settings or keys of programs.
    #[error("it holds settings of programs")]
    Settings,
}

/// The project of a start folder: the nearest folder upwards that is a repository, else the start folder.
///
/// # Errors
/// Programs shouldn't work on the start folder unasked.
pub fn project(start: &Path, machine: &Machine<'_>) -> Result<PathBuf, NoProject> {
    for folder in start.ancestors().take(MAX_LEVELS) {
        let is_marked = (machine.is_marked)(folder);
        match refusal(folder, is_marked, machine) {
            None if is_marked => return Ok(folder.to_owned()),
            // Between a settings folder and the repository that it belongs to.
            None | Some(NoProject::Settings) if !(machine.is_private)(folder) => {}
            _ => break,
        }
    }
    refusal(start, false, machine).map_or_else(|| Ok(start.to_owned()), Err)
}

/// Why a folder is no project; `None` for one that may be.
pub fn refusal(folder: &Path, is_marked: bool, machine: &Machine<'_>) -> Option<NoProject> {
    let is_user = machine.user == Some(folder);
    let is_hidden = || {
        let below = folder.strip_prefix(machine.user?).ok()?;
        let first = below.components().next()?;
        Some(first.as_os_str().as_encoded_bytes().starts_with(b"."))
    };
    Some(if folder.parent().is_none() {
        NoProject::Root
    } else if is_user || machine.homes.iter().any(|home| home == folder) {
        NoProject::Home
    } else if machine.user.is_some_and(|user| user.starts_with(folder)) {
        NoProject::AboveHome
    } else if folder.starts_with(machine.own) {
        NoProject::Own
    } else if SYSTEM.iter().any(|system| folder.starts_with(system)) {
        NoProject::System
    } else if SHARED.iter().any(|shared| folder == Path::new(shared)) {
        NoProject::Shared
    } else if (machine.is_private)(folder) || !is_marked && is_hidden() == Some(true) {
        NoProject::Settings
    } else {
        return None;
    })
}

#[cfg(test)]
mod tests;
