//! Tests of finding groups, of their limits and of their removal.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use gongfu_core::sandbox::Limits;
use rustix::event::{PollFd, poll};

use super::file::{read, value, write};
use super::hierarchy::{self, Hierarchy, Membership, Version, memberships, next_name};
use super::{Alarm, Group, Groups, Part};
use crate::poll::timespec;

const MOUNTS_ONE: &str = "\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 /docker/one /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory
38 31 0:35 / /sys/fs/with\\040space/pids rw,relatime - cgroup cgroup rw,pids
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
";

#[test]
fn finds_groups_below_their_mounts() {
    let own = "8:pids:/a/b\n4:memory:/docker/one/c\n3:cpu,cpuacct:/\n1:name=systemd:/\n0::/u\n";
    let found = |folder: &str, controllers: &[&str]| Membership {
        folder: PathBuf::from(folder),
        controllers: controllers.iter().map(|&name| name.to_owned()).collect(),
    };
    assert_eq!(
        memberships(MOUNTS_ONE, own),
        [
            found("/sys/fs/with space/pids/a/b", &["pids"]),
            found("/sys/fs/cgroup/memory/c", &["memory"]),
            found("/sys/fs/cgroup/cpu", &["cpu", "cpuacct"]),
            found("/sys/fs/cgroup/unified/u", &[]),
        ]
    );
}

#[test]
fn leaves_out_groups_that_are_not_visible() {
    for own in [
        "4:memory:/docker/two\n",
        "4:memory:/\n",
        "8:pids:/../a\n",
        "8:pids\n",
        "x\n",
        "9:freezer:/\n",
        "",
    ] {
        assert_eq!(memberships(MOUNTS_ONE, own), [], "{own}");
    }
    assert_eq!(memberships("", "0::/\n8:pids:/\n"), []);
    assert_eq!(memberships("1 2 3\n - \nx - cgroup2", "0::/\n"), []);
}

#[test]
fn value_belongs_to_the_whole_key() {
    let text = "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n";
    assert_eq!(value(text, "oom_kill"), Some(3));
    assert_eq!(value(text, "oom"), None);
    assert_eq!(value("max 2\n", "max"), Some(2));
    assert_eq!(value("max\n", "max"), None);
}

/// A plain folder as if it were a hierarchy.
fn hierarchy_at(folder: &Path) -> Hierarchy {
    Hierarchy {
        folder: folder.to_owned(),
        version: Version::One,
        memory: true,
        processes: true,
        processors: true,
    }
}

