//! Stamps and watches: which of them are trusted.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use gongfu_core::port::Timestamp;
use gongfu_files::Home;

use super::{Ground, listed, shape};
use crate::local::tests::open;
use crate::watch::{Limit, Unwatchable};

#[test]
fn what_changes_nothing_is_no_change() {
    let ground = Ground::new();
    ground.skill("lib/a", "one");
    ground.write("lib/a/x.md", "x");
    let (watched, _) = ground.both();
    let before = watched.current().unwrap();
    ground.write("lib/a/x.md", "x");
    fs::rename(ground.path("lib/a/x.md"), ground.path("lib/a/y.md")).unwrap();
    fs::rename(ground.path("lib/a/y.md"), ground.path("lib/a/x.md")).unwrap();
    ground.write("lib/notes.txt", "x");
    ground.write("lib/.git/HEAD", "x");
    ground.write("lib/node_modules/p/SKILL.md", "x");
    let after = watched.current().unwrap();
    assert!(
        Arc::ptr_eq(&before, &after),
        "{:?} {:?}",
        before.revision(),
        after.revision()
    );
    ground.write("lib/a/x.md", "y");
    assert!(
        !Arc::ptr_eq(&before, &watched.current().unwrap()),
        "else the test is void"
    );
}

#[test]
fn watches_of_folders_that_went_are_dropped() {
    let ground = Ground::new();
    ground.skill("lib/a", "one");
    let (watched, _) = ground.both();
    let count = || watched.lock().watch.watches.as_ref().unwrap().count();
    let folders = || watched.watching(Limit::default())[0].folders;
    let before = (count(), folders());
    assert_eq!(before.1, 2, "the root and the skill");
    for round in 0..20 {
        ground.write(&format!("lib/s{round}/references/x.md"), "x");
        ground.skill(&format!("lib/s{round}"), "x");
        ground.write("lib/a/node_modules/p/x.md", "never watched");
        listed(&watched);
    }
    assert_eq!((count(), folders()), (before.0 + 40, before.1 + 40));
    for round in 0..20 {
        if round % 2 == 0 {
            fs::remove_dir_all(ground.path(&format!("lib/s{round}"))).unwrap();
        } else {
            fs::rename(
                ground.path(&format!("lib/s{round}")),
                ground.path(&format!("r{round}")),
            )
            .unwrap();
        }
        listed(&watched);
    }
    assert_eq!((count(), folders()), before);
}

#[test]
fn a_root_that_can_t_be_watched_is_looked_at() {
    let ground = Ground::new();
    for number in 0..30 {
        ground.skill(&format!("lib/s{number}"), "x");
    }
    let watched = ground.library(ground.settings(), "home");
    let states = watched.watching(Limit(25));
    assert_eq!(states[0].unwatched, Some(Unwatchable::Exhausted));
    assert_eq!(states[0].folders, 0, "what it had is free for others");
    assert_eq!(listed(&watched).len(), 30);
    ground.skill("lib/new", "x");
    assert_eq!(listed(&watched).len(), 30, "not yet a second old");
    for jump in [1_001, -7_200_000, 7_200_000, -1] {
        ground.clock.advance(jump);
        ground.skill(&format!("lib/jump{}", jump + 10_000_000), "x");
        assert_eq!(
            shape(&watched),
            ground.fresh(ground.settings()),
            "a jump by {jump} ms"
        );
    }
    // The control: with more room the same is watched.
    let roomy = ground.library(ground.settings(), "home");
    assert_eq!(roomy.watching(Limit(200))[0].unwatched, None);
}

#[test]
fn a_clock_that_jumps_hides_nothing() {
    let ground = Ground::new();
    ground.skill("lib/a", "one");
    let (watched, control) = ground.both();
    for (round, hours) in [-5_i64, 3, -300_000, 300_000, 0].into_iter().enumerate() {
        ground.clock.advance(hours * 3_600_000);
        ground.skill("lib/a", &format!("round {round}"));
        assert_eq!(
            listed(&watched),
            [format!("lib/a: round {round}")],
            "{hours} hours"
        );
        if hours != 0 {
            assert_eq!(
                listed(&control),
                listed(&watched),
                "{hours} hours, without watches"
            );
        }
    }
}

#[test]
fn a_time_in_the_future_is_never_trusted() {
    let ground = Ground::new();
    ground.skill("lib/a", "one");
    let file = fs::File::options()
        .write(true)
        .open(ground.path("lib/a/SKILL.md"))
        .unwrap();
    let modified = file.metadata().unwrap().modified().unwrap();
    for (now, settled) in [
        (0, false),
        (-7_200, false),
        (1, false),
        (3, true),
        (7_200, true),
    ] {
        let since = modified.duration_since(std::time::UNIX_EPOCH).unwrap();
        let now = i64::try_from(since.as_millis()).unwrap() + now * 1000;
        ground.clock.set(Timestamp(now));
        let home = tempfile::tempdir().unwrap();
        let skills = open(
            Home::at(home.path()),
            ground.settings(),
            Arc::<gongfu_testing::FixedClock>::clone(&ground.clock),
        );
        skills.current().unwrap();
        let unsettled = skills.lock().roots[0].1.unsettled().count();
        assert_eq!(unsettled == 0, settled, "at {now}");
    }
}

#[test]
fn any_changes_come_to_what_a_fresh_start_sees() {
    let ground = Ground::new();
    for number in 0..12 {
        ground.skill(&format!("lib/s{number}"), "x");
    }
    let (watched, _) = ground.both();
    // A generator of Knuth's: the same changes in every run.
    let mut seed: u64 = 12_345;
    let mut random = |below: u64| {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let names = [
        "s1",
        "s2",
        "g",
        "g/s3",
        "g/h/s4",
        "s1/inner",
        "s2/references",
        "g/h",
        "s5/.x",
        "g/run.py",
    ];
    for round in 0..400 {
        for _ in 0..=random(4) {
            let name = names[usize::try_from(random(names.len() as u64)).unwrap()];
            let other = names[usize::try_from(random(names.len() as u64)).unwrap()];
            let (path, to) = (
                ground.path("lib").join(name),
                ground.path("lib").join(other),
            );
            match random(7) {
                0 => drop(fs::remove_dir_all(&path)),
                1 => drop(fs::remove_file(path.join("SKILL.md"))),
                2 => drop(fs::rename(&path, &to)),
                3 => drop(
                    fs::create_dir_all(&path)
                        .and_then(|()| fs::write(path.join("run.py"), "register_skill")),
                ),
                4 => drop(symlink(&to, path.join("link"))),
                _ => drop(fs::create_dir_all(&path).and_then(|()| {
                    let text = format!("---\nname: n{round}\ndescription: {name}\n---\n");
                    fs::write(path.join("SKILL.md"), text)
                })),
            }
        }
        assert_eq!(
            shape(&watched),
            ground.fresh(ground.settings()),
            "round {round}"
        );
    }
}
