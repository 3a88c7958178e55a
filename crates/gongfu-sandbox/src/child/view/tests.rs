//! Where places of a view are, whatever was planted on the way to them.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;

use super::{Builder, beneath};

fn builder(root: &Path) -> Builder {
    Builder {
        sources: Vec::new(),
        root: File::open(root).unwrap().into(),
        layers: Vec::new(),
        places: 0,
    }
}

fn names(folder: &Path) -> Vec<std::ffi::OsString> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name()).collect()
}

#[test]
fn a_planted_link_is_not_followed_by_any_way() {
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
        assert!(builder.point(&folder, at).is_err(), "{at}");
        assert!(builder.point(&file, at).is_err(), "{at}");
    }
    assert_eq!(names(victim.path()), ["file"]);
    // By their paths all of it is theirs.
    fs::create_dir(root.path().join("sub/made")).unwrap();
    fs::write(root.path().join("plain/sub/made/file"), "x").unwrap();
    assert!(victim.path().join("made/file").exists());
}

#[test]
fn places_are_made_and_found_again() {
    let root = tempfile::tempdir().unwrap();
    let builder = builder(root.path());
    let folder = File::open(root.path()).unwrap().into();
    let file = File::open("/proc/self/cmdline").unwrap().into();
    for _ in 0..2 {
        builder.folder("/a").unwrap();
        builder.point(&folder, "/a/b").unwrap();
        builder.point(&file, "/a/b/c").unwrap();
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
