//! The record after modules were compiled.

use super::finish;
use crate::storage::Storage;
use crate::storage::tests::published;
use gongfu_core::port::Timestamp;
use gongfu_files::Home;
use gongfu_files::disk::Root;

#[test]
fn change_of_a_source_is_never_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let storage = Storage::new(Home::at(folder.path()));
    let record = published(&storage, false);
    let addition = storage.start_addition("k").unwrap().unwrap();
    let root = Root::open(&addition.root).unwrap();
    root.dir().create_dir("__pycache__").unwrap();
    root.dir().write("__pycache__/a.pyc", "1").unwrap();
    root.replace("a.py", b"2", false).unwrap();
    assert!(finish(&storage, &addition, record.clone()).is_err());
    drop(addition);
    assert_eq!(storage.is_changed("k").unwrap(), Some(true));
    // The control: compiled modules alone are.
    root.replace("a.py", b"1", false).unwrap();
    let addition = storage.start_addition("k").unwrap().unwrap();
    finish(&storage, &addition, record).unwrap();
    drop(addition);
    assert_eq!(storage.is_changed("k").unwrap(), Some(false));
    let leased = storage.find("k", Timestamp(0)).unwrap().unwrap();
    assert!(leased.record.compiled && leased.record.files == 2);
    root.dir().write("__pycache__/a.pyc", "2").unwrap();
    assert_eq!(storage.is_changed("k").unwrap(), Some(true));
}
