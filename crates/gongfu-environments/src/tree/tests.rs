//! The digest of a folder.

use std::collections::BTreeSet;

use super::measure;
use gongfu_files::disk::Root;

#[test]
fn digest_depends_on_every_name_content_and_mode() {
    let folder = tempfile::tempdir().unwrap();
    let root = Root::open(folder.path()).unwrap();
    let mut seen = BTreeSet::new();
    let mut changed = || assert!(seen.insert(measure(&root).unwrap().digest(true)));
    changed();
    root.replace("a", b"1", false).unwrap();
    changed();
    root.replace("a", b"2", false).unwrap();
    changed();
    root.dir().create_dir("b").unwrap();
    changed();
    root.dir().rename("a", root.dir(), "b/a").unwrap();
    changed();
    root.dir().symlink_contents("/nowhere", "l").unwrap();
    changed();
    #[cfg(unix)]
    {
        use cap_std::fs::PermissionsExt as _;
        let mode = cap_std::fs::Permissions::from_mode(0o755);
        root.dir().set_permissions("b/a", mode).unwrap();
        changed();
    }
}

#[test]
fn digest_of_sources_is_without_compiled_modules() {
    let folder = tempfile::tempdir().unwrap();
    let root = Root::open(folder.path()).unwrap();
    root.replace("a.py", b"1", false).unwrap();
    let before = measure(&root).unwrap();
    assert_eq!(before.digest(true), before.digest(false));
    root.dir().create_dir_all("__pycache__/deep").unwrap();
    root.dir().write("__pycache__/deep/a.pyc", "1").unwrap();
    let after = measure(&root).unwrap();
    assert_eq!(after.digest(false), before.digest(false));
    assert_ne!(after.digest(true), before.digest(true));
    // Only a folder holds compiled modules.
    root.dir().create_dir("b").unwrap();
    let before = measure(&root).unwrap();
    root.dir().write("b/__pycache__", "1").unwrap();
    assert_ne!(measure(&root).unwrap().digest(false), before.digest(false));
}
