//! The approval of calls of another server's tools: who is asked, what an answer covers, and when it ends.

use std::thread;
use std::time::{Duration, Instant};

use gongfu_testing::client::TIMEOUT;
use gongfu_testing::json::{at, failed, list_at, text_at, texts};
use serde_json::{Value, json};

use crate::fixture::Fixture;
use crate::site::Site;
use crate::stdio::Client;

/// A server that counts what it executed.
const SERVER: &str = include_str!("../../../../scripts/counting_server.py");

/// A connection to it whose tools need a person.
fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("server.py", SERVER);
    fixture.write("count/version", "1");
    let (script, folder) = (fixture.path("server.py"), fixture.path("count"));
    let (script, folder) = (script.to_str().unwrap(), folder.to_str().unwrap());
    fixture
        .gongfu([
            "connection",
            "add",
            "other",
            "--safety",
            "high",
            "--",
            "python3",
            script,
            folder,
        ])
        .good();
    approve_connection(&fixture);
    fixture
}

fn approve_connection(fixture: &Fixture) {
    fixture
        .gongfu(["connection", "approve", "other", "--yes"])
        .with("GONGFU_STANDALONE", "1")
        .good();
}

/// The calls that the server executed.
fn executed(fixture: &Fixture) -> Vec<String> {
    let path = fixture.path("count/calls");
    let calls = std::fs::read_to_string(path).unwrap_or_default();
    calls.lines().map(str::to_owned).collect()
}

/// A client that asks its person, or can't.
fn client(fixture: &Fixture, capabilities: Value) -> Client {
    // Each client starts the server as it is then.
    let mut client = Client::start(&fixture.only(["mcp", "--standalone"]));
    client.initialize_as("2025-11-25", capabilities);
    client
}

fn forms() -> Value {
    json!({ "elicitation": { "form": {} } })
}

/// Expects that a call waits for a person; its id.
#[track_caller]
fn waits(result: &Value) -> String {
    let refused = failed(result);
    assert_eq!(text_at(&refused, "/code"), "APPROVAL_REQUIRED", "{refused}");
    let id = text_at(&refused, "/approval").to_owned();
    let hint = text_at(&refused, "/hint");
    assert!(
        hint.contains(&format!("gongfu approve allow {id}")),
        "{hint}"
    );
    id
}

/// The hint about the tool for an agent's plan.
fn hint(fixture: &Fixture) -> Value {
    let words = ["capability", "context", "--json"];
    let context = fixture.gongfu(words).good().json();
    let known = texts(list_at(&context, "/capabilities"), "/id");
    assert!(known.contains(&"mcp.other.write") && known.contains(&"skill_run"));
    assert_eq!(
        at(&context, "/available_mcp_tools"),
        &json!(["mcp.other.drop", "mcp.other.write"])
    );
    context["planning_hints"]["mcp.other.write"].clone()
}

fn write(client: &mut Client, n: u32) -> Value {
    client.call("other__write", json!({ "n": n }))
}

/// Calls, and answers the question that must come; returns the question and the result.
#[track_caller]
fn asked_about(client: &mut Client, tool: &str, n: u32, answer: Value) -> (Value, Value) {
    let id = format!("asked-{tool}-{n}");
    let params = json!({ "name": tool, "arguments": { "n": n } });
    client.begin(id.clone(), "tools/call", params);
    let question = loop {
        let message = client.receive(TIMEOUT).unwrap();
        assert!(
            message.get("result").is_none(),
            "nobody was asked: {message}"
        );
        if message.get("id").is_some() {
            break message;
        }
    };
    assert_eq!(text_at(&question, "/method"), "elicitation/create");
    client.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer }));
    let result = at(&client.response(&id.into()), "/result").clone();
    (question, result)
}

#[track_caller]
fn asked(client: &mut Client, n: u32, answer: Value) -> (Value, Value) {
    asked_about(client, "other__write", n, answer)
}

fn accept(scope: &str, any_arguments: bool) -> Value {
    let content = json!({ "scope": scope, "any_arguments": any_arguments });
    json!({ "action": "accept", "content": content })
}

