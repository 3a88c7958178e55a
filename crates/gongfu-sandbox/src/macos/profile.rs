//! The rights of a program on macOS, as a profile in the language of its sandbox; the default is to deny.
//!
//! A pure function from plain data, so that it can be tested on any system. The last matching rule decides.
//! The language can't hide a file: the program sees that it exists, and can't open it.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// Readable and executable in every run: the programs and libraries of the system and of package managers, without
/// their data.
const PROGRAMS: [&str; 27] = [
    "/Applications/Xcode.app/Contents/Developer",
    "/Library/Apple",
    "/Library/Developer/CommandLineTools",
    "/Library/Frameworks",
    "/System/Cryptexes",
    "/System/Library",
    "/System/Volumes/Preboot/Cryptexes",
    "/bin",
    "/nix/store",
    "/opt/homebrew/Cellar",
    "/opt/homebrew/Frameworks",
    "/opt/homebrew/bin",
    "/opt/homebrew/lib",
    "/opt/homebrew/libexec",
    "/opt/homebrew/opt",
    "/opt/homebrew/share",
    "/sbin",
    "/usr/bin",
    "/usr/lib",
    "/usr/libexec",
    "/usr/local/Cellar",
    "/usr/local/bin",
    "/usr/local/lib",
    "/usr/local/opt",
    "/usr/local/share",
    "/usr/sbin",
    "/usr/share",
];
/// Settings of the system that programs read.
const SETTINGS: [&str; 12] = [
    "/opt/homebrew/etc/ca-certificates",
    "/opt/homebrew/etc/openssl@3",
    "/private/etc/localtime",
    "/private/etc/protocols",
    "/private/etc/services",
    "/private/etc/ssl",
    "/private/var/db/dyld",
    "/private/var/db/timezone",
    "/private/var/db/xcode_select_link",
    "/private/var/select",
    "/usr/local/etc/ca-certificates",
    "/usr/local/etc/openssl@3",
];
/// Links of the system through which paths lead.
const LINKS: [&str; 3] = ["/etc", "/tmp", "/var"];
/// The devices that every program may expect.
const DEVICES: [&str; 4] = ["/dev/null", "/dev/random", "/dev/urandom", "/dev/zero"];
/// The standard input and outputs by name, which a program has anyway.
const HANDLES: [&str; 4] = ["/dev/fd", "/dev/stderr", "/dev/stdin", "/dev/stdout"];
/// Readable state of the system (`sysctl`): facts about the machine. Others would list all processes with their
/// environment.
const STATE: [&str; 14] = [
    "kern.argmax",
    "kern.hostname",
    "kern.maxfilesperproc",
    "kern.maxproc",
    "kern.ngroups",
    "kern.osproductversion",
    "kern.osrelease",
    "kern.ostype",
    "kern.osvariant_status",
    "kern.osversion",
    "kern.secure_kernel",
    "kern.usrstack64",
    "kern.version",
    "vm.loadavg",
];
/// Prefixes of more readable names, for the hardware.
const PARTS: [&str; 3] = ["hw.", "machdep.cpu.", "sysctl.proc_"];
/// The one service that programs need at their start: the names of users.
const USERS: &str = "com.apple.system.opendirectoryd.libinfo";
/// The operations on a readable path.
const READING: &str = "file-read* file-map-executable process-exec";

/// The rights of a run besides those of every run.
#[derive(Debug, Clone, Copy)]
pub(super) struct RunRights<'a> {
    /// The path of this program, which is init inside.
    pub(super) itself: &'a Path,
    /// The folders and files that it may read.
    pub(super) readable: &'a [PathBuf],
    /// Those that it may write as well.
    pub(super) writable: &'a [PathBuf],
}

/// A path that no profile can name.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` can't be used in a macOS sandbox profile; use an absolute UTF-8 path without control characters, `.` or `..`", .0.display())]
pub(super) struct Unnamable(PathBuf);

