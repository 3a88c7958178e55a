//! Tests of changes that wait for a person: what a run can't do at once, and what becomes of it.

use gongfu_core::change::{
    ApplyReport, Artifact, Change, ChangeSet, HeldKind, Holding, PersonalSettings, Present,
};
use gongfu_core::port::{ChangeSets as _, PortError};
use gongfu_core::sandbox::{Command, Exit, Level, Mode, Mount, Outcome, Spec};
use gongfu_sandbox::ChangeSets;
use libtest_mimic::Trial;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::sync::Arc;

use crate::fixture::{Fixture, LITE, Test, of_every_level, runtime, tests};
use crate::runner;
use gongfu_core::account::Owner;

pub(crate) fn trials() -> Vec<Trial> {
    let all: [Test; 15] = tests![
        "changes": what_git_obeys_waits_until_it_is_applied,
        everything_waits_when_asked_to,
        edit_meanwhile_survives_applying,
        set_is_for_the_folders_that_the_run_saw,
        large_set_stays_while_some_of_it_is_refused,
        removals_and_links_wait,
        removals_of_all_folders_count_together,
        move_into_another_folder_waits_as_one,
        folder_with_a_repository_goes_and_moves_as_one,
        folders_whose_paths_are_no_text_are_seen_and_merged,
        set_is_for_one_folder_alone,
        full_store_keeps_nothing_and_says_so,
        set_of_deep_folders_is_applied,
        set_is_for_one_file_system_alone,
        unreadable_set_takes_the_room_of_its_files,
    ];
    of_every_level(&all)
}

const HOOK: &str = "#!/bin/sh\necho planted\n";

/// Runs a line whose changes of the workspace are judged.
pub(crate) fn run(fixture: &Fixture, line: &str, holds_all: bool) -> Outcome {
    run_with(fixture, line, holds_all, Vec::new())
}

/// The same with further folders.
fn run_with(fixture: &Fixture, line: &str, holds_all: bool, more: Vec<Mount>) -> Outcome {
    let root = fixture.path("workspace");
    let mut spec = fixture.spec(Command::Line(fixture.guest_line(line)));
    let targets = more.iter().map(|mount| mount.target.clone());
    let targets = std::iter::once("/workspace".to_owned())
        .chain(targets)
        .collect();
    spec.mounts.extend(more);
    let spec = Spec {
        holding: Some(Holding {
            targets,
            holds_all,
            protected: Arc::new(move |_| vec![root.join("skills")]),
            git: PersonalSettings::default(),
            folder: fixture.path("changes"),
            about: "a test".to_owned(),
        }),
        ..spec
    };
    let runner = runner(fixture.level);
    let running = runner.run(&Owner::Local, spec, Arc::new(|_, _| {}));
    let outcome = runtime().block_on(running).unwrap();
    assert_eq!(outcome.exit, Some(Exit::Code(0)), "{outcome:?}");
    outcome
}

/// The same with this folder as `/data`.
fn run_with_data(fixture: &Fixture, line: &str, folder: PathBuf) -> Outcome {
    let data = Mount {
        sources: vec![folder.clone()],
        target: "/data".to_owned(),
        mode: Mode::Layered,
        keep: Some(folder),
    };
    let line = if fixture.level == LITE {
        line.replace("/data", "$GONGFU_DATA")
    } else {
        line.to_owned()
    };
    run_with(fixture, &line, false, vec![data])
}

pub(crate) fn sets(fixture: &Fixture) -> ChangeSets {
    ChangeSets::new(fixture.path("changes"))
}

fn list(fixture: &Fixture) -> Vec<ChangeSet> {
    let sets = sets(fixture);
    runtime().block_on(async { sets.list().await.unwrap() })
}

pub(crate) fn apply(fixture: &Fixture, id: &str) -> Result<ApplyReport, PortError> {
    let sets = sets(fixture);
    runtime().block_on(async { sets.apply(id).await })
}

