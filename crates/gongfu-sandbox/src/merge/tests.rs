//! Tests of merging a layer, and of what is refused.

use std::fs::{self, File};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use gongfu_core::change::Change;

use super::{Below, Budget, FolderContext, Merge, Terms, stays_inside};
use crate::copier::{Before, Copier, Sources};
use crate::file_time::{Beginning, note_change};

/// A layer and the folder that it is merged into.
struct Fixture {
    layer: TempDir,
    target: TempDir,
    /// The content of the layer, where it is a copy.
    before: Option<Before>,
    /// The beginning of the run; the time of the merge unless a test sets it.
    began: Option<Beginning>,
}

impl Fixture {
    fn new() -> Self {
        let [layer, target] = [(), ()].map(|()| tempfile::tempdir().unwrap());
        Self {
            layer,
            target,
            before: None,
            began: None,
        }
    }

    /// Begins the run: from now on, others change the target.
    fn begin(&mut self) {
        note_change();
        self.began = Some(Beginning::now());
    }

    fn merged(&self) -> Vec<(String, Change)> {
        self.merged_by(Instant::now() + Duration::from_mins(5), &[])
    }

    fn merged_by(&self, deadline: Instant, below: &[&TempDir]) -> Vec<(String, Change)> {
        let (_wanted, cancel) = UnixStream::pair().unwrap();
        self.merged_until(deadline, &cancel, below)
    }

    fn merged_until(
        &self,
        deadline: Instant,
        cancel: &UnixStream,
        below: &[&TempDir],
    ) -> Vec<(String, Change)> {
        let open = |path: &Path| OwnedFd::from(File::open(path).unwrap());
        let terms = Terms {
            began: self.began.unwrap_or_else(|| {
                note_change();
                Beginning::now()
            }),
            run: "1a2b",
            owner: None,
            deadline,
            cancel: cancel.as_fd(),
            is_allowed: false,
            unseen: &[],
        };
        let folder_context = FolderContext {
            below: Below::new(below.iter().map(|folder| open(folder.path())).collect()),
            before: self.before.as_ref(),
            known: None,
        };
        let (layer, target) = (open(self.layer.path()), open(self.target.path()));
        let merge = Merge::scan(
            layer,
            target,
            &folder_context,
            &terms,
            &mut Budget::of_run(10_000),
        );
        let changes = merge.and_then(|merge| merge.apply(&terms)).unwrap();
        let total = changes.total;
        let listed = changes.listed();
        assert_eq!(total, listed.len());
        listed
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.target.path().join(path)).unwrap()
    }
}

fn write(folder: &TempDir, path: &str, text: &str) {
    let path = folder.path().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn merges_written_files_and_leaves_the_others() {
    let fixture = Fixture::new();
    write(&fixture.target, "a/old.txt", "old");
    write(&fixture.target, "a/kept.txt", "kept");
    write(&fixture.target, "was-file", "x");
    write(&fixture.target, "was-empty", "x");
    fs::create_dir(fixture.layer.path().join("was-empty")).unwrap();
    write(&fixture.target, "was-folder/x/y", "x");
    write(&fixture.layer, "a/old.txt", "new");
    write(&fixture.layer, "b/c/made.sh", "made");
    write(&fixture.layer, "was-file/now", "in a folder");
    write(&fixture.layer, "was-folder", "a file");
    let made = fixture.layer.path().join("b/c/made.sh");
    fs::set_permissions(&made, fs::Permissions::from_mode(0o4755)).unwrap();
    let folder = fixture.layer.path().join("b");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o3070)).unwrap();
    let written = |path: &str, length| (path.to_owned(), Change::Written(length));
    assert_eq!(
        fixture.merged(),
        [
            written("a/old.txt", 3),
            written("b/c/made.sh", 4),
            ("was-empty".to_owned(), Change::Removed),
            written("was-file/now", 11),
            written("was-folder", 6),
        ]
    );
    assert_eq!(fixture.text("a/old.txt"), "new");
    assert_eq!(fixture.text("a/kept.txt"), "kept");
    assert_eq!(fixture.text("was-file/now"), "in a folder");
    let made = fs::metadata(fixture.target.path().join("b/c/made.sh")).unwrap();
    assert_eq!(made.permissions().mode() & 0o7777, 0o755);
    let folder = fs::metadata(fixture.target.path().join("b")).unwrap();
    assert_eq!(folder.permissions().mode() & 0o7777, 0o770);
}

