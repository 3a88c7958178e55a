//! Environments on disk.

use gongfu_core::dependency::{Language, Record};
use gongfu_core::port::Timestamp;

use super::Storage;
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
