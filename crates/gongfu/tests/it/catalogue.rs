//! The order of the skills that a model is told of: one's own first, then what was used most.

use gongfu_testing::json::{list_at, text_at};
use serde_json::{Value, json};

use crate::fixture::Fixture;
use crate::stdio::Client;

/// The names in the description of `skill_load`, in order.
fn announced(client: &mut Client) -> Vec<String> {
    let tools = client.ask("tools/list", json!({}));
    let mut tools = list_at(&tools, "/tools").iter();
    let is_load = |tool: &&Value| text_at(tool, "/name") == "skill_load";
    let description = text_at(tools.find(is_load).unwrap(), "/description");
    let lines = description.lines();
    let names = lines.filter_map(|line| line.strip_prefix("- ")?.split_once(':'));
    names.map(|(name, _)| name.to_owned()).collect()
}

#[test]
fn skills_that_were_used_come_first_after_a_restart_and_not_before() {
    let fixture = Fixture::new();
    for name in ["one", "three", "two"] {
        fixture.skill(name, "Does a task.");
    }
    let document = "---\nname: zero\ndescription: Is the person's own.\n---\n\nDo it.\n";
    fixture.write("user/.claude/skills/zero/SKILL.md", document);
    let start = || {
        let run = fixture.gongfu([
            "mcp",
            "--skills-dir",
            fixture.path("skills").to_str().unwrap(),
        ]);
        let mut client = Client::start(&run);
        client.initialize("2025-11-25");
        client
    };
    let mut client = start();
    let before = announced(&mut client);
    assert_eq!(before[..4], ["zero", "one", "three", "two"]);
    for name in ["two", "two", "three"] {
        client.good("skill_load", json!({ "skill_name": name }));
    }
    assert_eq!(announced(&mut client), before, "a client keeps its prompt");
    client.close();
    let mut client = start();
    let after = announced(&mut client);
    assert_eq!(after[..4], ["zero", "two", "three", "one"]);
    client.close();
    // A damaged line costs only itself.
    let log = fixture.path("home/uses/uses.jsonl");
    let lines = std::fs::read_to_string(&log).unwrap();
    assert_eq!(lines.lines().count(), 3, "{lines}");
    std::fs::write(&log, format!("{{\n\u{0}\n[]\n{lines}\"cut")).unwrap();
    assert_eq!(announced(&mut start()), after);
    // Without a log that can be read, the order is that of precedence.
    std::fs::remove_file(&log).unwrap();
    std::fs::create_dir(&log).unwrap();
    let mut client = start();
    assert_eq!(announced(&mut client), before);
    client.good("skill_load", json!({ "skill_name": "two" }));
}
