//! The promises of `SkillStore` and `Materialize`.

use std::sync::Arc;

use gongfu_core::library::{Revision, Skill};
use gongfu_core::port::{Change, PortError, Space};
use gongfu_core::skill::{SkillName, SkillPath};

use super::fixture::{Fixture, assert_alike, assert_refused};
use super::{Fault, Promise};

pub(super) const PROMISES: &[Promise] = &[
    Promise::new(
        "a created skill is in the library at once, whole",
        is_created,
    ),
    Promise::new(
        "a second skill of the same name is a conflict and changes nothing",
        second_is_a_conflict,
    ),
    Promise::new(
        "a write creates the file and the folders above it, and shows at once",
        writes_files,
    ),
    Promise::broken_by(
        Fault::LastWriteWins,
        "a file that changed since it was read is a conflict and stays",
        conflict_changes_nothing,
    ),
    Promise::new("a limit cuts, and the size is the whole one", limit_cuts),
    Promise::new(
        "a library that differs has another revision",
        revision_follows_changes,
    ),
    Promise::new("waiting ends with a change", waiting_ends),
    Promise::new(
        "a switch says whether it changed anything, and holds",
        switch_holds,
    ),
    Promise::new(
        "a leased folder has the files of the skill",
        lease_has_the_files,
    ),
    Promise::new("concurrent writers lose nothing", writers_lose_nothing),
    Promise::broken_by(
        Fault::RestartForgets,
        "skills and switches survive a restart",
        survives_a_restart,
    ),
    Promise::broken_by(
        Fault::OwnerIgnored,
        "owners have skills of their own",
        owners_are_apart,
    ),
    Promise::broken_by(
        Fault::OwnerIgnored,
        "the skill of another owner is like an unknown one",
        foreign_is_like_unknown,
    ),
];

fn document(name: &str, description: &str) -> Vec<u8> {
    format!("---\nname: {name}\ndescription: {description}\n---\n# Steps\n").into_bytes()
}

/// Creates a skill with a description.
pub(super) fn create(
    fixture: &Fixture,
    space: &Space,
    name: &str,
    description: &str,
) -> Arc<Skill> {
    let (skill, text) = (SkillName::new(name).unwrap(), document(name, description));
    fixture.wait(space.skills().create(&skill, &text)).unwrap()
}

/// Writes a file of a skill.
pub(super) fn write(
    fixture: &Fixture,
    space: &Space,
    skill: &Skill,
    path: &str,
    bytes: &[u8],
) -> bool {
    change(fixture, space, skill, path, None, bytes).unwrap()
}

fn change(
    fixture: &Fixture,
    space: &Space,
    skill: &Skill,
    path: &str,
    expected: Option<&[u8]>,
    bytes: &[u8],
) -> Result<bool, PortError> {
    let path = SkillPath::new(path).unwrap();
    let change = Change { bytes, expected };
    fixture.wait(space.skills().write(skill, &path, change))
}

fn read(fixture: &Fixture, space: &Space, skill: &Skill, path: &str) -> Result<Vec<u8>, PortError> {
    let path = SkillPath::new(path).unwrap();
    let content = fixture.wait(space.skills().read(skill, &path, 10_000))?;
    Ok(content.bytes)
}

/// The skill of a name as the library has it now, enabled or not.
pub(super) fn find(fixture: &Fixture, space: &Space, name: &str) -> Option<Arc<Skill>> {
    let library = fixture.wait(space.skills().library()).unwrap();
    let mut skills = library.skills().iter();
    skills.find(|skill| skill.name.as_str() == name).cloned()
}

fn is_created(fixture: &Fixture) {
    let space = fixture.local();
    assert!(find(fixture, &space, "pdf").is_none());
    let created = create(fixture, &space, "pdf", "Reads PDFs");
    let found = find(fixture, &space, "pdf").unwrap();
    assert_eq!(found, created);
    assert_eq!(
        (found.description.as_str(), found.enabled),
        ("Reads PDFs", true)
    );
    assert_eq!(
        *found.full_name,
        format!("{}/{}", found.source, found.folder)
    );
    let files: Vec<_> = found.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(files, ["SKILL.md"]);
    let text = read(fixture, &space, &found, "SKILL.md").unwrap();
    assert_eq!(text, document("pdf", "Reads PDFs"));
}

