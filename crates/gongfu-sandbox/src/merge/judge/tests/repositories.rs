//! Tests of what git obeys: whatever its settings name, in each form of a repository.

use super::*;

impl Fixture {
    /// Writes settings of git, in which `ROOT` stands for the workspace.
    fn settings(&self, path: &str, text: &str) {
        let text = text.replace("ROOT", self.root().to_str().unwrap());
        fs::write(self.target(path), text).unwrap();
    }

    /// Asserts which of these changes wait, and that their neighbours don't.
    fn assert_held(&self, held: &[&str], applied: &[&str]) {
        for path in held.iter().chain(applied) {
            self.write(path);
        }
        let judged = self.judged();
        let found: Vec<&str> = judged.held.iter().map(|(path, _)| &**path).collect();
        assert_eq!(found, held);
        assert_eq!(judged.applied, applied);
    }
}

#[test]
fn holds_what_settings_name_in_every_form() {
    for (settings, held) in [
        ("[core]\nhooksPath = ROOT/hk", "hk/pre-commit"),
        ("[core] hooksPath = ROOT/sub/../hk", "hk/pre-commit"),
        ("[core]\nhooksPath = ~/hk", "hk/pre-commit"),
        ("[core]\nhooksPath = \"my hooks\"", "my hooks/pre-commit"),
        ("[core]\nhooksPath = .", "pre-commit"),
        (
            "[filter \"x\"]\nclean = sh -c \\\"sh tools/clean.sh\\\"",
            "tools/clean.sh",
        ),
        (
            "[filter \"x\"]\nclean = \"sh -c 'my tools/clean.sh'\"",
            "my tools/clean.sh",
        ),
        ("[core]\nfsmonitor = a/\\\n  b/c", "a/  b/c"),
    ] {
        let mut fixture = Fixture::new();
        fixture.holding.git.home = Some(fixture.root());
        fixture.settings(".git/config", settings);
        fixture.assert_held(&[held], &["notes.md", "tools/other"]);
        // Without the settings it is like any other.
        let fixture = Fixture::new();
        fixture.settings(".git/config", "[core]\nbare = false");
        fixture.write(held);
        assert_eq!(fixture.judged().applied, [held]);
    }
}

#[test]
fn holds_arguments_only_where_files_are() {
    let fixture = Fixture::new();
    fixture.there("clean");
    fixture.there("auth/x");
    fixture.settings(
        ".git/config",
        "[filter \"x\"]\nclean = sh clean\n[credential]\nhelper = !gh auth git-credential",
    );
    fixture.assert_held(&["clean"], &["auth/x", "git-credential"]);
}

#[test]
fn holds_what_settings_elsewhere_name() {
    // Those of one worktree.
    let fixture = Fixture::new();
    fixture.settings(".git/config.worktree", "[core]\nhooksPath = hk");
    fixture.assert_held(&["hk/pre-commit"], &["notes.md"]);
    // A worktree, whose repository is outside of the workspace.
    let fixture = Fixture::within("tree");
    fixture.settings("../main/.git/config", "[core]\nhooksPath = hk");
    fixture.settings("../main/.git/worktrees/tree/commondir", "../..\n");
    fixture.settings(
        "../main/.git/worktrees/tree/config.worktree",
        "[core]\nfsmonitor = bin/monitor",
    );
    fixture.settings(".git", "gitdir: ../main/.git/worktrees/tree\n");
    fixture.assert_held(&["bin/monitor", "hk/pre-commit"], &["bin/x", "notes.md"]);
    // A submodule.
    let fixture = Fixture::new();
    fixture.settings(".git/modules/sub/config", "[core]\nhooksPath = hk");
    fixture.settings("sub/.git", "gitdir: ../.git/modules/sub\n");
    fixture.assert_held(&["sub/hk/pre-commit"], &["hk/pre-commit"]);
    // A subfolder of a repository.
    let fixture = Fixture::within("a/b");
    fixture.settings("../../.git/config", "[core]\nhooksPath = a/b/hk");
    fixture.assert_held(&["hk/pre-commit"], &["a/b/hk/x", "notes.md"]);
    // A repository without files.
    let fixture = Fixture::new();
    for part in ["bare/HEAD", "bare/objects/x", "bare/refs/x"] {
        fixture.there(part);
    }
    fixture.settings("bare/config", "[core]\nhooksPath = ../hk");
    fixture.write("bare/x");
    fixture.assert_held(&["bare/x"], &["notes.md"]);
}

