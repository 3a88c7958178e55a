//! Tests of what a run's changes do to the work of others in the same folder.
//!
//! Each has a control without a sandbox, which shows that the danger is real.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command as Process, ExitCode};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::time::Duration;

use gongfu_core::account::Owner;
use gongfu_core::change::Change;
use gongfu_core::sandbox::{Command, Exit, Input, Level, Outcome, Spec};
use libtest_mimic::Trial;

use crate::fixture::{Fixture, Gate, Test, of_every_level, runtime, tests};
use crate::runner;

/// The argument that makes this program a test with mounts of its own; the level and the test follow.
pub(crate) const ARGUMENT: &str = "own-mounts";

pub(crate) fn trials() -> Vec<Trial> {
    let all: [Test; 9] = tests![
        "merge": runs_at_once_keep_all_lines,
        edit_during_a_run_survives,
        removed_folder_keeps_what_others_put_there,
        folder_that_somebody_moved_into_place_stays,
        new_files_of_others_make_no_conflict_beside_them,
        new_folders_have_the_modes_that_the_run_gave_them,
        file_with_a_second_name_keeps_its_mode_and_content,
        changes_follow_a_moved_folder_and_no_link,
        source_that_became_a_link_is_not_shown,
    ];
    let mounting: [Test; 2] = tests![
        "merge": mounted_folder_is_never_written,
        full_disk_changes_nothing,
    ];
    // Only root may mount.
    let is_root = rustix::process::geteuid().is_root();
    let mounting = of_every_level(&mounting).into_iter();
    let mounting = mounting.map(|trial| {
        let is_ignored = trial.has_ignored_flag();
        trial.with_ignored_flag(is_ignored || !is_root)
    });
    of_every_level(&all).into_iter().chain(mounting).collect()
}

/// Runs a line that prints a line and then reads one; `meanwhile` happens in between.
fn run_with(fixture: &Fixture, line: &str, meanwhile: impl FnOnce()) -> Outcome {
    let (go, gate) = mpsc::channel();
    let spec = Spec {
        input: Input::Reader(Arc::new(Mutex::new(Gate(gate)))),
        ..fixture.spec(Command::Line(fixture.guest_line(line)))
    };
    let runner = runner(fixture.level);
    let outcome = runtime().block_on(async {
        let (said, mut hears) = tokio::sync::mpsc::unbounded_channel();
        let listener = Arc::new(move |_, _: &[u8]| {
            let _ = said.send(());
        });
        let running = runner.run(&Owner::Local, spec, listener);
        let other = async {
            hears.recv().await.unwrap();
            meanwhile();
            go.send(()).unwrap();
            // It reads to the end.
            drop(go);
        };
        tokio::join!(running, other).0.unwrap()
    });
    assert_eq!(outcome.exit, Some(Exit::Code(0)), "{outcome:?}");
    outcome
}

fn change<'a>(outcome: &'a Outcome, path: &str) -> &'a Change {
    let mut all = outcome.artifacts.iter();
    let found = all.find(|one| one.path == path);
    &found
        .unwrap_or_else(|| panic!("{path}: {outcome:?}"))
        .change
}

/// The texts of a file and of the versions beside it.
fn versions(fixture: &Fixture, name: &str) -> Vec<String> {
    let entries = std::fs::read_dir(fixture.path("workspace")).unwrap();
    let mut all: Vec<String> = entries
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(name))
        .map(|entry| std::fs::read_to_string(entry.path()).unwrap())
        .collect();
    all.sort_unstable();
    all
}

fn runs_at_once_keep_all_lines(level: Level) {
    let fixture = Fixture::new(level);
    fixture.write("workspace/log", "first\n");
    let numbers = [1, 2, 3];
    let all_go_on = Barrier::new(numbers.len());
    std::thread::scope(|scope| {
        for number in numbers {
            let (fixture, all_go_on) = (&fixture, &all_go_on);
            scope.spawn(move || {
                let line = format!("echo begun; read go; echo r{number} >> /workspace/log");
                run_with(fixture, &line, || {
                    all_go_on.wait();
                });
            });
        }
    });
    let text = versions(&fixture, "log").concat();
    for number in numbers {
        assert!(text.contains(&format!("r{number}\n")), "{number}: {text}");
    }
    assert_eq!(versions(&fixture, "log").len(), numbers.len());
}

