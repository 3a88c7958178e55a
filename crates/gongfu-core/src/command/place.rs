//! Where a path leads, by its text alone, and whether something may be written there.

/// Devices and the like that anything may be written to.
const SINKS: [&str; 11] = [
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

/// Folders of the system, and of other people.
const SYSTEM: [&str; 20] = [
    "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib32", "/lib64", "/libx32", "/media",
    "/opt", "/proc", "/root", "/run", "/sbin", "/srv", "/sys", "/usr", "/var", "/nix",
];

/// A path without `.`, `..` and double slashes, from this folder on.
pub(super) fn resolved(folder: &str, path: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    let begin = if path.starts_with('/') { "" } else { folder };
    for name in begin.split('/').chain(path.split('/')) {
        match name {
            "" | "." => {}
            ".." => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    format!("/{}", names.join("/"))
}

/// Whether a path is one of these or below one.
pub(super) fn is_below<'a>(path: &str, places: impl IntoIterator<Item = &'a str>) -> bool {
    places.into_iter().any(|place| {
        let place = place.trim_end_matches('/');
        path.strip_prefix(place)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

/// Whether anybody may write there.
pub(super) fn is_sink(path: &str) -> bool {
    is_below(path, SINKS)
}

/// Whether it is a part of the system.
pub(super) fn is_of_system(path: &str) -> bool {
    path == "/" || is_below(path, SYSTEM)
}

/// The last name of a path.
pub(super) fn last_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether it is what a program reads.
pub(super) fn is_input(path: &str) -> bool {
    let path = resolved("/", path);
    path == "/dev/stdin" || (is_handle(&path) && last_name(&path) == "0")
}

/// Whether it is a handle that is open.
pub(super) fn is_handle(path: &str) -> bool {
    let path = resolved("/", path);
    is_below(&path, ["/dev/fd"])
        || (is_below(&path, ["/proc"]) && path.split('/').nth_back(1) == Some("fd"))
}
