//! Clients that show their model less than everything, or wait only briefly.

use gongfu_testing::client::TIMEOUT;
use gongfu_testing::json::{list_at, text_at};
use gongfu_testing::sample;
use serde_json::{Value, json};

use crate::fixture::{Fixture, LocalClient};

const CHANGED: &str = "notifications/tools/list_changed";

/// A library that no client shows whole.
fn many(description: &str) -> Fixture {
    let fixture = Fixture::default();
    fixture.change(|skills| {
        for number in 0..544 {
            let document = sample::plain(&format!("skill-{number:03}"), description);
            let files = [("SKILL.md".to_owned(), document.into_bytes())];
            skills.insert(format!("lib/skill-{number:03}"), files.into());
        }
    });
    fixture
}

/// The length of a text as most clients count it.
fn length(text: &str) -> usize {
    text.encode_utf16().count()
}

fn shown_at_once(client: &mut LocalClient) -> Vec<String> {
    let tools = client.ask("tools/list", json!({}));
    let tools = list_at(&tools, "/tools").iter();
    let marked = tools.filter(|tool| tool.pointer("/_meta/anthropic~1alwaysLoad").is_some());
    marked
        .map(|tool| text_at(tool, "/name").to_owned())
        .collect()
}

#[test]
fn instructions_are_whole_for_each_client() {
    for description in ["Does the task with care. ", "Kicks 🥋🥋🥋 and 技能 high. "] {
        let fixture = many(&description.repeat(30));
        for (name, version, least, most) in [
            ("claude-code", "2.1.197", 1_700, 2_048),
            ("claude-code", "2.1.330", 3_700, 4_096),
            ("claude-code", "3.1", 3_700, 4_096),
            ("codex-mcp-client", "0.169.0", 7_500, 8_500),
            ("somebody", "1", 7_500, 8_500),
        ] {
            let mut client = fixture.silent_client();
            let told = client.initialize_by_name("2025-11-25", name, version);
            let text = text_at(&told, "/instructions");
            let size = length(text);
            assert!((least..=most).contains(&size), "{name} {version}: {size}");
            assert!(text.starts_with("544 skills. "), "{text}");
            let search = text.find("skill_search").unwrap();
            assert!(search < 100, "what is cut takes only the list: {search}");
            assert!(text.ends_with(" more: use skill_search"), "{text}");
        }
    }
}

#[test]
fn a_client_without_sessions_gets_its_own_text_too() {
    let fixture = many("Does the task with care, in a way that takes many words to say.");
    let mut client = fixture.silent_client();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "claude-code", "version": "2.1.330" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let told = client.ask("server/discover", json!({ "_meta": meta }));
    let size = length(text_at(&told, "/instructions"));
    assert!((3_700..=4_096).contains(&size), "{size}");
}

#[test]
fn a_client_that_defers_tools_shows_those_that_find_skills() {
    let fixture = Fixture::with_skills();
    for (name, version, wanted) in [
        ("claude-code", "2.1.330", vec!["skill_load", "skill_search"]),
        ("claude-code", "2.1.197", vec![]),
        ("somebody", "2.1.330", vec![]),
    ] {
        let mut client = fixture.silent_client();
        client.initialize_by_name("2025-11-25", name, version);
        assert_eq!(shown_at_once(&mut client), wanted, "{name} {version}");
    }
}

#[test]
fn a_client_that_waits_briefly_gets_its_tools_before_the_skills_are_read() {
    let fixture = Fixture::with_skills();
    fixture.space.skills.read_slowly(true);
    let mut client = fixture.silent_client();
    let told = client.initialize_by_name("2025-11-25", "codex-mcp-client", "0.169.0");
    let text = text_at(&told, "/instructions");
    assert!(text.starts_with("Before you start a task"), "{text}");
    assert!(text.ends_with("the tools will list them."), "{text}");
    let load = |client: &mut LocalClient| {
        let tools = client.ask("tools/list", json!({}));
        let mut tools = list_at(&tools, "/tools").iter();
        let is_load = |tool: &&Value| text_at(tool, "/name") == "skill_load";
        text_at(tools.find(is_load).unwrap(), "/description").to_owned()
    };
    assert!(!load(&mut client).contains("pdf-tools"));
    fixture.space.skills.read_slowly(false);
    assert_eq!(client.notified(CHANGED, TIMEOUT), 1, "now there is more");
    assert!(load(&mut client).contains("pdf-tools"));
}
