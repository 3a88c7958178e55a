//! The promises of `Layers`.

use std::path::Path;

use gongfu_core::library::Skill;
use gongfu_core::port::{PortError, Space};
use gongfu_core::skill::SkillPath;

use super::fixture::{Fixture, assert_alike, assert_refused};
use super::skills::{create, find, write};
use super::{Fault, Promise};

/// The most files of a layer that are listed.
const MAX_FILES: usize = 5_000;

pub(super) const PROMISES: &[Promise] = &[
    Promise::new("a skill without runs has no layer", starts_empty),
    Promise::new(
        "the files of a run are read and listed by path, and the skill stays as it is",
        keeps_files,
    ),
    Promise::new(
        "the next run gets the content of the layer",
        next_lease_has_the_content,
    ),
    Promise::new("a file that a run removed is gone", removed_is_gone),
    Promise::new(
        "another version of a skill starts with an empty layer, and the former one keeps its own",
        versions_are_apart,
    ),
    Promise::new(
        "the layers of a skill are listed by version, and one that is cleared is gone",
        versions_are_listed_and_cleared,
    ),
    Promise::new("what runs leave takes room", files_take_room),
    Promise::new("a limit cuts, and the size is the whole one", limit_cuts),
    Promise::new("a list has at most 5,000 files", list_is_bounded),
    Promise::broken_by(
        Fault::RestartForgets,
        "layers survive a restart",
        survives_a_restart,
    ),
    Promise::broken_by(
        Fault::OwnerIgnored,
        "owners have layers of their own",
        owners_are_apart,
    ),
    Promise::broken_by(
        Fault::OwnerIgnored,
        "the layer of another owner is like an unknown one",
        foreign_is_like_unknown,
    ),
];

/// Runs something that writes to a skill's folder.
fn run(fixture: &Fixture, space: &Space, skill: &Skill, work: impl FnOnce(&Path)) {
    let lease = fixture.wait(space.layers().lease(skill)).unwrap();
    work(&lease.folder);
    fixture.wait(space.layers().commit(skill, lease)).unwrap();
}

