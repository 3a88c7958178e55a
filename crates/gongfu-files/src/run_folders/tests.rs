//! The folders of runs on a real disk, and the files that runs left.
#![expect(
    clippy::disallowed_methods,
    reason = "tests make the folders that they look at"
)]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use gongfu_core::change::PersonalSettings;
use gongfu_core::library::{FindingCount, Skill};
use gongfu_core::place::Location;
use gongfu_core::port::{
    Files as _, Layers as _, Lease, Materialize, Pending, PortError, RunFolders as _, ready,
};
use gongfu_core::sandbox::Mode;
use gongfu_core::skill::{Digest, FileEntry, FileKind, SkillName, SkillPath};
use gongfu_testing::{FixedClock, now};

use super::LocalRunFolders;
use crate::home::Home;
use crate::layers::FileLayers;
use crate::workspace::{LocalWorkspace, MAX_OUTPUTS};

/// Skills that lie where they say.
struct InPlace;

impl Materialize for InPlace {
    fn materialize<'a>(&'a self, skill: &'a Skill) -> Pending<'a, Lease> {
        ready(Ok(Lease::permanent(skill.path.clone().into())))
    }
}

struct Fixture {
    runs: LocalRunFolders,
    layers: Arc<FileLayers>,
    workspace: Arc<LocalWorkspace>,
    skill: Arc<Skill>,
}

fn fixture(folder: &Path, mounts: &[&str]) -> Fixture {
    fs::create_dir_all(folder.join("skills/gcd")).unwrap();
    let document = "---\nname: gcd\ndescription: Divides\n---\nbody\n";
    fs::write(folder.join("skills/gcd/SKILL.md"), document).unwrap();
    let home = Home::at(folder.join("home"));
    let skill = Arc::new(Skill {
        name: SkillName::new("gcd").unwrap(),
        full_name: "skills/gcd".into(),
        description: "Divides".to_owned(),
        frontmatter: "{}".into(),
        source: "skills".into(),
        folder: SkillPath::new("gcd").unwrap(),
        path: folder.join("skills/gcd").display().to_string(),
        files: Arc::from([]),
        unlisted: Arc::default(),
        findings: FindingCount::default(),
        enabled: true,
    });
    let mounts: Vec<_> = mounts.iter().map(|mount| mount.parse().unwrap()).collect();
    let path = folder.join("home/workspaces/x");
    let workspace = LocalWorkspace::new(path.clone(), &mounts).unwrap();
    let workspace = Arc::new(workspace.with_logs(home.logs_of(&path)));
    let layers = Arc::new(FileLayers::new(
        home.clone(),
        Arc::new(InPlace),
        Arc::new(FixedClock::default()),
    ));
    let runs = LocalRunFolders::new(
        home,
        Arc::new(InPlace),
        Arc::<FileLayers>::clone(&layers),
        Arc::clone(&workspace),
        Box::new(Vec::new),
        Box::new(Vec::new),
        Arc::new(FixedClock::default()),
    );
    Fixture {
        runs,
        layers,
        workspace,
        skill,
    }
}

#[test]
fn a_run_sees_the_skill_the_workspace_and_the_mounts() {
    let folder = tempfile::tempdir().unwrap();
    let real = fs::canonicalize(folder.path()).unwrap();
    fs::create_dir_all(real.join("data/inner")).unwrap();
    let data = real.join("data").display().to_string();
    let fixture = fixture(
        &real,
        &[
            &format!("{data}/inner:/data/inner:ro"),
            &format!("{data}:/data"),
        ],
    );
    let mounts = now(fixture.runs.prepare(Some(&fixture.skill))).unwrap();
    let seen: Vec<_> = mounts
        .mounts
        .iter()
        .map(|mount| (mount.target.as_str(), mount.mode, mount.keep.is_some()))
        .collect();
    assert_eq!(
        seen,
        [
            ("/skill", Mode::Layered, true),
            ("/workspace", Mode::Layered, true),
            ("/data", Mode::Layered, true),
            ("/data/inner", Mode::ReadOnly, false),
            ("/runs", Mode::ReadOnly, false),
        ]
    );
    let skill = &mounts.mounts[0];
    assert_eq!(skill.sources[1], real.join("skills/gcd"));
    assert_eq!(skill.keep.as_ref(), Some(&skill.sources[0]));
    assert!(
        mounts
            .mounts
            .iter()
            .all(|mount| mount.sources.iter().all(|source| source.is_dir()))
    );
    assert!(
        mounts
            .logs
            .ends_with(mounts.logs_seen.strip_prefix("/runs/").unwrap())
    );
    // Another run has other logs, and here it has no skill.
    let other = now(fixture.runs.prepare(None)).unwrap();
    assert_ne!(other.logs, mounts.logs);
    assert!(other.mounts.iter().all(|mount| mount.target != "/skill"));
}

