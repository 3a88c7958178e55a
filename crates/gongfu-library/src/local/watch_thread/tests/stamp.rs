//! Stamps and watches: which of them are trusted.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use gongfu_core::port::Timestamp;
use gongfu_files::Home;

use super::{Fixture, listed, shape};
use crate::local::tests::open;
use crate::watch::{Limit, Unwatchable};

#[test]
fn ignored_files_and_same_content_make_no_revision() {
    let fixture = Fixture::new();
    fixture.skill("lib/a", "one");
    fixture.write("lib/a/x.md", "x");
    let (watched, _) = fixture.both();
    let before = watched.current().unwrap();
    fixture.write("lib/a/x.md", "x");
    fs::rename(fixture.path("lib/a/x.md"), fixture.path("lib/a/y.md")).unwrap();
    fs::rename(fixture.path("lib/a/y.md"), fixture.path("lib/a/x.md")).unwrap();
    fixture.write("lib/notes.txt", "x");
    fixture.write("lib/.git/HEAD", "x");
    fixture.write("lib/node_modules/p/SKILL.md", "x");
    let after = watched.current().unwrap();
    assert!(
        Arc::ptr_eq(&before, &after),
        "{:?} {:?}",
        before.revision(),
        after.revision()
    );
    fixture.write("lib/a/x.md", "y");
    assert!(
        !Arc::ptr_eq(&before, &watched.current().unwrap()),
        "else the test is void"
    );
}

#[test]
fn watches_of_folders_that_went_are_dropped() {
    let fixture = Fixture::new();
    fixture.skill("lib/a", "one");
    let (watched, _) = fixture.both();
    let count = || watched.lock().watch.watches.as_ref().unwrap().count();
    let folders = || watched.watching(Limit::default())[0].folders;
    let before = (count(), folders());
    assert_eq!(before.1, 2, "the root and the skill");
    for round in 0..20 {
        fixture.write(&format!("lib/s{round}/references/x.md"), "x");
        fixture.skill(&format!("lib/s{round}"), "x");
        fixture.write("lib/a/node_modules/p/x.md", "never watched");
        listed(&watched);
    }
    assert_eq!((count(), folders()), (before.0 + 40, before.1 + 40));
    for round in 0..20 {
        if round % 2 == 0 {
            fs::remove_dir_all(fixture.path(&format!("lib/s{round}"))).unwrap();
        } else {
            fs::rename(
                fixture.path(&format!("lib/s{round}")),
                fixture.path(&format!("r{round}")),
            )
            .unwrap();
        }
        listed(&watched);
    }
    assert_eq!((count(), folders()), before);
}

#[test]
fn unwatchable_root_is_polled() {
    let fixture = Fixture::new();
    for number in 0..30 {
        fixture.skill(&format!("lib/s{number}"), "x");
    }
    let watched = fixture.library(fixture.settings(), "home");
    let states = watched.watching(Limit(25));
    assert_eq!(states[0].unwatched, Some(Unwatchable::Exhausted));
    assert_eq!(states[0].folders, 0, "what it had is free for others");
    assert_eq!(listed(&watched).len(), 30);
    fixture.skill("lib/new", "x");
    assert_eq!(listed(&watched).len(), 30, "not yet a second old");
    for jump in [1_001, -7_200_000, 7_200_000, -1] {
        fixture.clock.advance(jump);
        fixture.skill(&format!("lib/jump{}", jump + 10_000_000), "x");
        assert_eq!(
            shape(&watched),
            fixture.fresh(fixture.settings()),
            "a jump by {jump} ms"
        );
    }
    // The control: with more room the same is watched.
    let roomy = fixture.library(fixture.settings(), "home");
    assert_eq!(roomy.watching(Limit(200))[0].unwatched, None);
}

#[test]
fn a_clock_that_jumps_hides_nothing() {
    let fixture = Fixture::new();
    fixture.skill("lib/a", "one");
    let (watched, control) = fixture.both();
    for (round, hours) in [-5_i64, 3, -300_000, 300_000, 0].into_iter().enumerate() {
        fixture.clock.advance(hours * 3_600_000);
        fixture.skill("lib/a", &format!("round {round}"));
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
    let fixture = Fixture::new();
    fixture.skill("lib/a", "one");
    let file = fs::File::options()
        .write(true)
        .open(fixture.path("lib/a/SKILL.md"))
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
        fixture.clock.set(Timestamp(now));
        let home = tempfile::tempdir().unwrap();
        let skills = open(
            Home::at(home.path()),
            fixture.settings(),
            Arc::<gongfu_testing::FixedClock>::clone(&fixture.clock),
        );
        skills.current().unwrap();
        let unsettled = skills.lock().roots[0].1.unsettled().count();
        assert_eq!(unsettled == 0, settled, "at {now}");
    }
}

#[test]
fn random_changes_end_in_the_state_of_a_fresh_start() {
    let fixture = Fixture::new();
    for number in 0..12 {
        fixture.skill(&format!("lib/s{number}"), "x");
    }
    let (watched, _) = fixture.both();
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
                fixture.path("lib").join(name),
                fixture.path("lib").join(other),
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
            fixture.fresh(fixture.settings()),
            "round {round}"
        );
    }
}
