//! Tests of resolving paths of a view, with planted links on the way.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;

use super::{Builder, beneath};

fn builder(root: &Path) -> Builder {
    Builder {
        sources: Vec::new(),
        root: File::open(root).unwrap().into(),
        layers: Vec::new(),
        data_folders: 0,
    }
}

fn names(folder: &Path) -> Vec<std::ffi::OsString> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name()).collect()
}

#[test]
fn follows_no_planted_link() {
    let [root, victim] = [(), ()].map(|()| tempfile::tempdir().unwrap());
    fs::create_dir(root.path().join("plain")).unwrap();
    fs::write(victim.path().join("file"), "x").unwrap();
    symlink(victim.path(), root.path().join("sub")).unwrap();
    symlink(victim.path(), root.path().join("plain/sub")).unwrap();
    symlink(victim.path().join("file"), root.path().join("link")).unwrap();
    let builder = builder(root.path());
    let folder = File::open(victim.path()).unwrap().into();
    let file = File::open(victim.path().join("file")).unwrap().into();
    for at in [
        "/sub",
        "/sub/made",
        "/plain/sub",
        "/plain/sub/made",
        "/link",
        "/sub/file",
    ] {
        assert!(builder.handle(at).is_err(), "{at}");
        assert!(builder.folder(at).is_err(), "{at}");
        assert!(builder.mount_point(&folder, at).is_err(), "{at}");
        assert!(builder.mount_point(&file, at).is_err(), "{at}");
    }
    assert_eq!(names(victim.path()), ["file"]);
    // The control: a plain path follows the links.
    fs::create_dir(root.path().join("sub/made")).unwrap();
    fs::write(root.path().join("plain/sub/made/file"), "x").unwrap();
    assert!(victim.path().join("made/file").exists());
}

#[test]
fn makes_mount_points_and_finds_them_again() {
    let root = tempfile::tempdir().unwrap();
    let builder = builder(root.path());
    let folder = File::open(root.path()).unwrap().into();
    let file = File::open("/proc/self/cmdline").unwrap().into();
    for _ in 0..2 {
        builder.folder("/a").unwrap();
        builder.mount_point(&folder, "/a/b").unwrap();
        builder.mount_point(&file, "/a/b/c").unwrap();
        builder.handle("/").unwrap();
    }
    assert!(root.path().join("a/b/c").is_file());
    // A folder can't be put on a file, and nothing lies above the root.
    assert!(builder.folder("/a/b/c").is_err());
    assert!(builder.folder("/x/y").is_err());
    let top = beneath(&builder.root, "../../..").unwrap();
    let (top, root) = [&top, &builder.root]
        .map(|handle| rustix::fs::fstat(handle).unwrap())
        .into();
    assert_eq!(top.st_ino, root.st_ino);
}