#[test]
fn refuses_a_link_that_leads_out() {
    let fixture = Fixture::new();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "secret").unwrap();
    write(&fixture.layer, "d/x", "x");
    for (name, to) in [
        ("in", "d/x"),
        ("d/up", "../d/x"),
        ("d/out", "../../etc/passwd"),
        ("absolute", outside.path().to_str().unwrap()),
    ] {
        symlink(to, fixture.layer.path().join(name)).unwrap();
    }
    let changes = fixture.merged();
    let of = |path: &str| {
        let found = changes.iter().find(|(known, _)| known == path);
        found.map(|(_, change)| change.clone()).unwrap()
    };
    assert_eq!((of("in"), of("d/up")), (Change::Linked, Change::Linked));
    for path in ["d/out", "absolute"] {
        assert!(matches!(of(path), Change::Refused(_)), "{path}");
        assert!(fs::symlink_metadata(fixture.target.path().join(path)).is_err());
    }
    assert_eq!(fixture.text("in"), "x");
}

#[test]
fn writes_through_no_link_of_the_target() {
    let fixture = Fixture::new();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("file"), "theirs").unwrap();
    symlink(outside.path(), fixture.target.path().join("folder")).unwrap();
    symlink(
        outside.path().join("file"),
        fixture.target.path().join("file"),
    )
    .unwrap();
    write(&fixture.layer, "folder/file", "mine");
    write(&fixture.layer, "file", "mine");
    assert_eq!(fixture.merged().len(), 2);
    // The links were what a control would have written through.
    assert_eq!(
        fs::read_to_string(outside.path().join("file")).unwrap(),
        "theirs"
    );
    assert_eq!(
        (fixture.text("folder/file"), fixture.text("file")),
        ("mine".to_owned(), "mine".to_owned())
    );
}

#[cfg(target_os = "linux")]
#[test]
fn refuses_a_pipe() {
    let fixture = Fixture::new();
    let pipe = fixture.layer.path().join("pipe");
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::Mode::from_raw_mode(0o600),
    )
    .unwrap();
    assert!(matches!(
        fixture.merged().as_slice(),
        [(_, Change::Refused(_))]
    ));
    assert_eq!(fs::read_dir(fixture.target.path()).unwrap().count(), 0);
}

#[test]
fn link_may_climb_only_before_it_descends() {
    for (path, to, inside) in [
        ("a", "b", true),
        ("a", "./b/c", true),
        ("a", "./b/../c", false),
        ("out", "d/e/up/..", false),
        ("a", "..", false),
        ("a/b", "..", true),
        ("a/b", "../..", false),
        ("a/b", "c/../../../d", false),
        ("a", "/etc/passwd", false),
    ] {
        let text = std::ffi::CString::new(to).unwrap();
        assert_eq!(stays_inside(path, &text), inside, "{path} -> {to}");
    }
}

#[test]
fn counts_hard_links_and_holes_as_written() {
    let fixture = Fixture::new();
    write(&fixture.layer, "a", &"x".repeat(4_000));
    for name in ["b", "c", "d"] {
        fs::hard_link(
            fixture.layer.path().join("a"),
            fixture.layer.path().join(name),
        )
        .unwrap();
    }
    File::create(fixture.layer.path().join("hole"))
        .unwrap()
        .set_len(1 << 40)
        .unwrap();
    let changes = fixture.merged();
    let written = changes
        .iter()
        .filter(|(_, change)| *change == Change::Written(4_000));
    assert_eq!((changes.len(), written.count()), (5, 2), "{changes:?}");
    let left: u64 = fs::read_dir(fixture.target.path())
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .sum();
    assert_eq!(left, 8_000);
}