#[test]
fn finds_only_groups_of_dead_processes() {
    let folder = tempfile::tempdir().unwrap();
    let mut dead = Command::new("true").stdin(Stdio::null()).spawn().unwrap();
    dead.wait().unwrap();
    let own = next_name();
    let of = |process: u32| own.replacen(&std::process::id().to_string(), &process.to_string(), 1);
    let of_another_namespace = format!("gongfu-{}-1-7", dead.id());
    let left_behind = of(dead.id());
    let others = [
        "gongfu-server",
        "gongfu-x-1-2",
        "other",
        &own,
        &of_another_namespace,
    ];
    for name in others.iter().chain(&[left_behind.as_str()]) {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    let found = hierarchy_at(folder.path()).left_behind();
    assert_eq!(found, [folder.path().join(&left_behind)]);
}

#[test]
fn makes_no_group_where_no_limit_can_be_set() {
    let folder = tempfile::tempdir().unwrap();
    let groups = Groups {
        hierarchies: vec![hierarchy_at(folder.path())],
    };
    assert!(groups.make(&Limits::default(), 2).is_err());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    let nowhere = Groups {
        hierarchies: Vec::new(),
    };
    assert!(nowhere.make(&Limits::default(), 2).is_err());
}

#[test]
fn dropping_a_group_kills_its_processes_and_removes_it() {
    let Some(groups) = Groups::of_this_process() else {
        println!("not run: this machine has no control groups for us");
        return;
    };
    let group = groups.make(&Limits::default(), 2).unwrap();
    let folders: Vec<PathBuf> = group.parts.iter().map(|part| part.folder.clone()).collect();
    let mut inside = Command::new("sleep").arg("600").spawn().unwrap();
    for folder in &folders {
        write(&folder.join("cgroup.procs"), &inside.id().to_string()).unwrap();
    }
    let limit_hits = group.limit_hits();
    assert!(!limit_hits.oom && !limit_hits.crowded);
    let start = Instant::now();
    assert!(group.end());
    assert!(start.elapsed() < Duration::from_secs(10));
    assert!(!inside.wait().unwrap().success());
    drop(group);
    for folder in folders {
        assert!(!folder.exists(), "{}", folder.display());
    }
}

#[test]
fn removed_group_is_not_out_of_memory() {
    let Some(groups) = Groups::of_this_process() else {
        println!("not run: this machine has no control groups for us");
        return;
    };
    let mut group = groups.make(&Limits::default(), 2).unwrap();
    let mut alarm = group.alarm.take().unwrap();
    drop(group);
    // The kernel tells of the removal by the same means.
    if matches!(alarm, Alarm::Counter(..)) {
        let (handle, flags) = alarm.handle();
        let mut handles = [PollFd::from_borrowed_fd(handle, flags)];
        let timeout = timespec(Duration::from_secs(20));
        assert_eq!(poll(&mut handles, Some(&timeout)).unwrap(), 1);
    }
    assert!(!alarm.is_true(0));
}

#[test]
fn new_group_has_the_limits() {
    let Some(groups) = Groups::of_this_process() else {
        println!("not run: this machine has no control groups for us");
        return;
    };
    let limits = Limits {
        memory: 64 << 20,
        processes: 7,
        ..Limits::default()
    };
    let group = groups.make(&limits, 2).unwrap();
    for part in &group.parts {
        let told = |file: &str| read(&part.folder.join(file)).unwrap();
        let (memory, share) = match part.hierarchy.version {
            Version::One => ("memory.limit_in_bytes", ("cpu.shares", "128")),
            Version::Two => ("memory.max", ("cpu.weight", "12")),
        };
        if part.hierarchy.memory {
            assert_eq!(told(memory).trim(), ((64_u64 + 2 * 2) << 20).to_string());
        }
        if part.hierarchy.processes {
            assert_eq!(told("pids.max").trim(), "9");
        }
        if part.hierarchy.processors {
            assert_eq!(told(share.0).trim(), share.1);
        }
    }
}

/// Tries the second version as far as that can be where the first one has the controllers.
#[test]
fn kills_a_group_of_the_second_version_at_once() {
    let told = |path: &str| std::fs::read_to_string(path).unwrap();
    let groups = memberships(&told("/proc/self/mountinfo"), &told("/proc/self/cgroup"));
    let own = groups.iter().find(|group| group.controllers.is_empty());
    let made = own.and_then(|own| {
        let made = own.folder.join(next_name());
        std::fs::create_dir(&made).ok().map(|()| made)
    });
    let Some(made) = made else {
        println!("not run: no group of the second version can be made here");
        return;
    };
    // This process isn't in it, so it can't leave it either.
    let found = hierarchy::of_version_two(&made, &["memory", "pids", "no-such-controller"]);
    assert_eq!(found, None);
    let mut inside = Command::new("sleep").arg("600").spawn().unwrap();
    write(&made.join("cgroup.procs"), &inside.id().to_string()).unwrap();
    let part = Part {
        folder: made.clone(),
        hierarchy: Hierarchy {
            version: Version::Two,
            ..hierarchy_at(&made)
        },
    };
    assert!(part.end(Instant::now() + Duration::from_secs(20)));
    assert!(!inside.wait().unwrap().success());
    drop(Group::of(vec![part]));
    assert!(!made.exists());
}
