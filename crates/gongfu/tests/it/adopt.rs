//! Skills that are on a machine already, adopted and given back.

use std::fs;

use gongfu_testing::json::{at, text_at};
use serde_json::json;

use crate::fixture::Fixture;

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("project/.git/HEAD", "ref: refs/heads/main\n");
    fixture.skill_in("user/.gemini/skills", "pdf", "Reads PDF.");
    fixture.skill_in("user/.codex/skills", "pdf", "Reads PDF.");
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
    let line = "~/.codex/skills/pdf    -     duplicate of ~/.gemini/skills/pdf, unknown source";
    assert!(table.contains(line), "{table}");
    let lock = fixture.path("user/.agents/gongfu.lock");
    assert!(!lock.exists());
    let made = adopt(&["--yes", "--json"]).good().json();
    assert_eq!(at(&made, "/adopted"), &json!(true));
    assert_eq!(at(&made, "/changes/servers"), &json!(["docs"]));
    // The duplicate needn't be read, and a project's folder isn't trusted by the way.
    let gemini = fixture.path("user/.gemini/skills");
    assert_eq!(at(&made, "/changes/folders"), &json!([gemini]));
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
    // A folder that is gone is adopted no longer, and the other one isn't a duplicate any more.
    let moved = fixture.path("user/.gemini/moved");
    fs::rename(&gemini, &moved).unwrap();
    let changed = adopt(&["--yes", "--json"]).good().json();
    let codex = fixture.path("user/.codex/skills");
    assert_eq!(at(&changed, "/changes/folders"), &json!([codex]));
    let sources = || fixture.gongfu(["source", "list", "--json"]).good().text();
    assert!(!sources().contains(".gemini") && sources().contains(".codex"));
    assert!(!fs::read_to_string(&lock).unwrap().contains(".gemini"));
    fs::rename(&moved, &gemini).unwrap();
    fixture.gongfu(["adopt", "--undo"]).good();
    assert!(!lock.exists() && !project.join("gongfu.lock").exists());
    assert!(!fixture.path("user/.agents").exists());
    assert!(!sources().contains(".gemini") && !sources().contains(".codex"));
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
    assert!(text.contains("~/.gemini/skills/pdf"), "{text}");
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

#[test]
fn adoption_that_fails_halfway_leaves_nothing() {
    let fixture = fixture();
    // The person's lock is written first; that of the project can't be.
    fixture.write("project/.agents", "in the way");
    let project = fixture.path("project");
    let failed = fixture
        .gongfu(["adopt", "--yes", "--project", project.to_str().unwrap()])
        .ends(1);
    assert!(
        failed.stderr.contains("PLACE_UNWRITABLE"),
        "{}",
        failed.stderr
    );
    assert!(!fixture.path("user/.agents").exists());
    assert!(!fixture.path("home/config.toml").exists());
    assert!(!fixture.path("home/connections.json").exists());
    let nothing = fixture.gongfu(["adopt", "--undo"]).ends(1);
    assert!(nothing.stderr.contains("NOT_ADOPTED"), "{}", nothing.stderr);
}

#[test]
fn connection_that_was_removed_since_is_not_imported_again() {
    let fixture = fixture();
    let servers = || {
        let made = fixture.gongfu(["adopt", "--yes", "--json"]).good().json();
        at(&made, "/changes/servers").clone()
    };
    assert_eq!(servers(), json!(["docs"]));
    fixture.gongfu(["connection", "remove", "docs"]).good();
    assert_eq!(servers(), json!([]));
    // It is gone already.
    fixture.gongfu(["adopt", "--undo"]).good();
}