#[test]
fn merges_closed_folders_and_goes_on_after_a_failure() {
    let fixture = Fixture::new();
    write(&fixture.layer, "shut/file", "x");
    write(&fixture.layer, "zz", "last");
    for (path, mode) in [("shut/file", 0), ("shut", 0o300)] {
        let path = fixture.layer.path().join(path);
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    assert_eq!(fixture.merged().len(), 2);
    assert_eq!(fixture.text("zz"), "last");
    assert!(fixture.target.path().join("shut/file").exists());
}

#[test]
fn leaves_out_files_that_are_the_same_below() {
    let fixture = Fixture::new();
    let [upper, lower] = [(), ()].map(|()| tempfile::tempdir().unwrap());
    for path in ["run.sh", "same/deep.txt", "other.txt", "hidden"] {
        write(&lower, path, "text");
    }
    write(&upper, "hidden", "TEXT");
    symlink("run.sh", lower.path().join("link")).unwrap();
    // Kept by an earlier run, and now as it was.
    write(&fixture.target, "other.txt", "kept");
    for path in ["run.sh", "same/deep.txt", "other.txt", "hidden"] {
        write(&fixture.layer, path, "text");
    }
    write(&fixture.layer, "same/longer.txt", "x");
    symlink("run.sh", fixture.layer.path().join("link")).unwrap();
    let script = fixture.layer.path().join("run.sh");
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
    let by = Instant::now() + Duration::from_mins(5);
    let changes = fixture.merged_by(by, &[&upper, &lower]);
    let written = |path: &str, length| (path.to_owned(), Change::Written(length));
    assert_eq!(
        changes,
        [
            written("hidden", 4),
            written("other.txt", 4),
            written("same/longer.txt", 1),
        ]
    );
    let is_kept = |path: &str| fs::symlink_metadata(fixture.target.path().join(path)).is_ok();
    assert!(is_kept("hidden") && is_kept("same/longer.txt"));
    for path in ["run.sh", "same/deep.txt", "other.txt", "link"] {
        assert!(!is_kept(path), "{path}");
    }
    // Where nothing lies below, all of it is.
    fixture.merged();
    assert!(is_kept("run.sh") && is_kept("same/deep.txt") && is_kept("link"));
}

#[test]
fn makes_no_folder_that_would_stay_empty() {
    let fixture = Fixture::new();
    let lower = tempfile::tempdir().unwrap();
    write(&lower, "scripts/deep/run.sh", "text");
    write(&fixture.layer, "scripts/deep/run.sh", "text");
    fs::create_dir(fixture.layer.path().join("made")).unwrap();
    let by = Instant::now() + Duration::from_mins(5);
    assert_eq!(fixture.merged_by(by, &[&lower]), []);
    assert!(!fixture.target.path().join("scripts").exists());
    assert!(fixture.target.path().join("made").exists());
}

#[test]
fn bytecode_is_kept_in_a_workspace_and_never_above_a_skill() {
    let merged = |below: &[&TempDir]| {
        let fixture = Fixture::new();
        for path in [
            "made/__pycache__/b.txt",
            "json.pyc",
            "out.txt",
            "scripts/__PyCache__/helper.cpython-311.pyc",
        ] {
            write(&fixture.layer, path, "x");
        }
        symlink("made", fixture.layer.path().join("__pycache__")).unwrap();
        let changes = fixture.merged_by(Instant::now() + Duration::from_mins(5), below);
        let paths = changes.into_iter().map(|(path, _)| path);
        paths.collect::<Vec<_>>()
    };
    assert_eq!(merged(&[]).len(), 5);
    let skill = tempfile::tempdir().unwrap();
    write(&skill, "scripts/helper.py", "x");
    let kept = merged(&[&skill]);
    assert_eq!(kept, ["out.txt"]);
}

#[test]
fn compares_with_the_visible_file_below() {
    let fixture = Fixture::new();
    let [upper, lower] = [(), ()].map(|()| tempfile::tempdir().unwrap());
    // A file hides the folder below it, which is seen no more.
    write(&upper, "a", "a file");
    write(&lower, "a/x", "text");
    write(&fixture.layer, "a/x", "text");
    let by = Instant::now() + Duration::from_mins(5);
    let changes = fixture.merged_by(by, &[&upper, &lower]);
    assert_eq!(changes, [("a/x".to_owned(), Change::Written(4))]);
    assert_eq!(fixture.text("a/x"), "text");
    // Of two files that begin the same, the end counts.
    let fixture = Fixture::new();
    let text = "x".repeat(5_000);
    write(&lower, "long", &format!("{text}a"));
    write(&fixture.layer, "long", &format!("{text}b"));
    assert_eq!(fixture.merged_by(by, &[&lower]).len(), 1);
}

#[test]
fn refuses_entries_after_the_deadline() {
    let fixture = Fixture::new();
    write(&fixture.layer, "a/b/c", "x");
    write(&fixture.layer, "d", "x");
    let changes = fixture.merged_by(
        Instant::now().checked_sub(Duration::from_secs(1)).unwrap(),
        &[],
    );
    let paths: Vec<&str> = changes.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, ["a", "d"]);
    assert!(
        changes
            .iter()
            .all(|(_, change)| matches!(change, Change::Refused(_)))
    );
    assert_eq!(fs::read_dir(fixture.target.path()).unwrap().count(), 0);
    assert_eq!(fixture.merged().len(), 2);
}

