//! Environments on disk.

use gongfu_core::dependency::{Language, Record};
use gongfu_core::port::Timestamp;

use super::Storage;
use crate::tree::measure;
use gongfu_files::Home;
use gongfu_files::disk::Root;

const NOW: Timestamp = Timestamp(1_795_253_400_000);

fn record(key: &str) -> Record {
    Record {
        key: key.to_owned(),
        language: Language::Python,
        skill: "a/b".to_owned(),
        from: Vec::new(),
        inferred: false,
        left_out: Vec::new(),
        packages: Vec::new(),
        lock: "requirements.lock".to_owned(),
        interpreter: None,
        index: String::new(),
        made: String::new(),
        took_ms: 1,
        bytes: 0,
        files: 0,
        digest: String::new(),
        compiled: true,
    }
}

/// An environment with one file, as its record says.
pub(crate) fn published(storage: &Storage, compiled: bool) -> Record {
    let build = storage.start_build("k").unwrap().unwrap();
    let root = Root::open(&build.root).unwrap();
    root.replace("a.py", b"1", false).unwrap();
    let mut record = Record {
        compiled,
        ..record("k")
    };
    measure(&root).unwrap().write_to(&mut record);
    storage.publish(&build, &record).unwrap();
    record
}

#[test]
fn change_is_told_only_when_nobody_adds_to_the_files() {
    let folder = tempfile::tempdir().unwrap();
    let storage = Storage::new(Home::at(folder.path()));
    assert_eq!(storage.is_changed("k").unwrap(), Some(false));
    published(&storage, false);
    assert_eq!(storage.is_changed("k").unwrap(), Some(false));
    let addition = storage.start_addition("k").unwrap().unwrap();
    let root = Root::open(&addition.root).unwrap();
    assert_eq!(storage.is_changed("k").unwrap(), Some(false));
    // On its way to its place.
    root.replace("staged", b"1", false).unwrap();
    assert_eq!(storage.is_changed("k").unwrap(), None);
    root.dir().remove_file("staged").unwrap();
    assert_eq!(storage.is_changed("k").unwrap(), Some(false));
    drop(addition);
    root.replace("a.py", b"2", false).unwrap();
    assert_eq!(storage.is_changed("k").unwrap(), Some(true));
}

#[test]
fn environment_that_is_removed_meanwhile_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let storage = Storage::new(Home::at(folder.path()));
    published(&storage, true);
    let all = Root::open(&storage.folder()).unwrap();
    // Removed by somebody else, who still holds the lock on it.
    let removed = all.dir().open("k/held").unwrap().into_std();
    removed.lock().unwrap();
    assert_eq!(storage.is_changed("k").unwrap(), Some(false));
    all.dir().rename("k", all.dir(), "making/aside").unwrap();
    assert_eq!(storage.is_changed("k").unwrap(), Some(false));
    assert!(storage.list().unwrap().is_empty());
    assert!(!storage.remove("k").unwrap());
    // One that is damaged is listed, so that it can be removed.
    all.dir().create_dir("k").unwrap();
    assert!(storage.list().unwrap()[0].record.is_err());
    assert!(storage.remove("k").unwrap());
}

#[test]
fn environment_exists_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let storage = Storage::new(Home::at(folder.path()));
    assert!(storage.find("k", NOW).unwrap().is_none() && storage.list().unwrap().is_empty());
    let build = storage.start_build("k").unwrap().unwrap();
    assert!(storage.find("k", NOW).unwrap().is_none());
    // A sweep removes only an interrupted build.
    storage.sweep(NOW).unwrap();
    Root::open(&build.root)
        .unwrap()
        .replace("file", b"1", false)
        .unwrap();
    drop(build);
    storage.sweep(NOW).unwrap();
    let build = storage.start_build("k").unwrap().unwrap();
    assert!(
        Root::open(&build.root)
            .unwrap()
            .list(&gongfu_core::skill::SkillPath::root())
            .unwrap()
            .is_empty()
    );
    Root::open(&build.root)
        .unwrap()
        .replace("file", b"2", false)
        .unwrap();
    storage.publish(&build, &record("k")).unwrap();
    let leased = storage.find("k", NOW).unwrap().unwrap();
    assert_eq!(leased.record, record("k"));
    let stored = storage.list().unwrap().pop().unwrap();
    assert_eq!(stored.record.unwrap().1, NOW);
    // A leased environment stays.
    assert!(!storage.remove("k").unwrap());
    drop(leased);
    assert!(storage.remove("k").unwrap());
    assert!(storage.find("k", NOW).unwrap().is_none());
}

#[test]
fn failed_build_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let storage = Storage::new(Home::at(folder.path()));
    let build = storage.start_build("k").unwrap().unwrap();
    let made = build.root.parent().unwrap().to_owned();
    assert!(Root::open(&made).is_ok());
    build.discard().unwrap();
    assert!(Root::open(&made).is_err());
    drop(build);
    assert!(storage.start_build("k").unwrap().is_some());
}
