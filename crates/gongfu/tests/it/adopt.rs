//! Skills that are on a machine already, adopted and given back.

use std::fs;

use gongfu_testing::json::{at, text_at};
use serde_json::json;

use crate::fixture::Fixture;

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("project/.git/HEAD", "ref: refs/heads/main\n");
    fixture.skill_in("user/.codex/skills", "pdf", "Reads PDF.");
    fixture.skill_in("user/.gemini/skills", "pdf", "Reads PDF.");
    fixture.skill_in("project/.github/skills", "docx", "Reads Word.");
    let servers = "{\"mcpServers\": {\"docs\": {\"command\": \"docs-server\"}}}";
    fixture.write("user/.cursor/mcp.json", servers);
    fixture
}

#[test]
fn an_adoption_is_listed_made_and_taken_back() {
    let fixture = fixture();
    let project = fixture.path("project");
    let adopt = |more: &[&str]| {
        let place = ["adopt", "--project", project.to_str().unwrap()];
        fixture.gongfu([&place, more].concat())
    };
    let refused = adopt(&[]).ends(2);
    assert!(
        refused.stderr.contains("CONFIRMATION_REQUIRED"),
        "{}",
        refused.stderr
    );
    let table = adopt(&["--dry-run"]).good().text();
    let line = "~/.gemini/skills/pdf  -     duplicate of ~/.codex/skills/pdf, unknown source";
    assert!(table.contains(line), "{table}");
    let lock = fixture.path("user/.agents/gongfu.lock");
    assert!(!lock.exists());
    let made = adopt(&["--yes", "--json"]).good().json();
    assert_eq!(at(&made, "/adopted"), &json!(true));
    assert_eq!(at(&made, "/changes/servers"), &json!(["docs"]));
    // The duplicate needn't be read, and a project's folder isn't trusted by the way.
    let codex = fixture.path("user/.codex/skills");
    assert_eq!(at(&made, "/changes/folders"), &json!([codex]));
    let github = project.join(".github/skills");
    assert_eq!(at(&made, "/changes/folders_to_review"), &json!([github]));
    assert!(lock.exists() && project.join("gongfu.lock").exists());
    let listed = fixture.gongfu(["list", "--json"]).good().json();
    let names: Vec<&str> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|one| text_at(one, "/name"))
        .collect();
    assert!(names.contains(&"pdf"), "{names:?}");
    let again = adopt(&["--yes", "--json"]).good().json();
    assert_eq!(at(&again, "/adopted"), &json!(false));
    fixture.gongfu(["adopt", "--undo"]).good();
    assert!(!lock.exists() && !project.join("gongfu.lock").exists());
    assert!(!fixture.path("user/.agents").exists());
    let sources = fixture.gongfu(["source", "list", "--json"]).good().text();
    assert!(!sources.contains(".codex"), "{sources}");
    let connections = fixture.gongfu(["connection", "list", "--no-start", "--json"]);
    assert_eq!(connections.good().json(), json!([]));
    let nothing = fixture.gongfu(["adopt", "--undo"]).ends(1);
    assert!(nothing.stderr.contains("NOT_ADOPTED"), "{}", nothing.stderr);
}

#[test]
fn a_lock_that_cannot_be_read_stops_an_adoption_and_not_its_table() {
    let fixture = fixture();
    fixture.write("user/.agents/gongfu.lock", "{\n<<<<<<< ours\n");
    let table = fixture.gongfu(["adopt", "--dry-run"]).good();
    let text = table.text();
    assert!(text.contains("~/.codex/skills/pdf"), "{text}");
    assert!(
        table.stderr.contains("gongfu.lock, line 2"),
        "{}",
        table.stderr
    );
    let refused = fixture.gongfu(["adopt", "--yes"]).ends(1);
    assert!(
        refused.stderr.contains("LOCK_UNREADABLE"),
        "{}",
        refused.stderr
    );
    let left = fs::read_to_string(fixture.path("user/.agents/gongfu.lock")).unwrap();
    assert_eq!(left, "{\n<<<<<<< ours\n");
}
