//! Files that are no files: links out, pipes, sockets, devices, and those that may not be read.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
use serde_json::{Value, json};

use super::{CANARY, neighbour_is_well};
use crate::world::{World, at, codes, text_at};

fn pipe(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}

fn judged(world: &World, folder: &str) -> Value {
    world
        .gongfu([
            "skill".into(),
            "check".into(),
            "--json".into(),
            world.path(folder),
        ])
        .run()
        .json()
}

fn refused(world: &World, skill: &str, path: &str) {
    let result = world
        .client()
        .call("skill_read", json!({ "skill_name": skill, "path": path }));
    assert_eq!(
        result.get("isError"),
        Some(&Value::Bool(true)),
        "{path}: {result:#}"
    );
    assert!(!result.to_string().contains(CANARY), "{path}");
    assert!(!text_at(&result, "/structuredContent/hint").is_empty());
    let read = world.only(["skill", "read", skill, path]).ends(1);
    assert!(
        read.stdout.is_empty() && !read.stderr.contains(CANARY),
        "{path}: {}",
        read.stderr
    );
}

#[test]
fn links_out_of_the_skill_are_not_followed() {
    let world = World::new();
    world.skill("neighbour", "Lives next door.");
    world.skill("linked", "Links.");
    world.write("outside/secret.txt", CANARY);
    world.write(
        "outside/SKILL.md",
        format!("---\nname: outsider\ndescription: {CANARY}\n---\n\n{CANARY}\n"),
    );
    world.write("skills/linked/references/real.md", "inside\n");
    let skill = world.path("skills/linked");
    symlink("../../outside/secret.txt", skill.join("relative.txt")).unwrap();
    symlink(world.path("outside/secret.txt"), skill.join("absolute.txt")).unwrap();
    symlink("../../outside", skill.join("folder")).unwrap();
    symlink("/", skill.join("everything")).unwrap();
    symlink("relative.txt", skill.join("twice.txt")).unwrap();
    symlink(
        "references/../../../outside/secret.txt",
        skill.join("winding.txt"),
    )
    .unwrap();
    symlink("../neighbour/SKILL.md", skill.join("next-door.md")).unwrap();
    symlink("references/real.md", skill.join("good.md")).unwrap();
    symlink("references", skill.join("good")).unwrap();
    // The targets are there and can be read by whoever names them directly.
    for path in [
        "relative.txt",
        "absolute.txt",
        "folder/secret.txt",
        "twice.txt",
        "winding.txt",
    ] {
        assert_eq!(
            fs::read_to_string(skill.join(path)).unwrap(),
            CANARY,
            "{path}"
        );
        refused(&world, "linked", path);
    }
    for path in [
        "folder/SKILL.md",
        "everything/etc/hostname",
        "next-door.md",
        "folder",
        "everything",
    ] {
        refused(&world, "linked", path);
    }
    // A link that stays inside is a file like any other.
    for path in ["good.md", "good/real.md"] {
        assert_eq!(
            world.only(["skill", "read", "linked", path]).good().text(),
            "inside\n",
            "{path}"
        );
    }
    let found = codes(at(&judged(&world, "skills/linked"), "/skills/0"));
    assert_eq!(
        found.iter().filter(|code| *code == "link-outside").count(),
        7,
        "{found:?}"
    );
    let listed = world
        .client()
        .good("skill_read", json!({ "skill_name": "linked" }));
    assert!(
        !listed.to_string().contains("secret") && !listed.to_string().contains("next-door"),
        "{listed:#}"
    );
    neighbour_is_well(&world);
}

