//! The digest of a folder.

use std::collections::BTreeSet;

use super::measure;
use gongfu_files::disk::Root;

#[test]
fn digest_depends_on_every_name_content_and_mode() {
    let folder = tempfile::tempdir().unwrap();
    let root = Root::open(folder.path()).unwrap();
    let mut seen = BTreeSet::new();
    let mut changed = || assert!(seen.insert(measure(&root, true).unwrap().digest));
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
