//! Paths by their text alone, and which of them belong to the system.

/// Devices and temporary folders that everybody may write to.
pub(super) const SINKS: [&str; 11] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/tty",
    "/dev/stdout",
    "/dev/stderr",
    "/dev/fd",
    "/dev/shm",
    "/proc/self/fd",
    "/tmp",
    "/var/tmp",
];

/// Folders of the system and of other people.
pub(super) const SYSTEM: [&str; 20] = [
    "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib32", "/lib64", "/libx32", "/media",
    "/opt", "/proc", "/root", "/run", "/sbin", "/srv", "/sys", "/usr", "/var", "/nix",
];

/// A path from a folder on, without `.`, `..` and double slashes.
pub(super) fn resolve(folder: &str, path: &str) -> String {
    let folder = if path.starts_with('/') { "" } else { folder };
    let mut names: Vec<&str> = Vec::new();
    for name in folder.split('/').chain(path.split('/')) {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()),
            name => names.push(name),
        }
    }
    format!("/{}", names.join("/"))
}

/// Returns true if a path is one of these folders or lies below one.
pub(super) fn is_below<'a>(path: &str, folders: impl IntoIterator<Item = &'a str>) -> bool {
    folders.into_iter().any(|folder| {
        let rest = path.strip_prefix(folder.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}