#[test]
fn a_skill_is_not_linked_in() {
    let world = World::new();
    world.skill("neighbour", "Lives next door.");
    world.write(
        "outside/evil/SKILL.md",
        format!("---\nname: evil\ndescription: {CANARY}\n---\n\n{CANARY}\n"),
    );
    symlink("../outside/evil", world.path("skills/folder")).unwrap();
    fs::create_dir(world.path("skills/file")).unwrap();
    symlink(
        "../../outside/evil/SKILL.md",
        world.path("skills/file/SKILL.md"),
    )
    .unwrap();
    assert!(
        world.read("skills/folder/SKILL.md").contains(CANARY)
            && world.read("skills/file/SKILL.md").contains(CANARY)
    );
    assert_eq!(world.listed().len(), 1);
    neighbour_is_well(&world);
    for said in [
        world.only(["skill", "list"]).good(),
        world.only(["skill", "check", "--json"]).run(),
        world.only(["doctor"]).run(),
    ] {
        assert!(
            !said.text().contains(CANARY) && !said.stderr.contains(CANARY),
            "{}",
            said.text()
        );
    }
    let skill = judged(&world, "skills/file");
    assert_eq!(at(&skill, "/skills/0/loadable"), false);
    assert!(
        codes(at(&skill, "/skills/0")).contains(&"skill-file-unreadable".to_owned()),
        "{skill:#}"
    );
}

#[test]
fn links_in_a_circle_end() {
    let world = World::new();
    world.skill("neighbour", "Lives next door.");
    world.skill("round", "Goes round.");
    let skill = world.path("skills/round");
    for (target, link) in [
        ("self.md", "self.md"),
        ("b", "a"),
        ("a", "b"),
        (".", "here"),
        ("..", "up"),
        ("../..", "upper"),
        ("nowhere", "dangling"),
    ] {
        symlink(target, skill.join(link)).unwrap();
    }
    symlink(".", world.path("skills/again")).unwrap();
    fs::create_dir(world.path("skills/loop")).unwrap();
    symlink("SKILL.md", world.path("skills/loop/SKILL.md")).unwrap();
    assert_eq!(world.listed().len(), 2);
    let found = codes(at(&judged(&world, "skills/round"), "/skills/0"));
    for code in ["link-loop", "link-dangling"] {
        assert!(found.contains(&code.to_owned()), "{code}: {found:?}");
    }
    for path in [
        "self.md",
        "a",
        "dangling",
        "up/neighbour/SKILL.md",
        "upper/user",
    ] {
        refused(&world, "round", path);
    }
    neighbour_is_well(&world);
}

#[test]
fn pipes_and_sockets_are_not_waited_for() {
    let world = World::new();
    world.skill("neighbour", "Lives next door.");
    world.skill("odd", "Has odd files.");
    for folder in ["piped", "socketed"] {
        fs::create_dir(world.path(format!("skills/{folder}"))).unwrap();
    }
    pipe(&world.path("skills/odd/pipe.md"));
    pipe(&world.path("skills/piped/SKILL.md"));
    let _sockets = [
        UnixListener::bind(world.path("skills/odd/socket.md")).unwrap(),
        UnixListener::bind(world.path("skills/socketed/SKILL.md")).unwrap(),
    ];
    symlink("pipe.md", world.path("skills/odd/to-pipe.md")).unwrap();

    assert_eq!(world.listed().len(), 2);
    for path in ["pipe.md", "socket.md", "to-pipe.md"] {
        refused(&world, "odd", path);
    }
    let found = codes(at(&judged(&world, "skills/odd"), "/skills/0"));
    assert_eq!(found, ["file-special"; 3]);
    for folder in ["piped", "socketed"] {
        let skill = judged(&world, &format!("skills/{folder}"));
        assert_eq!(
            codes(at(&skill, "/skills/0")),
            ["skill-file-unreadable"],
            "{skill:#}"
        );
        world
            .gongfu([
                "skill".into(),
                "check".into(),
                "--strict".into(),
                "--fix".into(),
                world.path(format!("skills/{folder}/SKILL.md")),
            ])
            .ends(1);
    }
    pipe(&world.path("pipe"));
    world
        .gongfu(["skill".into(), "check".into(), world.path("pipe")])
        .ends(1);
    world
        .gongfu([
            "skill".into(),
            "list".into(),
            "--skills-dir".into(),
            world.path("pipe"),
        ])
        .good();
    neighbour_is_well(&world);
}