fn second_is_a_conflict(fixture: &Fixture) {
    let space = fixture.local();
    let first = create(fixture, &space, "pdf", "first");
    let name = SkillName::new("pdf").unwrap();
    let text = document("pdf", "second");
    let second = fixture.wait(space.skills().create(&name, &text));
    assert_refused!(second, PortError::Conflict(_));
    assert_eq!(find(fixture, &space, "pdf").unwrap(), first);
}

fn writes_files(fixture: &Fixture) {
    let space = fixture.local();
    let skill = create(fixture, &space, "pdf", "d");
    assert!(write(fixture, &space, &skill, "scripts/run.py", b"one"));
    assert!(!write(fixture, &space, &skill, "scripts/run.py", b"three"));
    let found = find(fixture, &space, "pdf").unwrap();
    let files = found.files.iter();
    let files: Vec<_> = files.map(|file| (file.path.as_str(), file.size)).collect();
    assert_eq!(files[1..], [("scripts/run.py", 5)]);
    write(
        fixture,
        &space,
        &skill,
        "SKILL.md",
        &document("pdf", "new words"),
    );
    let found = find(fixture, &space, "pdf").unwrap();
    assert_eq!(found.description, "new words");
    assert_refused!(read(fixture, &space, &skill, "none"), PortError::NotFound);
    let folder = change(fixture, &space, &skill, "scripts", None, b"x");
    assert_refused!(folder, PortError::IsAFolder);
    let below = change(fixture, &space, &skill, "SKILL.md/x", None, b"x");
    assert_refused!(below, PortError::NotAFolder);
}

fn conflict_changes_nothing(fixture: &Fixture) {
    let space = fixture.local();
    let skill = create(fixture, &space, "pdf", "d");
    write(fixture, &space, &skill, "f", b"now");
    let stale = change(fixture, &space, &skill, "f", Some(b"before"), b"lost");
    assert_refused!(stale, PortError::Conflict(_));
    assert_eq!(read(fixture, &space, &skill, "f").unwrap(), b"now");
    assert!(!change(fixture, &space, &skill, "f", Some(b"now"), b"next").unwrap());
}

fn limit_cuts(fixture: &Fixture) {
    let space = fixture.local();
    let skill = create(fixture, &space, "pdf", "d");
    write(fixture, &space, &skill, "f", b"0123456789");
    let path = SkillPath::new("f").unwrap();
    for limit in [0, 4, 10, 11] {
        let content = fixture
            .wait(space.skills().read(&skill, &path, limit))
            .unwrap();
        let shown = usize::try_from(limit.min(10)).unwrap();
        assert_eq!(content.bytes, b"0123456789"[..shown]);
        assert_eq!((content.size, content.is_cut()), (10, limit < 10));
    }
}

fn revision_follows_changes(fixture: &Fixture) {
    let space = fixture.local();
    let revision = || fixture.wait(space.skills().library()).unwrap().revision();
    let mut seen = vec![revision()];
    let mut expect_new = || {
        let now = revision();
        assert!(seen.iter().all(|before| *before < now), "{seen:?} {now:?}");
        seen.push(now);
    };
    let skill = create(fixture, &space, "pdf", "d");
    expect_new();
    write(fixture, &space, &skill, "f", b"x");
    expect_new();
    fixture
        .wait(space.skills().set_enabled(&skill, false))
        .unwrap();
    expect_new();
    assert_eq!(revision(), revision());
}

fn waiting_ends(fixture: &Fixture) {
    let space = fixture.local();
    create(fixture, &space, "a", "d");
    let before = fixture.wait(space.skills().library()).unwrap().revision();
    let first = fixture.wait(space.skills().changed(Revision::default()));
    assert_eq!(first.unwrap(), before, "the first reading is a change");
    let after = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| fixture.wait(space.skills().changed(before)));
        create(fixture, &space, "b", "d");
        fixture.wait(space.skills().library()).unwrap();
        waiting.join().unwrap()
    });
    assert!(after.unwrap() > before);
}

