//! The skills that come with gongfu: they are valid, and their scripts do in the sandbox what their
//! instructions say.
#![cfg(target_os = "linux")]

use std::path::Path;

use gongfu_testing::json::{at, list_at, text_at};
use serde_json::{Value, json};

use crate::fixture::{Fixture, Ran, Run};

/// A command of a built-in skill, with the folder `project` as its workspace.
fn script(fixture: &Fixture, skill: &str, command: &[&str]) -> Run {
    let project = fixture.path("project");
    let mut arguments = vec!["run", "--workspace", project.to_str().unwrap(), skill];
    arguments.extend(["--", "python3"]);
    arguments.extend(command);
    fixture.gongfu(arguments)
}

fn answer(fixture: &Fixture, sql: &str) -> Value {
    let query = [
        "scripts/query.py",
        sql,
        "/workspace/shop.db",
        "--format",
        "json",
    ];
    script(fixture, "data-analysis", &query).good().json()
}

fn refused(ran: &Ran, reason: &str) {
    assert!(
        ran.stderr.contains(reason) && !ran.stderr.contains("Traceback"),
        "{}",
        ran.stderr
    );
}

#[test]
fn built_in_skills_are_valid_and_listed() {
    let fixture = Fixture::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../skills");
    let checked = fixture.gongfu(["skill", "check", "--json", folder.to_str().unwrap()]);
    let summary = checked.good().json()["summary"].clone();
    assert_eq!(at(&summary, "/loadable"), at(&summary, "/skills"));
    assert_eq!(
        (&summary["errors"], &summary["warnings"]),
        (&json!(0), &json!(0))
    );
    let listed = fixture.gongfu(["skill", "list", "--json"]).good().json();
    let names: Vec<&str> = list_at(&listed, "")
        .iter()
        .map(|skill| text_at(skill, "/name"))
        .collect();
    for name in [
        "data-analysis",
        "gcd-calculator",
        "gongfu-guide",
        "review-a-change",
        "skill-creator",
        "test-data-factory",
    ] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
}

#[test]
fn users_with_their_orders_are_made_and_counted() {
    let fixture = Fixture::new();
    let make = |out: &str| {
        let command = [
            "scripts/make_data.py",
            "--users",
            "50",
            "--orders-per-user",
            "1-5",
            "--out",
            out,
        ];
        script(&fixture, "test-data-factory", &command)
    };
    make("/workspace/shop.db").good();
    let sql = "SELECT count(DISTINCT user_id) AS users, count(*) >= 50 AS enough FROM orders JOIN users ON users.id = user_id";
    assert_eq!(answer(&fixture, sql), json!([{ "users": 50, "enough": 1 }]));
    let sql = "SELECT count(*) AS wrong FROM orders JOIN users ON users.id = user_id WHERE ordered_at < created_at";
    assert_eq!(answer(&fixture, sql), json!([{ "wrong": 0 }]));
    refused(&make("/workspace/shop.db").ends(1), "exists already");
    // More rows, in the tables that are there now.
    let fill = [
        "scripts/fill_database.py",
        "/workspace/shop.db",
        "--rows",
        "users=7",
    ];
    script(&fixture, "test-data-factory", &fill).good();
    assert_eq!(
        answer(&fixture, "SELECT count(*) AS n FROM users"),
        json!([{ "n": 57 }])
    );
    let remove = [
        "scripts/query.py",
        "DELETE FROM users",
        "/workspace/shop.db",
    ];
    refused(
        &script(&fixture, "data-analysis", &remove).ends(1),
        "only queries are allowed",
    );
}

#[test]
fn skill_that_breaks_the_rules_is_found() {
    let fixture = Fixture::new();
    fixture.write(
        "project/bad/SKILL.md",
        "---\nname: good\ndescription: A powerful helper.\n---\n\nRun scripts/none.py.\n",
    );
    fixture.write("project/bad/scripts/run.py", "import requests\n");
    let check = ["scripts/check.py", "/workspace/bad"];
    let ran = script(&fixture, "skill-creator", &check).ends(1);
    for finding in [
        "SKILL.md:2: the name is `good`",
        "SKILL.md:3: `powerful` is praise",
        "SKILL.md:6: there is no scripts/none.py",
        "scripts/run.py:1: `requests` is imported, but not declared",
    ] {
        assert!(ran.text().contains(finding), "{}", ran.text());
    }
}