#[test]
fn holds_what_included_settings_name() {
    let fixture = Fixture::within("work");
    fixture.settings(
        ".git/config",
        "[include]\npath = ../shared.cfg\n[includeIf \"gitdir:/x/\"]\npath = ROOT/../outside.cfg",
    );
    fixture.settings("shared.cfg", "[core]\nhooksPath = hk");
    fixture.settings(
        "../outside.cfg",
        "[include]\npath = outside.cfg\n[core]\nfsmonitor = bin/m",
    );
    fixture.assert_held(
        &["bin/m", "hk/pre-commit", "shared.cfg"],
        &["bin/x", "outside.cfg"],
    );
    // More than anybody reads: everything waits.
    let fixture = Fixture::new();
    for number in 0..40 {
        let text = format!("[include]\npath = {}", number + 1);
        fixture.settings(&format!(".git/{number}"), &text);
    }
    fixture.settings(".git/config", "[include]\npath = 0");
    fixture.assert_held(&["notes.md"], &[]);
}

#[test]
fn holds_what_the_settings_of_the_person_name() {
    let with = |text: &str| {
        let mut fixture = Fixture::within("home/work");
        fixture.settings("../.gitconfig", text);
        fixture.holding.git = PersonalSettings {
            home: Some(fixture.target.path().join("home")),
            files: vec![fixture.target.path().join("home/.gitconfig")],
        };
        fixture
    };
    // Of each repository.
    let fixture = with("[core]\nhooksPath = hk");
    fixture.settings("sub/.git/config", "");
    fixture.assert_held(&["sub/hk/pre-commit"], &["hk/pre-commit"]);
    // Of all of them.
    let fixture = with("[core]\nhooksPath = ~/work/hk");
    fixture.assert_held(&["hk/pre-commit"], &["sub/hk/pre-commit"]);
}

#[test]
fn holds_what_links_to_hooks_lead_to() {
    let fixture = Fixture::within("work");
    fixture.settings(".git/config", "[core]\nhooksPath = hk");
    for path in ["scripts/pc.sh", "scripts/second.sh", "other/pc.sh"] {
        fixture.there(path);
    }
    symlink("../scripts/pc.sh", fixture.target("hk/pre-commit")).unwrap();
    symlink("second.sh", fixture.target("scripts/first.sh")).unwrap();
    symlink("../../scripts/first.sh", fixture.target(".git/hooks/x")).unwrap();
    // Of the repository above, by its whole path.
    symlink(
        fixture.target("other/pc.sh"),
        fixture.target("../.git/hooks/pre-commit"),
    )
    .unwrap();
    fixture.assert_held(
        &["other/pc.sh", "scripts/pc.sh", "scripts/second.sh"],
        &["other/x", "scripts/x"],
    );
    // The folder itself is a link.
    let fixture = Fixture::new();
    fixture.settings(".git/config", "[core]\nhooksPath = hk");
    fixture.there("scripts/pre-commit");
    symlink("scripts", fixture.target("hk")).unwrap();
    fixture.assert_held(&["scripts/pre-commit"], &["notes.md"]);
}

#[test]
fn holds_a_repository_in_parts() {
    let fixture = Fixture::new();
    fixture.assert_held(
        &[
            "docs/HEAD",
            "docs/commondir",
            "docs/config.worktree",
            "store/config",
        ],
        &["store/objects/x", "store/refs/x"],
    );
    let fixture = Fixture::new();
    fixture.assert_held(
        &["a/CommonDir", "b/gitdir"],
        &["c/HEAD", "d/config", "d/config.worktree"],
    );
    // Settings come to a part that is there.
    let fixture = Fixture::new();
    fixture.there("a/HEAD");
    fixture.assert_held(&["a/Config", "a/config.worktree"], &["a/x", "config"]);
}

#[cfg(target_os = "linux")]
mod removals {
    use super::*;

    /// A repository at this path, with many files in `src` of the workspace that it tracks.
    fn tracked(below: &'static str, top: &str) -> Fixture {
        let fixture = Fixture::within(below);
        git(&fixture.target.path().join(top), &["init", "--quiet"]);
        for number in 0..60 {
            fixture.there(&format!("src/{number}"));
            fixture.there(&format!("build/{number}"));
        }
        fixture.there("stays");
        fixture.settings(".gitignore", "build/\n");
        git(&fixture.root(), &["add", "."]);
        fixture
    }

    /// Lets git ignore all, as if it had always done so.
    fn ignore_all(fixture: &Fixture, index: &Path) {
        fixture.settings(".gitignore", "*\n");
        let bytes = fs::read(index).unwrap();
        std::thread::sleep(Duration::from_millis(20));
        fs::write(index, bytes).unwrap();
    }

