//! Files that are no files: links out, pipes, sockets, devices, and those that may not be read.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;

use gongfu_testing::json::{at, codes, list_at, text_at};
use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
use serde_json::{Value, json};

use super::{CANARY, neighbour_is_well};
use crate::fixture::Fixture;

fn pipe(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}

fn judged(fixture: &Fixture, folder: &str) -> Value {
    fixture
        .gongfu([
            "skill".into(),
            "check".into(),
            "--json".into(),
            fixture.path(folder),
        ])
        .run()
        .json()
}

fn refused(fixture: &Fixture, skill: &str, path: &str) {
    let result = fixture
        .client()
        .call("skill_read", json!({ "skill_name": skill, "path": path }));
    assert_eq!(
        result.get("isError"),
        Some(&Value::Bool(true)),
        "{path}: {result:#}"
    );
    assert!(!result.to_string().contains(CANARY), "{path}");
    assert!(!text_at(&result, "/structuredContent/hint").is_empty());
    let read = fixture.only(["skill", "read", skill, path]).ends(1);
    assert!(
        read.stdout.is_empty() && !read.stderr.contains(CANARY),
        "{path}: {}",
        read.stderr
    );
}

#[test]
fn link_that_leads_out_of_a_skill_is_not_followed() {
    let fixture = Fixture::new();
    fixture.skill("neighbour", "Lives next door.");
    fixture.skill("linked", "Links.");
    fixture.write("outside/secret.txt", CANARY);
    fixture.write(
        "outside/SKILL.md",
        format!("---\nname: outsider\ndescription: {CANARY}\n---\n\n{CANARY}\n"),
    );
    fixture.write("skills/linked/references/real.md", "inside\n");
    let skill = fixture.path("skills/linked");
    symlink("../../outside/secret.txt", skill.join("relative.txt")).unwrap();
    symlink(
        fixture.path("outside/secret.txt"),
        skill.join("absolute.txt"),
    )
    .unwrap();
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
        refused(&fixture, "linked", path);
    }
    for path in [
        "folder/SKILL.md",
        "everything/etc/hostname",
        "next-door.md",
        "folder",
        "everything",
    ] {
        refused(&fixture, "linked", path);
    }
    // A link that stays inside is a file like any other.
    for path in ["good.md", "good/real.md"] {
        assert_eq!(
            fixture
                .only(["skill", "read", "linked", path])
                .good()
                .text(),
            "inside\n",
            "{path}"
        );
    }
    let found = codes(at(&judged(&fixture, "skills/linked"), "/skills/0"));
    assert_eq!(
        found.iter().filter(|code| *code == "link-outside").count(),
        7,
        "{found:?}"
    );
    let listed = fixture
        .client()
        .good("skill_read", json!({ "skill_name": "linked" }));
    assert!(
        !listed.to_string().contains("secret") && !listed.to_string().contains("next-door"),
        "{listed:#}"
    );
    neighbour_is_well(&fixture);
}

#[test]
fn linked_folder_is_no_skill() {
    let fixture = Fixture::new();
    fixture.skill("neighbour", "Lives next door.");
    fixture.write(
        "outside/evil/SKILL.md",
        format!("---\nname: evil\ndescription: {CANARY}\n---\n\n{CANARY}\n"),
    );
    symlink("../outside/evil", fixture.path("skills/folder")).unwrap();
    fs::create_dir(fixture.path("skills/file")).unwrap();
    symlink(
        "../../outside/evil/SKILL.md",
        fixture.path("skills/file/SKILL.md"),
    )
    .unwrap();
    assert!(
        fixture.read("skills/folder/SKILL.md").contains(CANARY)
            && fixture.read("skills/file/SKILL.md").contains(CANARY)
    );
    assert_eq!(fixture.listed().len(), 1);
    neighbour_is_well(&fixture);
    for said in [
        fixture.only(["skill", "list"]).good(),
        fixture.only(["skill", "check", "--json"]).run(),
        fixture.only(["doctor"]).run(),
    ] {
        assert!(
            !said.text().contains(CANARY) && !said.stderr.contains(CANARY),
            "{}",
            said.text()
        );
    }
    let skill = judged(&fixture, "skills/file");
    assert_eq!(at(&skill, "/skills/0/loadable"), false);
    assert!(
        codes(at(&skill, "/skills/0")).contains(&"skill-file-unreadable".to_owned()),
        "{skill:#}"
    );
}

