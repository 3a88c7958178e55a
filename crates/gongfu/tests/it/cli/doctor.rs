//! `gongfu doctor`: what doesn't work is said, with the next step.

use gongfu_testing::json::text_at;
use serde_json::{Value, json};

use crate::fixture::Fixture;
use crate::stdio::Client;

/// The checks of an id.
fn checks(fixture: &Fixture, id: &str, code: i32) -> Vec<Value> {
    let all = fixture.only(["doctor", "--json"]).ends(code).json();
    let all = all.as_array().unwrap().iter();
    let found = all.filter(|check| text_at(check, "/id") == id);
    found.cloned().collect()
}

#[test]
fn clients_without_gongfu_are_named_with_the_command() {
    let fixture = Fixture::with_skills();
    fixture.write("user/.cursor/mcp.json", "{}");
    fixture.write("user/.codex/config.toml", "");
    let clients = checks(&fixture, "clients", 0);
    assert_eq!(text_at(&clients[0], "/status"), "warn");
    assert_eq!(
        text_at(&clients[0], "/message"),
        "2 clients found, none configured: Codex, Cursor"
    );
    let fix = "gongfu client install codex cursor";
    assert_eq!(text_at(&clients[0], "/fix"), fix);
    fixture.gongfu(["client", "install", "cursor"]).good();
    let clients = checks(&fixture, "clients", 0);
    assert_eq!(text_at(&clients[0], "/status"), "ok");
    assert_eq!(
        text_at(&clients[0], "/message"),
        "configured: Cursor (1 of 2 found)"
    );
}

#[test]
fn clients_that_cannot_start_gongfu_are_reported() {
    let fixture = Fixture::with_skills();
    fixture.write("user/.codex/config.toml", "a = \n");
    fixture.write(
        "user/.cursor/mcp.json",
        "{\"mcpServers\": {\"gongfu\": {\"command\": \"/gone/gongfu\", \"args\": [\"mcp\"]}}}",
    );
    let broken = checks(&fixture, "client", 1);
    let [codex, cursor] = broken.as_slice() else {
        panic!("{broken:#?}");
    };
    assert_eq!(text_at(codex, "/status"), "warn");
    let said = text_at(codex, "/message");
    assert!(
        said.starts_with("Codex: line 1, column 5: not valid TOML"),
        "{said}"
    );
    assert_eq!(text_at(cursor, "/status"), "fail");
    assert_eq!(
        text_at(cursor, "/message"),
        "Cursor: program not found: /gone/gongfu mcp"
    );
    assert_eq!(text_at(cursor, "/fix"), "gongfu client install cursor");
    fixture.gongfu(["client", "install", "cursor"]).good();
    assert_eq!(checks(&fixture, "client", 0).len(), 1);
}

#[test]
fn decisions_that_wait_are_counted() {
    let fixture = Fixture::with_skills();
    assert!(checks(&fixture, "approvals", 0).is_empty());
    let command = "x=$(cat SKILL.md | head -c 0)echo; $x hi";
    let call = json!({ "skill_name": "pdf-tools", "command": command });
    let mut client = Client::start(&fixture.only(["mcp", "--profile", "agentskills"]));
    client.initialize("2025-11-25");
    client.call("run_shell_command", call);
    let waiting = checks(&fixture, "approvals", 0);
    assert_eq!(
        text_at(&waiting[0], "/message"),
        "1 command waits for your approval"
    );
    assert_eq!(text_at(&waiting[0], "/fix"), "gongfu approve list");
}

#[test]
fn a_check_takes_a_line_and_details_come_when_asked() {
    let fixture = Fixture::with_skills();
    fixture.write("home/config.toml", "");
    let short = fixture.only(["doctor"]).with("COLUMNS", "80").good();
    let line = |text: &str, id: &str| {
        let line = text.lines().find(|line| line[4..].trim().starts_with(id));
        line.unwrap_or_else(|| panic!("{id}: {text}")).to_owned()
    };
    let text = short.text();
    for id in ["sandbox", "skills", "symlinks"] {
        assert!(line(&text, id).len() <= 80, "{text}");
    }
    assert!(!text.contains("bubblewrap: "), "{text}");
    assert!(
        short.stderr.contains("gongfu doctor -v"),
        "{}",
        short.stderr
    );
    let long = fixture.only(["doctor", "-v"]).good().text();
    assert!(
        long.contains("skills: ") && long.len() > text.len(),
        "{long}"
    );
    let quiet = fixture.only(["doctor", "-q"]).good();
    assert!(quiet.stderr.is_empty(), "{}", quiet.stderr);
    let narrow = fixture.only(["doctor"]).with("COLUMNS", "40").good().text();
    let words = narrow.lines().filter(|line| !line.contains('/'));
    for line in words {
        assert!(line.chars().count() <= 40, "{line:?}");
    }
}

#[test]
fn settings_that_are_missing_have_their_path() {
    let fixture = Fixture::with_skills();
    let config = checks(&fixture, "config", 0);
    let path = fixture.path("home/config.toml").display().to_string();
    assert_eq!(
        text_at(&config[0], "/message"),
        format!("defaults (create {path} to change them)")
    );
}

#[test]
fn connections_that_cannot_be_used_are_reported() {
    let fixture = Fixture::with_skills();
    assert!(checks(&fixture, "connections", 0).is_empty());
    fixture.write(
        "home/config.toml",
        "[accounts]\nconnections = [\"one\", \"lost\"]\n",
    );
    let add = ["connection", "add", "one", "--", "python3", "x"];
    fixture.gongfu(add).good();
    let found = checks(&fixture, "connections", 0);
    assert_eq!(text_at(&found[0], "/status"), "warn");
    let said = text_at(&found[0], "/message");
    assert!(
        said.starts_with("1 connection, 1 of them for users; ") && said.contains("`lost`"),
        "{said}"
    );
    assert_eq!(found[0]["details"].as_array().unwrap().len(), 2);
    fixture.write("home/config.toml", "");
    let found = checks(&fixture, "connections", 0);
    assert_eq!(
        text_at(&found[0], "/message"),
        "1 connection; `one` waits for your approval"
    );
    assert_eq!(text_at(&found[0], "/fix"), "gongfu connection approve NAME");
    fixture.write("home/connections.json", "{\"connections\": {\"two\": {}}}");
    let found = checks(&fixture, "connections", 0);
    assert!(text_at(&found[0], "/message").contains("`two`"));
}
