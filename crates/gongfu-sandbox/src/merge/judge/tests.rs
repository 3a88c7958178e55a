//! Tests of which changes wait for a person, and of what is applied at once.

use std::fs::{self, File};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant, UNIX_EPOCH};

use gongfu_core::change::{Holding, PersonalSettings};
use tempfile::TempDir;

use crate::file_time::{Beginning, note_change};
use crate::merge::{Budget, FolderContext, Merge, Terms, hold, join_moves};

#[cfg(target_os = "linux")]
mod folders;
mod repositories;

/// A layer, and the folder that its changes are for.
struct Fixture {
    layer: TempDir,
    target: TempDir,
    /// The path of the workspace in it.
    below: &'static str,
    holding: Holding,
}

/// The paths of the changes that wait, with the reason, and those that are applied.
#[derive(Debug, PartialEq, Eq)]
struct Judgement {
    held: Vec<(String, String)>,
    applied: Vec<String>,
}

impl Fixture {
    fn new() -> Self {
        Self {
            layer: tempfile::tempdir().unwrap(),
            target: tempfile::tempdir().unwrap(),
            below: "",
            holding: Holding {
                targets: vec!["/workspace".to_owned()],
                holds_all: false,
                protected: Arc::new(|_| Vec::new()),
                git: PersonalSettings::default(),
                folder: PathBuf::new(),
                about: String::new(),
            },
        }
    }

    /// The same for a workspace in a folder of that name, whose neighbours it doesn't see.
    fn within(below: &'static str) -> Self {
        let fixture = Self {
            below,
            ..Self::new()
        };
        fs::create_dir_all(fixture.root()).unwrap();
        fixture
    }

    fn root(&self) -> PathBuf {
        self.target.path().join(self.below)
    }

    fn target(&self, path: &str) -> PathBuf {
        made(&self.root(), path)
    }

    fn layer(&self, path: &str) -> PathBuf {
        made(self.layer.path(), path)
    }

    fn write(&self, path: &str) {
        fs::write(self.layer(path), "new").unwrap();
    }

    /// A file from before the run, with a time of its own.
    fn there(&self, path: &str) {
        let path = self.target(path);
        fs::write(&path, "old").unwrap();
        let age = Duration::from_secs(fs::metadata(&path).unwrap().ino() % 1_000_000);
        let file = File::options().write(true).open(&path).unwrap();
        file.set_modified(UNIX_EPOCH + age).unwrap();
    }

    #[cfg(target_os = "linux")]
    fn remove(&self, path: &str) {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        let kind = FileType::CharacterDevice;
        mknodat(CWD, self.layer(path), kind, Mode::empty(), 0).unwrap();
    }

    fn judged(&self) -> Judgement {
        let (_wanted, cancel) = UnixStream::pair().unwrap();
        note_change();
        let terms = Terms {
            began: Beginning::now(),
            run: "1a2b3c4d",
            owner: None,
            deadline: Instant::now() + Duration::from_mins(1),
            cancel: cancel.as_fd(),
            is_allowed: false,
            unseen: &[],
        };
        let open = |folder: &Path| OwnedFd::from(File::open(folder).unwrap());
        let context = FolderContext::default();
        let (layer, target) = (open(self.layer.path()), open(&self.root()));
        let mut budget = Budget::of_run(1_000_000);
        let mut merge = Merge::scan(layer, target, &context, &terms, &mut budget).unwrap();
        let removals = merge.removals(&self.root()).unwrap();
        merge.judge(&self.holding, &self.root(), removals).unwrap();
        join_moves(std::iter::once(&mut merge));
        let nodes = merge.take_held(terms.began);
        let mut held = Vec::new();
        hold::list(&nodes, "", &mut |path, _, why| {
            held.push((path.to_owned(), why.to_owned()));
        });
        held.sort();
        let applied = merge.apply(&terms).unwrap().listed().into_iter();
        Judgement {
            held,
            applied: applied.map(|(path, _)| path).collect(),
        }
    }

    /// The paths of the changes that wait.
    fn held(&self) -> Vec<String> {
        let held = self.judged().held.into_iter();
        held.map(|(path, _)| path).collect()
    }
}

/// A path below a folder, with the folders above it.
fn made(folder: &Path, path: &str) -> PathBuf {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    path
}

fn git(folder: &Path, arguments: &[&str]) {
    let ran = Command::new("git")
        .args(["-c", "user.name=n", "-c", "user.email=e@e", "-C"])
        .arg(folder)
        .args(arguments)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .output()
        .unwrap();
    assert!(ran.status.success(), "{arguments:?}: {ran:?}");
}

