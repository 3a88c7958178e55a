//! What is found by what the system says, and what becomes of groups.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use gongfu_core::sandbox::Limits;

use super::place::{self, Own, Place, Version, groups};
use super::{Groups, value};

const MOUNTS_ONE: &str = "\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 /docker/one /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory
38 31 0:35 / /sys/fs/with\\040space/pids rw,relatime - cgroup cgroup rw,pids
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
";

#[test]
fn groups_are_found_below_their_mounts() {
    let own = "8:pids:/a/b\n4:memory:/docker/one/c\n3:cpu,cpuacct:/\n1:name=systemd:/\n0::/u\n";
    let found = |folder: &str, controllers: &[&str]| Own {
        folder: PathBuf::from(folder),
        controllers: controllers.iter().map(|&name| name.to_owned()).collect(),
    };
    assert_eq!(
        groups(MOUNTS_ONE, own),
        [
            found("/sys/fs/with space/pids/a/b", &["pids"]),
            found("/sys/fs/cgroup/memory/c", &["memory"]),
            found("/sys/fs/cgroup/cpu", &["cpu", "cpuacct"]),
            found("/sys/fs/cgroup/unified/u", &[]),
        ]
    );
}

#[test]
fn groups_out_of_sight_are_none() {
    for own in [
        "4:memory:/docker/two\n",
        "4:memory:/\n",
        "8:pids:/../a\n",
        "8:pids\n",
        "x\n",
        "9:freezer:/\n",
        "",
    ] {
        assert_eq!(groups(MOUNTS_ONE, own), [], "{own}");
    }
    assert_eq!(groups("", "0::/\n8:pids:/\n"), []);
    assert_eq!(groups("1 2 3\n - \nx - cgroup2", "0::/\n"), []);
}

#[test]
fn a_number_is_that_of_the_whole_name() {
    let text = "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n";
    assert_eq!(value(text, "oom_kill"), Some(3));
    assert_eq!(value(text, "oom"), None);
    assert_eq!(value("max 2\n", "max"), Some(2));
    assert_eq!(value("max\n", "max"), None);
}

/// A place that is no place for groups, in which everything else is as it is there.
fn place_at(folder: &Path) -> Place {
    Place {
        folder: folder.to_owned(),
        version: Version::One,
        memory: true,
        processes: true,
        processors: true,
    }
}

#[test]
fn what_the_dead_left_is_found_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let mut dead = Command::new("true").stdin(Stdio::null()).spawn().unwrap();
    dead.wait().unwrap();
    let own = place::name(7);
    let of = |process: u32| own.replacen(&std::process::id().to_string(), &process.to_string(), 1);
    let elsewhere = format!("gongfu-{}-1-7", dead.id());
    let left = of(dead.id());
    let others = ["gongfu-server", "gongfu-x-1-2", "other", &own, &elsewhere];
    for name in others.iter().chain(&[left.as_str()]) {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    let found = place_at(folder.path()).left_behind();
    assert_eq!(found, [folder.path().join(&left)]);
}

#[test]
fn where_no_limit_can_be_set_there_are_no_groups() {
    let folder = tempfile::tempdir().unwrap();
    let groups = Groups {
        places: vec![place_at(folder.path())],
    };
    assert!(groups.make(&Limits::default(), 2).is_err());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    let nowhere = Groups { places: Vec::new() };
    assert!(nowhere.make(&Limits::default(), 2).is_err());
}

#[test]
fn a_group_ends_whoever_is_in_it_and_goes() {
    let Some(groups) = Groups::of_this_process() else {
        println!("not run: this machine has no control groups for us");
        return;
    };
    let group = groups.make(&Limits::default(), 2).unwrap();
    let folders: Vec<PathBuf> = group.parts.iter().map(|part| part.folder.clone()).collect();
    let mut inside = Command::new("sleep").arg("600").spawn().unwrap();
    for folder in &folders {
        super::write(&folder.join("cgroup.procs"), &inside.id().to_string()).unwrap();
    }
    let counted = group.counted();
    assert!(!counted.oom && !counted.crowded);
    // Somebody else waits for it, so it is no one's any more once it is dead.
    let begun = Instant::now();
    assert!(group.end());
    assert!(begun.elapsed() < Duration::from_secs(10));
    assert!(!inside.wait().unwrap().success());
    drop(group);
    for folder in folders {
        assert!(!folder.exists(), "{}", folder.display());
    }
}

#[test]
fn a_group_holds_what_it_was_told() {
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
        let told = |file: &str| super::read(&part.folder.join(file)).unwrap();
        let (memory, share) = match part.place.version {
            Version::One => ("memory.limit_in_bytes", ("cpu.shares", "128")),
            Version::Two => ("memory.max", ("cpu.weight", "12")),
        };
        if part.place.memory {
            assert_eq!(told(memory).trim(), ((64_u64 + 2 * 2) << 20).to_string());
        }
        if part.place.processes {
            assert_eq!(told("pids.max").trim(), "9");
        }
        if part.place.processors {
            assert_eq!(told(share.0).trim(), share.1);
        }
    }
}

/// The second version, as far as it can be tried where the first one has memory: how a group is found
/// to make others in, and that what is in one can be ended at once.
#[test]
fn the_second_version_gives_what_it_has() {
    let told = |path: &str| std::fs::read_to_string(path).unwrap();
    let groups = groups(&told("/proc/self/mountinfo"), &told("/proc/self/cgroup"));
    let own = groups.iter().find(|group| group.controllers.is_empty());
    let made = own.and_then(|own| {
        let made = own.folder.join(place::name(super::next()));
        std::fs::create_dir(&made).ok().map(|()| made)
    });
    let Some(made) = made else {
        println!("not run: no group of the second version can be made here");
        return;
    };
    // Nobody in it, and nothing given: this process isn't in it, so it can't be left either.
    let found = place::of_version_two(&made, &["memory", "pids", "no-such-controller"]);
    assert_eq!(found, None);
    let mut inside = Command::new("sleep").arg("600").spawn().unwrap();
    super::write(&made.join("cgroup.procs"), &inside.id().to_string()).unwrap();
    let part = super::Part {
        folder: made.clone(),
        place: Place {
            version: Version::Two,
            ..place_at(&made)
        },
    };
    assert!(part.end(Instant::now() + Duration::from_secs(20)));
    assert!(!inside.wait().unwrap().success());
    drop(super::Group {
        parts: vec![part],
        alarm: None,
        lent: None,
    });
    assert!(!made.exists());
}
