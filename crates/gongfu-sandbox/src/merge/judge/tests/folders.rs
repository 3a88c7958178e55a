//! Tests of changes that take whole folders away, or move them.

use super::*;
use crate::merge::judge::REPOSITORY;

/// A layer as an overlay of a user writes it.
impl Fixture {
    /// Lets a folder of the layer replace the one below it.
    fn replace(&self, path: &str) {
        let path = self.layer.path().join(path);
        fs::create_dir_all(&path).unwrap();
        let flags = rustix::fs::XattrFlags::empty();
        rustix::fs::setxattr(&path, c"user.overlay.opaque", b"y", flags).unwrap();
    }

    /// Moves an entry of the target, as `mv` does in an overlay: it is removed, and copied with its times.
    fn move_to(&self, from: &str, to: &str) {
        fn copy(from: &Path, to: &Path) {
            if from.is_dir() {
                fs::create_dir_all(to).unwrap();
                for entry in fs::read_dir(from).unwrap().flatten() {
                    copy(&entry.path(), &to.join(entry.file_name()));
                }
            } else {
                fs::copy(from, to).unwrap();
                let time = fs::metadata(from).unwrap().modified().unwrap();
                let to = File::options().write(true).open(to).unwrap();
                to.set_modified(time).unwrap();
            }
        }
        copy(&self.target(from), &self.layer(to));
        self.remove(from);
    }
}

/// A workspace with folders that hold something obeyed, and one that doesn't.
fn workspace() -> Fixture {
    let fixture = Fixture::new();
    for path in [
        "stays",
        "docs/a",
        "docs/deep/b",
        "vendor/x/.git/HEAD",
        "vendor/x/lib.c",
        "sub/.claude/settings.json",
        "sub/text",
        "agents/deep/AGENTS.md",
        "bare/mine/HEAD",
        "bare/mine/objects/x",
        "bare/mine/refs/x",
    ] {
        fixture.there(path);
    }
    fixture
}

const REASONS: [(&str, &str); 4] = [
    (
        "agents",
        "deep/AGENTS.md would be removed with it: agents follow it",
    ),
    (
        "bare",
        "mine would be removed with it: it is a git repository",
    ),
    ("sub", ".claude would be removed with it: agents follow it"),
    ("vendor", "x/.git would be removed with it: git uses it"),
];

fn assert_all_wait(fixture: &Fixture) {
    let judged = fixture.judged();
    let held: Vec<(&str, &str)> = judged
        .held
        .iter()
        .map(|(path, why)| (&**path, &**why))
        .collect();
    assert_eq!(held, REASONS);
    // The control: nothing in it is obeyed.
    let docs = |path: &String| path.starts_with("docs");
    assert!(judged.applied.iter().all(docs), "{judged:?}");
    assert!(!judged.applied.is_empty());
}

#[test]
fn removal_of_a_folder_waits_for_what_is_in_it() {
    let fixture = workspace();
    for (folder, _) in REASONS {
        fixture.remove(folder);
    }
    fixture.remove("docs");
    assert_all_wait(&fixture);
    assert!(!fixture.target.path().join("docs").exists());
}

#[test]
fn folder_that_is_made_anew_waits_for_what_was_in_it() {
    let fixture = workspace();
    for (folder, _) in REASONS {
        fixture.replace(folder);
    }
    fixture.replace("docs");
    assert_all_wait(&fixture);
    assert!(fixture.target("docs").exists() && !fixture.target.path().join("docs/a").exists());
}

#[test]
fn file_or_link_in_the_place_of_a_folder_waits_for_what_was_in_it() {
    let fixture = workspace();
    for (folder, _) in REASONS {
        fixture.write(folder);
    }
    fixture.write("docs");
    assert_all_wait(&fixture);
    let fixture = workspace();
    for (folder, _) in REASONS {
        symlink("stays", fixture.layer(folder)).unwrap();
    }
    symlink("stays", fixture.layer("docs")).unwrap();
    assert_all_wait(&fixture);
}

#[test]
fn folder_that_is_made_anew_waits_with_what_waits_in_it() {
    let fixture = workspace();
    for folder in ["docs", "other"] {
        fixture.there(&format!("{folder}/a"));
        fixture.replace(folder);
        fixture.write(&format!("{folder}/new"));
    }
    fixture.write("docs/CLAUDE.md");
    assert_eq!(fixture.held(), ["docs", "docs/CLAUDE.md", "docs/new"]);
    assert!(fixture.target.path().join("docs/a").exists());
    // The control.
    assert!(!fixture.target.path().join("other/a").exists());
    assert!(fixture.target.path().join("other/new").exists());
}

