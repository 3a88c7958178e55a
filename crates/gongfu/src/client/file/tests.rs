//! Files that change, lead elsewhere, or can't be written.

use std::fs;

use super::Snapshot;

#[test]
fn refuses_to_overwrite_a_file_that_changed_since_it_was_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    fs::write(&path, "{}").unwrap();
    let snapshot = Snapshot::read(&path).unwrap();
    fs::write(&path, "{\"a\": 1}").unwrap();
    assert!(!snapshot.is_current());
    let problem = snapshot.write("{\"b\": 1}", false).unwrap_err();
    assert_eq!(problem.code, "FILE_CHANGED");
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\"a\": 1}");

    let new = folder.path().join("b.json");
    let absent = Snapshot::read(&new).unwrap();
    fs::write(&new, "{}").unwrap();
    assert!(!absent.is_current());

    // A file that nobody touched is written.
    let snapshot = Snapshot::read(&path).unwrap();
    assert!(snapshot.is_current());
    snapshot.write("{\"b\": 1}", false).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\"b\": 1}");
    let left = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 2, "nothing temporary is left");
}

#[cfg(unix)]
#[test]
fn writes_behind_a_link_and_keeps_permissions() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let (real, link) = (folder.path().join("dotfiles"), folder.path().join("a.json"));
    let chmod = |mode| fs::set_permissions(&real, fs::Permissions::from_mode(mode)).unwrap();
    fs::write(&real, "{}").unwrap();
    chmod(0o600);
    std::os::unix::fs::symlink("dotfiles", &link).unwrap();
    Snapshot::read(&link).unwrap().write("[]", false).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&real).unwrap(), "[]");
    let mode = fs::metadata(&real).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    chmod(0o400);
    let problem = Snapshot::read(&link)
        .unwrap()
        .write("{}", false)
        .unwrap_err();
    assert_eq!(problem.code, "FILE_READ_ONLY");
    fs::remove_file(&real).unwrap();
    assert_eq!(Snapshot::read(&link).unwrap_err().code, "FILE_UNREADABLE");
}

#[test]
fn refuses_a_file_that_is_not_utf8() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    fs::write(&path, b"\xff\xfe{\0}\0").unwrap();
    let problem = Snapshot::read(&path).unwrap_err();
    assert_eq!(problem.code, "FILE_INVALID");
    assert!(problem.message.contains("UTF-8"), "{problem:?}");
}
