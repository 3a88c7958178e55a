//! What the system tells of folders, and what it doesn't.
#![expect(
    clippy::disallowed_methods,
    reason = "tests make the folders that they watch"
)]

use std::collections::HashSet;
use std::fs;
use std::sync::Arc;

use super::{Event, Limit, Unwatchable, Waiter, Watches};

#[test]
fn what_happened_is_known_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut watches = Watches::new(Limit::default()).unwrap();
    let below: Arc<str> = "x".into();
    let mark = watches.folder(folder.path(), 7, &below).unwrap();
    assert!(watches.drain().is_empty(), "nothing happened yet");
    for round in 0..100 {
        let name = format!("{round}.md");
        fs::write(folder.path().join(&name), "x").unwrap();
        let told = watches.drain();
        let about = |event: &Event| matches!(event, Event::Folder { root: 7, name: Some(told), .. } if *told == name);
        assert!(told.iter().any(about), "round {round}: {told:?}");
    }
    fs::read(folder.path().join("0.md")).unwrap();
    assert!(watches.drain().is_empty(), "reading is no change");
    watches.forget(mark, 7, "x");
    fs::write(folder.path().join("late"), "x").unwrap();
    assert!(watches.drain().is_empty() && watches.is_empty());
}

#[test]
fn one_folder_may_be_watched_for_several_reasons() {
    let folder = tempfile::tempdir().unwrap();
    let mut watches = Watches::new(Limit::default()).unwrap();
    let below: Arc<str> = "".into();
    let mark = watches.folder(folder.path(), 1, &below).unwrap();
    assert_eq!(watches.folder(folder.path(), 2, &below), Ok(mark));
    let hinge = folder.path().join("wanted");
    watches.hinge(folder.path(), hinge.clone(), false).unwrap();
    assert_eq!(watches.len(), 1);
    fs::write(folder.path().join("other"), "x").unwrap();
    assert!(!watches.drain().contains(&Event::Hinge(hinge.clone())));
    watches.forget(mark, 1, "");
    watches.forget(mark, 2, "");
    fs::create_dir(&hinge).unwrap();
    assert_eq!(watches.drain(), [Event::Hinge(hinge)]);
    watches.keep_hinges(&HashSet::new());
    assert!(watches.is_empty());
}

#[test]
fn a_limit_is_told_and_a_removed_folder_makes_room() {
    let folder = tempfile::tempdir().unwrap();
    let mut watches = Watches::new(Limit(2)).unwrap();
    let add = |watches: &mut Watches, name: &str| {
        fs::create_dir_all(folder.path().join(name)).unwrap();
        watches.folder(&folder.path().join(name), 1, &name.into())
    };
    let first = add(&mut watches, "a").unwrap();
    add(&mut watches, "b").unwrap();
    assert_eq!(add(&mut watches, "a"), Ok(first), "it is watched already");
    assert_eq!(add(&mut watches, "c"), Err(Unwatchable::Exhausted));
    fs::remove_dir(folder.path().join("b")).unwrap();
    watches.drain();
    assert_eq!(
        watches.len(),
        1,
        "the watch of a folder that went is dropped"
    );
    add(&mut watches, "c").unwrap();
    let gone = watches.folder(&folder.path().join("none"), 1, &"none".into());
    assert_eq!(gone, Err(Unwatchable::Gone));
    std::os::unix::fs::symlink("a", folder.path().join("link")).unwrap();
    let link = watches.folder(&folder.path().join("link"), 1, &"link".into());
    assert_eq!(link, Err(Unwatchable::Gone), "a link is no folder");
}

#[test]
fn more_than_anybody_counts_is_everything() {
    let folder = tempfile::tempdir().unwrap();
    let mut watches = Watches::new(Limit::default()).unwrap();
    watches.folder(folder.path(), 1, &"".into()).unwrap();
    let most: usize = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events")
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    let (one, other) = (folder.path().join("one"), folder.path().join("other"));
    fs::write(&one, "").unwrap();
    for _ in 0..most {
        fs::rename(&one, &other).unwrap();
        fs::rename(&other, &one).unwrap();
    }
    assert!(watches.drain().contains(&Event::Everything));
    assert!(watches.drain().is_empty());
}

#[test]
fn who_waits_is_woken_by_events_and_by_others() {
    let folder = tempfile::tempdir().unwrap();
    let mut watches = Watches::new(Limit::default()).unwrap();
    watches.folder(folder.path(), 1, &"".into()).unwrap();
    let mut waiter = Waiter::new().unwrap();
    waiter.attend(&watches);
    assert!(!waiter.wait(Some(std::time::Duration::ZERO)));
    fs::write(folder.path().join("x"), "x").unwrap();
    assert!(waiter.wait(None));
    watches.drain();
    let other = waiter.clone();
    let thread = std::thread::spawn(move || other.wake());
    assert!(!waiter.wait(None), "woken, and nothing happened");
    thread.join().unwrap();
}