#[test]
fn folder_in_one_that_is_made_anew_counts_with_what_was_in_it() {
    for (number, is_held) in [(60, true), (40, false)] {
        let fixture = workspace();
        for number in 0..number {
            fixture.there(&format!("docs/sub/{number}"));
        }
        fixture.replace("docs");
        fixture.write("docs/sub/new");
        let held = fixture.held();
        assert_eq!(held.contains(&"docs".to_owned()), is_held, "{held:?}");
    }
}

#[test]
fn index_in_a_repository_that_is_made_anew_is_kept() {
    let fixture = workspace();
    git(&fixture.root(), &["init", "--quiet"]);
    git(&fixture.root(), &["add", "stays"]);
    fs::copy(fixture.target(".git/index"), fixture.layer(".git/index")).unwrap();
    // The control: alone it says nothing new.
    assert_eq!(fixture.held(), [""; 0]);
    fixture.replace(".git");
    assert_eq!(fixture.held(), [".git", ".git/index"]);
}

#[test]
fn everything_waits_in_a_folder_that_is_obeyed() {
    for (below, file, why) in [
        ("p/.claude", "settings.json", "agents follow it"),
        ("p/.git/hooks", "pre-push", "git uses it"),
        ("p/.github/workflows", "ci.yml", "CI servers run it"),
        ("bare/hooks", "pre-push", REPOSITORY),
    ] {
        let fixture = Fixture::within(below);
        for part in ["bare/HEAD", "bare/objects", "bare/refs"] {
            fs::create_dir_all(fixture.target.path().join(part)).unwrap();
        }
        fixture.write(file);
        let held = vec![(file.to_owned(), why.to_owned())];
        assert_eq!(fixture.judged().held, held, "{below}");
    }
    // The control: a worktree, in which agents put it, and a folder of a project.
    for below in ["p/.claude/worktrees/x", "p/src"] {
        let fixture = Fixture::within(below);
        fixture.there(".git");
        fixture.write("settings.json");
        assert_eq!(fixture.judged().applied, ["settings.json"], "{below}");
    }
}

#[test]
fn both_halves_of_a_move_wait_together() {
    let fixture = workspace();
    fixture.move_to("vendor", "third");
    fixture.move_to("docs", "text");
    fixture.write("third/new");
    let judged = fixture.judged();
    let held: Vec<&str> = judged.held.iter().map(|(path, _)| &**path).collect();
    assert_eq!(held, ["third/x/.git/HEAD", "third/x/lib.c", "vendor"]);
    assert_eq!(
        judged.applied,
        ["docs", "text/a", "text/deep/b", "third/new"]
    );
    // The control: one that is only new doesn't belong to it.
    let fixture = workspace();
    fixture.remove("vendor");
    fixture.write("third/x/lib.c");
    assert_eq!(fixture.held(), ["vendor"]);
}

#[test]
fn what_moves_to_where_it_waits_is_not_removed_before() {
    let fixture = workspace();
    fixture.move_to("docs/a", "CLAUDE.md");
    fixture.move_to("sub/text", "notes");
    let judged = fixture.judged();
    let held: Vec<&str> = judged.held.iter().map(|(path, _)| &**path).collect();
    assert_eq!(held, ["CLAUDE.md", "docs/a"]);
    assert_eq!(judged.applied, ["notes", "sub/text"]);
}

#[test]
fn installed_packages_go_with_their_settings_and_not_with_repositories() {
    let fixture = Fixture::new();
    for path in [
        "stays",
        "web/node_modules/x/.travis.yml",
        "web/node_modules/x/.github/a",
        "api/node_modules/mine/.git/HEAD",
    ] {
        fixture.there(path);
    }
    fixture.remove("web/node_modules");
    fixture.remove("api/node_modules");
    let judged = fixture.judged();
    assert_eq!(judged.applied, ["web/node_modules"]);
    assert_eq!(judged.held.len(), 1, "{judged:?}");
    assert_eq!(judged.held[0].0, "api/node_modules");
}
