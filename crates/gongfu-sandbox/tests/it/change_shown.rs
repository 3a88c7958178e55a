//! Tests of what a person is shown of changes that wait: all that applying them does.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use gongfu_core::change::{Difference, HeldKind, Present, Survivor};
use gongfu_core::port::ChangeSets as _;
use gongfu_core::sandbox::Level;
use libtest_mimic::Trial;

use crate::change_sets::{apply, run, sets};
use crate::fixture::{Fixture, Test, of_every_level, runtime, tests};

pub(crate) fn trials() -> Vec<Trial> {
    let all: [Test; 5] = tests![
        "shown": folder_is_told_with_what_goes_from_it,
        what_a_folder_replaces_is_told,
        links_and_modes_are_told,
        names_that_are_no_text_are_read,
        edits_meanwhile_are_told,
    ];
    of_every_level(&all)
}

/// Runs a line whose changes wait all; returns the id of the set and what is shown of it.
fn shown(fixture: &Fixture, line: &str) -> (String, Vec<Difference>) {
    let id = run(fixture, line, true).held.unwrap();
    let differences = show(fixture, &id);
    (id, differences)
}

fn show(fixture: &Fixture, id: &str) -> Vec<Difference> {
    let store = sets(fixture);
    let showing = async { store.show(id, 1_000).await };
    let (set, differences) = runtime().block_on(showing).unwrap();
    let changes = differences.iter().map(|one| one.change.clone());
    assert_eq!(set.changes, changes.collect::<Vec<_>>());
    differences
}

fn find<'a>(all: &'a [Difference], path: &str) -> &'a Difference {
    let found = all.iter().find(|one| one.change.path == path);
    found.unwrap_or_else(|| panic!("{path}: {all:?}"))
}

/// The numbers of files and folders that go from a folder, and the names that are told of them.
fn going(one: &Difference) -> (usize, usize, &[String]) {
    let Present::Folder(going) = &one.before else {
        panic!("{one:?}");
    };
    assert_eq!(going.is_named(), going.files + going.folders <= 20);
    (going.files, going.folders, &going.names)
}

fn folder_is_told_with_what_goes_from_it(level: Level) {
    let fixture = Fixture::new(level);
    for path in [
        ".git/HEAD",
        ".git/refs/main",
        "gone/a",
        "new/old",
        "new/same/old",
        "new/b/c",
    ] {
        fixture.write(&format!("workspace/{path}"), "old");
    }
    for number in 0..40 {
        fixture.write(&format!("workspace/many/{number}"), "old");
    }
    let line = "cd /workspace; rm -r .git gone many new; echo 'gitdir: sub' > .git; ln -s x many; \
        mkdir -p new/same; echo run > new/b; echo run > new/same/run";
    let (id, all) = shown(&fixture, line);
    let git = find(&all, "/workspace/.git");
    assert!(matches!(git.change.kind, HeldKind::Written { .. }));
    let names = ["HEAD", "refs/main", "refs/"].map(str::to_owned);
    assert_eq!(going(git), (2, 1, &names[..]));
    assert_eq!(git.kept, None);
    let gone = find(&all, "/workspace/gone");
    assert_eq!(going(gone), (1, 0, &["a".to_owned()][..]));
    let (files, folders, names) = going(find(&all, "/workspace/many"));
    assert_eq!((files, folders, names.len()), (40, 0, 20));
    // A new folder in the place of an old one: some levels tell the removals in it one by one.
    for path in ["new/old", "new/same/old"] {
        let is_told = all.iter().any(|one| {
            let names = match &one.before {
                Present::Folder(going) => &*going.names,
                _ => &[],
            };
            let told = names
                .iter()
                .map(|name| format!("{}/{name}", one.change.path));
            let own = Some(one.change.path.clone());
            let own = own.filter(|_| one.change.kind == HeldKind::Removed);
            told.chain(own)
                .any(|told| told == format!("/workspace/{path}"))
        });
        assert!(is_told, "{path}: {all:?}");
    }
    assert_eq!(going(find(&all, "/workspace/new/b")).0, 1);
    // The control: that is what applying does.
    assert!(!apply(&fixture, &id).unwrap().is_partial);
    for path in ["gone", "new/old", "new/same/old", "many/0"] {
        assert!(!fixture.path("workspace").join(path).exists(), "{path}");
    }
    assert_eq!(fixture.read("workspace/.git"), "gitdir: sub\n");
    assert_eq!(fixture.read("workspace/new/b"), "run\n");
}

fn what_a_folder_replaces_is_told(level: Level) {
    let fixture = Fixture::new(level);
    fixture.write("workspace/tools", "old");
    let line = "cd /workspace; rm tools; mkdir tools; echo run > tools/CLAUDE.md";
    let id = run(&fixture, line, false).held.unwrap();
    let all = show(&fixture, &id);
    // Some levels tell a new folder from one that was there: it replaces the file at once.
    if !fixture.path("workspace/tools").is_dir() {
        let tools = find(&all, "/workspace/tools");
        assert_eq!(tools.change.kind, HeldKind::Folder);
        let Present::File { excerpt, .. } = &tools.before else {
            panic!("{tools:?}");
        };
        assert_eq!(excerpt.bytes, b"old");
    }
    // The control: a folder on the way to a change isn't told.
    fixture.write("workspace/kept/a", "old");
    let id = run(&fixture, "echo run > /workspace/kept/CLAUDE.md", false).held;
    let all = show(&fixture, &id.unwrap());
    assert_eq!(all.len(), 1, "{all:?}");
}