#[test]
fn files_of_runs_are_read_and_listed_below_their_layer_alone() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = fixture(folder.path(), &[]);
    let path = |path: &str| SkillPath::new(path).unwrap();
    let read = |at: &str| now(fixture.layers.read(&fixture.skill, &path(at), 100));
    let list = || now(fixture.layers.list(&fixture.skill)).unwrap();
    assert!(matches!(read("out/x"), Err(PortError::NotFound)));
    assert_eq!(list(), []);
    let mounts = now(fixture.runs.prepare(Some(&fixture.skill))).unwrap();
    let layer = mounts.mounts[0].keep.clone().unwrap();
    fs::create_dir(layer.join("out")).unwrap();
    fs::write(layer.join("out/x"), "left").unwrap();
    std::os::unix::fs::symlink(folder.path().join("skills/gcd/SKILL.md"), layer.join("l")).unwrap();
    assert_eq!(read("out/x").unwrap().bytes, b"left");
    assert!(matches!(read("l"), Err(PortError::Denied(_))));
    // The skill's own files are not in the layer.
    assert!(matches!(read("SKILL.md"), Err(PortError::NotFound)));
    assert_eq!(list(), [(path("out/x"), 4)]);
}

#[test]
fn a_file_too_large_for_a_digest_is_a_part_of_the_version() {
    let folder = tempfile::tempdir().unwrap();
    let mut fixture = fixture(folder.path(), &[]);
    let model = folder.path().join("skills/gcd/model.bin");
    fs::write(&model, "one").unwrap();
    let entry = FileEntry {
        path: SkillPath::new("model.bin").unwrap(),
        size: 3,
        digest: None,
        kind: FileKind::Binary,
    };
    Arc::get_mut(&mut fixture.skill).unwrap().files = Arc::from([entry]);
    let layer = || {
        let mounts = now(fixture.runs.prepare(Some(&fixture.skill))).unwrap();
        mounts.mounts[0].keep.clone().unwrap()
    };
    let before = layer();
    assert_eq!(layer(), before);
    // As long as before, and all that the library knows of it is its length.
    fs::remove_file(&model).unwrap();
    fs::write(&model, "two").unwrap();
    let changed = fs::File::open(&model).unwrap();
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(5);
    changed.set_modified(later).unwrap();
    assert_ne!(layer(), before);
}

#[test]
fn a_layer_of_a_former_version_goes_when_it_was_not_used_for_long() {
    let folder = tempfile::tempdir().unwrap();
    let mut fixture = fixture(folder.path(), &[]);
    let (old, recent) = (layer_of(&fixture, 1), layer_of(&fixture, 2));
    // Of another skill.
    fs::create_dir(folder.path().join("skills/other")).unwrap();
    let other = Arc::get_mut(&mut fixture.skill).unwrap();
    let path = std::mem::replace(
        &mut other.path,
        folder.path().join("skills/other").display().to_string(),
    );
    let other = layer_of(&fixture, 1);
    Arc::get_mut(&mut fixture.skill).unwrap().path = path;
    for (layer, days) in [(&old, 31), (&recent, 29), (&other, 31)] {
        let description = fs::File::options()
            .write(true)
            .open(layer.join("layer.json"))
            .unwrap();
        let day = std::time::Duration::from_hours(24);
        let used = std::time::SystemTime::now() - day * days;
        description.set_modified(used).unwrap();
    }
    // A new layer looks for them.
    layer_of(&fixture, 3);
    assert!(!old.exists() && recent.exists() && other.exists());
}

/// The folder of the layer that a run of this version of the skill gets.
fn layer_of(fixture: &Fixture, version: u64) -> std::path::PathBuf {
    let entry = FileEntry {
        path: SkillPath::new("version").unwrap(),
        size: version,
        digest: Some(Digest::of(&version.to_le_bytes())),
        kind: FileKind::Text,
    };
    let skill = Skill {
        files: Arc::from([entry]),
        ..(*fixture.skill).clone()
    };
    let mounts = now(fixture.runs.prepare(Some(&skill))).unwrap();
    let kept = mounts.mounts[0].keep.clone().unwrap();
    kept.parent().unwrap().to_owned()
}

#[test]
fn long_outputs_are_read_and_never_written_and_the_oldest_go() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = fixture(&fs::canonicalize(folder.path()).unwrap(), &[]);
    for _ in 0..MAX_OUTPUTS + 5 {
        let mounts = now(fixture.runs.prepare(None)).unwrap();
        fs::create_dir_all(&mounts.logs).unwrap();
        fs::write(mounts.logs.join("stdout.log"), "all").unwrap();
    }
    let mounts = now(fixture.runs.prepare(None)).unwrap();
    let place = |path: &str| Location::parse(path).unwrap();
    let kept = now(fixture.workspace.list(&place("/runs"))).unwrap();
    assert_eq!(kept.len(), MAX_OUTPUTS);
    let log = place(&format!("/runs/{}/stdout.log", kept[0].name));
    let content = now(fixture.workspace.read(&log, 100)).unwrap();
    assert_eq!(content.bytes, b"all");
    let change = gongfu_core::port::Change {
        bytes: b"x",
        expected: None,
    };
    assert!(matches!(
        now(fixture.workspace.write(&log, change)),
        Err(PortError::ReadOnly { .. })
    ));
    let none = place(&mounts.logs_seen);
    assert!(matches!(
        now(fixture.workspace.list(&none)),
        Err(PortError::NotFound)
    ));
}

