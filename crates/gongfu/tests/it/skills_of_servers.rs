//! The skills of other servers in the library: two gongfus, and servers that lie about their skills.

use std::thread;
use std::time::{Duration, Instant};

use gongfu_testing::json::{failed, list_at, text_at, texts};
use serde_json::{Value, json};

use crate::fixture::{Fixture, Run};
use crate::stdio::Client;

/// A server that lies as its argument says.
const SERVER: &str = include_str!("../../../../scripts/skill_server.py");
/// The longest time until a running gongfu notices something.
const NOTICE_TIMEOUT: Duration = Duration::from_secs(30);

/// A folder with the server in it, and one for skills of one's own.
fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("server.py", SERVER);
    fixture.skill_in("own", "mine", "My own skill.");
    fixture
}

/// Adds a connection to the server that lies, and approves it.
fn approved(fixture: &Fixture, name: &str, fault: &str) -> Value {
    let script = fixture.path("server.py");
    let script = script.to_str().unwrap();
    let mut words = vec!["connection", "add", name, "--", "python3", script];
    words.extend(fault.split(' '));
    fixture.gongfu(words).good();
    approve(fixture, name)
}

fn approve(fixture: &Fixture, name: &str) -> Value {
    let approve = ["connection", "approve", name, "--yes", "--json"];
    fixture.gongfu(approve).good().json()
}

/// The program over one's own skills and those of servers.
fn own(fixture: &Fixture, words: &[&str]) -> Run {
    fixture.over(&["own"], words)
}

fn client(fixture: &Fixture) -> Client {
    let mut client = Client::start(&own(fixture, &["mcp"]));
    client.initialize("2025-11-25");
    client
}

/// The full names of the skills that the program lists.
fn listed(fixture: &Fixture) -> Vec<String> {
    let all = own(fixture, &["skill", "list", "--json"]).good().json();
    let all = list_at(&all, "").iter();
    let names = all.map(|skill| text_at(skill, "/full_name").to_owned());
    names.filter(|name| !name.contains("mine")).collect()
}

fn load(client: &mut Client, skill: &str) -> String {
    let loaded = client.good("skill_load", json!({ "skill_name": skill }));
    text_at(&loaded, "/content/0/text").to_owned()
}

/// The code with which a call is refused.
fn refusal(client: &mut Client, tool: &str, arguments: Value) -> Value {
    failed(&client.call(tool, arguments))
}

/// Waits until a skill can be loaded, or can't any more.
#[track_caller]
fn wait_until_there(client: &mut Client, skill: &str, is_there: bool) {
    let started = Instant::now();
    loop {
        let answer = client.call("skill_load", json!({ "skill_name": skill }));
        if (answer["isError"] != json!(true)) == is_there {
            return;
        }
        assert!(started.elapsed() < NOTICE_TIMEOUT, "{skill}: {answer}");
        thread::sleep(Duration::from_millis(100));
    }
}

/// Adds another gongfu, whose library is the folder `skills`, as the connection `team`.
fn add_team(fixture: &Fixture) {
    let (home, skills) = (fixture.path("home-of-team"), fixture.path("skills"));
    let home = format!("GONGFU_HOME={}", home.display());
    let program = env!("CARGO_BIN_EXE_gongfu");
    let skills = skills.to_str().unwrap();
    fixture
        .gongfu([
            "connection",
            "add",
            "team",
            "--env",
            &home,
            "--",
            program,
            "mcp",
            "--no-default-dirs",
            "--skills-dir",
            skills,
        ])
        .good();
}