fn put(folder: &Path, path: &str, bytes: &[u8]) {
    let path = folder.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

fn read(fixture: &Fixture, space: &Space, skill: &Skill, path: &str) -> Result<Vec<u8>, PortError> {
    let path = SkillPath::new(path).unwrap();
    let content = fixture.wait(space.layers().read(skill, &path, 10_000))?;
    Ok(content.bytes)
}

fn list(fixture: &Fixture, space: &Space, skill: &Skill) -> Vec<(String, u64)> {
    let files = fixture
        .wait(space.layers().list(skill))
        .unwrap()
        .into_iter();
    files.map(|(path, size)| (path.to_string(), size)).collect()
}

fn starts_empty(fixture: &Fixture) {
    let space = fixture.local();
    let skill = create(fixture, &space, "pdf", "d");
    assert_eq!(list(fixture, &space, &skill), []);
    assert_refused!(read(fixture, &space, &skill, "out"), PortError::NotFound);
    let own = read(fixture, &space, &skill, "SKILL.md");
    assert_refused!(own, PortError::NotFound);
}

fn keeps_files(fixture: &Fixture) {
    let space = fixture.local();
    let skill = create(fixture, &space, "pdf", "d");
    run(fixture, &space, &skill, |folder| {
        put(folder, "out/b.txt", b"two");
        put(folder, "a.txt", b"one");
    });
    assert_eq!(read(fixture, &space, &skill, "out/b.txt").unwrap(), b"two");
    let files = [("a.txt".to_owned(), 3), ("out/b.txt".to_owned(), 3)];
    assert_eq!(list(fixture, &space, &skill), files);
    assert_refused!(read(fixture, &space, &skill, "out"), PortError::IsAFolder);
    assert_eq!(find(fixture, &space, "pdf").unwrap(), skill);
}

fn next_lease_has_the_content(fixture: &Fixture) {
    let space = fixture.local();
    let skill = create(fixture, &space, "pdf", "d");
    run(fixture, &space, &skill, |folder| {
        put(folder, "out/a", b"one");
    });
    run(fixture, &space, &skill, |folder| {
        assert_eq!(std::fs::read(folder.join("out/a")).unwrap(), b"one");
        put(folder, "out/a", b"two");
        put(folder, "out/b", b"three");
    });
    assert_eq!(read(fixture, &space, &skill, "out/a").unwrap(), b"two");
    assert_eq!(list(fixture, &space, &skill).len(), 2);
}

fn removed_is_gone(fixture: &Fixture) {
    let space = fixture.local();
    let skill = create(fixture, &space, "pdf", "d");
    run(fixture, &space, &skill, |folder| {
        put(folder, "out/a", b"one");
        put(folder, "out/b", b"two");
    });
    run(fixture, &space, &skill, |folder| {
        std::fs::remove_file(folder.join("out/a")).unwrap();
    });
    let removed = read(fixture, &space, &skill, "out/a");
    assert_refused!(removed, PortError::NotFound);
    assert_eq!(list(fixture, &space, &skill), [("out/b".to_owned(), 3)]);
}

fn versions_are_apart(fixture: &Fixture) {
    let space = fixture.local();
    let skill = create(fixture, &space, "pdf", "d");
    write(fixture, &space, &skill, "script.py", b"first");
    let first = find(fixture, &space, "pdf").unwrap();
    run(fixture, &space, &first, |folder| {
        put(folder, "json.py", b"of a run");
        put(folder, "script.py", b"of a run");
    });
    // The same version sees what its run left.
    run(fixture, &space, &first, |folder| {
        assert_eq!(std::fs::read(folder.join("json.py")).unwrap(), b"of a run");
    });
    // As long as before: only the content tells the two apart.
    write(fixture, &space, &skill, "script.py", b"other");
    let other = find(fixture, &space, "pdf").unwrap();
    assert_eq!(list(fixture, &space, &other), []);
    for path in ["json.py", "script.py"] {
        let left = read(fixture, &space, &other, path);
        assert_refused!(left, PortError::NotFound);
    }
    run(fixture, &space, &other, |folder| {
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0);
        put(folder, "out", b"other");
    });
    write(fixture, &space, &skill, "script.py", b"first");
    let first = find(fixture, &space, "pdf").unwrap();
    assert_eq!(list(fixture, &space, &first).len(), 2);
    let left = read(fixture, &space, &first, "json.py").unwrap();
    assert_eq!(left, b"of a run");
}

fn versions_are_listed_and_cleared(fixture: &Fixture) {
    let space = fixture.local();
    let skill = create(fixture, &space, "pdf", "d");
    let other = create(fixture, &space, "other", "d");
    run(fixture, &space, &other, |folder| put(folder, "x", b"x"));
    run(fixture, &space, &skill, |folder| {
        put(folder, "a", b"one");
        put(folder, "out/b", b"two");
    });
    let all = |skill: Option<&Skill>| fixture.wait(space.layers().all(skill)).unwrap();
    let former = all(Some(&skill)).remove(0);
    assert_eq!(
        (former.files, former.bytes, former.is_current),
        (2, 6, true)
    );
    write(fixture, &space, &skill, "script.py", b"new");
    let skill = find(fixture, &space, "pdf").unwrap();
    run(fixture, &space, &skill, |folder| put(folder, "c", b"four"));
    let layers = all(Some(&skill));
    assert_eq!((layers.len(), all(None).len()), (2, 3));
    let current = layers.iter().find(|layer| layer.is_current).unwrap();
    assert_eq!((current.files, current.bytes), (1, 4));
    assert_eq!(*current.skill, *skill.full_name);
    let files = |id: &str| {
        let files = fixture.wait(space.layers().files(id))?.into_iter();
        let files = files.map(|(path, size)| (path.to_string(), size));
        Ok::<Vec<_>, PortError>(files.collect())
    };
    let left = [("a".to_owned(), 3), ("out/b".to_owned(), 3)];
    assert_eq!(files(&former.id).unwrap(), left);
    let clear = || fixture.wait(space.layers().clear(&former.id));
    clear().unwrap();
    assert_refused!(clear(), PortError::NotFound);
    assert_refused!(files(&former.id), PortError::NotFound);
    for path in ["..", "", "../records"] {
        let outside = fixture.wait(space.layers().clear(path));
        assert_refused!(outside, PortError::NotFound);
    }
    assert_eq!((all(Some(&skill)).len(), all(None).len()), (1, 2));
    assert_eq!(list(fixture, &space, &skill), [("c".to_owned(), 4)]);
}

