//! Changes while a server runs: what the next call sees, and what the client is told.

use std::fs;
use std::time::Duration;

use gongfu_testing::client::TIMEOUT;
use gongfu_testing::json::{at, list_at, text_at};
use serde_json::{Value, json};

use crate::fixture::Fixture;
use crate::stdio::Client;

const CHANGED: &str = "notifications/tools/list_changed";
/// Long enough for an announcement on a machine that isn't slow; on a slow one a test that waits
/// this long for nothing proves less, and never fails.
const QUIET: Duration = Duration::from_millis(1_500);

fn listed(client: &mut Client) -> Vec<String> {
    let page = client.good("skill_list", json!({ "limit": 1000 }));
    let skills = list_at(&page, "/structuredContent/skills");
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
fn client_is_notified_of_each_change() {
    let fixture = Fixture::with_skills();
    let mut client = fixture.silent_client();
    let told = client.initialize("2025-11-25");
    assert_eq!(at(&told, "/capabilities/tools/listChanged"), true);
    assert_eq!(listed(&mut client), ["pdf-tools", "release-notes"]);
    quiet(&mut client);
    fixture.skill("added", "Is new.");
    assert_eq!(client.notified(CHANGED, TIMEOUT), 1, "a skill came");
    assert_eq!(listed(&mut client).len(), 3);
    fixture.skill("added", "Is changed.");
    assert_eq!(client.notified(CHANGED, TIMEOUT), 1, "a skill changed");
    fs::rename(fixture.path("skills/added"), fixture.path("skills/renamed")).unwrap();
    assert!(
        listed(&mut client).iter().any(|name| name == "added"),
        "it keeps its name"
    );
    assert!(
        client.notified(CHANGED, TIMEOUT) > 0,
        "its folder was renamed"
    );
    fs::remove_dir_all(fixture.path("skills/renamed")).unwrap();
    assert!(client.notified(CHANGED, TIMEOUT) > 0, "a skill went");
    quiet(&mut client);
    // What changes nothing: the same content once more, and what is no skill.
    fixture.skill("release-notes", "Writes release notes.");
    fixture.write("skills/README.md", "x");
    fixture.write("skills/.git/HEAD", "x");
    assert_eq!(client.notified(CHANGED, QUIET), 0);
    fixture.skill("added", "Is new.");
    assert!(
        client.notified(CHANGED, TIMEOUT) > 0,
        "else the test is void"
    );
    let end = client.close();
    assert_eq!(end.code, Some(0));
}

#[test]
fn burst_of_changes_is_few_notifications() {
    const SKILLS: usize = 300;
    let fixture = Fixture::new();
    for number in 0..SKILLS {
        fixture.skill(&format!("skill-{number:03}"), "Is old.");
    }
    let mut client = fixture.client();
    assert_eq!(listed(&mut client).len(), SKILLS);
    quiet(&mut client);
    for number in 0..SKILLS {
        let path = fixture.path(format!("skills/skill-{number:03}/SKILL.md"));
        fs::remove_file(path).unwrap();
        fixture.skill(&format!("skill-{number:03}"), "Is new.");
    }
    let mut announcements = 0;
    loop {
        match client.notified(CHANGED, if announcements == 0 { TIMEOUT } else { QUIET }) {
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
fn doctor_reports_whether_folders_are_watched() {
    let fixture = Fixture::with_skills();
    let checks = fixture.only(["doctor", "--json"]).run().json();
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
