//! Connections to other MCP servers: nothing starts that nobody approved, nothing changes unseen, nothing is left behind.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use gongfu_testing::json::{failed, list_at, text_at, texts};
use serde_json::{Value, json};

use crate::fixture::{Fixture, Run};
use crate::shared_servers::end_shared;
use crate::stdio::Client;

/// A server that misbehaves as its argument says.
const SERVER: &str = include_str!("../../../../scripts/faulty_server.py");
/// The longest time until a running gongfu notices something.
pub(crate) const NOTICE_TIMEOUT: Duration = Duration::from_secs(30);

/// A folder with the server in it.
pub(crate) fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("server.py", SERVER);
    fixture
}

/// Adds a connection to the server with a fault, which may have a number: `huge-list 300`.
pub(crate) fn add(fixture: &Fixture, name: &str, fault: &str) {
    let script = fixture.path("server.py");
    let script = script.to_str().unwrap();
    let mut words = vec!["connection", "add", name, "--", "python3", script];
    words.extend(fault.split(' '));
    fixture.gongfu(words).good();
}

pub(crate) fn approve(fixture: &Fixture, name: &str) -> Run {
    fixture.gongfu(["connection", "approve", name, "--yes", "--json"])
}

/// The connections of a list, by name.
fn listed(fixture: &Fixture) -> Value {
    fixture
        .gongfu(["connection", "list", "--json"])
        .good()
        .json()
}

/// A server for a client that has greeted it.
pub(crate) fn server(fixture: &Fixture) -> Client {
    let mut client = Client::start(&fixture.only(["mcp"]));
    client.initialize("2025-11-25");
    client
}

/// Returns true if a client sees a tool.
pub(crate) fn sees(client: &mut Client, tool: &str) -> bool {
    let tools = client.ask("tools/list", json!({}));
    texts(list_at(&tools, "/tools"), "/name").contains(&tool)
}

/// Waits until a client sees a tool, or doesn't any more.
#[track_caller]
pub(crate) fn wait_until_seen(client: &mut Client, tool: &str, is_seen: bool) {
    let started = Instant::now();
    while sees(client, tool) != is_seen {
        assert!(
            started.elapsed() < NOTICE_TIMEOUT,
            "`{tool}` is seen: {}",
            !is_seen
        );
        thread::sleep(Duration::from_millis(100));
    }
}

pub(crate) fn say(client: &mut Client, tool: &str) -> String {
    let result = client.good(tool, json!({ "text": "hello" }));
    text_at(&result, "/content/0/text").to_owned()
}

#[test]
fn nothing_is_started_or_offered_before_a_person_approves_it() {
    let fixture = fixture();
    add(&fixture, "other", "none");
    let mut client = server(&fixture);
    assert!(!sees(&mut client, "other__echo"));
    let refused = fixture.gongfu(["connection", "test", "other"]).ends(1);
    assert!(
        refused.stderr.contains("CONNECTION_NOT_APPROVED"),
        "{}",
        refused.stderr
    );
    let unasked = fixture.gongfu(["connection", "approve", "other"]).ends(2);
    assert!(unasked.stderr.contains("NO_TERMINAL"), "{}", unasked.stderr);
    let unapproved = listed(&fixture);
    assert_eq!(text_at(&unapproved, "/0/state"), "INIT");
    assert_eq!(unapproved[0]["approved"], json!(false));
    assert_eq!(list_at(&unapproved, "/0/tools").len(), 0);

    let approved = approve(&fixture, "other").good().json();
    assert!(texts(list_at(&approved, "/tools"), "").contains(&"echo"));
    // A server that runs notices it.
    wait_until_seen(&mut client, "other__echo", true);
    assert_eq!(say(&mut client, "other__echo"), "hello");
    let failure = client.call("other__fail", json!({}));
    assert_eq!(failure["isError"], json!(true));
    assert_eq!(text_at(&failure, "/content/0/text"), "it failed");
    let called = fixture
        .gongfu(["tool", "call", "other__echo", "text=a b"])
        .good();
    assert_eq!(called.text(), "a b\n");
    let ready = listed(&fixture);
    assert_eq!(text_at(&ready, "/0/state"), "READY");

    fixture.gongfu(["connection", "revoke", "other"]).good();
    wait_until_seen(&mut client, "other__echo", false);
    let gone = failed(&client.call("other__echo", json!({})));
    assert_eq!(text_at(&gone, "/code"), "CONNECTION_NOT_APPROVED");
    assert_eq!(client.close().code, Some(0));
}