fn held(outcome: &Outcome) -> Vec<&str> {
    let held = outcome.artifacts.iter();
    let held = held.filter(|one| matches!(one.change, Change::Held(_)));
    let mut held: Vec<&str> = held.map(|one| one.path.as_str()).collect();
    held.sort_unstable();
    held
}

fn what_git_obeys_waits_until_it_is_applied(level: Level) {
    let line = format!(
        "cd /workspace; mkdir -p .git/hooks skills/x; printf '{}' > .git/hooks/pre-commit; \
         chmod +x .git/hooks/pre-commit; echo more >> .git/config; echo x > skills/x/SKILL.md; \
         echo do > AGENTS.md; echo x > notes",
        HOOK.replace('\n', "\\n")
    );
    let fixture = Fixture::new(level);
    fixture.write("workspace/.git/config", "[core]\n");
    let outcome = run(&fixture, &line, false);
    let paths = [
        "/workspace/.git/config",
        "/workspace/.git/hooks/pre-commit",
        "/workspace/AGENTS.md",
        "/workspace/skills/x/SKILL.md",
    ];
    assert_eq!(held(&outcome), paths);
    assert_eq!(outcome.changed, 5);
    assert_eq!(fixture.read("workspace/.git/config"), "[core]\n");
    assert_eq!(fixture.read("workspace/notes"), "x\n");
    for path in [".git/hooks", "AGENTS.md", "skills"] {
        assert!(!fixture.path("workspace").join(path).exists(), "{path}");
    }
    // It is there for the person.
    let all = list(&fixture);
    let [set] = all.as_slice() else {
        panic!("{all:?}");
    };
    assert_eq!(Some(&set.id), outcome.held.as_ref());
    let store = sets(&fixture);
    let (_, shown) = runtime()
        .block_on(async { store.show(&set.id, 1_000).await })
        .unwrap();
    let config = shown.iter().find(|one| one.change.path == paths[0]);
    let config = config.unwrap();
    let Present::File { excerpt, .. } = &config.before else {
        panic!("{config:?}");
    };
    assert_eq!(excerpt.bytes, b"[core]\n");
    let after = config.after.as_ref().unwrap();
    assert_eq!(after.bytes, b"[core]\nmore\n");
    let applied = apply(&fixture, &set.id).unwrap();
    assert_eq!(
        (applied.total, applied.is_partial),
        (4, false),
        "{applied:?}"
    );
    assert_eq!(fixture.read("workspace/.git/config"), "[core]\nmore\n");
    assert_eq!(fixture.read("workspace/.git/hooks/pre-commit"), HOOK);
    let hook = std::fs::metadata(fixture.path("workspace/.git/hooks/pre-commit")).unwrap();
    assert_eq!(hook.permissions().mode() & 0o111, 0o111);
    // It is gone, and can't be applied twice.
    assert_eq!(list(&fixture), []);
    assert!(matches!(apply(&fixture, &set.id), Err(PortError::NotFound)));
    // The control: without terms everything is applied.
    let fixture = Fixture::new(level);
    fixture.run_line(&fixture.guest_line(&line));
    assert_eq!(fixture.read("workspace/.git/hooks/pre-commit"), HOOK);
}

fn everything_waits_when_asked_to(level: Level) {
    let fixture = Fixture::new(level);
    fixture.write("workspace/old", "old");
    let line = "cd /workspace; echo new > old; mkdir a; echo new > a/b";
    let outcome = run(&fixture, line, true);
    assert_eq!(held(&outcome), ["/workspace/a/b", "/workspace/old"]);
    assert_eq!(fixture.read("workspace/old"), "old");
    assert!(!fixture.path("workspace/a").exists());
    let id = outcome.held.unwrap();
    let store = sets(&fixture);
    runtime()
        .block_on(async { store.drop_set(&id).await })
        .unwrap();
    assert_eq!(list(&fixture), []);
    assert_eq!(
        std::fs::read_dir(fixture.path("changes")).unwrap().count(),
        0
    );
    assert_eq!(fixture.read("workspace/old"), "old");
}

