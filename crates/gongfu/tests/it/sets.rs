//! Sets: a client sees and reaches what its set names, and nothing beside it.

use std::time::Duration;

use gongfu_testing::json::{failed, list_at, text_at, texts};
use serde_json::{Value, json};

use crate::connection::NOTICE_TIMEOUT;
use crate::fixture::Fixture;
use crate::site::Site;
use crate::stdio::Client;

const SERVER: &str = include_str!("../../../../scripts/faulty_server.py");
const SETS: &str = "[sets]\nreview = [\"mcp.one.echo\", \"skill.pdf-tools\"]\nwhole = [\"mcp.two\", \"skill.*\"]\nbare = []\n";

/// Two connections that are approved, two skills, and sets.
fn fixture() -> Fixture {
    let fixture = Fixture::with_skills();
    let script = fixture.write("server.py", SERVER);
    let script = script.to_str().unwrap();
    for name in ["one", "two"] {
        let add = ["connection", "add", name, "--", "python3", script, "none"];
        fixture.gongfu(add).good();
        let approve = ["connection", "approve", name, "--yes"];
        fixture.gongfu(approve).good();
    }
    fixture.write("home/config.toml", SETS);
    fixture
}

/// The tools of other servers in a list.
fn foreign(list: &Value) -> Vec<&str> {
    let mut names = texts(list_at(list, "/tools"), "/name");
    names.retain(|name| name.contains("__"));
    names
}

fn skills(client: &mut Client) -> Vec<String> {
    let page = client.good("skill_list", json!({}));
    let skills = list_at(&page, "/structuredContent/skills");
    let names = skills.iter().map(|skill| text_at(skill, "/name"));
    names.map(str::to_owned).collect()
}

#[test]
fn client_reaches_what_its_set_names_and_nothing_else() {
    let fixture = fixture();
    let mut client = Client::start(&fixture.only(["mcp", "--set", "review"]));
    client.initialize("2025-11-25");
    let list = client.ask("tools/list", json!({}));
    assert_eq!(foreign(&list), ["one__echo"]);
    assert_eq!(skills(&mut client), ["pdf-tools"]);
    let said = client.good("one__echo", json!({ "text": "hello" }));
    assert_eq!(text_at(&said, "/content/0/text"), "hello");
    for name in ["one__pid", "two__echo", "mcp.two.echo", "mcp.one.pid"] {
        let call = json!({ "name": name, "arguments": { "text": "hello" } });
        let refused = client.request("tools/call", call);
        assert!(refused["error"].is_object(), "{name}: {refused}");
    }
    let call = json!({ "name": "two__echo", "arguments": {} });
    failed(&client.call("tool_call", call));
    let absent = failed(&client.call("skill_load", json!({ "skill_name": "release-notes" })));
    assert_eq!(text_at(&absent, "/code"), "SKILL_NOT_FOUND");
    let call = json!({ "name": "one__echo", "arguments": { "text": "again" } });
    client.good("tool_call", call);

    // Another choice in the settings holds from the next request on, and the client hears of it.
    let changed = "notifications/resources/list_changed";
    let quiet = (0..20).find(|_| client.notified(changed, Duration::from_secs(2)) == 0);
    quiet.unwrap();
    fixture.write("home/config.toml", SETS.replace("one.echo", "two.pid"));
    let list = client.ask("tools/list", json!({}));
    assert_eq!(foreign(&list), ["two__pid"]);
    assert!(client.notified(changed, NOTICE_TIMEOUT) > 0);
    fixture.write("home/config.toml", "[sets]\n");
    let list = client.ask("tools/list", json!({}));
    assert_eq!(foreign(&list), [""; 0]);
    assert_eq!(skills(&mut client), [""; 0]);
}

#[test]
fn address_chooses_a_set() {
    let fixture = fixture();
    let site = Site::start(&fixture.only(["serve", "--listen", ":0"]));
    let listed = |path: &str| {
        let reply = site.ask_at(path, "tools/list", json!({}));
        assert_eq!(reply.status, 200, "{reply:#?}");
        let list = reply.json()["result"].clone();
        foreign(&list)
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(listed("/mcp?set=review"), ["one__echo"]);
    assert!(
        listed("/mcp?set=whole")
            .iter()
            .all(|name| name.starts_with("two__"))
    );
    assert_eq!(listed("/mcp?set=bare"), [""; 0]);
    assert!(listed("/mcp").len() > listed("/mcp?set=whole").len());
    for (path, why) in [
        ("/mcp?set=nosuch", "there are bare, review, whole"),
        ("/mcp?set=", "there is no set"),
        ("/mcp?set=bare&set=whole", "one set"),
    ] {
        let reply = site.ask_at(path, "tools/list", json!({}));
        assert_eq!(reply.status, 400, "{reply:#?}");
        assert!(reply.body.contains(why), "{reply:#?}");
    }
}

#[test]
fn set_that_is_not_there_or_not_well_is_told() {
    let fixture = fixture();
    for command in [
        &["mcp"][..],
        &["serve", "--listen", ":0"],
        &["tool", "list"],
    ] {
        let words = command.iter().chain(&["--set", "nosuch"]);
        let refused = fixture.gongfu(words).ends(2);
        assert!(
            refused.stderr.contains("SET_NOT_FOUND"),
            "{}",
            refused.stderr
        );
        assert!(refused.stderr.contains("review"), "{}", refused.stderr);
    }
    let list = ["tool", "list", "--set", "review", "--json"];
    let list = fixture.gongfu(list).good().json();
    assert_eq!(foreign(&json!({ "tools": list })), ["one__echo"]);
    let one = ["config", "set", "sets.review", "[\"mcp.one\"]"];
    let refused = fixture.gongfu(one).ends(1);
    let way = "gongfu config set sets '{ \"NAME\" = [\"VALUE\"] }'";
    assert!(refused.stderr.contains(way), "{}", refused.stderr);
    let mistaken = ["config", "set", "sets", "{ review = [\"github\"] }"];
    fixture.gongfu(mistaken).ends(1);
    assert_eq!(fixture.read("home/config.toml"), SETS);
    fixture.write("home/config.toml", "[sets]\nreview = [\"github\"]\n");
    let refused = fixture.gongfu(["tool", "list"]).ends(1);
    let why = "`github` is not a member of a set";
    assert!(refused.stderr.contains(why), "{}", refused.stderr);
}