fn edit_during_a_run_survives(level: Level) {
    let fixture = Fixture::new(level);
    for name in ["doc", "other"] {
        fixture.write(&format!("workspace/{name}"), "old\n");
    }
    let line = "cd /workspace; cat doc; read go; echo run > doc; echo run > other; echo run > new";
    let outcome = run_with(&fixture, line, || {
        fixture.write("workspace/doc", "person\n");
        fixture.write("workspace/new", "person\n");
    });
    for name in ["doc", "new"] {
        assert_eq!(fixture.read(&format!("workspace/{name}")), "person\n");
        assert_eq!(versions(&fixture, name), ["person\n", "run\n"]);
        let beside = match change(&outcome, &format!("/workspace/{name}")) {
            Change::Conflict(Some(beside)) => beside.trim_start_matches('/'),
            other => panic!("{other:?}"),
        };
        assert_eq!(fixture.read(beside), "run\n");
    }
    // The control: a file that nobody else changed is replaced.
    assert_eq!(fixture.read("workspace/other"), "run\n");
    assert_eq!(*change(&outcome, "/workspace/other"), Change::Written(4));
}

fn removed_folder_keeps_what_others_put_there(level: Level) {
    let fixture = Fixture::new(level);
    for path in ["gone/a", "again/a", "whole/a"] {
        fixture.write(&format!("workspace/{path}"), "old");
    }
    let line = "cd /workspace; echo begun; read go; rm -r gone again whole; mkdir again; echo run > again/new";
    let outcome = run_with(&fixture, line, || {
        fixture.write("workspace/gone/theirs", "theirs");
        fixture.write("workspace/again/theirs", "theirs");
    });
    for path in ["workspace/gone/theirs", "workspace/again/theirs"] {
        assert_eq!(fixture.read(path), "theirs");
    }
    assert_eq!(fixture.read("workspace/again/new"), "run\n");
    assert_eq!(*change(&outcome, "/workspace/gone"), Change::Conflict(None));
    // The control: what the run saw is removed.
    for path in ["workspace/gone/a", "workspace/again/a", "workspace/whole"] {
        assert!(!fixture.path(path).exists(), "{path}");
    }
}

fn folder_that_somebody_moved_into_place_stays(level: Level) {
    let fixture = Fixture::new(level);
    for folder in ["moved", "again", "kept"] {
        fixture.write(&format!("workspace/{folder}/deep/x"), "old");
        fixture.write(&format!("workspace/{folder}/gone"), "old");
        // Another version of it, which is older than the run.
        fixture.write(&format!("aside/{folder}/deep/x"), "theirs");
        fixture.write(&format!("aside/{folder}/gone"), "theirs");
    }
    let line = "cd /workspace; echo begun; read go; for f in moved kept; do echo run > $f/deep/x; \
        echo run > $f/new; rm $f/gone; done; rm -r again; mkdir again; echo run > again/new";
    let outcome = run_with(&fixture, line, || {
        for folder in ["moved", "again"] {
            let place = fixture.path("workspace").join(folder);
            std::fs::rename(&place, fixture.path(&format!("former-{folder}"))).unwrap();
            std::fs::rename(fixture.path("aside").join(folder), &place).unwrap();
        }
        fixture.write("workspace/again/more", "theirs");
    });
    for path in [
        "moved/deep/x",
        "moved/gone",
        "again/deep/x",
        "again/gone",
        "again/more",
    ] {
        assert_eq!(
            fixture.read(&format!("workspace/{path}")),
            "theirs",
            "{outcome:?}"
        );
    }
    match change(&outcome, "/workspace/moved/deep/x") {
        Change::Conflict(Some(beside)) => assert_eq!(fixture.read(&beside[1..]), "run\n"),
        other => panic!("{other:?}"),
    }
    for path in ["moved/new", "again/new", "kept/deep/x", "kept/new"] {
        assert_eq!(fixture.read(&format!("workspace/{path}")), "run\n");
    }
    // The control: nobody moved this one.
    assert!(!fixture.path("workspace/kept/gone").exists());
}