#[test]
fn connections_that_are_added_at_once_are_all_kept() {
    let fixture = fixture();
    let names: Vec<String> = (0..12).map(|number| format!("server-{number}")).collect();
    thread::scope(|scope| {
        for name in &names {
            let fixture = &fixture;
            scope.spawn(move || add(fixture, name, "quiet"));
        }
    });
    let listed = fixture.gongfu(["connection", "list", "--json", "--no-start"]);
    let listed = listed.good().json();
    assert_eq!(list_at(&listed, "").len(), names.len(), "{listed}");
}

#[test]
fn commands_tell_what_there_is_to_tell() {
    let fixture = fixture();
    add(&fixture, "other", "none");
    approve(&fixture, "other").good();
    let data = fixture.gongfu(["tool", "call", "other__data"]).good();
    assert_eq!(data.json(), json!({ "rows": 3 }));
    let refused = fixture.gongfu(["connection", "login", "other"]).ends(2);
    let why = "`other` is a program, which needs no sign-in";
    assert!(refused.stderr.contains(why), "{}", refused.stderr);
}

#[test]
fn another_command_needs_another_approval() {
    let fixture = fixture();
    add(&fixture, "other", "none");
    approve(&fixture, "other").good();
    let file = fixture.read("home/connections.json");
    fixture.write("home/connections.json", file.replace("none", "slow"));
    let changed = listed(&fixture);
    assert_eq!(changed[0]["approved"], json!(false));
    assert!(text_at(&changed, "/0/reason").contains("changed since"));
    let refused = fixture.gongfu(["tool", "call", "other__echo"]).ends(1);
    let advice = "gongfu connection approve other";
    assert!(refused.stderr.contains(advice), "{}", refused.stderr);
}

#[test]
fn definition_that_changes_is_hidden_until_it_is_approved_again() {
    let fixture = fixture();
    add(&fixture, "other", "none");
    approve(&fixture, "other").good();
    end_shared(&fixture);
    fixture.write(
        "server.py",
        SERVER.replace("\"Answers its text.\"", "\"Sends it elsewhere.\""),
    );
    let mut client = server(&fixture);
    // It is not known before the server is started, which the first call does.
    let refused = failed(&client.call("other__echo", json!({ "text": "hello" })));
    assert_eq!(text_at(&refused, "/code"), "CONNECTION_NOT_APPROVED");
    wait_until_seen(&mut client, "other__echo", false);
    assert!(sees(&mut client, "other__pid"));
    let degraded = listed(&fixture);
    assert_eq!(text_at(&degraded, "/0/state"), "DEGRADED");
    assert!(text_at(&degraded, "/0/reason").contains("`echo`"));
    let tested = fixture
        .gongfu(["connection", "test", "other"])
        .ends(1)
        .text();
    assert!(
        tested.contains("- Answers its text.") && tested.contains("+ Sends it elsewhere."),
        "{tested}"
    );
    approve(&fixture, "other").good();
    wait_until_seen(&mut client, "other__echo", true);
    assert_eq!(say(&mut client, "other__echo"), "hello");
}

#[test]
fn definition_that_changes_while_the_server_runs_is_hidden() {
    let fixture = fixture();
    add(&fixture, "other", "change-told");
    approve(&fixture, "other").good();
    let mut client = server(&fixture);
    assert_eq!(say(&mut client, "other__echo"), "hello");
    wait_until_seen(&mut client, "other__echo", false);
    assert!(sees(&mut client, "other__pid"));
}

#[test]
fn server_that_ends_costs_its_own_tools_only() {
    let fixture = fixture();
    for (name, fault) in [("good", "none"), ("dying", "none"), ("dead", "exit")] {
        add(&fixture, name, fault);
    }
    approve(&fixture, "good").good();
    approve(&fixture, "dying").good();
    let refused = approve(&fixture, "dead").ends(1).json();
    assert_eq!(text_at(&refused, "/error/code"), "SERVER_UNAVAILABLE");
    assert!(text_at(&refused, "/error/message").contains("it exited with code 1"));
    let mut client = server(&fixture);
    assert!(!sees(&mut client, "dead__echo"));
    let died = failed(&client.call("dying__die", json!({})));
    assert!(
        text_at(&died, "/message").contains("it exited with code 3"),
        "{died}"
    );
    assert_eq!(say(&mut client, "good__echo"), "hello");
    // The next call waits until it is started again.
    assert_eq!(say(&mut client, "dying__echo"), "hello");
}

#[test]
fn nothing_is_left_of_a_server_when_gongfu_is_killed() {
    let fixture = fixture();
    // It ignores signals, and starts children in sessions of their own.
    add(&fixture, "stubborn", "children");
    approve(&fixture, "stubborn").good();
    let script = fixture.path("server.py");
    let script = script.to_str().unwrap();
    let mut client = server(&fixture);
    client.good("stubborn__pid", json!({}));
    assert!(processes(script) > 1);
    // It is killed, and can tell nobody.
    drop(client);
    wait_until_gone(script);
}