fn edit_meanwhile_survives_applying(level: Level) {
    let fixture = Fixture::new(level);
    for name in [".envrc", "CLAUDE.md"] {
        fixture.write(&format!("workspace/{name}"), "old\n");
    }
    let line = "cd /workspace; echo run > .envrc; echo run > CLAUDE.md; echo run > .npmrc";
    let outcome = run(&fixture, line, false);
    let id = outcome.held.unwrap();
    for name in [".envrc", ".npmrc"] {
        fixture.write(&format!("workspace/{name}"), "person\n");
    }
    let applied = apply(&fixture, &id).unwrap();
    for name in [".envrc", ".npmrc"] {
        let path = format!("/workspace/{name}");
        let beside = format!("{path}.run-{id}");
        let mut all = applied.artifacts.iter();
        let found = all.find(|one| one.path == path).unwrap();
        assert_eq!(found.change, Change::Conflict(Some(beside.clone())));
        assert_eq!(fixture.read(path.trim_start_matches('/')), "person\n");
        assert_eq!(fixture.read(beside.trim_start_matches('/')), "run\n");
    }
    // The control: nobody changed this one.
    assert_eq!(fixture.read("workspace/CLAUDE.md"), "run\n");
}

fn set_is_for_the_folders_that_the_run_saw(level: Level) {
    let fixture = Fixture::new(level);
    for folder in ["one", "other"] {
        fixture.write(&format!("workspace/{folder}/CLAUDE.md"), "old");
        fixture.write(&format!("aside/{folder}/CLAUDE.md"), "theirs");
    }
    let line = "cd /workspace; for f in one other; do echo run > $f/CLAUDE.md; echo run > $f/x; done; echo > y";
    let id = run(&fixture, line, false).held.unwrap();
    // Much happens in the folders until somebody agrees, and one is another one then.
    for path in ["one/more", "other/more", "more"] {
        fixture.write(&format!("workspace/{path}"), "theirs");
    }
    let place = fixture.path("workspace/other");
    std::fs::rename(&place, fixture.path("former")).unwrap();
    std::fs::rename(fixture.path("aside/other"), &place).unwrap();
    let store = sets(&fixture);
    let (_, shown) = runtime()
        .block_on(async { store.show(&id, 1_000).await })
        .unwrap();
    let stays: Vec<bool> = shown.iter().map(|one| one.kept.is_some()).collect();
    assert_eq!(stays, [false, true], "{shown:?}");
    let applied = apply(&fixture, &id).unwrap();
    assert!(!applied.is_partial, "{applied:?}");
    assert_eq!(fixture.read("workspace/one/CLAUDE.md"), "run\n");
    assert_eq!(fixture.read("workspace/other/CLAUDE.md"), "theirs");
    let beside = format!("workspace/other/CLAUDE.md.run-{id}");
    assert_eq!(fixture.read(&beside), "run\n");
}

fn large_set_stays_while_some_of_it_is_refused(level: Level) {
    let mut fixture = Fixture::new(level);
    // On a busy machine ten thousand files take their time.
    fixture.limits.wall = std::time::Duration::from_mins(10);
    fixture.write("workspace/zz", "old\n");
    let line =
        "cd /workspace; i=0; while [ $i -lt 10050 ]; do : > $i; i=$((i+1)); done; echo run > zz";
    let id = run(&fixture, line, true).held.unwrap();
    // Even the place beside the person's version is taken.
    let beside = format!("workspace/zz.run-{id}");
    for path in ["workspace/zz", &beside] {
        fixture.write(path, "person\n");
    }
    let applied = apply(&fixture, &id).unwrap();
    assert_eq!((applied.total, applied.is_partial), (10_051, true));
    let refused = |one: &&Artifact| matches!(one.change, Change::Refused(_));
    let refused = applied.artifacts.iter().find(refused).unwrap();
    assert_eq!(refused.path, "/workspace/zz");
    assert_eq!(list(&fixture).len(), 1);
    // With room for it, the rest is applied.
    std::fs::remove_file(fixture.path(&beside)).unwrap();
    assert!(!apply(&fixture, &id).unwrap().is_partial);
    assert_eq!(fixture.read(&beside), "run\n");
    assert_eq!(list(&fixture), []);
}