    fn assert_only_build_goes(fixture: &Fixture) {
        fixture.remove("build");
        assert_eq!(fixture.judged().applied, ["build"]);
        fixture.remove("src");
        fs::remove_file(fixture.layer("build")).unwrap();
        assert_eq!(fixture.held(), ["src"]);
    }

    #[test]
    fn those_of_tracked_files_count_in_every_form_of_a_repository() {
        let fixture = tracked("", "");
        ignore_all(&fixture, &fixture.target(".git/index"));
        assert_only_build_goes(&fixture);
        // The workspace is a subfolder of it.
        let fixture = tracked("a/b", "");
        ignore_all(&fixture, &fixture.target("../../.git/index"));
        assert_only_build_goes(&fixture);
        // A worktree, or a submodule.
        let fixture = tracked("work", "work");
        fs::rename(fixture.target(".git"), fixture.target("../elsewhere")).unwrap();
        fixture.settings(".git", "gitdir: ../elsewhere\n");
        ignore_all(&fixture, &fixture.target("../elsewhere/index"));
        assert_only_build_goes(&fixture);
    }

    #[test]
    fn nothing_is_ignored_where_the_index_is_not_understood() {
        let assert_all_count = |fixture: &Fixture| {
            fixture.remove("build");
            assert_eq!(fixture.held(), ["build"]);
        };
        let fixture = tracked("", "");
        git(&fixture.root(), &["update-index", "--split-index"]);
        assert_all_count(&fixture);
        let fixture = tracked("", "");
        fs::write(fixture.target(".git/index"), "DIRC\0\0\0\x09").unwrap();
        assert_all_count(&fixture);
        let fixture = tracked("work", "work");
        fs::rename(fixture.target(".git"), fixture.target("../elsewhere")).unwrap();
        fixture.settings(".git", "gitdir: ../nowhere\n");
        assert_all_count(&fixture);
    }

    #[test]
    fn rules_that_are_newer_than_the_index_do_not_count() {
        let fixture = tracked("", "");
        std::thread::sleep(Duration::from_millis(20));
        fixture.settings(".gitignore", "build/\n");
        fixture.remove("build");
        assert_eq!(fixture.held(), ["build"]);
    }

    #[test]
    fn rules_without_a_repository_do_not_count() {
        let files = || {
            let fixture = Fixture::within("work");
            for number in 0..60 {
                fixture.there(&format!("src/{number}"));
            }
            fixture.there("stays");
            fixture.settings(".gitignore", "*\n");
            fixture.remove("src");
            fixture
        };
        assert_eq!(files().held(), ["src"]);
        // Nor those in a repository without an index, nor those beside a repository.
        let fixture = files();
        git(&fixture.root(), &["init", "--quiet"]);
        assert_eq!(fixture.held(), ["src"]);
        let fixture = files();
        fixture.there("sub/x");
        git(&fixture.target("sub"), &["init", "--quiet"]);
        git(&fixture.target("sub"), &["add", "x"]);
        assert_eq!(fixture.held(), ["src"]);
        // The control: a repository that tracks none of them.
        let fixture = files();
        git(&fixture.root(), &["init", "--quiet"]);
        git(&fixture.root(), &["add", "--force", "stays"]);
        assert_eq!(fixture.judged().applied, ["src"]);
    }

    #[test]
    fn rules_above_the_workspace_count() {
        let judged = |place: &str, rules: &str| {
            let fixture = Fixture::within("a/pkg");
            fixture.settings(place, rules);
            for number in 0..60 {
                fixture.there(&format!("dist/{number}"));
            }
            fixture.there("stays");
            let top = fixture.target.path();
            git(top, &["init", "--quiet"]);
            git(top, &["add", "--force", "a/pkg/stays"]);
            fixture.remove("dist");
            fixture.held()
        };
        assert_eq!(judged("../../.gitignore", "dist/\n"), [""; 0]);
        assert_eq!(judged("../.gitignore", "/pkg/dist\n"), [""; 0]);
        assert_eq!(judged("../../.gitignore", "other/\n"), ["dist"]);
        // All that a person works in would go.
        assert_eq!(judged("../../.gitignore", "*\n"), ["dist"]);
        assert_eq!(judged("../../.gitignore", "/a/\n"), ["dist"]);
    }