/// The profile.
pub(super) fn profile(rights: &RunRights<'_>) -> Result<String, Unnamable> {
    let readable = filters("subpath", rights.readable)?;
    let writable = filters("subpath", rights.writable)?;
    // A writable folder can't be replaced: another one in its place would be read next.
    let roots = filters("literal", rights.writable)?;
    let itself = filter("literal", rights.itself)?;
    let programs = known("subpath", &PROGRAMS);
    let settings = known("subpath", &SETTINGS);
    let devices = known("literal", &DEVICES);
    let handles = known("subpath", &HANDLES);
    let around = around(rights)?;
    let state = known("sysctl-name", &STATE);
    let parts = known("sysctl-name-prefix", &PARTS);
    let all = format!("{programs}{settings}{devices}{handles}{around}{itself}{readable}{writable}");
    let mut rules = vec![
        "(version 1)".to_owned(),
        "(deny default)".to_owned(),
        // These the default leaves out.
        "(deny process-info* file-map-executable)".to_owned(),
        where_known("nvram*", "deny", ""),
        where_known("iokit-get-properties", "deny", ""),
        "(allow process-fork)".to_owned(),
        "(allow signal (target same-sandbox))".to_owned(),
        "(allow process-info* (target same-sandbox))".to_owned(),
        format!("(allow sysctl-read{state}{parts})"),
        format!("(allow mach-lookup (global-name \"{USERS}\"))"),
        format!("(allow file-read-metadata{around})"),
        // No program starts without reading it.
        "(allow file-read* (literal \"/\"))".to_owned(),
        format!("(allow {READING}{programs}{itself})"),
        format!("(allow file-read*{settings}{devices}{handles})"),
        format!("(allow file-write-data{devices}{handles})"),
    ];
    if !readable.is_empty() {
        rules.push(format!("(allow {READING}{readable})"));
    }
    if !writable.is_empty() {
        rules.push(format!("(allow {READING} file-write*{writable})"));
        rules.push(format!("(deny file-write-create file-write-unlink{roots})"));
    }
    rules.extend([
        "(deny file-write-setugid)".to_owned(),
        "(deny network*)".to_owned(),
        // A hard link to a readable file could lie in a writable folder.
        where_known("file-link", "deny", ""),
        where_known("file-test-existence", "allow", &all),
    ]);
    rules.push(String::new());
    Ok(rules.join("\n"))
}

/// A rule for an operation that not every version of the system knows.
fn where_known(what: &str, verdict: &str, filters: &str) -> String {
    format!("(if (defined? '{what}) ({verdict} {what}{filters}))")
}

/// Filters for the folders above readable paths, of which only the metadata is readable.
fn around(rights: &RunRights<'_>) -> Result<String, Unnamable> {
    let known = PROGRAMS.iter().chain(&SETTINGS).chain(&HANDLES);
    let known = known.map(Path::new);
    let mine = rights.readable.iter().chain(rights.writable);
    let mine = mine.map(PathBuf::as_path).chain([rights.itself]);
    let above = known.chain(mine).flat_map(|path| path.ancestors().skip(1));
    let all: BTreeSet<&Path> = above.chain(LINKS.iter().map(Path::new)).collect();
    let all = all.into_iter().filter(|path| *path != Path::new("/"));
    let texts = all.map(|path| filter("literal", path));
    Ok(format!(
        " (literal \"/\"){}",
        texts.collect::<Result<String, _>>()?
    ))
}

/// Filters for constant names.
fn known(kind: &str, names: &[&str]) -> String {
    let filters = names.iter().map(|name| format!(" ({kind} \"{name}\")"));
    filters.collect()
}

fn filters(kind: &str, paths: &[PathBuf]) -> Result<String, Unnamable> {
    paths.iter().map(|path| filter(kind, path)).collect()
}

/// A filter for a path, with a space before it.
fn filter(kind: &str, path: &Path) -> Result<String, Unnamable> {
    let quoted = quoted(path).ok_or_else(|| Unnamable(path.to_owned()))?;
    Ok(format!(" ({kind} {quoted})"))
}

/// A path as a string of the language; `None` for the root, and for a path that isn't absolute and normal.
fn quoted(path: &Path) -> Option<String> {
    let text = path.to_str()?;
    let mut components = path.components();
    let is_absolute = components.next() == Some(Component::RootDir);
    let is_below = path.file_name().is_some();
    // The system writes it so, and another spelling would never match.
    let is_plain = components.all(|component| matches!(component, Component::Normal(_)))
        && !text.contains("//")
        && !text.contains("/./")
        && !text.ends_with(['/'])
        && !text.ends_with("/.");
    if !is_absolute || !is_below || !is_plain || text.chars().any(char::is_control) {
        return None;
    }
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        if matches!(letter, '"' | '\\') {
            quoted.push('\\');
        }
        quoted.push(letter);
    }
    quoted.push('"');
    Some(quoted)
}

#[cfg(test)]
mod tests;
