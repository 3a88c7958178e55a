//! Where groups can be made: found by what the system says of its mounts and of this process.

use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::process::{Pid, test_kill_process};

use super::{read, write};

/// What the names of all groups of runs begin with.
const PREFIX: &str = "gongfu-";
/// The group that the server moves to, where it must not stay in that of which runs have theirs below.
const SERVER: &str = "gongfu-server";

/// What groups of the second version are to share out: all of it, or at least what is held to a limit.
const WANTED: [&[&str]; 2] = [&["memory", "pids", "cpu"], &["memory", "pids"]];

/// Which control groups they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    /// A hierarchy for each controller.
    One,
    /// One hierarchy for all of them.
    Two,
}

impl Version {
    /// The file that says how often a process was ended for want of memory.
    pub(super) fn events(self) -> &'static str {
        match self {
            Self::One => "memory.oom_control",
            Self::Two => "memory.events",
        }
    }
}

/// A folder that groups can be made in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) folder: PathBuf,
    pub(super) version: Version,
    /// It counts memory.
    pub(super) memory: bool,
    /// It counts processes.
    pub(super) processes: bool,
    /// It shares out the processors.
    pub(super) processors: bool,
}

/// The places of this machine that this process can use; none where it can use none.
pub(super) fn find() -> Vec<Place> {
    let told = |path: &str| read(Path::new(path)).unwrap_or_default();
    let (mounts, own) = (told("/proc/self/mountinfo"), told("/proc/self/cgroup"));
    let groups = groups(&mounts, &own);
    let one = groups.iter().filter_map(|group| {
        let has = |controller: &str| group.controllers.iter().any(|known| known == controller);
        let place = Place {
            folder: group.folder.clone(),
            version: Version::One,
            memory: has("memory"),
            processes: has("pids"),
            processors: has("cpu"),
        };
        let has_any = place.memory || place.processes || place.processors;
        (has_any && is_usable(&place.folder)).then_some(place)
    });
    let mut places: Vec<Place> = one.collect();
    if places.is_empty() {
        let two = groups.iter().find(|group| group.controllers.is_empty());
        // Who may be given memory to share out may still not be given the processors.
        let found = WANTED.iter().find_map(|wanted| {
            let folder = of_version_two(&two?.folder, wanted)?;
            Some((folder, wanted.contains(&"cpu")))
        });
        places.extend(found.map(|(folder, processors)| Place {
            folder,
            version: Version::Two,
            memory: true,
            processes: true,
            processors,
        }));
    }
    places
}

/// The places in which another process is, as far as they count; none where they can't be seen.
pub(super) fn of_process(process: u32) -> Vec<Place> {
    let told = |path: &str| read(Path::new(path)).unwrap_or_default();
    let mounts = told("/proc/self/mountinfo");
    let own = told(&format!("/proc/{process}/cgroup"));
    let groups = groups(&mounts, &own);
    let one = groups.iter().filter_map(|group| {
        let has = |controller: &str| group.controllers.iter().any(|known| known == controller);
        let place = Place {
            folder: group.folder.clone(),
            version: Version::One,
            memory: has("memory"),
            processes: has("pids"),
            processors: false,
        };
        (place.memory || place.processes).then_some(place)
    });
    let mut places: Vec<Place> = one.collect();
    if places.is_empty() {
        let two = groups.iter().find(|group| group.controllers.is_empty());
        places.extend(two.map(|group| Place {
            folder: group.folder.clone(),
            version: Version::Two,
            memory: group.folder.join("memory.events").exists(),
            processes: group.folder.join("pids.events").exists(),
            processors: false,
        }));
    }
    places
}

/// A group of this process.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Own {
    pub(super) folder: PathBuf,
    /// None in the second version, where they are counted by files.
    pub(super) controllers: Vec<String>,
}

