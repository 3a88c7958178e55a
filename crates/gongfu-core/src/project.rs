//! Projects: the folder that somebody works on, found from the folder that they started in.
//!
//! A pure rule over facts: who reads them decides nothing.

use std::path::{Path, PathBuf};

/// The entries of a folder by which it is the root of a repository: a folder, or a file in a worktree.
pub const MARKERS: [&str; 4] = [".git", ".hg", ".jj", ".svn"];
/// The most folders above the start in which a marker is looked for.
const MAX_LEVELS: usize = 64;
/// System folders: no project is in them.
const SYSTEM: [&str; 17] = [
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
    "/mnt/c/Program Files",
    "/mnt/c/Windows",
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
/// Homes, whether or not the list of users has them. A `*` is any one name.
const HOMES: [&str; 4] = ["/Users/*", "/home/*", "/mnt/*/Users/*", "/var/home/*"];
/// Disks, and folders of services: projects only where they are repositories.
const DISKS: [&str; 6] = [
    "/Volumes/*",
    "/media/*",
    "/media/*/*",
    "/mnt/*",
    "/private/var/*",
    "/var/*",
];
/// The user who may do everything.
const ROOT_USER: u32 = 0;

/// The facts of a machine that decide about a project. All paths are real ones.
#[derive(Clone, Copy)]
pub struct Machine<'a> {
    /// The home folder of the person.
    pub user: Option<&'a Path>,
    /// The home folders of all users.
    pub homes: &'a [PathBuf],
    /// gongfu's home.
    pub own: &'a Path,
    /// The number of the user who runs gongfu.
    pub runner: u32,
    /// The number of the user who owns what lies at a path, a link for itself; `None` where nothing does.
    pub owner: &'a dyn Fn(&Path) -> Option<u32>,
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
    let worker = (machine.owner)(start);
    for folder in start.ancestors().take(MAX_LEVELS) {
        let marker = marker(folder, worker, machine);
        let is_marked = marker == Some(Marker::Known);
        match refusal(folder, is_marked, machine) {
            // What is in somebody else's repository belongs to none around it.
            _ if marker == Some(Marker::Foreign) => break,
            None if is_marked => return Ok(folder.to_owned()),
            // Between a settings folder, or one on a disk, and the repository that it belongs to.
            None | Some(NoProject::Settings | NoProject::Shared)
                if !(machine.is_private)(folder) => {}
            _ => break,
        }
    }
    refusal(start, false, machine).map_or_else(|| Ok(start.to_owned()), Err)
}

/// The marker of a repository, by its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Marker {
    /// It makes the folder a repository.
    Known,
    /// Somebody else put it there.
    Foreign,
}

/// The marker of a folder. It counts if it is the person's or the system's own, or that of the user who owns both the
/// folder and the start folder: anybody may put a `.git` into a folder that many write to.
fn marker(folder: &Path, worker: Option<u32>, machine: &Machine<'_>) -> Option<Marker> {
    let is_own = |owner: Option<u32>| owner == Some(machine.runner) || owner == Some(ROOT_USER);
    let holder = (machine.owner)(folder);
    let owners = MARKERS.map(|marker| (machine.owner)(&folder.join(marker)));
    let is_known = |owner: Option<u32>| {
        let is_workers = holder == worker && owner == worker;
        owner.is_some() && (is_own(owner) || is_workers)
    };
    let is_held = is_own(holder) || holder == worker;
    if is_held && owners.into_iter().any(is_known) {
        Some(Marker::Known)
    } else {
        let is_there = owners.iter().any(Option::is_some);
        is_there.then_some(Marker::Foreign)
    }
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
    } else if is_user
        || machine.homes.iter().any(|home| home == folder)
        || is_one_of(&HOMES, folder)
    {
        NoProject::Home
    } else if machine.user.is_some_and(|user| user.starts_with(folder)) {
        NoProject::AboveHome
    } else if folder.starts_with(machine.own) {
        NoProject::Own
    } else if SYSTEM.iter().any(|system| folder.starts_with(system)) {
        NoProject::System
    } else if is_one_of(&SHARED, folder) || !is_marked && is_one_of(&DISKS, folder) {
        NoProject::Shared
    } else if (machine.is_private)(folder) || !is_marked && is_hidden() == Some(true) {
        NoProject::Settings
    } else {
        return None;
    })
}

/// Returns whether a folder is one of a table, in which a `*` is any one name.
fn is_one_of(table: &[&str], folder: &Path) -> bool {
    table.iter().any(|one| {
        let (mut wanted, mut names) = (Path::new(one).iter(), folder.iter());
        let fits = wanted.by_ref().all(|wanted| {
            let name = names.next();
            name.is_some_and(|name| wanted == "*" || wanted == name)
        });
        fits && names.next().is_none()
    })
}

#[cfg(test)]
mod tests;