#[test]
fn person_who_is_not_there_allows_a_call_at_the_command_line() {
    let fixture = fixture();
    let mut client = client(&fixture, json!({}));
    let planned = hint(&fixture);
    assert_eq!(planned["requires_approval"], json!(true), "{planned}");
    assert_eq!(planned.get("latency_hint"), None, "{planned}");
    let id = waits(&write(&mut client, 1));
    assert_eq!(waits(&write(&mut client, 1)), id);
    assert_eq!(executed(&fixture), [""; 0]);
    let listed = fixture.gongfu(["approve", "list"]).good().text();
    for line in ["$ mcp.other.write", "n: 1", "its safety level is HIGH"] {
        assert!(listed.contains(line), "{line}: {listed}");
    }
    // Once is once: a retry doesn't use it again.
    fixture.gongfu(["approve", "allow", &id]).good();
    client.good("other__write", json!({ "n": 1 }));
    assert_eq!(waits(&write(&mut client, 1)), id);
    // For its session, which another client isn't in.
    let words = ["approve", "allow", &id, "--for", "session", "--json"];
    let granted = fixture.gongfu(words).good().json();
    assert_eq!(at(&granted, "/ruling/allowed"), "session");
    for _ in 0..2 {
        client.good("other__write", json!({ "n": 1 }));
    }
    let mut second = self::client(&fixture, json!({}));
    waits(&write(&mut second, 1));
    // With any arguments, until it is revoked.
    let words = ["approve", "allow", &id, "--always", "--any-arguments"];
    let words = words.iter().chain(&["--expires", "30d", "--json"]);
    let granted = fixture.gongfu(words).good().json();
    assert_eq!(granted["any_arguments"], json!(true));
    assert!(granted["until"].is_string(), "{granted}");
    assert_eq!(hint(&fixture)["requires_approval"], json!(false));
    for n in [1, 2] {
        second.good("other__write", json!({ "n": n }));
    }
    waits(&second.call("other__drop", json!({ "n": 1 })));
    let grant = text_at(&granted, "/id");
    fixture.gongfu(["approve", "revoke", grant]).good();
    let planned = hint(&fixture);
    assert_eq!(planned["requires_approval"], json!(true), "{planned}");
    assert_eq!(planned["safety_level"], "HIGH");
    assert_eq!(planned["latency_hint"]["calls"], json!(5), "{planned}");
    let id = waits(&write(&mut second, 2));
    client.good("other__write", json!({ "n": 1 }));
    assert_eq!(
        executed(&fixture),
        [
            "write 1", "write 1", "write 1", "write 1", "write 2", "write 1"
        ]
    );
    // A refusal says so.
    fixture.gongfu(["approve", "deny", &id[..12]]).good();
    let declined = failed(&write(&mut second, 2));
    assert!(text_at(&declined, "/message").contains("a person declined"));
    assert!(text_at(&declined, "/hint").contains("don't try again"));
    let log = fixture.gongfu(["log", "--json"]).good().text();
    assert!(log.contains("approval/revoke"), "{log}");
}

#[test]
fn answer_holds_for_the_same_command_alone() {
    let fixture = fixture();
    let mut first = client(&fixture, json!({}));
    let id = waits(&write(&mut first, 1));
    let words = ["approve", "allow", &id, "--always", "--any-arguments"];
    fixture.gongfu(words).good();
    first.good("other__write", json!({ "n": 2 }));
    assert_eq!(first.close().code, Some(0));
    // The same definitions come from another command.
    let (script, folder) = (fixture.path("server.py"), fixture.path("count"));
    let words = [
        "connection",
        "add",
        "other",
        "--replace",
        "--safety",
        "high",
    ];
    let command = [
        "--",
        "python3",
        "-u",
        script.to_str().unwrap(),
        folder.to_str().unwrap(),
    ];
    fixture.gongfu(words.iter().chain(&command)).good();
    approve_connection(&fixture);
    let mut second = client(&fixture, json!({}));
    waits(&write(&mut second, 2));
    assert_eq!(executed(&fixture), ["write 2"]);
}

