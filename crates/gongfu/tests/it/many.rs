//! Many processes on one home, and those that are killed.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use crate::stdio::Client;
use crate::world::{World, at, text_at};

fn crowd(skills: usize) -> World {
    let world = World::new();
    for number in 0..skills {
        world.skill(
            &format!("skill-{number:03}"),
            &format!("Is number {number}."),
        );
        world.write(
            format!("skills/skill-{number:03}/references/a.md"),
            format!("file {number}\n"),
        );
    }
    world
}

/// What a server says about everything, switched off or not.
fn everything(client: &mut Client) -> Vec<Value> {
    let page = client.good(
        "skill_list",
        json!({ "include_disabled": true, "limit": 1000 }),
    );
    at(&page, "/structuredContent/skills")
        .as_array()
        .unwrap()
        .clone()
}

#[test]
fn ten_servers_and_five_switches_share_a_home() {
    const ROUNDS: usize = 12;
    let world = crowd(40);
    std::thread::scope(|scope| {
        for server in 0..10 {
            let world = &world;
            scope.spawn(move || {
                let mut client = world.client();
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
            let world = &world;
            scope.spawn(move || {
                let name = format!("skill-{switch:03}");
                for round in 0..ROUNDS {
                    let verb = if round % 2 == 0 { "disable" } else { "enable" };
                    let said = world.only(["skill", verb, &name, "--json"]).good().json();
                    assert_eq!(
                        at(&said, "/changed"),
                        true,
                        "{name}, round {round}: nobody else switches it"
                    );
                }
                if switch % 2 == 0 {
                    world.only(["skill", "disable", &name]).good();
                }
            });
        }
    });
    let off: Vec<String> = world
        .listed()
        .iter()
        .filter(|skill| at(skill, "/enabled") == false)
        .map(|skill| text_at(skill, "/name").to_owned())
        .collect();
    assert_eq!(off, ["skill-000", "skill-002", "skill-004"]);
    assert_eq!(everything(&mut world.client()).len(), 40);
    let checks = world.only(["doctor", "--json"]).good().json();
    assert!(
        checks
            .as_array()
            .unwrap()
            .iter()
            .all(|check| text_at(check, "/status") != "fail"),
        "{checks:#}"
    );
    let audit = world.read("home/audit/audit.jsonl");
    assert!(
        audit.lines().count() >= 10 * ROUNDS * 2,
        "{} lines",
        audit.lines().count()
    );
    for line in audit.lines() {
        serde_json::from_str::<Value>(line)
            .unwrap_or_else(|error| panic!("lines of several processes mix: {error}: {line}"));
    }
}

#[test]
fn the_index_may_go_at_any_time() {
    let world = crowd(30);
    let mut client = world.client();
    let before = everything(&mut client);
    let listed = world.listed();
    for round in 0..5 {
        fs::remove_dir_all(world.path("home/index")).unwrap();
        assert_eq!(everything(&mut client), before, "round {round}");
        assert_eq!(world.listed(), listed, "round {round}");
        assert!(world.path("home/index").is_dir(), "it is made anew");
    }
    fs::remove_dir_all(world.path("home")).unwrap();
    client.good("skill_load", json!({ "skill_name": "skill-007" }));
    assert_eq!(world.listed(), listed);
}

#[test]
fn a_damaged_index_is_no_worse_than_none() {
    let world = crowd(10);
    let listed = world.listed();
    let index = || {
        fs::read_dir(world.path("home/index"))
            .unwrap()
            .next()
            .unwrap()
            .unwrap()
            .path()
    };
    let good = fs::read(index()).unwrap();
    let mut turned = good.clone();
    turned[good.len() / 2] ^= 0x55;
    for damaged in [
        Vec::new(),
        vec![0; 100],
        b"garbage".to_vec(),
        good[..good.len() / 2].to_vec(),
        turned,
        vec![0xFF; 100_000],
    ] {
        fs::write(index(), damaged).unwrap();
        let ran = world.only(["skill", "list", "--json"]).good();
        assert_eq!(ran.json().as_array().unwrap(), &listed);
        assert!(ran.stderr.is_empty(), "{}", ran.stderr);
    }
    // Not even a folder in its place.
    let path = index();
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(world.listed(), listed);
}

#[test]
fn killed_while_it_reads_the_next_start_is_well() {
    let world = crowd(200);
    let listed = world.listed();
    for round in 0..30_u64 {
        if round % 3 == 0 {
            let _ = fs::remove_dir_all(world.path("home/index"));
        }
        let mut child = world.only(["mcp"]).start();
        std::thread::sleep(Duration::from_millis(round * 2));
        child.kill().unwrap();
        child.wait().unwrap();
        if round % 5 == 0 {
            assert_eq!(world.listed(), listed, "round {round}");
        }
    }
    assert_eq!(world.listed(), listed);
    assert_eq!(everything(&mut world.client()).len(), 200);
}

#[test]
fn killed_while_it_switches_no_switch_is_half() {
    let world = crowd(5);
    for round in 0..40_u64 {
        let verb = if round % 2 == 0 { "disable" } else { "enable" };
        let mut child = world
            .only(["skill", verb, &format!("skill-00{}", round % 5)])
            .start();
        std::thread::sleep(Duration::from_micros(round * 400));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(world.listed().len(), 5, "round {round}");
    }
    world.only(["skill", "disable", "skill-001"]).good();
    world.only(["skill", "enable", "skill-001"]).good();
    world.only(["doctor"]).good();
}

#[test]
fn what_a_killed_process_left_is_in_nobody_s_way() {
    let world = crowd(1);
    fs::create_dir(world.path("home")).unwrap();
    // A number of a process comes again, in a container at once: then its names are taken.
    let home = world.path("home");
    let mut last = world.gongfu(["--version"]).start();
    let here = last.id();
    last.wait().unwrap();
    for process in here..here + 300 {
        for count in 0..6 {
            fs::write(home.join(format!(".switches.json.{process}.{count}")), "{").unwrap();
        }
    }
    world.only(["skill", "disable", "skill-000"]).good();
    assert_eq!(at(&world.listed()[0], "/enabled"), false);
}

#[test]
fn first_starts_at_once_are_harmless() {
    for _ in 0..5 {
        let world = World::with_skills();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let listed = world
                        .gongfu([
                            "skill".into(),
                            "list".into(),
                            "--json".into(),
                            "--skills-dir".into(),
                            world.path("skills"),
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
        let built_in = fs::read_dir(world.path("home/built-in")).unwrap().count();
        assert_eq!(built_in, 1, "nothing half-written is left");
    }
}

#[test]
fn pages_hold_each_skill_once() {
    let world = crowd(250);
    let mut client = world.client();
    for limit in [
        json!(null),
        json!(1),
        json!(7),
        json!(250),
        json!(1_000),
        json!(1_000_000),
    ] {
        let (mut names, mut after) = (Vec::new(), Value::Null);
        loop {
            let page = client.good("skill_list", json!({ "limit": limit, "after": after }));
            let data = at(&page, "/structuredContent");
            assert_eq!(at(data, "/total"), 250);
            let skills = at(data, "/skills").as_array().unwrap();
            let most = limit.as_u64().map_or(100, |most| most.min(1_000));
            assert!(skills.len() as u64 <= most, "limit {limit}");
            names.extend(
                skills
                    .iter()
                    .map(|skill| text_at(skill, "/name").to_owned()),
            );
            match data.get("next") {
                Some(next) => after = next.clone(),
                None => break,
            }
        }
        let wanted: Vec<String> = (0..250)
            .map(|number| format!("skill-{number:03}"))
            .collect();
        assert_eq!(names, wanted, "limit {limit}");
    }
}