/// The groups of this process, by its `mountinfo` and its `cgroup` (`proc(5)`).
pub(super) fn groups(mounts: &str, own: &str) -> Vec<Own> {
    let own = own.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        let controllers = controllers.split(',').filter(|name| !name.is_empty());
        let controllers: Vec<String> = controllers.map(str::to_owned).collect();
        let folder = mounts
            .lines()
            .find_map(|mount| folder(mount, &controllers, path))?;
        Some(Own {
            folder,
            controllers,
        })
    });
    own.collect()
}

/// Where a group lies, if it is below this mount.
fn folder(mount: &str, controllers: &[String], path: &str) -> Option<PathBuf> {
    let (before, after) = mount.split_once(" - ")?;
    let mut before = before.split(' ').skip(3);
    let (root, place) = (unescaped(before.next()?), unescaped(before.next()?));
    let mut after = after.split(' ');
    let kind = after.next()?;
    let mut options = after.nth(1)?.split(',');
    let is_it = match controllers.first() {
        None => kind == "cgroup2",
        Some(first) => kind == "cgroup" && options.any(|option| option == first),
    };
    let below = Path::new(path).strip_prefix(&root).ok()?;
    // A group that lies outside of what this process may see is named by climbing to it.
    let is_below = below
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    (is_it && is_below).then(|| place.join(below))
}

/// A path as it is: four characters stand in it by their numbers.
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

/// Where groups that have these controllers can be made in the second version: below the group of this
/// process, where it may be left for that, else beside it.
pub(super) fn of_version_two(own: &Path, controllers: &[&str]) -> Option<PathBuf> {
    let has = |folder: &Path, file: &str| {
        let text = read(&folder.join(file)).unwrap_or_default();
        let known: Vec<&str> = text.split_whitespace().collect();
        controllers.iter().all(|name| known.contains(name))
    };
    let gives = |folder: &Path| has(folder, "cgroup.subtree_control") && is_usable(folder);
    if gives(own) {
        return Some(own.to_owned());
    }
    if has(own, "cgroup.controllers") && is_alone(own) && is_usable(own) {
        // A group of which others get controllers may have no processes itself.
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
        .filter(|beside| gives(beside))
        .map(Path::to_owned)
}

/// Whether this process is the only one of a group.
fn is_alone(group: &Path) -> bool {
    let text = read(&group.join("cgroup.procs")).unwrap_or_default();
    text.lines().map(str::parse).eq([Ok(std::process::id())])
}

/// Whether a group can be made in a folder.
fn is_usable(folder: &Path) -> bool {
    let made = folder.join(name(super::next()));
    std::fs::create_dir(&made)
        .and_then(|()| std::fs::remove_dir(&made))
        .is_ok()
}

/// What a group of this process is called. The same number is somebody else's in another world of
/// processes, so that is part of it.
pub(super) fn name(number: u64) -> String {
    format!("{}{}-{number}", PREFIX, itself(std::process::id()))
}

fn itself(process: u32) -> String {
    use std::os::unix::fs::MetadataExt as _;
    let world = std::fs::metadata("/proc/self/ns/pid").map_or(0, |found| found.ino());
    format!("{process}-{world}")
}

impl Place {
    /// The groups that dead processes left behind.
    pub(super) fn left_behind(&self) -> Vec<PathBuf> {
        let mut left = Vec::new();
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten();
        for entry in entries.flatten() {
            let name = entry.file_name();
            let owner = name.to_str().and_then(|name| {
                let rest = name.strip_prefix(PREFIX)?;
                let (owner, number) = rest.rsplit_once('-')?;
                number.parse::<u64>().ok()?;
                let process: u32 = owner.split_once('-')?.0.parse().ok()?;
                // What somebody of another world made may well be in use.
                (owner == itself(process)).then_some(process)
            });
            if owner.is_some_and(is_dead) {
                left.push(self.folder.join(name));
            }
        }
        left
    }
}

fn is_dead(process: u32) -> bool {
    let process = i32::try_from(process).ok().and_then(Pid::from_raw);
    process.is_none_or(|process| test_kill_process(process) == Err(rustix::io::Errno::SRCH))
}