#[test]
fn holds_what_programs_of_the_machine_obey_and_nothing_else() {
    let fixture = Fixture::new();
    for path in [
        ".git/hooks/pre-commit",
        "sub/.GIT/config",
        "deep/er/CLAUDE.md",
        ".github/workflows/ci.yml",
        "lib/site-packages/x.pth",
    ] {
        fixture.write(path);
    }
    for path in ["Makefile", "src/main.rs", "deep/notes.md", "lib/x.py"] {
        fixture.write(path);
    }
    // A worktree has a file there.
    fixture.there("tree/.git");
    fixture.write("tree/.git");
    let judged = fixture.judged();
    let held: Vec<&str> = judged.held.iter().map(|(path, _)| &**path).collect();
    assert_eq!(
        held,
        [
            ".git/hooks/pre-commit",
            ".github/workflows/ci.yml",
            "deep/er/CLAUDE.md",
            "lib/site-packages/x.pth",
            "sub/.GIT/config",
            "tree/.git",
        ]
    );
    assert_eq!(
        judged.applied,
        ["Makefile", "deep/notes.md", "lib/x.py", "src/main.rs"]
    );
    // No folder is made for what waits alone.
    for path in [".git", "sub", "deep/er", ".github"] {
        assert!(!fixture.target.path().join(path).exists(), "{path}");
    }
    assert_eq!(
        fs::read_to_string(fixture.target("tree/.git")).unwrap(),
        "old"
    );
}

#[test]
fn holds_places_of_skills_and_what_holds_one() {
    let mut fixture = Fixture::new();
    let root = fixture.target.path().to_owned();
    fixture.holding.protected = Arc::new(move |_| vec![root.join("a/skills")]);
    fixture.write("a/skills/pdf/SKILL.md");
    fixture.write("a/other");
    assert_eq!(fixture.held(), ["a/skills/pdf/SKILL.md"]);
    // A file in the place of a folder above it.
    let mut fixture = Fixture::new();
    let root = fixture.target.path().to_owned();
    fixture.holding.protected = Arc::new(move |_| vec![root.join("a/skills")]);
    fixture.there("a/skills/pdf/SKILL.md");
    fixture.write("a");
    assert_eq!(fixture.held(), ["a"]);
}

#[test]
fn holds_a_repository_whatever_its_name() {
    let fixture = Fixture::new();
    for path in ["bare/HEAD", "bare/refs/x", "bare/config"] {
        fixture.write(path);
    }
    // A part of it is there already.
    fixture.there("bare/objects/x");
    fixture.write("almost/HEAD");
    fixture.write("almost/refs");
    assert_eq!(fixture.held(), ["bare/HEAD", "bare/config", "bare/refs/x"]);
}

#[test]
fn holds_what_the_settings_of_git_name() {
    let fixture = Fixture::new();
    let settings = "[core]\n\thooksPath = ./tools/hooks\n\tfsmonitor = \"bin/monitor --fast\"\n[include]\n\tpath = ../shared.cfg\n[branch \"main\"]\n\tremote = .\n";
    fs::write(fixture.target(".git/config"), settings).unwrap();
    for path in [
        "tools/hooks/pre-commit",
        "bin/monitor",
        "shared.cfg",
        "tools/other",
        "x/bin/monitor",
    ] {
        fixture.write(path);
    }
    assert_eq!(
        fixture.held(),
        ["bin/monitor", "shared.cfg", "tools/hooks/pre-commit"]
    );
}

#[test]
fn holds_what_an_obeyed_link_leads_to() {
    let fixture = Fixture::new();
    for path in [
        "docs/rules.md",
        "prompts/x.md",
        "tools/hook",
        "other.md",
        "far.md",
    ] {
        fixture.there(path);
    }
    for (to, at) in [
        ("docs/rules.md", "CLAUDE.md"),
        ("../prompts", ".claude/commands"),
        ("../../tools/hook", ".git/hooks/pre-commit"),
        // Nobody obeys this one, and that leads out.
        ("other.md", "notes.md"),
        ("../far.md", "AGENTS.md"),
    ] {
        symlink(to, fixture.target(at)).unwrap();
    }
    symlink("second.md", fixture.target("first.md")).unwrap();
    symlink("first.md", fixture.target("GEMINI.md")).unwrap();
    for path in [
        "docs/rules.md",
        "docs/x.md",
        "prompts/x.md",
        "prompts/new.md",
        "tools/hook",
        "other.md",
        "far.md",
        "second.md",
    ] {
        fixture.write(path);
    }
    let judged = fixture.judged();
    let held: Vec<&str> = judged.held.iter().map(|(path, _)| &**path).collect();
    assert_eq!(
        held,
        [
            "docs/rules.md",
            "prompts/new.md",
            "prompts/x.md",
            "second.md",
            "tools/hook"
        ]
    );
    assert_eq!(judged.applied, ["docs/x.md", "far.md", "other.md"]);
}