#[test]
fn empty_folder_that_comes_too_late_is_refused() {
    let fixture = Fixture::new();
    fs::create_dir_all(fixture.layer.path().join("empty/inside")).unwrap();
    let open = |path: &Path| OwnedFd::from(File::open(path).unwrap());
    let (_wanted, cancel) = UnixStream::pair().unwrap();
    let mut terms = Terms {
        began: Beginning::now(),
        run: "1a2b",
        owner: None,
        deadline: Instant::now() + Duration::from_mins(5),
        cancel: cancel.as_fd(),
        is_allowed: true,
        unseen: &[],
    };
    let merge = Merge::scan(
        open(fixture.layer.path()),
        open(fixture.target.path()),
        &FolderContext::default(),
        &terms,
        &mut Budget::of_run(10_000),
    );
    terms.deadline = Instant::now().checked_sub(Duration::from_secs(1)).unwrap();
    let changes = merge.unwrap().apply(&terms).unwrap();
    assert_eq!((changes.total, changes.refused), (1, 1));
    assert_eq!(fs::read_dir(fixture.target.path()).unwrap().count(), 0);
}

#[test]
fn merges_nothing_when_cancelled() {
    let fixture = Fixture::new();
    write(&fixture.layer, "a", "x");
    let (wanted, cancel) = UnixStream::pair().unwrap();
    drop(wanted);
    let by = Instant::now() + Duration::from_mins(5);
    assert_eq!(fixture.merged_until(by, &cancel, &[]), []);
    assert_eq!(fs::read_dir(fixture.target.path()).unwrap().count(), 0);
}

#[test]
fn merges_only_the_changes_of_a_copy() {
    let mut fixture = Fixture::new();
    for path in [
        "kept",
        "changed",
        "removed",
        "a/kept",
        "b/removed",
        "moved/x",
    ] {
        write(&fixture.target, path, "old");
    }
    symlink("kept", fixture.target.path().join("link")).unwrap();
    let source = tempfile::tempdir().unwrap();
    // What lies in another folder than the one that it comes to isn't brought there.
    write(&source, "elsewhere/kept", "old");
    let sources = [fixture.target.path(), source.path()].map(Path::to_owned);
    let mut copier = Copier::new(1 << 20, 100);
    let layer = OwnedFd::from(File::open(fixture.layer.path()).unwrap());
    let sources = Sources {
        paths: &sources,
        are_real: true,
    };
    fixture.before = Some(copier.copy(&sources, &[], &layer).unwrap());
    copier.settle();
    let at = |path: &str| fixture.layer.path().join(path);
    fs::write(at("changed"), "new").unwrap();
    write(&fixture.layer, "b/made", "made");
    for path in ["removed", "b/removed"] {
        fs::remove_file(at(path)).unwrap();
    }
    fs::rename(at("moved"), at("away")).unwrap();
    let written = |path: &str, length| (path.to_owned(), Change::Written(length));
    let removed = |path: &str| (path.to_owned(), Change::Removed);
    assert_eq!(
        fixture.merged(),
        [
            written("away/x", 3),
            written("b/made", 4),
            written("changed", 3),
            removed("b/removed"),
            removed("moved"),
            removed("removed"),
        ]
        .into_iter()
        .collect::<std::collections::BTreeMap<_, _>>()
        .into_iter()
        .collect::<Vec<_>>()
    );
    assert_eq!(fixture.text("changed"), "new");
    assert_eq!(fixture.text("kept"), "old");
    assert!(!fixture.target.path().join("elsewhere").exists());
    assert!(!fixture.target.path().join("moved").exists());
}