fn removals_and_links_wait(level: Level) {
    let fixture = Fixture::new(level);
    for number in 0..60 {
        fixture.write(&format!("workspace/docs/{number}"), "text");
    }
    fixture.write("workspace/few/1", "text");
    let line = "cd /workspace; rm -r docs few; ln -s /etc/passwd out; ln -s few in";
    let outcome = run(&fixture, line, false);
    let waiting = held(&outcome);
    assert!(waiting.contains(&"/workspace/out"), "{outcome:?}");
    assert!(fixture.path("workspace/docs/59").exists());
    let id = outcome.held.clone().unwrap();
    let set = list(&fixture).remove(0);
    let link = set.changes.iter().find(|one| one.path == "/workspace/out");
    let to = "/etc/passwd".to_owned();
    assert_eq!(link.unwrap().kind, HeldKind::Linked { to });
    let applied = apply(&fixture, &id).unwrap();
    assert!(!applied.is_partial, "{applied:?}");
    for path in ["workspace/docs", "workspace/few"] {
        assert!(!fixture.path(path).exists(), "{path}");
    }
    let link = std::fs::read_link(fixture.path("workspace/out")).unwrap();
    assert_eq!(link.to_str(), Some("/etc/passwd"));
}

fn folder_with_a_repository_goes_and_moves_as_one(level: Level) {
    let fixture = Fixture::new(level);
    for path in ["vendor/x/.git/HEAD", "vendor/x/lib.c", "docs/a", "stays"] {
        fixture.write(&format!("workspace/{path}"), path);
    }
    // A folder that is emptied is like one that is removed.
    for line in [
        "rm -r vendor",
        "rm -r vendor; mkdir vendor",
        "rm -r vendor; ln -s stays vendor",
    ] {
        let outcome = run(
            &fixture,
            &format!("cd /workspace; {line}; echo new > new"),
            false,
        );
        let waiting = held(&outcome);
        assert!(
            waiting
                .iter()
                .any(|path| path.starts_with("/workspace/vendor")),
            "{line}"
        );
        for path in ["vendor/x/.git/HEAD", "vendor/x/lib.c"] {
            assert_eq!(fixture.read(&format!("workspace/{path}")), path, "{line}");
        }
        assert_eq!(fixture.read("workspace/new"), "new\n");
    }
    // The control: nothing in the second one is obeyed.
    let outcome = run(
        &fixture,
        "cd /workspace; mv vendor third; mv docs text",
        false,
    );
    assert!(!fixture.path("workspace/third").exists(), "{outcome:?}");
    assert_eq!(fixture.read("workspace/text/a"), "docs/a");
    assert!(!fixture.path("workspace/docs").exists());
    let applied = apply(&fixture, &outcome.held.unwrap()).unwrap();
    assert!(!applied.is_partial, "{applied:?}");
    assert_eq!(fixture.read("workspace/third/x/lib.c"), "vendor/x/lib.c");
    assert!(!fixture.path("workspace/vendor").exists(), "{applied:?}");
}

fn removals_of_all_folders_count_together(level: Level) {
    for (files, is_held) in [(40, true), (20, false)] {
        let fixture = Fixture::new(level);
        for number in 0..files {
            for folder in ["workspace", "data"] {
                let path = fixture.path(folder).join(format!("docs/{number}"));
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, "text").unwrap();
            }
        }
        for folder in ["workspace", "data"] {
            fixture.write(&format!("{folder}/stays"), "text");
        }
        let line = "rm -r /workspace/docs/* /data/docs/*";
        let outcome = run_with_data(&fixture, line, fixture.path("data"));
        assert_eq!(
            held(&outcome).len(),
            if is_held { 80 } else { 0 },
            "{outcome:?}"
        );
        for folder in ["workspace", "data"] {
            let is_there = fixture.path(folder).join("docs/1").exists();
            assert_eq!(is_there, is_held, "{folder}");
        }
    }
}