/// Asserts which files a person is asked about, and which not.
fn assert_asked(fixture: &Fixture, asked: &[&str], others: &[&str]) {
    for (paths, is_asked) in [(asked, true), (others, false)] {
        for path in paths {
            let place = Location::parse(path).unwrap();
            let why = fixture.runs.obeyed(&place);
            assert_eq!(why.is_some(), is_asked, "{path}: {why:?}");
        }
    }
}

#[test]
fn everything_is_asked_about_in_a_mount_that_is_obeyed() {
    let folder = tempfile::tempdir().unwrap();
    let real = fs::canonicalize(folder.path()).unwrap();
    for (below, is_asked) in [
        (".claude", true),
        (".github/workflows", true),
        // The controls: a worktree, and a folder of a project.
        (".claude/worktrees/x", false),
        ("src", false),
    ] {
        let mounted = real.join(below);
        fs::create_dir_all(&mounted).unwrap();
        if below.ends_with('x') {
            fs::write(mounted.join(".git"), "gitdir: elsewhere").unwrap();
        }
        let mount = format!("{}:/data", mounted.display());
        let fixture = fixture(&real, &[&mount]);
        let paths = ["/data/settings.json"];
        let (asked, others) = if is_asked {
            (&paths[..], &[][..])
        } else {
            (&[][..], &paths[..])
        };
        assert_asked(&fixture, asked, others);
    }
}

#[test]
fn parts_of_a_repository_are_asked_about() {
    let folder = tempfile::tempdir().unwrap();
    let real = fs::canonicalize(folder.path()).unwrap();
    let fixture = fixture(&real, &[]);
    let root = real.join("home/workspaces/x");
    let there = |path: &str| {
        fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        fs::write(root.join(path), "x").unwrap();
    };
    for path in ["two/objects/x", "two/refs/x", "one/HEAD", "whole/HEAD"] {
        there(path);
    }
    there("whole/commondir");
    there("settings/config");
    assert_asked(
        &fixture,
        &[
            "two/HEAD",
            "two/Config",
            "one/config",
            "one/config.worktree",
            "whole/notes.md",
            "settings/HEAD",
            "new/commondir",
            "new/gitdir",
        ],
        &[
            "two/x",
            "one/x",
            "new/HEAD",
            "new/config",
            "settings/config",
        ],
    );
    // The last part.
    there("one/objects/x");
    assert_asked(&fixture, &["one/refs/x"], &["one/objects/y"]);
}

#[test]
fn files_that_settings_of_git_name_are_asked_about() {
    let folder = tempfile::tempdir().unwrap();
    let real = fs::canonicalize(folder.path()).unwrap();
    let fixture = fixture(&real, &[]);
    let root = real.join("home/workspaces/x");
    fs::create_dir_all(root.join(".git")).unwrap();
    assert_asked(&fixture, &[], &["gh/pre-commit", "bin/monitor"]);
    let settings = "[core]\nhooksPath = gh\n[include]\npath = ../more.cfg\n";
    fs::write(root.join(".git/config"), settings).unwrap();
    fs::write(root.join("more.cfg"), "[core]\nfsmonitor = bin/monitor\n").unwrap();
    assert_asked(
        &fixture,
        &["gh/pre-commit", "bin/monitor", "more.cfg"],
        &["bin/x", "notes.md", "pre-commit"],
    );
    fs::write(root.join(".git/config"), "[core]\nhooksPath = .\n").unwrap();
    assert_asked(&fixture, &["pre-commit"], &["notes.md", "gh/pre-commit"]);
    // A repository above, and the settings of the person.
    fs::remove_dir_all(root.join(".git")).unwrap();
    fs::create_dir_all(real.join(".git")).unwrap();
    let settings = "[core]\nhooksPath = home/workspaces/x/up\n";
    fs::write(real.join(".git/config"), settings).unwrap();
    fs::write(real.join("personal"), "[core]\nfsmonitor = ~/own/m\n").unwrap();
    let git = PersonalSettings {
        home: Some(root),
        files: vec![real.join("personal")],
    };
    let fixture = Fixture {
        runs: fixture.runs.with_git(git),
        ..fixture
    };
    assert_asked(
        &fixture,
        &["up/pre-commit", "own/m"],
        &["own/x", "notes.md"],
    );
    // A file of a skill.
    let asked = |path: &str| {
        let path = SkillPath::new(path).unwrap();
        fixture.runs.obeyed_in_skill(&fixture.skill, &path)
    };
    assert_eq!(asked("scripts/x"), None);
    assert!(asked("commondir").is_some());
    fs::write(
        real.join(".git/config"),
        "[core]\nhooksPath = skills/gcd/scripts\n",
    )
    .unwrap();
    assert!(asked("scripts/x").is_some());
}