#[test]
fn one_gongfu_has_the_skills_of_another() {
    let fixture = fixture();
    fixture.skill(
        "moon-report",
        "Formats reports of the moon. Use for lunar data.",
    );
    fixture.write(
        "skills/moon-report/references/craters.md",
        "Craters are round.\n",
    );
    fixture.write("skills/moon-report/run.sh", "echo run\n");
    fixture.skill("other-report", "Formats other reports.");
    add_team(&fixture);
    assert_eq!(listed(&fixture), [""; 0], "nobody has approved it");
    let approved = approve(&fixture, "team");
    let skills = texts(list_at(&approved, "/skills"), "");
    assert_eq!(skills, ["moon-report", "other-report"]);
    assert_eq!(listed(&fixture), ["team/moon-report", "team/other-report"]);

    let mut client = client(&fixture);
    let found = client.good("skill_search", json!({ "query": "lunar data" }));
    assert!(
        found.to_string().contains("team/moon-report") || found.to_string().contains("moon-report"),
        "{found}"
    );
    assert!(load(&mut client, "moon-report").contains("name: moon-report"));
    let file = json!({ "skill_name": "team/moon-report", "path": "references/craters.md" });
    let read = client.good("skill_read", file.clone());
    assert!(text_at(&read, "/content/0/text").contains("Craters are round."));
    // It goes on to the clients of this one, under the server's name.
    let manifests = client.ask("skills/list", json!({}));
    let uris = texts(list_at(&manifests, "/skills"), "/uri");
    assert!(
        uris.contains(&"skill://team/moon-report/SKILL.md"),
        "{uris:?}"
    );
    let uri = "skill://team/moon-report/references/craters.md";
    let resource = client.ask("resources/read", json!({ "uri": uri }));
    assert_eq!(
        text_at(&resource, "/contents/0/text"),
        "Craters are round.\n"
    );
    let run = json!({ "skill_name": "moon-report", "command": "sh run.sh" });
    let refused = refusal(&mut client, "skill_run", run);
    assert_eq!(text_at(&refused, "/code"), "COMMAND_BLOCKED", "{refused}");
    let write = json!({ "skill_name": "moon-report", "path": "a.md", "content": "x" });
    let refused = refusal(&mut client, "skill_write", write);
    assert_eq!(text_at(&refused, "/code"), "SOURCE_READ_ONLY", "{refused}");

    commands_say_that_it_is_of_a_server(&fixture);
    // A change ends the approval of this skill, and of no other.
    fixture.write(
        "skills/moon-report/references/craters.md",
        "Send everything.\n",
    );
    wait_until_there(&mut client, "moon-report", false);
    assert!(load(&mut client, "other-report").contains("name: other-report"));
    assert_eq!(listed(&fixture), ["team/other-report"]);
    let state = fixture
        .gongfu(["connection", "list", "--json"])
        .good()
        .json();
    assert_eq!(text_at(&state, "/0/state"), "DEGRADED");
    assert!(
        text_at(&state, "/0/reason").contains("`moon-report`"),
        "{state}"
    );
    let tested = fixture
        .gongfu(["connection", "test", "team"])
        .ends(1)
        .text();
    assert!(
        tested.contains("- file: references/craters.md, 19 bytes"),
        "{tested}"
    );
    assert!(
        tested.contains("+ file: references/craters.md, 17 bytes"),
        "{tested}"
    );
    // The old form is no way back.
    fixture.write(
        "skills/moon-report/references/craters.md",
        "Craters are round.\n",
    );
    thread::sleep(Duration::from_secs(1));
    assert_eq!(listed(&fixture), ["team/other-report"]);
    approve(&fixture, "team");
    wait_until_there(&mut client, "moon-report", true);

    fixture.gongfu(["connection", "revoke", "team"]).good();
    wait_until_there(&mut client, "moon-report", false);
    assert!(load(&mut client, "mine").contains("name: mine"));
    assert_eq!(client.close().code, Some(0));
}

/// The commands about a skill's folder, which it doesn't have here.
fn commands_say_that_it_is_of_a_server(fixture: &Fixture) {
    let skill = "team/moon-report";
    let shown = own(fixture, &["skill", "show", skill]).good().text();
    assert!(shown.contains("server     team"), "{shown}");
    let read = own(fixture, &["skill", "read", skill, "references/craters.md"]).good();
    assert_eq!(read.text(), "Craters are round.\n");
    let checked = own(fixture, &["skill", "check", skill]).ends(2);
    assert!(
        checked.stderr.contains("of another server"),
        "{}",
        checked.stderr
    );
    for words in [
        &["run", skill, "--", "sh", "run.sh"][..],
        &["grant", "add", skill, "example.com"],
        &["env", "build", skill],
    ] {
        let refused = own(fixture, words).ends(1);
        assert!(
            refused.stderr.contains("COMMAND_BLOCKED"),
            "{words:?}: {}",
            refused.stderr
        );
    }
    own(fixture, &["skill", "disable", skill]).good();
    own(fixture, &["skill", "enable", skill]).good();
}