fn switch_holds(fixture: &Fixture) {
    let space = fixture.local();
    let skill = create(fixture, &space, "pdf", "d");
    let set = |enabled| {
        fixture
            .wait(space.skills().set_enabled(&skill, enabled))
            .unwrap()
    };
    let is_enabled = || find(fixture, &space, "pdf").unwrap().enabled;
    assert!(!set(true));
    assert!(set(false));
    assert!(!is_enabled());
    assert!(!set(false));
    assert!(set(true));
    assert!(is_enabled());
}

fn lease_has_the_files(fixture: &Fixture) {
    let space = fixture.local();
    let skill = create(fixture, &space, "pdf", "d");
    write(fixture, &space, &skill, "scripts/run.py", b"print()");
    let lease = fixture
        .wait(space.materialize().materialize(&skill))
        .unwrap();
    assert!(lease.folder.is_absolute());
    let read = |path: &str| std::fs::read(lease.folder.join(path)).unwrap();
    assert_eq!(read("SKILL.md"), document("pdf", "d"));
    assert_eq!(read("scripts/run.py"), b"print()");
}

fn writers_lose_nothing(fixture: &Fixture) {
    let skill = create(fixture, &fixture.local(), "shared", "d");
    write(fixture, &fixture.local(), &skill, "counter", b"0");
    fixture.write_at_once(|space, writer| {
        // A process that was just started knows no skills yet.
        let skill = find(fixture, space, "shared").unwrap();
        create(fixture, space, &format!("own-{writer}"), "d");
        for _ in 0..5 {
            loop {
                let before = read(fixture, space, &skill, "counter").unwrap();
                let count: usize = std::str::from_utf8(&before).unwrap().parse().unwrap();
                let after = (count + 1).to_string();
                match change(
                    fixture,
                    space,
                    &skill,
                    "counter",
                    Some(&before),
                    after.as_bytes(),
                ) {
                    Ok(_) => break,
                    Err(error) => assert!(matches!(error, PortError::Conflict(_)), "{error:?}"),
                }
            }
        }
    });
    let space = fixture.reopened();
    let skill = find(fixture, &space, "shared").unwrap();
    assert_eq!(read(fixture, &space, &skill, "counter").unwrap(), b"20");
    for writer in 0..4 {
        assert!(find(fixture, &space, &format!("own-{writer}")).is_some());
    }
}

fn survives_a_restart(fixture: &Fixture) {
    let space = fixture.local();
    let skill = create(fixture, &space, "pdf", "d");
    write(fixture, &space, &skill, "f", b"kept");
    fixture
        .wait(space.skills().set_enabled(&skill, false))
        .unwrap();
    let again = fixture.reopened();
    let found = find(fixture, &again, "pdf").unwrap();
    assert!(!found.enabled);
    assert_eq!(read(fixture, &again, &found, "f").unwrap(), b"kept");
}

fn owners_are_apart(fixture: &Fixture) {
    let (local, other) = (fixture.local(), fixture.other());
    create(fixture, &local, "pdf", "of local");
    assert!(find(fixture, &other, "pdf").is_none());
    let others = create(fixture, &other, "pdf", "of other");
    fixture
        .wait(other.skills().set_enabled(&others, false))
        .unwrap();
    let locals = find(fixture, &local, "pdf").unwrap();
    assert_eq!(
        (locals.description.as_str(), locals.enabled),
        ("of local", true)
    );
    write(fixture, &other, &others, "f", b"x");
    assert_refused!(read(fixture, &local, &locals, "f"), PortError::NotFound);
}

fn foreign_is_like_unknown(fixture: &Fixture) {
    let (local, other) = (fixture.local(), fixture.other());
    create(fixture, &other, "own", "d");
    let foreign = create(fixture, &local, "pdf", "d");
    let unknown = Skill {
        full_name: format!("{}/never", foreign.source).into(),
        folder: SkillPath::new("never").unwrap(),
        ..(*foreign).clone()
    };
    let read = |skill| read(fixture, &other, skill, "SKILL.md");
    assert_alike(read(&foreign), read(&unknown));
    let lease = |skill| {
        fixture
            .wait(other.materialize().materialize(skill))
            .map(drop)
    };
    assert_alike(lease(&foreign), lease(&unknown));
    let switch = |skill| fixture.wait(other.skills().set_enabled(skill, false));
    assert_alike(switch(&foreign), switch(&unknown));
    let write = |skill| change(fixture, &other, skill, "f", None, b"x");
    assert_alike(write(&foreign), write(&unknown));
}