fn folders_whose_paths_are_no_text_are_seen_and_merged(level: Level) {
    use std::os::unix::ffi::OsStrExt as _;
    let mut fixture = Fixture::new(level);
    fixture.limits.wall = std::time::Duration::from_secs(10);
    let name = std::ffi::OsStr::from_bytes(b"data-\xff");
    let folder = fixture.folder.path().join(name);
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("old"), "old").unwrap();
    let line = "cat /data/old > /data/new; echo run > /data/CLAUDE.md";
    let outcome = run_with_data(&fixture, line, folder.clone());
    assert_eq!(std::fs::read_to_string(folder.join("new")).unwrap(), "old");
    assert_eq!(held(&outcome), ["/data/CLAUDE.md"]);
    assert!(!apply(&fixture, &outcome.held.unwrap()).unwrap().is_partial);
    assert_eq!(
        std::fs::read_to_string(folder.join("CLAUDE.md")).unwrap(),
        "run\n"
    );
}

fn move_into_another_folder_waits_as_one(level: Level) {
    let fixture = Fixture::new(level);
    for path in [
        "workspace/stays",
        "workspace/one",
        "data/stays",
        "data/two",
        "data/three",
    ] {
        fixture.write(path, path);
    }
    let line = "mkdir /workspace/.claude; mv /data/two /workspace/.claude/; mv /data/three /workspace/; \
        mv /workspace/one /data/CLAUDE.md";
    let outcome = run_with_data(&fixture, line, fixture.path("data"));
    let paths = [
        "/data/CLAUDE.md",
        "/data/two",
        "/workspace/.claude/two",
        "/workspace/one",
    ];
    let mut waiting = held(&outcome);
    waiting.sort_unstable();
    assert_eq!(waiting, paths);
    for path in ["workspace/one", "data/two"] {
        assert_eq!(fixture.read(path), path);
    }
    // The control: neither half of this one waits.
    assert_eq!(fixture.read("workspace/three"), "data/three");
    assert!(!fixture.path("data/three").exists());
}

fn set_is_for_one_folder_alone(level: Level) {
    let fixture = Fixture::new(level);
    fixture.write("victim/kept", "victim");
    let outcome = run(&fixture, "echo run > /workspace/.envrc", false);
    let id = outcome.held.unwrap();
    std::fs::rename(fixture.path("workspace"), fixture.path("moved")).unwrap();
    // A link to another folder, or another folder.
    for is_link in [true, false] {
        if is_link {
            symlink(fixture.path("victim"), fixture.path("workspace")).unwrap();
        } else {
            std::fs::remove_file(fixture.path("workspace")).unwrap();
            std::fs::create_dir(fixture.path("workspace")).unwrap();
        }
        let applied = apply(&fixture, &id).unwrap();
        assert!(applied.is_partial, "{applied:?}");
        assert!(!fixture.path("workspace/.envrc").exists());
    }
    // The control: it waits on, and is applied to the folder that it is for.
    std::fs::remove_dir(fixture.path("workspace")).unwrap();
    std::fs::rename(fixture.path("moved"), fixture.path("workspace")).unwrap();
    assert!(!apply(&fixture, &id).unwrap().is_partial);
    assert_eq!(fixture.read("workspace/.envrc"), "run\n");
}