    #[test]
    fn rules_of_one_repository_do_not_count_in_another() {
        let fixture = tracked("a/work", "a/work");
        let top = fixture.target.path();
        fixture.settings("../../.gitignore", "*\n");
        git(top, &["init", "--quiet"]);
        fixture.settings("../x", "");
        git(top, &["add", "--force", "a/x"]);
        for number in 0..60 {
            fixture.there(&format!("docs/{number}"));
        }
        fixture.remove("docs");
        assert_eq!(fixture.held(), ["docs"]);
        fs::remove_file(fixture.layer("docs")).unwrap();
        assert_only_build_goes(&fixture);
    }

    #[test]
    fn nothing_is_ignored_where_the_rules_are_too_long() {
        let judged = |place: &str, rules: &str| {
            let fixture = Fixture::new();
            fixture.settings(".gitignore", "build/\n");
            fixture.settings(place, rules);
            for number in 0..60 {
                fixture.there(&format!("sub/build/{number}"));
            }
            fixture.there("stays");
            git(&fixture.root(), &["init", "--quiet"]);
            git(&fixture.root(), &["add", "stays"]);
            fixture.remove("sub/build");
            fixture.held()
        };
        for place in [".gitignore", "sub/.gitignore"] {
            for (line, most) in [("build/\n", 2000), (&"#".repeat(1023), 1)] {
                let rules = |lines| format!("build/\n{}", line.repeat(lines));
                assert_eq!(judged(place, &rules(most - 1)), [""; 0]);
                assert_eq!(judged(place, &rules(most + 1)), ["sub/build"]);
            }
            let line = format!("{}\n", "#".repeat(1023));
            let rules = |lines| format!("build/\n{}", line.repeat(lines));
            assert_eq!(judged(place, &rules(255)), [""; 0]);
            assert_eq!(judged(place, &rules(256)), ["sub/build"]);
        }
    }

    #[test]
    fn nothing_is_ignored_below_too_many_files_of_rules() {
        let judged = |files: usize| {
            let fixture = Fixture::new();
            fixture.settings(".gitignore", "build/\n");
            let deep = "d/".repeat(files - 1);
            for depth in 1..files {
                fixture.settings(&format!("{}.gitignore", "d/".repeat(depth)), "x\n");
            }
            for number in 0..60 {
                fixture.there(&format!("{deep}build/{number}"));
            }
            fixture.there("stays");
            git(&fixture.root(), &["init", "--quiet"]);
            git(&fixture.root(), &["add", "stays"]);
            fixture.remove(&format!("{deep}build"));
            fixture.held().len()
        };
        assert_eq!(judged(16), 0);
        assert_eq!(judged(17), 1);
    }

    #[test]
    fn names_count_as_bytes() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt as _;
        let fixture = Fixture::new();
        git(&fixture.root(), &["init", "--quiet"]);
        for number in 0..60 {
            let name = [b"src/\xff".as_slice(), number.to_string().as_bytes()].concat();
            let path = fixture.target("src/x").with_file_name("..");
            fs::write(path.join(OsStr::from_bytes(&name)), "old").unwrap();
        }
        fixture.there("stays");
        git(&fixture.root(), &["add", "."]);
        ignore_all(&fixture, &fixture.target(".git/index"));
        fixture.remove("src");
        assert_eq!(fixture.held(), ["src"]);
    }

    #[test]
    fn everything_is_gone_whatever_is_new() {
        let emptied = || {
            let fixture = Fixture::new();
            for path in [".git/HEAD", "a", "sub/x", "sub/y"] {
                fixture.there(path);
            }
            fixture.remove("a");
            fixture
        };
        let fixture = emptied();
        fixture.remove("sub");
        fixture.write("new");
        fixture.write("more/new");
        let judged = fixture.judged();
        assert_eq!(judged.applied, ["more/new", "new"]);
        assert_eq!(judged.held.len(), 2);
        // File by file, or with another one in its place.
        let fixture = emptied();
        fixture.remove("sub/x");
        fixture.remove("sub/y");
        assert_eq!(fixture.held(), ["a", "sub/x", "sub/y"]);
        let fixture = emptied();
        fixture.write("sub");
        assert_eq!(fixture.held(), ["a", "sub"]);
        // Something stays, or is only changed.
        let fixture = emptied();
        fixture.remove("sub/x");
        assert_eq!(fixture.judged().applied, ["a", "sub/x"]);
        let fixture = emptied();
        fixture.remove("sub/x");
        fixture.write("sub/y");
        assert_eq!(fixture.judged().applied, ["a", "sub/x", "sub/y"]);
    }
}
