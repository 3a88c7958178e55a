//! Folders that a run sees, and what others planted in them.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::sync::Arc;

use gongfu_core::account::Owner;
use gongfu_core::port::{PortError, Sandbox as _};
use gongfu_core::sandbox::{Command, Level, Mode, Mount, Outcome};
use gongfu_sandbox::Runner;
use libtest_mimic::Trial;

use crate::ground::{Ground, Test, of_every_level, runtime, text};

pub(crate) fn trials() -> Vec<Trial> {
    let all: [Test; 2] = [
        ("mount::one_inside_of_another", one_inside_of_another),
        ("mount::a_planted_link_leads_nowhere", a_planted_link),
    ];
    of_every_level(&all)
}

/// Runs a line with one more folder of the ground mounted.
fn with(
    ground: &Ground,
    (source, target): (&str, &str),
    mode: Mode,
    line: &str,
) -> Result<Outcome, PortError> {
    let mut spec = ground.spec(Command::Line(line.to_owned()));
    spec.mounts.push(Mount {
        sources: vec![ground.path(source)],
        target: target.to_owned(),
        mode,
        keep: None,
    });
    let runner = Runner::new(Some(ground.level));
    runtime().block_on(runner.run(&Owner::Local, spec, Arc::new(|_, _| {})))
}

/// Where a mount is: lite has no view of its own, and says by a variable where it is.
fn at(level: Level, target: &str) -> String {
    if level == Level::Lite {
        let name = target.replace('/', "_").to_uppercase();
        format!("$GONGFU{name}")
    } else {
        target.to_owned()
    }
}

fn one_inside_of_another(level: Level) {
    let ground = Ground::new(level);
    ground.write("more/file", "more");
    ground.write("workspace/there/own", "own");
    for mode in [Mode::ReadOnly, Mode::Layered] {
        for target in ["/workspace/there", "/workspace/new", "/tmp/a/b", "/skill/x"] {
            let line = format!("cat {}/file", at(level, target));
            let outcome = with(&ground, ("more", target), mode, &line).unwrap();
            assert_eq!(text(&outcome.stdout), "more", "{target}: {outcome:?}");
        }
    }
    let outcome = with(
        &ground,
        ("more/file", "/workspace/one"),
        Mode::ReadOnly,
        &format!("cat {}", at(level, "/workspace/one")),
    );
    assert_eq!(text(&outcome.unwrap().stdout), "more");
    // What lies in the workspace is as it was.
    assert_eq!(ground.read("workspace/there/own"), "own");
    assert!(!ground.path("workspace/there/file").exists());
}

/// A link in the workspace, where the view is built: by its path it leads to the machine.
fn a_planted_link(level: Level) {
    let ground = Ground::new(level);
    ground.write("more/file", "more");
    ground.write("victim/file", "victim");
    let victim = ground.path("victim").display().to_string();
    // Anybody may write there, so nothing but the way to it keeps a run from it.
    std::fs::set_permissions(ground.folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::set_permissions(&victim, std::fs::Permissions::from_mode(0o777)).unwrap();
    for to in [
        format!("/old{victim}"),
        victim.clone(),
        format!("../../../../../../..{victim}"),
    ] {
        symlink(&to, ground.path("workspace/sub")).unwrap();
        for (source, target) in [
            ("more", "/workspace/sub"),
            ("more", "/workspace/sub/made/deep"),
            ("more/file", "/workspace/sub/made"),
            ("more/file", "/workspace/sub/file"),
        ] {
            let ran = with(&ground, (source, target), Mode::ReadOnly, "true");
            assert!(ran.is_err(), "{to} {target}: {ran:?}");
            let names = std::fs::read_dir(&victim)
                .unwrap()
                .map(|entry| entry.unwrap().file_name());
            assert_eq!(names.collect::<Vec<_>>(), ["file"], "{to} {target}");
        }
        assert_eq!(ground.read("victim/file"), "victim");
        std::fs::remove_file(ground.path("workspace/sub")).unwrap();
    }
    // Without the link it is where it was meant to be.
    let ran = with(
        &ground,
        ("more", "/workspace/sub"),
        Mode::ReadOnly,
        &format!("cat sub/file; cat {}/file", at(level, "/workspace/sub")),
    );
    assert_eq!(text(&ran.unwrap().stdout), "more");
}
