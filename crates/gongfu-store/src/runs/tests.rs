//! What runs are given of real folders, and what is read of what they left.
#![expect(
    clippy::disallowed_methods,
    reason = "tests make the folders that they look at"
)]

use std::fs;
use std::future::Future as _;
use std::path::Path;
use std::sync::Arc;

use gongfu_core::account::Owner;
use gongfu_core::library::Skill;
use gongfu_core::place::Location;
use gongfu_core::port::{Clock, Pending, PortError, Runs as _, Timestamp, Workspace as _};
use gongfu_core::sandbox::Mode;
use gongfu_core::skill::SkillPath;

use super::{KEPT, LocalRuns};
use crate::home::Home;
use crate::local::LocalSkills;
use crate::source::Settings;
use crate::workspace::LocalWorkspace;

struct Still;

impl Clock for Still {
    fn now(&self) -> Timestamp {
        Timestamp(4_000_000_000_000)
    }
}

fn block<T>(pending: Pending<'_, T>) -> Result<T, PortError> {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::pin!(pending).poll(&mut context) {
        std::task::Poll::Ready(answer) => answer,
        std::task::Poll::Pending => panic!("the store never waits"),
    }
}

struct Ground {
    runs: LocalRuns,
    workspace: Arc<LocalWorkspace>,
    skill: Arc<Skill>,
}

fn ground(folder: &Path, mounts: &[&str]) -> Ground {
    fs::create_dir_all(folder.join("skills/gcd")).unwrap();
    let document = "---\nname: gcd\ndescription: Divides\n---\nbody\n";
    fs::write(folder.join("skills/gcd/SKILL.md"), document).unwrap();
    let home = Home::at(folder.join("home"));
    let settings = Settings {
        explicit: vec![folder.join("skills")],
        ..Settings::default()
    };
    let skills = Arc::new(LocalSkills::new(home.clone(), settings, Arc::new(Still)));
    let skill = Arc::clone(skills.current().unwrap().skills().first().unwrap());
    let mounts: Vec<_> = mounts.iter().map(|mount| mount.parse().unwrap()).collect();
    let path = folder.join("home/workspaces/x");
    let workspace = LocalWorkspace::new(path.clone(), &mounts).unwrap();
    let workspace = Arc::new(workspace.with_logs(home.logs_of(&path)));
    let runs = LocalRuns::new(home, skills, Arc::clone(&workspace), Arc::new(Still));
    Ground {
        runs,
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
    let ground = ground(
        &real,
        &[
            &format!("{data}/inner:/data/inner:ro"),
            &format!("{data}:/data"),
        ],
    );
    let grounds = block(ground.runs.grounds(&Owner::Local, Some(&ground.skill))).unwrap();
    let seen: Vec<_> = grounds
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
    let skill = &grounds.mounts[0];
    assert_eq!(skill.sources[1], real.join("skills/gcd"));
    assert_eq!(skill.keep.as_ref(), Some(&skill.sources[0]));
    assert!(
        grounds
            .mounts
            .iter()
            .all(|mount| mount.sources.iter().all(|source| source.is_dir()))
    );
    assert!(
        grounds
            .logs
            .ends_with(grounds.logs_seen.strip_prefix("/runs/").unwrap())
    );
    // Another run has other logs, and without a skill there is none.
    let other = block(ground.runs.grounds(&Owner::Local, None)).unwrap();
    assert_ne!(other.logs, grounds.logs);
    assert!(other.mounts.iter().all(|mount| mount.target != "/skill"));
}

#[test]
fn what_runs_left_is_read_and_listed_below_its_layer_alone() {
    let folder = tempfile::tempdir().unwrap();
    let ground = ground(folder.path(), &[]);
    let path = |path: &str| SkillPath::new(path).unwrap();
    let read = |at: &str| {
        block(
            ground
                .runs
                .left(&Owner::Local, &ground.skill, &path(at), 100),
        )
    };
    let list = || block(ground.runs.listed(&Owner::Local, &ground.skill)).unwrap();
    assert!(matches!(read("out/x"), Err(PortError::NotFound)));
    assert_eq!(list(), []);
    let grounds = block(ground.runs.grounds(&Owner::Local, Some(&ground.skill))).unwrap();
    let layer = grounds.mounts[0].keep.clone().unwrap();
    fs::create_dir(layer.join("out")).unwrap();
    fs::write(layer.join("out/x"), "left").unwrap();
    std::os::unix::fs::symlink(folder.path().join("skills/gcd/SKILL.md"), layer.join("l")).unwrap();
    assert_eq!(read("out/x").unwrap().bytes, b"left");
    assert!(matches!(read("l"), Err(PortError::Denied(_))));
    // What the skill itself has is none of it.
    assert!(matches!(read("SKILL.md"), Err(PortError::NotFound)));
    assert_eq!(list(), [(path("out/x"), 4)]);
    // What the skill changes afterwards is meant from then on.
    fs::write(layer.join("script"), "left").unwrap();
    assert_eq!(read("script").unwrap().bytes, b"left");
    let mended = fs::File::create(folder.path().join("skills/gcd/script")).unwrap();
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(5);
    mended.set_modified(later).unwrap();
    assert!(matches!(read("script"), Err(PortError::NotFound)));
    assert_eq!(list(), [(path("out/x"), 4)]);
    block(ground.runs.grounds(&Owner::Local, Some(&ground.skill))).unwrap();
    assert!(!layer.join("script").exists() && layer.join("out/x").exists());
}

#[test]
fn long_outputs_are_read_and_never_written_and_the_oldest_go() {
    let folder = tempfile::tempdir().unwrap();
    let ground = ground(&fs::canonicalize(folder.path()).unwrap(), &[]);
    for _ in 0..KEPT + 5 {
        let grounds = block(ground.runs.grounds(&Owner::Local, None)).unwrap();
        fs::create_dir_all(&grounds.logs).unwrap();
        fs::write(grounds.logs.join("stdout.log"), "all").unwrap();
    }
    let grounds = block(ground.runs.grounds(&Owner::Local, None)).unwrap();
    let place = |path: &str| Location::parse(path).unwrap();
    let kept = block(ground.workspace.list(&Owner::Local, &place("/runs"))).unwrap();
    assert_eq!(kept.len(), KEPT);
    let log = place(&format!("/runs/{}/stdout.log", kept[0].name));
    let content = block(ground.workspace.read(&Owner::Local, &log, 100)).unwrap();
    assert_eq!(content.bytes, b"all");
    let change = gongfu_core::port::Change {
        bytes: b"x",
        expected: None,
    };
    assert!(matches!(
        block(ground.workspace.write(&Owner::Local, &log, change)),
        Err(PortError::ReadOnly { .. })
    ));
    let none = place(&grounds.logs_seen);
    assert!(matches!(
        block(ground.workspace.list(&Owner::Local, &none)),
        Err(PortError::NotFound)
    ));
}