/// Waits until the folders of the run are noted, which begins a moment after it and ends with its thread.
fn wait_for_folder_notes() {
    let is_noting = || {
        let threads = std::fs::read_dir("/proc/self/task").unwrap();
        threads.filter_map(Result::ok).any(|thread| {
            std::fs::read_to_string(thread.path().join("comm"))
                .is_ok_and(|name| name.trim_end() == "folder notes")
        })
    };
    // A thread gets its name when it first runs.
    std::thread::sleep(Duration::from_millis(100));
    for _ in 0..3_000 {
        if !is_noting() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("the folders were not noted within 30 s");
}

fn new_files_of_others_make_no_conflict_beside_them(level: Level) {
    let fixture = Fixture::new(level);
    for path in [
        "src/a.py",
        "src/deep/d.py",
        "src/gone.py",
        "lib/l.py",
        "swapped/s.py",
    ] {
        fixture.write(&format!("workspace/{path}"), "old\n");
    }
    fixture.write("aside/s.py", "theirs\n");
    let line = "cd /workspace; for f in src/a.py src/deep/d.py lib/l.py swapped/s.py; do echo run > $f; done; \
        rm src/gone.py; echo begun; read go; echo more >> src/a.py";
    let outcome = run_with(&fixture, line, || {
        wait_for_folder_notes();
        for path in ["README.md", "src/b.py", "src/deep/new/e.py"] {
            fixture.write(&format!("workspace/{path}"), "person\n");
        }
        // An editor saves by renaming.
        fixture.write("workspace/lib/.m.py.new", "person\n");
        let saved = fixture.path("workspace/lib/m.py");
        std::fs::rename(fixture.path("workspace/lib/.m.py.new"), saved).unwrap();
        let place = fixture.path("workspace/swapped");
        std::fs::rename(&place, fixture.path("former")).unwrap();
        std::fs::rename(fixture.path("aside"), &place).unwrap();
        fixture.write("workspace/swapped/more.py", "person\n");
    });
    for (path, text) in [
        ("src/a.py", "run\nmore\n"),
        ("src/deep/d.py", "run\n"),
        ("lib/l.py", "run\n"),
        ("src/b.py", "person\n"),
        ("lib/m.py", "person\n"),
        // This folder is another one than the run saw.
        ("swapped/s.py", "theirs\n"),
    ] {
        let found = fixture.read(&format!("workspace/{path}"));
        assert_eq!(found, text, "{path}: {outcome:?}");
    }
    assert!(!fixture.path("workspace/src/gone.py").exists());
    let swapped = change(&outcome, "/workspace/swapped/s.py");
    assert!(matches!(swapped, Change::Conflict(Some(_))), "{swapped:?}");
}

/// The permissions of entries of the workspace.
fn modes<const N: usize>(fixture: &Fixture, names: [&str; N]) -> [u32; N] {
    names.map(|name| {
        let found = std::fs::metadata(fixture.path("workspace").join(name)).unwrap();
        found.permissions().mode() & 0o7777
    })
}

fn new_folders_have_the_modes_that_the_run_gave_them(level: Level) {
    let fixture = Fixture::new(level);
    fixture.output_of(&fixture.guest_line(
        "cd /workspace; umask 022; mkdir usual; (umask 077; mkdir private; echo x > private/x); \
         mkdir shared closed; chmod 775 shared; chmod 0 closed",
    ));
    assert_eq!(
        modes(
            &fixture,
            ["usual", "private", "private/x", "shared", "closed"]
        ),
        [0o755, 0o700, 0o600, 0o775, 0o700]
    );
}

fn file_with_a_second_name_keeps_its_mode_and_content(level: Level) {
    let fixture = Fixture::new(level);
    for name in ["m", "other"] {
        fixture.write(&format!("workspace/{name}"), "old");
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(fixture.path("workspace").join(name), mode).unwrap();
    }
    // Names that come before it and after it.
    fixture.output_of(
        &fixture.guest_line("cd /workspace; ln m a; ln m z; ln other both; echo new > both"),
    );
    assert_eq!(
        modes(&fixture, ["a", "m", "z", "both", "other"]),
        [0o755; 5]
    );
    for name in ["a", "m", "z"] {
        assert_eq!(fixture.read(&format!("workspace/{name}")), "old");
    }
    for name in ["both", "other"] {
        assert_eq!(fixture.read(&format!("workspace/{name}")), "new\n");
    }
}

fn changes_follow_a_moved_folder_and_no_link(level: Level) {
    let fixture = Fixture::new(level);
    for path in ["skill/old", "workspace/kept", "victim/kept"] {
        fixture.write(path, "old");
    }
    let line = "echo begun; read go; echo run > /workspace/kept; echo run > /skill/made";
    run_with(&fixture, line, || {
        std::fs::rename(fixture.path("workspace"), fixture.path("moved")).unwrap();
        symlink(fixture.path("victim"), fixture.path("workspace")).unwrap();
        std::fs::rename(fixture.path("skill"), fixture.path("renamed")).unwrap();
    });
    assert_eq!(fixture.read("moved/kept"), "run\n");
    assert_eq!(fixture.read("layer/made"), "run\n");
    assert_eq!(fixture.read("victim/kept"), "old");
}

fn source_that_became_a_link_is_not_shown(level: Level) {
    let fixture = Fixture::new(level);
    fixture.write("victim/key", "secret");
    fixture.write("skill/key", "own");
    // The control.
    assert_eq!(fixture.output_of("cat key"), "own");
    for name in ["skill", "workspace"] {
        std::fs::rename(fixture.path(name), fixture.path("away")).unwrap();
        symlink(fixture.path("victim"), fixture.path(name)).unwrap();
        let ran = fixture.run(Command::Line("cat key /workspace/key".to_owned()));
        let error = ran.unwrap_err().to_string();
        assert!(error.contains("is now a link"), "{error}");
        std::fs::remove_file(fixture.path(name)).unwrap();
        std::fs::rename(fixture.path("away"), fixture.path(name)).unwrap();
    }
}

fn mounted_folder_is_never_written(level: Level) {
    in_own_mounts(level, "mounted");
}

fn full_disk_changes_nothing(level: Level) {
    in_own_mounts(level, "full");
}

/// Runs a test of this level in a mount namespace of its own.
fn in_own_mounts(level: Level, test: &str) {
    let itself = std::env::current_exe().unwrap();
    let mut unshare = Process::new("unshare");
    unshare.args(["--mount", "--propagation", "private"]);
    let ran = unshare.arg(itself).args([ARGUMENT, level.as_str(), test]);
    let ran = ran.output().unwrap();
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.success(), "{said}");
}