#[test]
fn holds_a_file_that_an_obeyed_file_names() {
    let fixture = Fixture::new();
    let settings = r#"{"hooks": [{"command": "\"$CLAUDE_PROJECT_DIR\"/tools/hook.sh --src src"},
        {"command": "python3 ./sub/check.py; ./new/made.sh"}], "env": {"PATH": "/usr/bin:bin"}}"#;
    fs::create_dir_all(fixture.target("deep/.claude")).unwrap();
    fs::create_dir_all(fixture.target("src")).unwrap();
    fs::write(fixture.target("deep/.claude/settings.json"), "[\"./run\"]").unwrap();
    fs::create_dir(fixture.target(".claude")).unwrap();
    fs::write(fixture.target(".claude/settings.json"), settings).unwrap();
    let rules = "# Rules\nSee @docs/style.md. Read README.md and docs/other.md first.\n";
    fs::write(fixture.target("CLAUDE.md"), rules).unwrap();
    fs::create_dir_all(fixture.target(".git/hooks")).unwrap();
    fs::write(fixture.target(".git/hooks/pre-commit"), "sh checks/all.sh").unwrap();
    fs::write(fixture.target(".git/hooks/x.sample"), "sh checks/none.sh").unwrap();
    fixture.there("real/hook.sh");
    fs::create_dir(fixture.target("tools")).unwrap();
    symlink("../real/hook.sh", fixture.target("tools/hook.sh")).unwrap();
    let named = [
        "checks/all.sh",
        "deep/run",
        "docs/style.md",
        "new/made.sh",
        "real/hook.sh",
        "sub/check.py",
        "tools/hook.sh",
    ];
    let others = [
        "README.md",
        "checks/none.sh",
        "docs/other.md",
        "run",
        "src/main.rs",
    ];
    fixture.there("deep/run");
    for path in named.iter().chain(&others) {
        fixture.write(path);
    }
    let judged = fixture.judged();
    let held: Vec<&str> = judged.held.iter().map(|(path, _)| &**path).collect();
    assert_eq!(held, named);
    assert_eq!(judged.applied, others);
}

#[test]
fn holds_what_a_file_above_the_workspace_names() {
    let fixture = Fixture::within("sub");
    let project = fixture.target.path();
    for folder in [".git", ".claude"] {
        fs::create_dir(project.join(folder)).unwrap();
    }
    fs::write(project.join(".claude/settings.json"), "[\"sub/hook.sh\"]").unwrap();
    for path in ["hook.sh", "other.sh"] {
        fixture.write(path);
    }
    let judged = fixture.judged();
    let held: Vec<&str> = judged.held.iter().map(|(path, _)| &**path).collect();
    assert_eq!(held, ["hook.sh"]);
    assert_eq!(judged.applied, ["other.sh"]);
}

#[test]
fn holds_a_virtual_environment_as_one() {
    let fixture = Fixture::new();
    for path in [
        "venv/pyvenv.cfg",
        "venv/bin/pip",
        "venv/lib/x.py",
        "lib/x.py",
    ] {
        fixture.write(path);
    }
    let judged = fixture.judged();
    assert_eq!(judged.held.len(), 3, "{judged:?}");
    assert_eq!(judged.applied, ["lib/x.py"]);
}

#[test]
fn holds_a_file_that_becomes_executable_and_a_link_that_leads_out() {
    let fixture = Fixture::new();
    symlink("data.txt", fixture.target("link")).unwrap();
    for path in ["data.txt", "run.sh", "text"] {
        fixture.there(path);
    }
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(fixture.target("run.sh"), executable.clone()).unwrap();
    for path in ["data.txt", "run.sh", "new.sh"] {
        fixture.write(path);
        fs::set_permissions(fixture.layer(path), executable.clone()).unwrap();
    }
    symlink("/etc/passwd", fixture.layer("out")).unwrap();
    for link in ["in", "link", "text"] {
        symlink("run.sh", fixture.layer(link)).unwrap();
    }
    let judged = fixture.judged();
    let reason = |path: &str, why: &str| (path.to_owned(), why.to_owned());
    assert_eq!(
        judged.held,
        [
            reason("data.txt", "it becomes executable"),
            reason("out", "it is a link that leads outside"),
            reason("text", "a link takes the place of a file"),
        ]
    );
    assert_eq!(judged.applied, ["in", "link", "new.sh", "run.sh"]);
}

