//! The promises of `Files`.

use gongfu_core::place::Location;
use gongfu_core::port::{Change, FolderEntryKind, PortError, Space};

use super::fixture::{Fixture, assert_alike, assert_refused};
use super::{Fault, Promise};

pub(super) const PROMISES: &[Promise] = &[
    Promise::new(
        "a workspace that was never written to is empty",
        starts_empty,
    ),
    Promise::new(
        "a write creates the file and the folders above it, and says whether it is new",
        creates_files,
    ),
    Promise::new("a folder is listed by name", lists_by_name),
    Promise::new("a limit cuts, and the size is the whole one", limit_cuts),
    Promise::broken_by(
        Fault::LastWriteWins,
        "a file that changed since it was read is a conflict and stays",
        conflict_changes_nothing,
    ),
    Promise::new(
        "a folder is no file, and a file no folder",
        kinds_are_told_apart,
    ),
    Promise::new(
        "a path outside of the workspace and the mounts is denied",
        outside_is_denied,
    ),
    Promise::new("concurrent writers lose nothing", writers_lose_nothing),
    Promise::broken_by(
        Fault::RestartForgets,
        "files survive a restart",
        survives_a_restart,
    ),
    Promise::broken_by(
        Fault::OwnerIgnored,
        "owners have files of their own",
        owners_are_apart,
    ),
    Promise::broken_by(
        Fault::OwnerIgnored,
        "the file of another owner is like an unknown one",
        foreign_is_like_unknown,
    ),
];

fn at(path: &str) -> Location {
    Location::parse(path).unwrap()
}

fn change(
    fixture: &Fixture,
    space: &Space,
    path: &str,
    expected: Option<&[u8]>,
    bytes: &[u8],
) -> Result<bool, PortError> {
    let change = Change { bytes, expected };
    fixture.wait(space.files().write(&at(path), change))
}

fn write(fixture: &Fixture, space: &Space, path: &str, bytes: &[u8]) -> bool {
    change(fixture, space, path, None, bytes).unwrap()
}

fn read(fixture: &Fixture, space: &Space, path: &str) -> Result<Vec<u8>, PortError> {
    let content = fixture.wait(space.files().read(&at(path), 10_000))?;
    Ok(content.bytes)
}

fn list(fixture: &Fixture, space: &Space, path: &str) -> Result<Vec<String>, PortError> {
    let entries = fixture.wait(space.files().list(&at(path)))?.into_iter();
    let shown = entries.map(|entry| match entry.kind {
        FolderEntryKind::File(size) => format!("{} {size}", entry.name),
        FolderEntryKind::Folder => format!("{}/", entry.name),
        FolderEntryKind::Other(what) => format!("{}: {what}", entry.name),
    });
    Ok(shown.collect())
}

fn starts_empty(fixture: &Fixture) {
    let space = fixture.local();
    assert_eq!(list(fixture, &space, "").unwrap(), [""; 0]);
    assert_refused!(list(fixture, &space, "a"), PortError::NotFound);
    assert_refused!(read(fixture, &space, "a"), PortError::NotFound);
    assert_refused!(read(fixture, &space, ""), PortError::IsAFolder);
}

fn creates_files(fixture: &Fixture) {
    let space = fixture.local();
    assert!(write(fixture, &space, "a/b/c.txt", b"one"));
    assert!(!write(fixture, &space, "a/b/c.txt", b"two"));
    assert!(write(fixture, &space, "a/b/d.txt", b""));
    assert_eq!(read(fixture, &space, "a/b/c.txt").unwrap(), b"two");
    assert_eq!(
        read(fixture, &space, "/workspace/a/b/c.txt").unwrap(),
        b"two"
    );
    assert_eq!(read(fixture, &space, "a/b/d.txt").unwrap(), b"");
}

fn lists_by_name(fixture: &Fixture) {
    let space = fixture.local();
    for path in ["b.txt", "a/x", "a/y/z", "c", "B", "技能"] {
        write(fixture, &space, path, path.as_bytes());
    }
    let names = ["B 1", "a/", "b.txt 5", "c 1", "技能 6"];
    assert_eq!(list(fixture, &space, "").unwrap(), names);
    assert_eq!(list(fixture, &space, "a").unwrap(), ["x 3", "y/"]);
}