#[test]
fn keeps_both_where_somebody_changed_a_file_meanwhile() {
    let mut fixture = Fixture::new();
    for path in [
        "theirs",
        "same",
        "mine",
        "folder/gone",
        "folder/kept",
        "d/x",
    ] {
        write(&fixture.target, path, "old");
    }
    fixture.begin();
    for (path, text) in [("theirs", "theirs"), ("same", "same"), ("new", "theirs")] {
        write(&fixture.target, path, text);
    }
    // A folder became a file.
    fs::remove_dir_all(fixture.target.path().join("d")).unwrap();
    write(&fixture.target, "d", "theirs");
    for (path, text) in [
        ("theirs", "run"),
        ("same", "same"),
        ("mine", "run"),
        ("new", "run"),
        ("d/x", "run"),
    ] {
        write(&fixture.layer, path, text);
    }
    let conflict = |path: &str| Change::Conflict(Some(format!("{path}.run-1a2b")));
    let written = |path: &str, length| (path.to_owned(), Change::Written(length));
    assert_eq!(
        fixture.merged(),
        [
            ("d".to_owned(), conflict("d")),
            written("d.run-1a2b/x", 3),
            written("mine", 3),
            ("new".to_owned(), conflict("new")),
            written("same", 4),
            ("theirs".to_owned(), conflict("theirs")),
        ]
    );
    for (path, text) in [
        ("theirs", "theirs"),
        ("theirs.run-1a2b", "run"),
        ("same", "same"),
        ("mine", "run"),
        ("new", "theirs"),
        ("new.run-1a2b", "run"),
        ("d", "theirs"),
        ("d.run-1a2b/x", "run"),
    ] {
        assert_eq!(fixture.text(path), text, "{path}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn removes_only_what_the_run_saw() {
    let mut fixture = Fixture::new();
    for path in ["a/seen", "a/b/seen", "whole/x", "again/seen", "changed"] {
        write(&fixture.target, path, "old");
    }
    // It is moved in with files that are older than the run.
    let elsewhere = tempfile::tempdir_in(fixture.target.path()).unwrap();
    write(&elsewhere, "moved/x", "theirs");
    fixture.begin();
    write(&fixture.target, "a/b/theirs", "theirs");
    write(&fixture.target, "again/theirs", "theirs");
    write(&fixture.target, "changed", "theirs");
    fs::rename(
        elsewhere.path().join("moved"),
        fixture.target.path().join("again/moved"),
    )
    .unwrap();
    // Whiteouts can be made without rights; the last folder was removed and made again.
    for path in ["a", "whole", "changed"] {
        let at = fixture.layer.path().join(path);
        let (kind, none) = (
            rustix::fs::FileType::CharacterDevice,
            rustix::fs::Mode::empty(),
        );
        rustix::fs::mknodat(rustix::fs::CWD, &at, kind, none, 0).unwrap();
    }
    write(&fixture.layer, "again/new", "run");
    let flags = rustix::fs::XattrFlags::empty();
    let again = fixture.layer.path().join("again");
    rustix::fs::setxattr(&again, "user.overlay.opaque", b"y", flags).unwrap();
    let changes = fixture.merged();
    let kept = |path: &str| (path.to_owned(), Change::Conflict(None));
    assert_eq!(
        changes,
        [
            kept("a"),
            kept("again/moved"),
            ("again/new".to_owned(), Change::Written(3)),
            ("again/seen".to_owned(), Change::Removed),
            kept("again/theirs"),
            kept("changed"),
            ("whole".to_owned(), Change::Removed),
        ]
    );
    let is_there = |path: &str| fixture.target.path().join(path).exists();
    for path in ["a/b/theirs", "again/moved/x", "again/theirs", "changed"] {
        assert!(is_there(path), "{path}");
    }
    for path in ["a/seen", "a/b/seen", "again/seen", "whole"] {
        assert!(!is_there(path), "{path}");
    }
}

#[test]
fn leaves_nothing_behind_and_removes_what_a_killed_merge_left() {
    let fixture = Fixture::new();
    let left = fixture.target.path().join(".gongfu-0-left");
    fs::create_dir(&left).unwrap();
    fs::write(left.join("1"), "half of a file").unwrap();
    // Somebody else's.
    write(&fixture.target, ".gongfu-file", "x");
    write(&fixture.layer, "a", "x");
    assert_eq!(fixture.merged().len(), 1);
    let mut names: Vec<_> = fs::read_dir(fixture.target.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort_unstable();
    assert_eq!(names, [".gongfu-file", "a"]);
}