/// Waits until no process has a word among its arguments.
#[track_caller]
pub(crate) fn wait_until_gone(word: &str) {
    let started = Instant::now();
    while processes(word) > 0 {
        assert!(
            started.elapsed() < NOTICE_TIMEOUT,
            "{} are left",
            processes(word)
        );
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn server_is_told_the_trace_of_a_call() {
    let fixture = fixture();
    add(&fixture, "other", "none");
    approve(&fixture, "other").good();
    let mut client = server(&fixture);
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    for (meta, told) in [
        (json!({}), json!([null, null])),
        (json!({ "traceparent": "mine" }), json!([null, null])),
        (json!({ "traceparent": parent }), json!([parent, null])),
        (
            json!({ "traceparent": parent, "tracestate": "a=1" }),
            json!([parent, "a=1"]),
        ),
    ] {
        let call = json!({ "name": "other__trace", "arguments": {}, "_meta": meta });
        let answer = client.ask("tools/call", call);
        let answer: Value = serde_json::from_str(text_at(&answer, "/content/0/text")).unwrap();
        assert_eq!(answer, told);
    }
}

/// The number of processes that have a word among their arguments.
pub(crate) fn processes(word: &str) -> usize {
    let all = Path::new("/proc").read_dir().unwrap();
    let lines = all.filter_map(|entry| std::fs::read(entry.ok()?.path().join("cmdline")).ok());
    lines
        .filter(|line| {
            line.split(|byte| *byte == 0)
                .any(|one| one == word.as_bytes())
        })
        .count()
}

#[test]
fn files_that_the_environment_names_are_read() {
    let fixture = fixture();
    let script = fixture.path("server.py");
    let script = script.to_str().unwrap();
    let yaml = format!(
        "connections:\n  - name: one\n    command: python3\n    args: [\"{script}\"]\n    safety: HIGH\n    tools: [\"echo\", \"lost\"]\n  - name: bad\n"
    );
    fixture.write("connections.yaml", yaml);
    let two = json!({ "name": "two", "command": "python3", "args": [script] });
    fixture.write("connections/two.json", two.to_string());
    fixture.write("connections/broken.json", "{\n  \"name\": \"three\",\n");
    fixture.write("connections/notes.txt", "no connection");
    let gongfu = |words: &[&str]| {
        let run = fixture.gongfu(words);
        let run = run.with("LLP_MCP_CONNECTIONS_FILE", fixture.path("connections.yaml"));
        run.with("LLP_MCP_CONNECTIONS_DIR", fixture.path("connections"))
    };
    for name in ["one", "two"] {
        gongfu(&["connection", "approve", name, "--yes"]).good();
    }
    let list = gongfu(&["connection", "list", "--json"]).good();
    let statuses = list.json();
    assert_eq!(texts(list_at(&statuses, ""), "/name"), ["one", "two"]);
    // A tool that is wanted and isn't offered.
    assert_eq!(text_at(&statuses, "/0/state"), "DEGRADED");
    assert!(text_at(&statuses, "/0/reason").contains("`lost`"));
    assert_eq!(texts(list_at(&statuses, "/0/tools"), ""), ["echo"]);
    assert_eq!(text_at(&statuses, "/1/state"), "READY");
    for part in [
        "connections.yaml:7: `bad`: it has neither",
        "broken.json",
        "never closed",
    ] {
        assert!(list.stderr.contains(part), "{part}: {}", list.stderr);
    }
    // Its level is high: an agent needs a person for it.
    let run = fixture.only(["mcp"]);
    let run = run.with("LLP_MCP_CONNECTIONS_FILE", fixture.path("connections.yaml"));
    let mut client = Client::start(&run);
    client.initialize("2025-11-25");
    let waits = failed(&client.call("one__echo", json!({ "text": "hello" })));
    assert_eq!(text_at(&waits, "/code"), "APPROVAL_REQUIRED");
    let id = text_at(&waits, "/approval").to_owned();
    fixture.gongfu(["approve", "allow", &id]).good();
    assert_eq!(say(&mut client, "one__echo"), "hello");
    let again = failed(&client.call("one__echo", json!({ "text": "hello" })));
    assert_eq!(text_at(&again, "/code"), "APPROVAL_REQUIRED");
}

#[test]
fn servers_of_a_client_are_imported_once() {
    let fixture = fixture();
    let script = fixture.path("server.py");
    let script = script.to_str().unwrap();
    let claude = json!({ "numStartups": 3, "mcpServers": {
        "My Server": { "type": "stdio", "command": "python3", "args": [script], "env": { "API_KEY": "${KEY:-none}" } },
        "old": { "type": "sse", "url": "https://example.com/sse" },
        "gongfu": { "command": "/usr/bin/gongfu", "args": ["mcp"] },
    } });
    fixture.write("user/.claude.json", claude.to_string());
    let codex = format!(
        "model = \"m\"\n[mcp_servers.codex_one]\ncommand = \"python3\"\nargs = [\"{script}\"]\n"
    );
    fixture.write("user/.codex/config.toml", codex);
    let code = format!(
        "{{ // by hand\n  \"servers\": {{ \"code\": {{ \"command\": \"python3\", \"args\": [\"{script}\"] }} }},\n}}\n"
    );
    let file = fixture.write("mcp.json", code);
    let import = |from: &str| fixture.gongfu(["connection", "import", from, "--json"]);
    let first = import("claude-code").ends(1).json();
    assert_eq!(texts(list_at(&first, "/added"), ""), ["my-server"]);
    assert!(text_at(&first, "/skipped/0").contains("`sse` is not supported"));
    let again = import("claude-code").ends(1).json();
    assert_eq!(texts(list_at(&again, "/kept"), ""), ["my-server"]);
    import("codex").good();
    import(file.to_str().unwrap()).good();
    for name in ["my-server", "codex_one", "code"] {
        approve(&fixture, name).good();
        let tool = format!("{name}__echo");
        let called = fixture.gongfu(["tool", "call", &tool, "text=x"]).good();
        assert_eq!(called.text(), "x\n", "{name}");
    }
}

#[test]
fn many_tools_are_searched_and_called_by_name() {
    let fixture = fixture();
    add(&fixture, "many", "huge-list 300");
    approve(&fixture, "many").good();
    let mut client = server(&fixture);
    let listed = |client: &mut Client| -> Vec<String> {
        let tools = client.ask("tools/list", json!({}));
        let names = texts(list_at(&tools, "/tools"), "/name");
        let foreign = names
            .iter()
            .filter(|name| name.contains("tool_") || name.contains("__"));
        foreign.map(|name| (*name).to_owned()).collect()
    };
    let own = ["tool_call", "tool_describe", "tool_script", "tool_search"];
    assert_eq!(listed(&mut client), own);
    let found = client.good(
        "tool_search",
        json!({ "query": "does the thing 77", "limit": 1 }),
    );
    let name = text_at(&found, "/structuredContent/results/0/name").to_owned();
    assert_eq!(name, "many__tool_77");
    let described = client.good("tool_describe", json!({ "names": [name] }));
    assert!(text_at(&described, "/content/0/text").contains("inputSchema"));
    wait_until_seen(&mut client, &name, true);
    let echo = json!({ "name": "many__echo", "arguments": { "text": "hello" } });
    let called = client.good("tool_call", echo.clone());
    assert_eq!(text_at(&called, "/content/0/text"), "hello");
    let changed = client.notified("notifications/tools/list_changed", NOTICE_TIMEOUT);
    assert!(changed > 0);
    assert_eq!(
        listed(&mut client),
        [&["many__echo", "many__tool_77"][..], &own].concat()
    );
    let unknown = failed(&client.call("tool_call", json!({ "name": "echo" })));
    assert_eq!(text_at(&unknown, "/code"), "TOOL_NOT_FOUND");
    assert_eq!(texts(list_at(&unknown, "/available"), ""), ["many__echo"]);
    // Another connection begins without them.
    assert_eq!(listed(&mut server(&fixture)), own);
    // The command line knows the arguments of tools that it doesn't list.
    let called = fixture
        .gongfu(["tool", "call", "many__echo", "text=a b"])
        .good();
    assert_eq!(called.text(), "a b\n");
    let log = fixture.gongfu(["log", "--json"]).good().text();
    assert!(
        log.contains("many__echo") && !log.contains("tool_call"),
        "{log}"
    );
    fixture
        .gongfu(["config", "set", "tools.budget", "100000"])
        .good();
    assert!(listed(&mut server(&fixture)).len() > 300);
}

#[test]
fn large_answer_is_read_from_its_file() {
    let fixture = fixture();
    add(&fixture, "large", "huge-answer 100000");
    approve(&fixture, "large").good();
    let mut client = server(&fixture);
    let told = say(&mut client, "large__echo");
    assert!(
        told.len() < 3_000 && told.contains("of 100000 bytes"),
        "{told}"
    );
    let path = told.split("all of it is in ").nth(1).unwrap();
    let path = path.split(';').next().unwrap();
    let read = client.good("file_read", json!({ "path": path }));
    assert!(text_at(&read, "/content/0/text").starts_with("zzz"));
}
