//! Changes while a server runs: what the next call sees, and what the client is told.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use crate::stdio::{Client, result};
use crate::world::{PATIENCE, World, at, text_at};

const CHANGED: &str = "notifications/tools/list_changed";
/// Long enough for an announcement on a machine that isn't slow; on a slow one a test that waits
/// this long for nothing proves less, and never fails.
const QUIET: Duration = Duration::from_millis(1_500);

fn listed(client: &mut Client) -> Vec<String> {
    let page = client.good("skill_list", json!({ "limit": 1000 }));
    let skills = at(&page, "/structuredContent/skills").as_array().unwrap();
    skills
        .iter()
        .map(|skill| text_at(skill, "/name").to_owned())
        .collect()
}

/// Forgets the announcements of what changed until now.
fn quiet(client: &mut Client) {
    while client.notified(CHANGED, QUIET) > 0 {}
}

#[test]
fn a_client_is_told_of_each_change() {
    let world = World::with_skills();
    let mut client = world.silent_client();
    let told = client.initialize("2025-11-25");
    assert_eq!(at(&told, "/capabilities/tools/listChanged"), true);
    assert_eq!(listed(&mut client), ["pdf-tools", "release-notes"]);
    quiet(&mut client);
    world.skill("added", "Is new.");
    assert_eq!(client.notified(CHANGED, PATIENCE), 1, "a skill came");
    assert_eq!(listed(&mut client).len(), 3);
    world.skill("added", "Is changed.");
    assert_eq!(client.notified(CHANGED, PATIENCE), 1, "a skill changed");
    fs::rename(world.path("skills/added"), world.path("skills/renamed")).unwrap();
    assert!(
        listed(&mut client).iter().any(|name| name == "added"),
        "it keeps its name"
    );
    assert!(
        client.notified(CHANGED, PATIENCE) > 0,
        "its folder was renamed"
    );
    fs::remove_dir_all(world.path("skills/renamed")).unwrap();
    assert!(client.notified(CHANGED, PATIENCE) > 0, "a skill went");
    quiet(&mut client);
    // What changes nothing: the same content once more, and what is no skill.
    world.skill("release-notes", "Writes release notes.");
    world.write("skills/README.md", "x");
    world.write("skills/.git/HEAD", "x");
    assert_eq!(client.notified(CHANGED, QUIET), 0);
    world.skill("added", "Is new.");
    assert!(
        client.notified(CHANGED, PATIENCE) > 0,
        "else the test is void"
    );
    let end = client.close();
    assert_eq!(end.code, Some(0));
}

#[test]
fn every_call_sees_what_happened_before_it() {
    let world = World::with_skills();
    let mut client = world.client();
    listed(&mut client);
    quiet(&mut client);
    // From here on the folders are watched: nothing is a second old any more.
    for round in 0..60 {
        let name = format!("skill-{round}");
        world.skill(&name, "Is new.");
        assert!(listed(&mut client).contains(&name), "round {round}");
        world.write(
            format!("skills/{name}/references/a.md"),
            format!("{round}\n"),
        );
        let files = client.good("skill_read", json!({ "skill_name": name }));
        assert!(
            files.to_string().contains("references/a.md"),
            "round {round}: {files}"
        );
        fs::remove_dir_all(world.path(format!("skills/{name}"))).unwrap();
        assert!(!listed(&mut client).contains(&name), "round {round}");
    }
}

#[test]
fn a_burst_is_told_a_few_times() {
    const SKILLS: usize = 300;
    let world = World::new();
    for number in 0..SKILLS {
        world.skill(&format!("skill-{number:03}"), "Is old.");
    }
    let mut client = world.client();
    assert_eq!(listed(&mut client).len(), SKILLS);
    quiet(&mut client);
    for number in 0..SKILLS {
        let path = world.path(format!("skills/skill-{number:03}/SKILL.md"));
        fs::remove_file(path).unwrap();
        world.skill(&format!("skill-{number:03}"), "Is new.");
    }
    let mut announcements = 0;
    loop {
        match client.notified(CHANGED, if announcements == 0 { PATIENCE } else { QUIET }) {
            0 => break,
            more => announcements += more,
        }
    }
    assert!((1..SKILLS / 5).contains(&announcements), "{announcements}");
    let page = client.good("skill_list", json!({ "limit": 1000 }));
    assert_eq!(page.to_string().matches("Is new.").count() % SKILLS, 0);
    assert!(!page.to_string().contains("Is old."));
}

#[test]
fn a_client_of_2026_is_told_what_it_subscribes_to() {
    let world = World::with_skills();
    let mut client = world.silent_client();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let call = json!({ "name": "skill_list", "arguments": {}, "_meta": meta });
    result(client.request("tools/call", call.clone()));
    std::thread::sleep(QUIET);
    world.skill("unheard", "Is new.");
    assert_eq!(client.notified(CHANGED, QUIET), 0, "nobody asked for it");
    let listen = json!({ "notifications": { "toolsListChanged": true }, "_meta": meta });
    client.send(
        &json!({ "jsonrpc": "2.0", "id": "s", "method": "subscriptions/listen", "params": listen }),
    );
    assert_eq!(
        client.notified("notifications/subscriptions/acknowledged", PATIENCE),
        1
    );
    world.skill("heard", "Is new.");
    assert_eq!(client.notified(CHANGED, PATIENCE), 1);
    client.notify(
        "notifications/cancelled",
        json!({ "requestId": "s", "_meta": meta }),
    );
    result(client.request("tools/call", call));
    quiet(&mut client);
    world.skill("unheard-again", "Is new.");
    assert_eq!(client.notified(CHANGED, QUIET), 0, "it is cancelled");
    assert_eq!(client.close().code, Some(0));
}

#[test]
fn a_place_that_comes_later_is_seen() {
    let world = World::new();
    let mut client = Client::start(&world.gongfu(["mcp"]));
    client.initialize("2025-06-18");
    listed(&mut client);
    quiet(&mut client);
    for folder in [
        "project/.claude/skills",
        "user/.agents/skills",
        "project/skills",
    ] {
        let name = folder.replace(['/', '.'], "-");
        world.skill_in(folder, &name, "Is new.");
        assert!(client.notified(CHANGED, PATIENCE) > 0, "{folder}");
        assert!(listed(&mut client).contains(&name), "{folder}");
        fs::remove_dir_all(world.path(folder)).unwrap();
        assert!(client.notified(CHANGED, PATIENCE) > 0, "{folder} went");
        assert!(!listed(&mut client).contains(&name), "{folder} went");
    }
}

#[test]
fn the_doctor_says_whether_changes_are_told() {
    let world = World::with_skills();
    let checks = world.only(["doctor", "--json"]).run().json();
    let checks = checks.as_array().unwrap();
    let watching: Vec<&Value> = checks
        .iter()
        .filter(|check| text_at(check, "/id") == "watching")
        .collect();
    assert_eq!(watching.len(), 1, "{checks:#?}");
    assert!(
        text_at(watching[0], "/message").contains("folders"),
        "{watching:#?}"
    );
}
