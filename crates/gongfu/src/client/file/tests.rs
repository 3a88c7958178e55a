//! Files that change, lead elsewhere or can't be written.

use std::fs;

use super::Snapshot;

#[test]
fn a_concurrent_change_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    fs::write(&path, "{}").unwrap();
    let snapshot = Snapshot::read(&path).unwrap();
    fs::write(&path, "{\"a\": 1}").unwrap();
    assert_eq!(
        snapshot.write("{\"b\": 1}").unwrap_err().code,
        "changed-meanwhile"
    );
    assert_eq!(snapshot.delete(&[]).unwrap_err().code, "changed-meanwhile");
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\"a\": 1}");
    // One that was made meanwhile.
    let new = folder.path().join("b.json");
    let absent = Snapshot::read(&new).unwrap();
    fs::write(&new, "{}").unwrap();
    assert_eq!(absent.write("{}").unwrap_err().code, "changed-meanwhile");
    // And the control: what nobody touched is written.
    Snapshot::read(&path).unwrap().write("{\"b\": 1}").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\"b\": 1}");
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        2,
        "nothing temporary is left"
    );
}

#[cfg(unix)]
#[test]
fn a_link_is_followed_and_stays_and_permissions_too() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let (real, link) = (folder.path().join("dotfiles"), folder.path().join("a.json"));
    fs::write(&real, "{}").unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
    std::os::unix::fs::symlink("dotfiles", &link).unwrap();
    Snapshot::read(&link).unwrap().write("[]").unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&real).unwrap(), "[]");
    assert_eq!(
        fs::metadata(&real).unwrap().permissions().mode() & 0o777,
        0o600
    );
    fs::set_permissions(&real, fs::Permissions::from_mode(0o400)).unwrap();
    let read_only = Snapshot::read(&link).unwrap().write("{}").unwrap_err();
    assert_eq!(read_only.code, "read-only");
    fs::remove_file(&real).unwrap();
    assert_eq!(Snapshot::read(&link).unwrap_err().code, "unreadable");
}

#[test]
fn marks_and_other_encodings() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    fs::write(&path, "\u{feff}{}").unwrap();
    let snapshot = Snapshot::read(&path).unwrap();
    assert_eq!(snapshot.text(), "{}");
    assert_eq!(snapshot.marked("[]".to_owned()), "\u{feff}[]");
    fs::write(&path, b"\xff\xfe{\0}\0").unwrap();
    let problem = Snapshot::read(&path).unwrap_err();
    assert!(
        problem.code == "unparsable" && problem.message.contains("UTF-8"),
        "{problem:?}"
    );
}

#[test]
fn folders_are_made_and_go_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a").join("b").join("c.json");
    let snapshot = Snapshot::read(&path).unwrap();
    let folders = snapshot.missing_folders();
    assert_eq!(folders.len(), 2);
    snapshot.write("{}").unwrap();
    fs::write(folder.path().join("a").join("mine"), "").unwrap();
    Snapshot::read(&path).unwrap().delete(&folders).unwrap();
    assert!(!folder.path().join("a").join("b").exists());
    assert!(folder.path().join("a").join("mine").exists());
}
