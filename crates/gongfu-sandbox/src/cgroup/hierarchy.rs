//! Folders in which groups can be made, found by the mounts of the machine and the groups of a process.

use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{Pid, test_kill_process};

use super::file::{read, write};

/// The start of every group's name.
const PREFIX: &str = "gongfu-";
/// The group that the server moves to where it must leave the one in which runs get theirs.
const SERVER: &str = "gongfu-server";

/// The controllers that groups of the second version need, the best set first.
const CONTROLLERS: [&[&str]; 2] = [&["memory", "pids", "cpu"], &["memory", "pids"]];

/// The version of the kernel's interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    /// One hierarchy for each controller.
    One,
    /// One hierarchy for all controllers.
    Two,
}

impl Version {
    /// The file that counts processes killed for lack of memory.
    pub(super) fn events(self) -> &'static str {
        match self {
            Self::One => "memory.oom_control",
            Self::Two => "memory.events",
        }
    }
}

/// A folder with groups in it, and the resources that they limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hierarchy {
    pub(super) folder: PathBuf,
    pub(super) version: Version,
    pub(super) memory: bool,
    pub(super) processes: bool,
    pub(super) processors: bool,
}

impl Hierarchy {
    fn of_version_one(membership: &Membership) -> Option<Self> {
        let has = |name: &str| membership.controllers.iter().any(|known| known == name);
        let hierarchy = Self {
            folder: membership.folder.clone(),
            version: Version::One,
            memory: has("memory"),
            processes: has("pids"),
            processors: has("cpu"),
        };
        let is_useful = hierarchy.memory || hierarchy.processes || hierarchy.processors;
        is_useful.then_some(hierarchy)
    }

    /// Lists the groups that dead processes left behind.
    pub(super) fn left_behind(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten();
        let names = entries.flatten().map(|entry| entry.file_name());
        let dead = names.filter(|name| name.to_str().and_then(maker).is_some_and(is_dead));
        dead.map(|name| self.folder.join(name)).collect()
    }
}

/// Finds where this process can make groups; nothing where it can't.
pub(super) fn find() -> Vec<Hierarchy> {
    let memberships = memberships_of("self");
    let one = memberships.iter().filter_map(Hierarchy::of_version_one);
    let one: Vec<Hierarchy> = one.filter(|one| is_usable(&one.folder)).collect();
    if !one.is_empty() {
        return one;
    }
    let two = memberships.iter().find(|one| one.controllers.is_empty());
    // Memory may be delegated where the processors aren't.
    let found = CONTROLLERS.iter().find_map(|controllers| {
        let folder = of_version_two(&two?.folder, controllers)?;
        Some(Hierarchy {
            folder,
            version: Version::Two,
            memory: true,
            processes: true,
            processors: controllers.contains(&"cpu"),
        })
    });
    found.into_iter().collect()
}

/// Finds the groups that another process is in, as far as they count memory or processes.
pub(super) fn of_process(process: u32) -> Vec<Hierarchy> {
    let memberships = memberships_of(&process.to_string());
    let one = memberships.iter().filter_map(Hierarchy::of_version_one);
    let one: Vec<Hierarchy> = one.filter(|one| one.memory || one.processes).collect();
    if !one.is_empty() {
        return one;
    }
    let two = memberships.iter().find(|one| one.controllers.is_empty());
    let two = two.map(|two| Hierarchy {
        folder: two.folder.clone(),
        version: Version::Two,
        memory: two.folder.join("memory.events").exists(),
        processes: two.folder.join("pids.events").exists(),
        processors: false,
    });
    two.into_iter().collect()
}

/// A group that a process is in.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Membership {
    pub(super) folder: PathBuf,
    /// Empty in the second version, where files tell them.
    pub(super) controllers: Vec<String>,
}

fn memberships_of(process: &str) -> Vec<Membership> {
    let mounts = read(Path::new("/proc/self/mountinfo")).unwrap_or_default();
    let groups = read(&Path::new("/proc").join(process).join("cgroup")).unwrap_or_default();
    memberships(&mounts, &groups)
}

/// Parses `mountinfo` and the `cgroup` file of a process (`proc(5)`).
pub(super) fn memberships(mounts: &str, groups: &str) -> Vec<Membership> {
    let memberships = groups.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        let controllers = controllers.split(',').filter(|name| !name.is_empty());
        let controllers: Vec<String> = controllers.map(str::to_owned).collect();
        let folder = mounts
            .lines()
            .find_map(|mount| folder(mount, &controllers, path))?;
        Some(Membership {
            folder,
            controllers,
        })
    });
    memberships.collect()
}

