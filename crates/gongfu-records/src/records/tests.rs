//! The places of records on disk. The promises of all backends are in gongfu-testing.
#![expect(
    clippy::disallowed_methods,
    reason = "tests make the folders that they look at"
)]

use std::fs;

use gongfu_core::port::{PortError, RecordKey, Records as _};
use gongfu_files::Home;
use gongfu_testing::now;

use super::FileRecords;

#[test]
fn files_have_their_names_of_before() {
    let home = tempfile::tempdir().unwrap();
    let home = fs::canonicalize(home.path()).unwrap();
    let records = FileRecords::new(Home::at(&home));
    for (key, file, lock) in [
        ("approvals", "approvals.json", "approvals.lock"),
        ("a/b", "records/a/b.json", "records/a.lock"),
        ("a/b/c", "records/a/b/c.json", "records/a.lock"),
    ] {
        let key = RecordKey::new(key).unwrap();
        now(records.set(&key, None, Some(b"{}\n"))).unwrap();
        assert_eq!(records.path_of(&key), home.join(file));
        assert_eq!(fs::read(home.join(file)).unwrap(), b"{}\n");
        assert!(home.join(lock).is_file());
        let place = now(records.get(&key)).unwrap().unwrap().place;
        assert_eq!(place, home.join(file).display().to_string());
    }
    for (log, file) in [
        ("audit", "audit/audit.jsonl"),
        ("a/log", "records/a/log/log.jsonl"),
    ] {
        now(records.append(&RecordKey::new(log).unwrap(), b"{}")).unwrap();
        assert_eq!(fs::read(home.join(file)).unwrap(), b"{}\n");
    }
}

#[test]
fn reading_creates_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    let records = FileRecords::new(Home::at(&home));
    let key = RecordKey::new("grants").unwrap();
    assert_eq!(now(records.get(&key)).unwrap(), None);
    assert_eq!(now(records.list(&key)).unwrap(), []);
    assert_eq!(now(records.entries(&key, 10)).unwrap(), [b""; 0]);
    assert!(!home.exists());
    // A home that can't be one is an error, and not an empty one.
    fs::write(&home, "").unwrap();
    let unusable = now(records.get(&key));
    assert!(matches!(unusable, Err(PortError::Unavailable(_))));
}