#[test]
fn holds_everything_when_asked_to() {
    let mut fixture = Fixture::new();
    fixture.holding.holds_all = true;
    fixture.write("a/b");
    fs::create_dir(fixture.layer("empty")).unwrap();
    let judged = fixture.judged();
    assert_eq!(judged.held.len(), 2, "{judged:?}");
    assert_eq!(judged.applied, [""; 0]);
}

#[cfg(target_os = "linux")]
#[test]
fn holds_many_removals_but_not_those_of_what_git_ignores() {
    let many = |folder: &str| {
        let fixture = Fixture::new();
        for number in 0..60 {
            fixture.there(&format!("{folder}/{number}"));
        }
        fixture.there("stays");
        fixture
    };
    let fixture = many("docs");
    fixture.remove("docs");
    fixture.write("new");
    let judged = fixture.judged();
    let why = "the run removes many files".to_owned();
    assert_eq!(judged.held, [("docs".to_owned(), why)]);
    assert_eq!(judged.applied, ["new"]);
    // One by one as well.
    let fixture = many("docs");
    for number in 0..60 {
        fixture.remove(&format!("docs/{number}"));
    }
    assert_eq!(fixture.held().len(), 60);
    let fixture = many("docs");
    for number in 0..40 {
        fixture.remove(&format!("docs/{number}"));
    }
    assert_eq!(fixture.judged().applied.len(), 40);
    // Ignored by git.
    let ignored = |path: &str, rules: &str| {
        let fixture = many(path);
        fs::write(fixture.target(rules), "*\n!/out/7\n!/stays\n").unwrap();
        git(&fixture.root(), &["init", "--quiet"]);
        git(&fixture.root(), &["add", "stays"]);
        fixture
    };
    let fixture = ignored("node_modules/x", ".gitignore");
    fixture.remove("node_modules");
    assert_eq!(fixture.judged().applied, ["node_modules"]);
    let fixture = ignored("a/out", "a/.gitignore");
    fixture.remove("a/out");
    assert_eq!(fixture.judged().applied, ["a/out"]);
    // A file is put in the place of the folder.
    let fixture = many("docs");
    fixture.write("docs");
    assert_eq!(fixture.held(), ["docs"]);
    // Everything, however little it is.
    let fixture = Fixture::new();
    for path in ["a", "b"] {
        fixture.there(path);
        fixture.remove(path);
    }
    assert_eq!(fixture.held(), ["a", "b"]);
}

#[cfg(target_os = "linux")]
#[test]
fn tracked_files_are_not_ignored() {
    let fixture = Fixture::new();
    let root = fixture.target.path();
    git(root, &["init", "--quiet"]);
    for number in 0..60 {
        fixture.there(&format!("src/{number}"));
    }
    git(root, &["add", "."]);
    // As an earlier run could have written it.
    fs::write(fixture.target(".gitignore"), "*\n").unwrap();
    fixture.there("stays");
    fixture.remove("src");
    assert_eq!(fixture.held(), ["src"]);
    // The control: with an index in which they are not they would be.
    git(root, &["rm", "--quiet", "--cached", "-r", "src"]);
    assert_eq!(fixture.judged().applied, ["src"]);
}

#[test]
fn index_with_new_times_alone_is_dropped() {
    for version in ["2", "3", "4"] {
        let fixture = Fixture::new();
        let root = fixture.target.path();
        git(root, &["init", "--quiet"]);
        for path in ["a/b", "a/c", "long-name-of-a-file", "x"] {
            fixture.there(path);
        }
        git(root, &["add", "."]);
        git(root, &["update-index", "--index-version", version]);
        let index = fixture.target(".git/index");
        let before = fs::read(&index).unwrap();
        // The same content with another inode and another time.
        fixture.there("y");
        fs::rename(fixture.target("y"), fixture.target("x")).unwrap();
        git(root, &["update-index", "--refresh"]);
        let after = fs::read(&index).unwrap();
        assert_ne!(before, after, "nothing was written anew");
        fs::write(&index, &before).unwrap();
        fs::write(fixture.layer(".git/index"), &after).unwrap();
        let nothing = Judgement {
            held: Vec::new(),
            applied: Vec::new(),
        };
        assert_eq!(fixture.judged(), nothing, "version {version}");
        // One more file is a change.
        fixture.there("more");
        git(root, &["add", "more"]);
        fs::rename(&index, fixture.layer(".git/index")).unwrap();
        fs::write(&index, &before).unwrap();
        assert_eq!(fixture.held(), [".git/index"], "version {version}");
        // So is one that is cut.
        fs::write(fixture.layer(".git/index"), &after[..after.len() / 2]).unwrap();
        assert_eq!(fixture.held(), [".git/index"], "version {version}");
    }
}