/// The other side of [`in_own_mounts`].
pub(crate) fn with_own_mounts() -> ExitCode {
    let mut arguments = std::env::args().skip(2);
    let level = arguments.next().unwrap();
    let mut levels = crate::kinds().into_iter().map(|(level, _)| level);
    let level = levels.find(|one| one.as_str() == level).unwrap();
    match arguments.next().unwrap().as_str() {
        "mounted" => check_mounted(level),
        _ => check_full(level),
    }
    ExitCode::SUCCESS
}

fn mount(arguments: &[&str], at: &Path) {
    let mounted = Process::new("mount").args(arguments).arg(at).status();
    assert!(mounted.unwrap().success());
}

fn check_mounted(level: Level) {
    let fixture = Fixture::new(level);
    for path in ["outside/db", "outside/kept", "workspace/plain/db"] {
        fixture.write(path, "keep");
    }
    for path in ["outside/empty", "workspace/b"] {
        std::fs::create_dir(fixture.path(path)).unwrap();
    }
    let outside = fixture.path("outside");
    mount(
        &["--bind", outside.to_str().unwrap()],
        &fixture.path("workspace/b"),
    );
    for line in [
        "echo pwn > /workspace/b/db; echo pwn > /workspace/plain/db",
        "mkdir -p /workspace/b/new",
        "cd /workspace; rm -rf b; mkdir -p b; echo n > b/new",
        "cd /workspace; rm -rf b",
        "cd /workspace; rm -rf b; echo a file > b",
    ] {
        let outcome = fixture.run_line(&fixture.guest_line(line));
        for path in ["outside/db", "outside/kept"] {
            assert_eq!(fixture.read(path), "keep", "{line}: {outcome:?}");
        }
        let (new, empty) = (fixture.path("outside/new"), fixture.path("outside/empty"));
        assert!(!new.exists() && empty.exists(), "{line}: {outcome:?}");
    }
    // The control: a folder beside it is written.
    assert_eq!(fixture.read("workspace/plain/db"), "pwn\n");
}

fn check_full(level: Level) {
    let fixture = Fixture::new(level);
    let workspace = fixture.path("workspace");
    mount(
        &["-t", "tmpfs", "-o", "size=3m,mode=755", "tmpfs"],
        &workspace,
    );
    fixture.write("workspace/keep.txt", "keep");
    fixture.write("workspace/changed", "old");
    let line = "cd /workspace; rm keep.txt; echo new > changed; head -c 2500000 /dev/zero > b; head -c 2500000 /dev/zero > c";
    let outcome = fixture.run_line(&fixture.guest_line(line));
    assert_eq!(outcome.exit, Some(Exit::Code(0)), "{outcome:?}");
    for name in ["b", "c", "changed", "keep.txt"] {
        let change = change(&outcome, &format!("/workspace/{name}"));
        assert!(matches!(change, Change::Refused(why) if why.contains("nothing was changed")));
    }
    assert_eq!(fixture.read("workspace/keep.txt"), "keep");
    assert_eq!(fixture.read("workspace/changed"), "old");
    assert_eq!(std::fs::read_dir(&workspace).unwrap().count(), 2);
    // The control: what there is room for is written.
    let line = "cd /workspace; rm keep.txt; head -c 2500000 /dev/zero > b";
    fixture.run_line(&fixture.guest_line(line));
    assert!(fixture.path("workspace/b").exists() && !fixture.path("workspace/keep.txt").exists());
}