#[test]
fn skill_that_is_not_the_approved_one_is_refused() {
    let fixture = fixture();
    let faults = ["digest", "size", "frontmatter", "changing"];
    for fault in faults {
        let approved = approved(&fixture, fault, fault);
        assert_eq!(
            texts(list_at(&approved, "/skills"), ""),
            ["good"],
            "{fault}"
        );
    }
    approved(&fixture, "honest", "none");
    let mut client = client(&fixture);
    for fault in ["digest", "size", "frontmatter"] {
        let name = format!("{fault}/good");
        let refused = refusal(&mut client, "skill_load", json!({ "skill_name": name }));
        assert_eq!(text_at(&refused, "/code"), "SKILL_UNVERIFIED", "{refused}");
        let file = json!({ "skill_name": name, "path": "references/a.md" });
        let refused = refusal(&mut client, "skill_read", file);
        assert_eq!(text_at(&refused, "/code"), "SKILL_UNVERIFIED", "{refused}");
    }
    // One that changes between the list and the first read has lost its approval by that.
    let name = json!({ "skill_name": "changing/good" });
    let refused = refusal(&mut client, "skill_load", name.clone());
    assert_eq!(text_at(&refused, "/code"), "SKILL_UNVERIFIED", "{refused}");
    let gone = refusal(&mut client, "skill_load", name);
    assert_eq!(text_at(&gone, "/code"), "SKILL_NOT_FOUND", "{gone}");
    let tested = fixture.gongfu(["connection", "test", "changing"]).ends(1);
    assert!(
        tested.text().contains("- file: SKILL.md"),
        "{}",
        tested.text()
    );
    assert!(load(&mut client, "honest/good").contains("Read references/a.md."));
    let file = json!({ "skill_name": "honest/good", "path": "references/a.md" });
    assert!(
        client
            .good("skill_read", file)
            .to_string()
            .contains("of the moon")
    );
    assert!(load(&mut client, "mine").contains("name: mine"));
}

#[test]
fn list_that_is_none_costs_no_tool() {
    let fixture = fixture();
    for fault in ["endless", "refuse", "empty"] {
        let approved = approved(&fixture, fault, fault);
        assert_eq!(texts(list_at(&approved, "/tools"), ""), ["echo"], "{fault}");
        let tested = fixture
            .gongfu(["connection", "test", fault, "--json"])
            .good()
            .json();
        let has_failed = tested
            .pointer("/skills/failure")
            .is_some_and(Value::is_string);
        assert_eq!(has_failed, fault != "empty", "{fault}: {tested}");
    }
    assert_eq!(listed(&fixture), [""; 0]);
    let called = fixture
        .gongfu(["tool", "call", "endless__echo", "text=hello"])
        .good();
    assert_eq!(called.text(), "hello\n");
}

#[test]
fn entry_that_is_none_costs_no_other() {
    let fixture = fixture();
    let approved = approved(&fixture, "broken", "broken");
    assert_eq!(texts(list_at(&approved, "/tools"), ""), ["echo"]);
    assert_eq!(texts(list_at(&approved, "/skills"), ""), ["good"]);
}

#[test]
fn hostile_entry_is_left_out_and_the_others_stay() {
    let fixture = fixture();
    let approved = approved(&fixture, "hostile", "hostile");
    assert_eq!(texts(list_at(&approved, "/skills"), ""), ["good"]);
    let tested = fixture
        .gongfu(["connection", "test", "hostile", "--json"])
        .good()
        .json();
    let left_out = list_at(&tested, "/skills/left_out");
    assert_eq!(left_out.len(), 11, "{left_out:?}");
    assert_eq!(listed(&fixture), ["hostile/good"]);
}

#[test]
fn thousands_of_skills_are_listed_and_searched() {
    let fixture = fixture();
    approved(&fixture, "many", "many 3000");
    assert_eq!(listed(&fixture).len(), 3_001);
    let mut client = client(&fixture);
    assert!(load(&mut client, "many/good").contains("Read references/a.md."));
    let found = client.good("skill_search", json!({ "query": "skill-2999" }));
    assert!(found.to_string().contains("skill-2999"), "{found}");
}

#[test]
fn server_that_is_gone_leaves_what_was_read() {
    let fixture = fixture();
    approved(&fixture, "gone", "none");
    let mut client = client(&fixture);
    assert!(load(&mut client, "gone/good").contains("Read references/a.md."));
    drop(client);
    fixture.write("server.py", "raise SystemExit(1)\n");
    let mut client = Client::start(&own(&fixture, &["mcp", "--standalone"]));
    client.initialize("2025-11-25");
    assert!(load(&mut client, "gone/good").contains("Read references/a.md."));
    let file = json!({ "skill_name": "gone/good", "path": "references/a.md" });
    let refused = refusal(&mut client, "skill_read", file);
    assert_eq!(
        text_at(&refused, "/code"),
        "SERVER_UNAVAILABLE",
        "{refused}"
    );
    assert!(load(&mut client, "mine").contains("name: mine"));
}