/// The folder of a group, if it lies below this mount.
fn folder(mount: &str, controllers: &[String], path: &str) -> Option<PathBuf> {
    let (before, after) = mount.split_once(" - ")?;
    let mut before = before.split(' ').skip(3);
    let (root, point) = (unescaped(before.next()?), unescaped(before.next()?));
    let mut after = after.split(' ');
    let kind = after.next()?;
    let mut options = after.nth(1)?.split(',');
    let is_it = match controllers.first() {
        None => kind == "cgroup2",
        Some(first) => kind == "cgroup" && options.any(|option| option == first),
    };
    let below = Path::new(path).strip_prefix(&root).ok()?;
    // The path of a group outside of the cgroup namespace climbs with `..`.
    let is_below = below
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    (is_it && is_below).then(|| point.join(below))
}

/// Decodes a path of `mountinfo`, in which four characters are octal escapes.
fn unescaped(text: &str) -> PathBuf {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, others)) = rest.split_first() {
        let number = others.get(..3).filter(|_| *first == b'\\');
        let number = number.and_then(|number| std::str::from_utf8(number).ok());
        let number = number.and_then(|number| u8::from_str_radix(number, 8).ok());
        bytes.push(number.unwrap_or(*first));
        rest = others.get(number.map_or(0, |_| 3)..).unwrap_or_default();
    }
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

/// Finds where groups of the second version with these controllers can be made: below the group of this
/// process, where the process may leave it, else beside it.
pub(super) fn of_version_two(own: &Path, controllers: &[&str]) -> Option<PathBuf> {
    let has = |folder: &Path, file: &str| {
        let text = read(&folder.join(file)).unwrap_or_default();
        let known: Vec<&str> = text.split_whitespace().collect();
        controllers.iter().all(|name| known.contains(name))
    };
    let delegates = |folder: &Path| has(folder, "cgroup.subtree_control") && is_usable(folder);
    if delegates(own) {
        return Some(own.to_owned());
    }
    if has(own, "cgroup.controllers") && is_alone(own) && is_usable(own) {
        // A group that delegates controllers may have no processes itself.
        let server = own.join(SERVER);
        let wanted: Vec<String> = controllers.iter().map(|name| format!("+{name}")).collect();
        let _ = std::fs::create_dir(&server);
        let moved = write(&server.join("cgroup.procs"), "0");
        if moved.is_ok() && write(&own.join("cgroup.subtree_control"), &wanted.join(" ")).is_ok() {
            return Some(own.to_owned());
        }
        let _ = write(&own.join("cgroup.procs"), "0");
        let _ = std::fs::remove_dir(&server);
    }
    own.parent()
        .filter(|beside| delegates(beside))
        .map(Path::to_owned)
}

/// Returns whether this process is the only one in a group.
fn is_alone(group: &Path) -> bool {
    let text = read(&group.join("cgroup.procs")).unwrap_or_default();
    text.lines().map(str::parse).eq([Ok(std::process::id())])
}

/// Returns whether a group can be made in a folder.
fn is_usable(folder: &Path) -> bool {
    let made = folder.join(next_name());
    std::fs::create_dir(&made)
        .and_then(|()| std::fs::remove_dir(&made))
        .is_ok()
}

/// A name that no group of this process had.
pub(super) fn next_name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{PREFIX}{}-{number}", identity(std::process::id()))
}

/// A process by its number and its PID namespace: another namespace may have the same number.
fn identity(process: u32) -> String {
    let namespace = std::fs::metadata("/proc/self/ns/pid").map_or(0, |found| found.ino());
    format!("{process}-{namespace}")
}

/// The process of this PID namespace that made a group of this name.
fn maker(name: &str) -> Option<u32> {
    let (maker, number) = name.strip_prefix(PREFIX)?.rsplit_once('-')?;
    number.parse::<u64>().ok()?;
    let process: u32 = maker.split_once('-')?.0.parse().ok()?;
    (maker == identity(process)).then_some(process)
}

fn is_dead(process: u32) -> bool {
    let process = i32::try_from(process).ok().and_then(Pid::from_raw);
    process.is_none_or(|process| test_kill_process(process) == Err(rustix::io::Errno::SRCH))
}