#[test]
fn circular_links_end() {
    let fixture = Fixture::new();
    fixture.skill("neighbour", "Lives next door.");
    fixture.skill("round", "Goes round.");
    let skill = fixture.path("skills/round");
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
    symlink(".", fixture.path("skills/again")).unwrap();
    fs::create_dir(fixture.path("skills/loop")).unwrap();
    symlink("SKILL.md", fixture.path("skills/loop/SKILL.md")).unwrap();
    assert_eq!(fixture.listed().len(), 2);
    let found = codes(at(&judged(&fixture, "skills/round"), "/skills/0"));
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
        refused(&fixture, "round", path);
    }
    neighbour_is_well(&fixture);
}

#[test]
fn pipe_or_socket_is_not_waited_for() {
    let fixture = Fixture::new();
    fixture.skill("neighbour", "Lives next door.");
    fixture.skill("odd", "Has odd files.");
    for folder in ["piped", "socketed"] {
        fs::create_dir(fixture.path(format!("skills/{folder}"))).unwrap();
    }
    pipe(&fixture.path("skills/odd/pipe.md"));
    pipe(&fixture.path("skills/piped/SKILL.md"));
    let _sockets = [
        UnixListener::bind(fixture.path("skills/odd/socket.md")).unwrap(),
        UnixListener::bind(fixture.path("skills/socketed/SKILL.md")).unwrap(),
    ];
    symlink("pipe.md", fixture.path("skills/odd/to-pipe.md")).unwrap();

    assert_eq!(fixture.listed().len(), 2);
    for path in ["pipe.md", "socket.md", "to-pipe.md"] {
        refused(&fixture, "odd", path);
    }
    let found = codes(at(&judged(&fixture, "skills/odd"), "/skills/0"));
    assert_eq!(found, ["file-special"; 3]);
    for folder in ["piped", "socketed"] {
        let skill = judged(&fixture, &format!("skills/{folder}"));
        assert_eq!(
            codes(at(&skill, "/skills/0")),
            ["skill-file-unreadable"],
            "{skill:#}"
        );
        fixture
            .gongfu([
                "skill".into(),
                "check".into(),
                "--strict".into(),
                "--fix".into(),
                fixture.path(format!("skills/{folder}/SKILL.md")),
            ])
            .ends(1);
    }
    pipe(&fixture.path("pipe"));
    fixture
        .gongfu(["skill".into(), "check".into(), fixture.path("pipe")])
        .ends(1);
    fixture
        .gongfu([
            "skill".into(),
            "list".into(),
            "--skills-dir".into(),
            fixture.path("pipe"),
        ])
        .ends(1);
    neighbour_is_well(&fixture);
}

#[test]
fn pipe_in_the_home_is_not_waited_for() {
    for name in ["config.toml", "switches.json"] {
        let fixture = Fixture::with_skills();
        fs::create_dir(fixture.path("home")).unwrap();
        pipe(&fixture.path(format!("home/{name}")));
        fixture.only(["skill", "list"]).ends(1);
        fixture.only(["doctor"]).ends(1);
    }
}

#[test]
fn device_is_not_read() {
    let fixture = Fixture::new();
    fixture.skill("neighbour", "Lives next door.");
    fixture.skill("odd", "Has devices.");
    fs::create_dir(fixture.path("skills/zero")).unwrap();
    let device = |path: &str, minor: u32| {
        mknodat(
            CWD,
            fixture.path(path),
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
    assert_eq!(fixture.listed().len(), 2);
    for path in ["null.md", "zero.bin"] {
        refused(&fixture, "odd", path);
    }
    assert_eq!(
        codes(at(&judged(&fixture, "skills/odd"), "/skills/0")),
        ["file-special"; 2]
    );
    assert_eq!(
        at(&judged(&fixture, "skills/zero"), "/skills/0/loadable"),
        false
    );
    neighbour_is_well(&fixture);
}

#[test]
fn unreadable_file_is_reported() {
    let fixture = Fixture::new();
    fixture.skill("neighbour", "Lives next door.");
    fixture.skill("shut", "Has a file that is shut.");
    let secret = fixture.write("skills/shut/secret.md", CANARY);
    let document = fixture.skill("closed", "Is closed.");
    fixture.write("skills/shut/cellar/deep.md", CANARY);
    for (path, mode) in [
        (&secret, 0o000),
        (&document, 0o000),
        (&fixture.path("skills/shut/cellar"), 0o000),
        (&fixture.path("."), 0o777),
        (&fixture.path("project"), 0o777),
    ] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    // Root may read anything, so that somebody else has to look.
    let as_somebody = |arguments: &[&str]| {
        let run = fixture.only(arguments);
        if rustix::process::getuid().is_root() {
            let copy = fixture.path("gongfu");
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
    let all: Vec<String> = list_at(&checked, "/skills")
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
        fixture.path("skills/shut/cellar"),
        fs::Permissions::from_mode(0o755),
    )
    .unwrap();
}