fn limit_cuts(fixture: &Fixture) {
    let space = fixture.local();
    write(fixture, &space, "f", b"0123456789");
    for limit in [0, 4, 10, 11] {
        let content = fixture.wait(space.files().read(&at("f"), limit)).unwrap();
        let shown = usize::try_from(limit.min(10)).unwrap();
        assert_eq!(content.bytes, b"0123456789"[..shown]);
        assert_eq!((content.size, content.is_cut()), (10, limit < 10));
    }
}

fn conflict_changes_nothing(fixture: &Fixture) {
    let space = fixture.local();
    write(fixture, &space, "f", b"now");
    for stale in [&b"before"[..], b"", b"now and more", b"no"] {
        let stale = change(fixture, &space, "f", Some(stale), b"lost");
        assert_refused!(stale, PortError::Conflict(_));
    }
    assert_eq!(read(fixture, &space, "f").unwrap(), b"now");
    assert!(!change(fixture, &space, "f", Some(b"now"), b"next").unwrap());
    assert_eq!(read(fixture, &space, "f").unwrap(), b"next");
    change(fixture, &space, "gone", Some(b"x"), b"y").unwrap_err();
    assert_refused!(read(fixture, &space, "gone"), PortError::NotFound);
}

fn kinds_are_told_apart(fixture: &Fixture) {
    let space = fixture.local();
    write(fixture, &space, "folder/file", b"x");
    assert_refused!(read(fixture, &space, "folder"), PortError::IsAFolder);
    let over = change(fixture, &space, "folder", None, b"x");
    assert_refused!(over, PortError::IsAFolder);
    let root = change(fixture, &space, "", None, b"x");
    assert_refused!(root, PortError::IsAFolder);
    assert_refused!(list(fixture, &space, "folder/file"), PortError::NotAFolder);
    let below = change(fixture, &space, "folder/file/below", None, b"x");
    assert_refused!(below, PortError::NotAFolder);
    let below = read(fixture, &space, "folder/file/below");
    assert_refused!(below, PortError::NotFound);
}

fn outside_is_denied(fixture: &Fixture) {
    let space = fixture.local();
    for path in ["/", "/etc/passwd", "/skill"] {
        assert_refused!(read(fixture, &space, path), PortError::Denied(_));
        assert_refused!(list(fixture, &space, path), PortError::Denied(_));
        let write = change(fixture, &space, path, None, b"x");
        assert_refused!(write, PortError::Denied(_));
    }
}

fn writers_lose_nothing(fixture: &Fixture) {
    write(fixture, &fixture.local(), "counter", b"0");
    fixture.write_at_once(|space, writer| {
        for number in 0..5 {
            write(fixture, space, &format!("own/{writer}/{number}"), b"x");
            loop {
                let before = read(fixture, space, "counter").unwrap();
                let count: usize = std::str::from_utf8(&before).unwrap().parse().unwrap();
                let after = (count + 1).to_string();
                match change(fixture, space, "counter", Some(&before), after.as_bytes()) {
                    Ok(_) => break,
                    Err(error) => assert!(matches!(error, PortError::Conflict(_)), "{error:?}"),
                }
            }
        }
    });
    let space = fixture.local();
    assert_eq!(read(fixture, &space, "counter").unwrap(), b"20");
    for writer in 0..4 {
        let own = list(fixture, &space, &format!("own/{writer}")).unwrap();
        assert_eq!(own.len(), 5);
    }
}

fn survives_a_restart(fixture: &Fixture) {
    write(fixture, &fixture.local(), "a/b", b"kept");
    assert_eq!(read(fixture, &fixture.reopened(), "a/b").unwrap(), b"kept");
}

fn owners_are_apart(fixture: &Fixture) {
    let (local, other) = (fixture.local(), fixture.other());
    write(fixture, &local, "notes/a", b"local");
    assert_eq!(list(fixture, &other, "").unwrap(), [""; 0]);
    assert!(
        write(fixture, &other, "notes/a", b"other"),
        "it is new there"
    );
    assert_eq!(read(fixture, &local, "notes/a").unwrap(), b"local");
    assert_eq!(read(fixture, &other, "notes/a").unwrap(), b"other");
}

fn foreign_is_like_unknown(fixture: &Fixture) {
    let (local, other) = (fixture.local(), fixture.other());
    write(fixture, &local, "notes/a", b"local");
    let unknown = || read(fixture, &other, "never/a");
    assert_alike(read(fixture, &other, "notes/a"), unknown());
    let unknown = list(fixture, &other, "never");
    assert_alike(list(fixture, &other, "notes"), unknown);
}