#[test]
fn home_files_that_are_pipes_are_not_waited_for() {
    for name in ["config.toml", "switches.json"] {
        let world = World::with_skills();
        fs::create_dir(world.path("home")).unwrap();
        pipe(&world.path(format!("home/{name}")));
        world.only(["skill", "list"]).ends(1);
        world.only(["doctor"]).ends(1);
    }
}

#[test]
fn devices_are_not_read() {
    let world = World::new();
    world.skill("neighbour", "Lives next door.");
    world.skill("odd", "Has devices.");
    fs::create_dir(world.path("skills/zero")).unwrap();
    let device = |path: &str, minor: u32| {
        mknodat(
            CWD,
            world.path(path),
            FileType::CharacterDevice,
            Mode::RUSR | Mode::WUSR,
            makedev(1, minor),
        )
    };
    if let Err(error) = device("skills/odd/null.md", 3) {
        println!("not tried: this user may not make devices ({error})");
        return;
    }
    device("skills/odd/zero.bin", 5).unwrap();
    device("skills/zero/SKILL.md", 5).unwrap();
    assert_eq!(world.listed().len(), 2);
    for path in ["null.md", "zero.bin"] {
        refused(&world, "odd", path);
    }
    assert_eq!(
        codes(at(&judged(&world, "skills/odd"), "/skills/0")),
        ["file-special"; 2]
    );
    assert_eq!(
        at(&judged(&world, "skills/zero"), "/skills/0/loadable"),
        false
    );
    neighbour_is_well(&world);
}

#[test]
fn what_may_not_be_read_is_told() {
    let world = World::new();
    world.skill("neighbour", "Lives next door.");
    world.skill("shut", "Has a file that is shut.");
    let secret = world.write("skills/shut/secret.md", CANARY);
    let document = world.skill("closed", "Is closed.");
    world.write("skills/shut/cellar/deep.md", CANARY);
    for (path, mode) in [
        (&secret, 0o000),
        (&document, 0o000),
        (&world.path("skills/shut/cellar"), 0o000),
        (&world.path("."), 0o777),
        (&world.path("project"), 0o777),
    ] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    // Root may read anything, so that somebody else has to look.
    let as_somebody = |arguments: &[&str]| {
        let run = world.only(arguments);
        if rustix::process::getuid().is_root() {
            let copy = world.path("gongfu");
            if !copy.exists() {
                fs::copy(env!("CARGO_BIN_EXE_gongfu"), &copy).unwrap();
                fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).unwrap();
            }
            run.owned_by(copy, 65_534)
        } else {
            run
        }
    };
    let listed = as_somebody(&["skill", "list", "--json"]).good();
    let names: Vec<String> = listed
        .json()
        .as_array()
        .unwrap()
        .iter()
        .map(|skill| text_at(skill, "/name").to_owned())
        .collect();
    assert_eq!(names, ["neighbour", "shut"]);
    assert!(
        listed.stderr.contains("closed") && listed.stderr.contains("permission denied"),
        "{}",
        listed.stderr
    );
    for path in ["secret.md", "cellar/deep.md"] {
        let read = as_somebody(&["skill", "read", "shut", path]).ends(1);
        assert!(
            read.stdout.is_empty() && read.stderr.starts_with("error["),
            "{path}: {}",
            read.stderr
        );
    }
    let checked = as_somebody(&["skill", "check", "--json"]).ends(1).json();
    let all: Vec<String> = at(&checked, "/skills")
        .as_array()
        .unwrap()
        .iter()
        .flat_map(codes)
        .collect();
    assert_eq!(
        all.iter().filter(|code| *code == "file-unreadable").count(),
        2,
        "{checked:#}"
    );
    assert!(
        all.contains(&"skill-file-unreadable".to_owned()),
        "{checked:#}"
    );
    fs::set_permissions(
        world.path("skills/shut/cellar"),
        fs::Permissions::from_mode(0o755),
    )
    .unwrap();
}