#[test]
fn person_at_the_client_chooses_how_long_an_answer_holds() {
    let fixture = fixture();
    let mut client = client(&fixture, forms());
    let (question, done) = asked(&mut client, 1, accept("once", false));
    assert_eq!(done["isError"], json!(false), "{done}");
    let form = at(&question, "/params/requestedSchema/properties");
    let scopes = texts(list_at(form, "/scope/oneOf"), "/const");
    assert_eq!(scopes, ["once", "session", "always"]);
    assert_eq!(at(form, "/scope/default"), "once");
    assert_eq!(at(form, "/any_arguments/default"), &json!(false));
    let message = text_at(&question, "/params/message");
    assert!(
        message.contains("mcp.other.write") && message.contains("n: 1"),
        "{message}"
    );
    // Once: the same call is asked about again.
    asked(&mut client, 1, accept("session", false));
    client.good("other__write", json!({ "n": 1 }));
    asked(&mut client, 2, accept("session", true));
    client.good("other__write", json!({ "n": 3 }));
    let decline = json!({ "action": "decline" });
    let (_, declined) = asked_about(&mut client, "other__drop", 3, decline);
    assert!(text_at(&failed(&declined), "/message").contains("a person declined"));
    // Another session is asked.
    let mut second = self::client(&fixture, forms());
    asked(&mut second, 3, accept("always", true));
    let mut third = self::client(&fixture, json!({}));
    third.good("other__write", json!({ "n": 4 }));
    assert_eq!(executed(&fixture).len(), 7);
    // Another definition is another tool: the connection and the call are approved again.
    fixture.write("count/version", "2");
    let mut fourth = self::client(&fixture, forms());
    let refused = failed(&write(&mut fourth, 4));
    assert_eq!(text_at(&refused, "/code"), "CONNECTION_NOT_APPROVED");
    approve_connection(&fixture);
    let mut fifth = self::client(&fixture, json!({}));
    waits(&write(&mut fifth, 4));
    assert_eq!(executed(&fixture).len(), 7);
}

#[test]
fn session_over_http_is_that_of_an_older_revision() {
    let fixture = fixture();
    let site = Site::start(&fixture.only(["serve", "--listen", "127.0.0.1:0"]));
    let call = || json!({ "name": "other__write", "arguments": { "n": 1 } });
    let (one, two) = (site.open("2025-11-25"), site.open("2025-11-25"));
    let started = Instant::now();
    let refused = loop {
        let answer = site.ask_in(&one, "tools/call", call());
        // The tools of other servers are listed soon after the start.
        if answer.get("structuredContent").is_some() || started.elapsed() > TIMEOUT {
            break answer;
        }
        thread::sleep(Duration::from_millis(50));
    };
    let id = waits(&refused);
    fixture
        .gongfu(["approve", "allow", &id, "--for", "session"])
        .good();
    let done = site.ask_in(&one, "tools/call", call());
    assert_eq!(done["isError"], json!(false), "{done}");
    assert_eq!(waits(&site.ask_in(&two, "tools/call", call())), id);
    // A request of the newest revision has none.
    assert_eq!(waits(&site.ask("tools/call", call())), id);
    let words = ["approve", "allow", &id, "--for", "session"];
    let refused = fixture.gongfu(words).ends(1);
    assert!(
        refused.stderr.contains("has no session"),
        "{}",
        refused.stderr
    );
    assert_eq!(executed(&fixture), ["write 1"]);
}

#[test]
fn person_is_asked_about_each_call_that_waits() {
    let fixture = fixture();
    let mut client = client(&fixture, json!({}));
    for n in 1..=3 {
        waits(&write(&mut client, n));
    }
    // The first is skipped, the second denied, the third allowed with any arguments.
    let asking = fixture.gongfu(["approve", "ask"]);
    let asked = asking.reading("\nd\na\ny\n").good().text();
    assert!(
        asked.contains("allowed always, with any arguments"),
        "{asked}"
    );
    for n in [1, 3, 9] {
        client.good("other__write", json!({ "n": n }));
    }
    let declined = failed(&write(&mut client, 2));
    assert!(text_at(&declined, "/message").contains("a person declined"));
}
