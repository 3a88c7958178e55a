//! Changes that the system reports, and those that it doesn't.
#![expect(
    clippy::disallowed_methods,
    reason = "tests make the folders that they watch"
)]

use std::collections::HashSet;
use std::fs;
use std::sync::Arc;

use super::{Event, Limit, Unwatchable, Waiter, Watches};

#[test]
fn change_is_reported_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut watches = Watches::new(Limit::default()).unwrap();
    let below: Arc<str> = "x".into();
    let mark = watches.folder(folder.path(), 7, &below).unwrap();
    assert!(watches.drain().is_empty(), "no event yet");
    for round in 0..100 {
        let name = format!("{round}.md");
        fs::write(folder.path().join(&name), "x").unwrap();
        let events = watches.drain();
        let about = |event: &Event| matches!(event, Event::Folder { root: 7, name: Some(event), .. } if *event == name);
        assert!(events.iter().any(about), "round {round}: {events:?}");
    }
    fs::read(folder.path().join("0.md")).unwrap();
    assert!(watches.drain().is_empty(), "reading is no change");
    watches.forget(mark, 7, "x");
    fs::write(folder.path().join("late"), "x").unwrap();
    assert!(watches.drain().is_empty() && watches.count() == 0);
}

#[test]
fn one_folder_has_several_targets() {
    let folder = tempfile::tempdir().unwrap();
    let mut watches = Watches::new(Limit::default()).unwrap();
    let below: Arc<str> = "".into();
    let mark = watches.folder(folder.path(), 1, &below).unwrap();
    assert_eq!(watches.folder(folder.path(), 2, &below), Ok(mark));
    let entry = folder.path().join("wanted");
    watches.entry(folder.path(), entry.clone(), false).unwrap();
    assert_eq!(watches.count(), 1);
    fs::write(folder.path().join("other"), "x").unwrap();
    assert!(!watches.drain().contains(&Event::Entry(entry.clone())));
    watches.forget(mark, 1, "");
    watches.forget(mark, 2, "");
    fs::create_dir(&entry).unwrap();
    assert_eq!(watches.drain(), [Event::Entry(entry)]);
    watches.retain_entries(&HashSet::new());
    assert!(watches.count() == 0);
}

#[test]
fn limit_refuses_and_a_removed_folder_makes_room() {
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
        watches.count(),
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
fn overflow_stands_for_every_change() {
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
fn waiter_is_woken_by_events_and_by_others() {
    let folder = tempfile::tempdir().unwrap();
    let mut watches = Watches::new(Limit::default()).unwrap();
    watches.folder(folder.path(), 1, &"".into()).unwrap();
    let mut waiter = Waiter::new().unwrap();
    watches.attach(&mut waiter);
    assert!(!waiter.wait(Some(std::time::Duration::ZERO)));
    fs::write(folder.path().join("x"), "x").unwrap();
    assert!(waiter.wait(None));
    watches.drain();
    let other = waiter.clone();
    let thread = std::thread::spawn(move || other.wake());
    assert!(!waiter.wait(None), "woken, and nothing happened");
    thread.join().unwrap();
}