fn full_store_keeps_nothing_and_says_so(level: Level) {
    let fixture = Fixture::new(level);
    for number in 0..gongfu_core::change::MAX_SETS {
        fixture.write(&format!("changes/{number:08x}/set.json"), "broken");
    }
    let line = "echo run > /workspace/.envrc; echo run > /workspace/notes";
    let outcome = run(&fixture, line, false);
    assert_eq!(outcome.held, None);
    let refused = outcome.artifacts.iter().find_map(|one| match &one.change {
        Change::Refused(why) => Some((one.path.as_str(), why.as_str())),
        _ => None,
    });
    let (path, why) = refused.unwrap();
    assert!(
        path == "/workspace/.envrc" && why.contains("gongfu changes list"),
        "{why}"
    );
    assert_eq!(fixture.read("workspace/notes"), "run\n");
    // A set that can't be read is listed, and can be dropped.
    assert!(list(&fixture)[0].about.contains("can't be read"));
    let store = sets(&fixture);
    let dropping = async { store.drop_set("00000000").await };
    runtime().block_on(dropping).unwrap();
    // The control.
    assert!(run(&fixture, line, false).held.is_some());
}

fn set_of_deep_folders_is_applied(level: Level) {
    let fixture = Fixture::new(level);
    let deep = |depth: usize| format!("workspace/{}CLAUDE.md", "d/".repeat(depth));
    // The control lies less deep.
    for depth in [5, 60] {
        let path = deep(depth);
        let line = format!("mkdir -p $(dirname /{path}); echo run > /{path}");
        let id = run(&fixture, &line, false).held;
        let id = id.unwrap();
        assert_eq!(list(&fixture)[0].changes.len(), 1);
        assert!(!apply(&fixture, &id).unwrap().is_partial);
        assert_eq!(fixture.read(&path), "run\n");
    }
}

fn set_is_for_one_file_system_alone(level: Level) {
    let fixture = Fixture::new(level);
    let id = run(&fixture, "echo run > /workspace/.envrc", false).held;
    let id = id.unwrap();
    // As if the same folder were in another file system, or another one had got its inode.
    let path = format!("changes/{id}/set.json");
    let whole = fixture.read(&path);
    let mut set: serde_json::Value = serde_json::from_str(&whole).unwrap();
    let own = set["folders"][0]["identity"].take();
    let knows_age = !own["made"].is_null();
    let changed = |parts: &[&str]| {
        let mut other = own.clone();
        for part in parts {
            if let Some(number) = other[part].as_u64() {
                other[part] = serde_json::json!(number ^ 1);
            }
        }
        other
    };
    let parts: [(&[&str], &str); 2] = [
        (&["file_system", "made"], "file system"),
        (&["made"], "another folder"),
    ];
    for (parts, word) in parts {
        if parts == ["made"] && !knows_age {
            continue;
        }
        set["folders"][0]["identity"] = changed(parts);
        fixture.write(&path, &set.to_string());
        let applied = apply(&fixture, &id).unwrap();
        let Change::Refused(why) = &applied.artifacts[0].change else {
            panic!("{applied:?}");
        };
        assert!(why.contains(word), "{why}");
        assert!(!fixture.path("workspace/.envrc").exists());
    }
    // The control: with another id alone, as after a reboot, its age tells the folder.
    let id_changes = if knows_age { &["file_system"][..] } else { &[] };
    set["folders"][0]["identity"] = changed(id_changes);
    fixture.write(&path, &set.to_string());
    assert!(!apply(&fixture, &id).unwrap().is_partial);
    assert_eq!(fixture.read("workspace/.envrc"), "run\n");
}

fn unreadable_set_takes_the_room_of_its_files(level: Level) {
    let fixture = Fixture::new(level);
    fixture.write("changes/00000000/set.json", "broken");
    fixture.write("changes/00000000/0/a/b", "");
    let line = "echo run > /workspace/.envrc";
    // The control: it takes next to nothing.
    assert!(run(&fixture, line, false).held.is_some());
    let file = std::fs::File::create(fixture.path("changes/00000000/0/a/b")).unwrap();
    file.set_len(gongfu_core::change::MAX_BYTES).unwrap();
    assert_eq!(run(&fixture, line, false).held, None);
}