fn files_take_room(fixture: &Fixture) {
    let space = fixture.local();
    let skill = create(fixture, &space, "pdf", "d");
    let room = || fixture.wait(space.layers().room()).unwrap();
    let before = room();
    run(fixture, &space, &skill, |folder| put(folder, "a", b"three"));
    assert_eq!(before - room(), 5);
    // What is written again takes no more.
    run(fixture, &space, &skill, |folder| put(folder, "a", b"three"));
    assert_eq!(before - room(), 5);
}

fn limit_cuts(fixture: &Fixture) {
    let space = fixture.local();
    let skill = create(fixture, &space, "pdf", "d");
    run(fixture, &space, &skill, |folder| {
        put(folder, "f", b"0123456789");
    });
    let path = SkillPath::new("f").unwrap();
    let content = fixture.wait(space.layers().read(&skill, &path, 4)).unwrap();
    assert_eq!((content.bytes.as_slice(), content.size), (&b"0123"[..], 10));
}

fn list_is_bounded(fixture: &Fixture) {
    let space = fixture.local();
    let skill = create(fixture, &space, "pdf", "d");
    run(fixture, &space, &skill, |folder| {
        for number in 0..MAX_FILES + 10 {
            std::fs::write(folder.join(number.to_string()), "").unwrap();
        }
    });
    let files = list(fixture, &space, &skill);
    assert!(
        !files.is_empty() && files.len() <= MAX_FILES,
        "{}",
        files.len()
    );
}

fn survives_a_restart(fixture: &Fixture) {
    let space = fixture.local();
    let skill = create(fixture, &space, "pdf", "d");
    run(fixture, &space, &skill, |folder| {
        put(folder, "out", b"kept");
    });
    let again = fixture.reopened();
    let skill = find(fixture, &again, "pdf").unwrap();
    assert_eq!(read(fixture, &again, &skill, "out").unwrap(), b"kept");
}

fn owners_are_apart(fixture: &Fixture) {
    let (local, other) = (fixture.local(), fixture.other());
    let locals = create(fixture, &local, "pdf", "d");
    let others = find(fixture, &other, "pdf");
    let others = others.unwrap_or_else(|| create(fixture, &other, "pdf", "d"));
    run(fixture, &local, &locals, |folder| {
        put(folder, "out", b"local");
    });
    assert_eq!(list(fixture, &other, &others), []);
    run(fixture, &other, &others, |folder| {
        put(folder, "out", b"other");
    });
    assert_eq!(read(fixture, &local, &locals, "out").unwrap(), b"local");
}

fn foreign_is_like_unknown(fixture: &Fixture) {
    let (local, other) = (fixture.local(), fixture.other());
    create(fixture, &other, "own", "d");
    let foreign = create(fixture, &local, "pdf", "d");
    run(fixture, &local, &foreign, |folder| {
        put(folder, "out", b"local");
    });
    let unknown = Skill {
        full_name: format!("{}/never", foreign.source).into(),
        folder: SkillPath::new("never").unwrap(),
        ..(*foreign).clone()
    };
    let read = |skill| read(fixture, &other, skill, "out");
    assert_alike(read(&foreign), read(&unknown));
}