fn links_and_modes_are_told(level: Level) {
    let fixture = Fixture::new(level);
    fixture.write("workspace/key", "old");
    fixture.write("workspace/open", "old");
    fixture.write("workspace/same", "old");
    symlink("elsewhere", fixture.path("workspace/link")).unwrap();
    let mode = |path: &str, mode: u32| {
        let path = fixture.path("workspace").join(path);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode("key", 0o755);
    mode("open", 0o600);
    fixture.write("settle", "");
    let line = "cd /workspace; chmod 600 key; chmod 666 open; rm link; echo run > link; \
        echo run > same";
    let (id, all) = shown(&fixture, line);
    let modes = |path: &str| {
        let one = find(&all, path);
        let Present::File { mode, excerpt } = &one.before else {
            panic!("{one:?}");
        };
        (
            *mode,
            one.mode.unwrap(),
            one.after.as_ref() == Some(excerpt),
        )
    };
    assert_eq!(modes("/workspace/key"), (0o755, 0o600, true));
    assert_eq!(modes("/workspace/open"), (0o600, 0o666, true));
    // The control.
    let (before, after, is_same) = modes("/workspace/same");
    assert!(before == after && !is_same);
    let link = find(&all, "/workspace/link");
    let to = "elsewhere".to_owned();
    assert_eq!(link.before, Present::Link { to });
    assert!(!apply(&fixture, &id).unwrap().is_partial);
    let found = std::fs::metadata(fixture.path("workspace/key")).unwrap();
    assert_eq!(found.permissions().mode() & 0o777, 0o600);
}

fn names_that_are_no_text_are_read(level: Level) {
    let fixture = Fixture::new(level);
    let folder = fixture
        .path("workspace")
        .join(OsStr::from_bytes(b"pkg\xff"));
    if std::fs::create_dir(&folder).is_err() {
        // This file system has only names that are text.
        return;
    }
    std::fs::write(folder.join("CLAUDE.md"), "old\n").unwrap();
    fixture.write("settle", "");
    let line = "cd /workspace/pkg*; echo run > CLAUDE.md; echo run > .envrc";
    let (id, all) = shown(&fixture, line);
    assert_eq!(all.len(), 2, "{all:?}");
    for one in &all {
        let is_new = one.change.path.ends_with("/.envrc");
        let is_old =
            matches!(&one.before, Present::File { excerpt, .. } if excerpt.bytes == b"old\n");
        assert!(is_old != is_new, "{one:?}");
        assert_eq!(one.after.as_ref().unwrap().bytes, b"run\n");
    }
    assert!(!apply(&fixture, &id).unwrap().is_partial);
    let text = std::fs::read_to_string(folder.join("CLAUDE.md")).unwrap();
    assert_eq!(text, "run\n");
}

fn edits_meanwhile_are_told(level: Level) {
    let fixture = Fixture::new(level);
    for path in ["edited", "removed", "same", "tree/a", "tree/b", "untouched"] {
        fixture.write(&format!("workspace/{path}"), "old\n");
    }
    let line = "cd /workspace; echo run > edited; echo run > new; echo run > same; \
        echo run > untouched; rm -r removed tree; echo run > tree";
    let (id, all) = shown(&fixture, line);
    assert!(all.iter().all(|one| one.kept.is_none()), "{all:?}");
    for (path, text) in [
        ("edited", "me\n"),
        ("new", "me\n"),
        ("removed", "me\n"),
        ("same", "run\n"),
        ("tree/a", "me\n"),
    ] {
        fixture.write(&format!("workspace/{path}"), text);
    }
    let all = show(&fixture, &id);
    let kept = |name: &str| {
        let one = find(&all, &format!("/workspace/{name}"));
        one.kept.clone()
    };
    let beside = |name: &str| {
        let beside = Some(format!("/workspace/{name}.run-{id}"));
        Some(Survivor { beside })
    };
    assert_eq!(kept("edited"), beside("edited"));
    assert_eq!(kept("new"), beside("new"));
    assert_eq!(kept("tree"), beside("tree"));
    for name in ["removed", "same"] {
        assert_eq!(kept(name), Some(Survivor { beside: None }), "{name}");
    }
    // The control.
    assert_eq!(kept("untouched"), None);
    let tree = find(&all, "/workspace/tree");
    assert_eq!(going(tree), (1, 0, &["b".to_owned()][..]));
    // That is what applying does.
    apply(&fixture, &id).unwrap();
    for name in ["edited", "new", "removed", "tree/a"] {
        assert_eq!(fixture.read(&format!("workspace/{name}")), "me\n", "{name}");
    }
    for name in ["edited", "new", "tree"] {
        assert_eq!(fixture.read(&format!("workspace/{name}.run-{id}")), "run\n");
    }
    assert!(!fixture.path("workspace/tree/b").exists());
    assert_eq!(fixture.read("workspace/untouched"), "run\n");
}
