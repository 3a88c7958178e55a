//! Many processes on one home, and those that are killed.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, Instant};

use gongfu_testing::client::TIMEOUT;
use gongfu_testing::json::{at, list_at, text_at};
use serde_json::{Value, json};

use crate::fixture::Fixture;
use crate::stdio::Client;

fn crowd(skills: usize) -> Fixture {
    let fixture = Fixture::new();
    for number in 0..skills {
        fixture.skill(
            &format!("skill-{number:03}"),
            &format!("Is number {number}."),
        );
        fixture.write(
            format!("skills/skill-{number:03}/references/a.md"),
            format!("file {number}\n"),
        );
    }
    fixture
}

/// What a server says about everything, switched off or not.
fn everything(client: &mut Client) -> Vec<Value> {
    let page = client.good(
        "skill_list",
        json!({ "include_disabled": true, "limit": 1000 }),
    );
    list_at(&page, "/structuredContent/skills").to_vec()
}

#[test]
fn ten_servers_and_five_switches_share_a_home() {
    const ROUNDS: usize = 12;
    let fixture = crowd(40);
    std::thread::scope(|scope| {
        for server in 0..10 {
            let fixture = &fixture;
            scope.spawn(move || {
                let mut client = fixture.client();
                for round in 0..ROUNDS {
                    let all = everything(&mut client);
                    assert_eq!(all.len(), 40, "server {server}, round {round}");
                    let name = format!("skill-{:03}", 10 + (server * ROUNDS + round) % 30);
                    let loaded = client.good("skill_load", json!({ "skill_name": name }));
                    assert!(text_at(&loaded, "/content/0/text").contains(&format!("# {name}")));
                    std::thread::sleep(Duration::from_millis(30));
                }
                assert_eq!(client.close().code, Some(0));
            });
        }
        for switch in 0..5 {
            let fixture = &fixture;
            scope.spawn(move || {
                let name = format!("skill-{switch:03}");
                for round in 0..ROUNDS {
                    let verb = if round % 2 == 0 { "disable" } else { "enable" };
                    let said = fixture.only(["skill", verb, &name, "--json"]).good().json();
                    assert_eq!(
                        at(&said, "/changed"),
                        true,
                        "{name}, round {round}: nobody else switches it"
                    );
                }
                if switch % 2 == 0 {
                    fixture.only(["skill", "disable", &name]).good();
                }
            });
        }
    });
    let off: Vec<String> = fixture
        .listed()
        .iter()
        .filter(|skill| at(skill, "/enabled") == false)
        .map(|skill| text_at(skill, "/name").to_owned())
        .collect();
    assert_eq!(off, ["skill-000", "skill-002", "skill-004"]);
    assert_eq!(everything(&mut fixture.client()).len(), 40);
    let checks = fixture.only(["doctor", "--json"]).good().json();
    assert!(
        checks
            .as_array()
            .unwrap()
            .iter()
            .all(|check| text_at(check, "/status") != "fail"),
        "{checks:#}"
    );
    let audit = fixture.read("home/audit/audit.jsonl");
    assert!(
        audit.lines().count() >= 10 * ROUNDS * 2,
        "{} lines",
        audit.lines().count()
    );
    // A process that sees half of another's line ends it, which can leave an empty one.
    for line in audit.lines().filter(|line| !line.is_empty()) {
        serde_json::from_str::<Value>(line)
            .unwrap_or_else(|error| panic!("lines of several processes mix: {error}: {line}"));
    }
}

/// Removes a folder that a server may be writing into: a file that comes meanwhile makes one attempt
/// fail, and is removed by the next.
fn remove_while_used(folder: &Path) {
    let started = Instant::now();
    while let Err(error) = fs::remove_dir_all(folder) {
        assert_eq!(error.kind(), ErrorKind::DirectoryNotEmpty, "{folder:?}");
        assert!(started.elapsed() < TIMEOUT, "{folder:?} never stays empty");
    }
}

#[test]
fn index_may_be_removed_at_any_time() {
    let fixture = crowd(30);
    let mut client = fixture.client();
    let before = everything(&mut client);
    let listed = fixture.listed();
    for round in 0..5 {
        remove_while_used(&fixture.path("home/index"));
        assert_eq!(everything(&mut client), before, "round {round}");
        assert_eq!(fixture.listed(), listed, "round {round}");
        assert!(fixture.path("home/index").is_dir(), "it is made anew");
    }
    remove_while_used(&fixture.path("home"));
    client.good("skill_load", json!({ "skill_name": "skill-007" }));
    assert_eq!(fixture.listed(), listed);
}

#[test]
fn start_after_a_kill_while_reading_lists_all() {
    let fixture = crowd(200);
    let listed = fixture.listed();
    for round in 0..30_u64 {
        if round % 3 == 0 {
            let _ = fs::remove_dir_all(fixture.path("home/index"));
        }
        let mut child = fixture.only(["mcp"]).start();
        std::thread::sleep(Duration::from_millis(round * 2));
        child.kill().unwrap();
        child.wait().unwrap();
        if round % 5 == 0 {
            assert_eq!(fixture.listed(), listed, "round {round}");
        }
    }
    assert_eq!(fixture.listed(), listed);
    assert_eq!(everything(&mut fixture.client()).len(), 200);
}

#[test]
fn kill_while_switching_leaves_no_half_switch() {
    let fixture = crowd(5);
    for round in 0..40_u64 {
        let verb = if round % 2 == 0 { "disable" } else { "enable" };
        let mut child = fixture
            .only(["skill", verb, &format!("skill-00{}", round % 5)])
            .start();
        std::thread::sleep(Duration::from_micros(round * 400));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(fixture.listed().len(), 5, "round {round}");
    }
    fixture.only(["skill", "disable", "skill-001"]).good();
    fixture.only(["skill", "enable", "skill-001"]).good();
    fixture.only(["doctor"]).good();
}

#[test]
fn leftover_temporary_files_block_nobody() {
    let fixture = crowd(1);
    fs::create_dir(fixture.path("home")).unwrap();
    // A number of a process comes again, in a container at once: then its names are taken.
    let home = fixture.path("home");
    let mut last = fixture.gongfu(["--version"]).start();
    let here = last.id();
    last.wait().unwrap();
    for process in here..here + 300 {
        for count in 0..6 {
            fs::write(home.join(format!(".switches.json.{process}.{count}")), "{").unwrap();
        }
    }
    fixture.only(["skill", "disable", "skill-000"]).good();
    assert_eq!(at(&fixture.listed()[0], "/enabled"), false);
}

#[test]
fn first_starts_at_once_unpack_once() {
    for _ in 0..5 {
        let fixture = Fixture::with_skills();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let listed = fixture
                        .gongfu([
                            "skill".into(),
                            "list".into(),
                            "--json".into(),
                            "--skills-dir".into(),
                            fixture.path("skills"),
                        ])
                        .good();
                    assert!(
                        listed.json().as_array().unwrap().len() > 2,
                        "{}",
                        listed.text()
                    );
                    assert!(listed.stderr.is_empty(), "{}", listed.stderr);
                });
            }
        });
        let built_in = fs::read_dir(fixture.path("home/built-in")).unwrap().count();
        assert_eq!(built_in, 1, "nothing half-written is left");
    }
}
