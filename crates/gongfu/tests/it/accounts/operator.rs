//! The commands of an operator: backups, audits, and mistakes.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{Users, add, password, serve};
use crate::fixture::Fixture;
use crate::site::Site;

#[test]
fn accounts_survive_in_a_backup_and_the_audit_shows_every_change() {
    let users = Users::new();
    let create = json!({"name": "budget", "description": "Reads budgets. Use it for budgets."});
    assert_eq!(users.tool(&users.ann, "skill_create", create).status, 200);
    let write = json!({"path": "notes.txt", "content": "mine"});
    assert_eq!(users.tool(&users.ann, "file_write", write).status, 200);
    let (fixture, copy) = (&users.fixture, users.fixture.path("copy"));
    let copy = copy.to_str().unwrap();
    // The server runs.
    let saved = fixture.gongfu(["backup", copy, "--json"]).good().json();
    assert_eq!(
        (&saved["users"], &saved["blobs"], &saved["files"]),
        (&json!(2), &json!(1), &json!(1))
    );
    fixture.gongfu(["backup", copy]).ends(1);
    let audit = fixture
        .gongfu(["audit", "export", "--user", "ann"])
        .good()
        .text();
    let events: Vec<Value> = audit
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let event = |name: &str| events.iter().any(|event| event["entry"]["event"] == name);
    assert!(event("skill.create"), "{audit}");
    assert!(
        fixture
            .gongfu(["audit", "verify"])
            .good()
            .text()
            .starts_with("3 audits are whole")
    );

    let home = fixture.path("restored");
    let restored = |arguments: &[&str]| fixture.only(arguments).with("GONGFU_HOME", &home);
    let restore = || fixture.gongfu(["restore", copy]).with("GONGFU_HOME", &home);
    restore().good();
    restore().ends(1);
    let site = Site::start(&restored(&[
        "serve",
        "--accounts",
        "--listen",
        "127.0.0.1:0",
    ]));
    let bearer = format!("Bearer {}", users.ann);
    let ask = |name: &str, arguments: Value| {
        let params = json!({"name": name, "arguments": arguments});
        site.ask_with("/mcp", &[("authorization", &bearer)], "tools/call", params)
            .json()
            .to_string()
    };
    assert!(ask("skill_load", json!({"skill_name": "budget"})).contains("Reads budgets"));
    assert!(ask("file_read", json!({"path": "notes.txt"})).contains("mine"));
    drop(site);

    // One byte of one content.
    let blobs = fixture.path("copy/users");
    let blob = first_file(&blobs);
    fs::write(
        &blob,
        fs::read_to_string(&blob)
            .unwrap()
            .replace("budgets", "badgets"),
    )
    .unwrap();
    let home = fixture.path("other");
    let damaged = fixture
        .gongfu(["restore", copy])
        .with("GONGFU_HOME", &home)
        .ends(1);
    assert!(
        damaged.stderr.contains("another digest"),
        "{}",
        damaged.stderr
    );
    assert!(!home.join("server.db").exists());
}

fn first_file(folder: &Path) -> PathBuf {
    let path = fs::read_dir(folder)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    if path.is_dir() {
        first_file(&path)
    } else {
        path
    }
}

#[test]
fn mistakes_of_an_operator_are_refused_with_the_way_on() {
    let fixture = Fixture::new();
    for (arguments, code) in [
        (
            vec!["user", "add", "ann", "--email", "ann@example.com"],
            "PASSWORD_REQUIRED",
        ),
        (vec!["user", "delete", "ann"], "USER_NOT_FOUND"),
        (vec!["user", "disable", "ann@example.com"], "USER_NOT_FOUND"),
        (vec!["token", "list", "--user", "../x"], "USER_NOT_FOUND"),
        (vec!["serve", "--listen", "0.0.0.0:0"], "ADDRESS_OPEN"),
        (
            vec!["serve", "--accounts", "--listen", "0.0.0.0:0"],
            "ADDRESS_OPEN",
        ),
        (vec!["restore", "nowhere"], "BACKUP_UNUSABLE"),
    ] {
        let refused = fixture.gongfu(&arguments).run();
        assert!(
            refused.stderr.contains(&format!("error[{code}]")),
            "{arguments:?}: {}",
            refused.stderr
        );
        assert!(
            refused.stderr.contains("hint: "),
            "{arguments:?}: {}",
            refused.stderr
        );
    }
    add(&fixture, "ann");
    let wrong = |more: &[&str]| {
        let create = ["token", "create", "--name", "t", "--user", "ann"];
        fixture
            .gongfu(create.iter().chain(more))
            .run()
            .stderr
            .clone()
    };
    assert!(wrong(&["--expires", "soon"]).contains("30d"));
    assert!(wrong(&["--expires", "2020-01-01"]).contains("in the past"));
    assert!(wrong(&["--scope", "admin"]).contains("only an admin"));
    assert!(wrong(&["--scope", "skills:all"]).contains("skills:read"));
    assert!(wrong(&["--expires", "99999999d"]).contains("after the year 9999"));
    let input = |bytes: &[u8]| {
        let change = ["user", "passwd", "ann", "--password-stdin"];
        fixture.gongfu(change).reading(bytes).run().stderr.clone()
    };
    for (bytes, why) in [
        (&b"four\nunrelated words"[..], "more than one line"),
        (b"four unrelated w\xf6rds\n", "UTF-8"),
        (&[b'x'; 1_025], "more than 1024 bytes"),
    ] {
        let refused = input(bytes);
        assert!(refused.contains("error[PASSWORD_REFUSED]"), "{refused}");
        assert!(
            refused.contains(why) && refused.contains("hint: "),
            "{refused}"
        );
    }
    assert_eq!(input(b"four unrelated words\r\n"), "");
    let again = [
        "user",
        "add",
        "ANN",
        "--email",
        "other@example.com",
        "--password-stdin",
    ];
    let again = fixture.gongfu(again).reading(password("x")).ends(1);
    assert!(again.stderr.contains("USERNAME_TAKEN"), "{}", again.stderr);
    let _site = serve(&fixture);
    let second = ["serve", "--accounts", "--listen", "127.0.0.1:0"];
    let second = fixture.only(second).ends(1);
    assert!(
        second.stderr.contains("SERVER_RUNNING"),
        "{}",
        second.stderr
    );
}

#[test]
fn folder_of_skills_with_the_id_of_users_or_teams_is_refused() {
    let fixture = Fixture::new();
    add(&fixture, "ann");
    for (folder, id) in [("own", "own/…"), ("Team Alpha", "team-alpha/…")] {
        fs::create_dir(fixture.path(folder)).unwrap();
        let serve = ["serve", "--accounts", "--listen", "127.0.0.1:0"];
        let refused = fixture.over(&["skills", folder], serve).ends(2).stderr;
        assert!(refused.contains("error[SOURCE_RESERVED]"), "{refused}");
        assert!(
            refused.contains(folder) && refused.contains(id),
            "{refused}"
        );
        assert!(refused.contains("hint: rename the folder"), "{refused}");
    }
}
