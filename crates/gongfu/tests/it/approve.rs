//! Commands that a person is asked about: by a client over MCP, and the person at the command line.

use gongfu_testing::json::text_at;
use serde_json::{Value, json};

use crate::fixture::Fixture;
use crate::stdio::Client;

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.skill("gcd", "Calculates the greatest common divisor.");
    fixture
}

/// The tool of the dialect with a list of programs, which is the only one that asks.
const TOOL: &str = "run_shell_command";

/// A server of that dialect.
fn server(fixture: &Fixture) -> Client {
    Client::start(&fixture.only(["mcp", "--profile", "agentskills"]))
}

/// The code of an error of that dialect, and its text.
fn error(result: &Value) -> (String, String) {
    assert_eq!(result["isError"], json!(true), "{result:#}");
    let payload: Value = serde_json::from_str(text_at(result, "/content/0/text")).unwrap();
    let text = |part| text_at(&payload, part).to_owned();
    (text("/code"), text("/detail"))
}

/// Expects that a call waits for approval.
#[track_caller]
fn check_waits(result: &Value) {
    let (_, detail) = error(result);
    assert!(detail.contains("gongfu approve allow"), "{detail}");
}

/// Expects that a person declined a call.
#[track_caller]
fn check_declined(result: &Value) {
    let (code, detail) = error(result);
    assert_eq!(code, "COMMAND_BLOCKED");
    assert!(detail.contains("a person declined"), "{detail}");
}

/// The output of a run.
fn stdout(result: &Value) -> &str {
    text_at(result, "/structuredContent/stdout")
}

/// A call whose program is only known at run time.
fn dynamic() -> Value {
    says("said")
}

/// The same that says something.
fn says(text: &str) -> Value {
    let command = format!("x=$(cat SKILL.md | head -c 0)echo; $x {text}");
    json!({ "skill_name": "gcd", "command": command })
}

#[test]
fn approval_once_always_and_never_hold_in_a_running_server() {
    let fixture = fixture();
    let mut client = server(&fixture);
    client.initialize("2025-11-25");
    assert_eq!(fixture.gongfu(["approve", "list"]).good().text(), "");
    let (_, detail) = error(&client.call(TOOL, dynamic()));
    let listed = fixture.gongfu(["approve", "list", "--json"]).good().json();
    let id = text_at(&listed, "/0/id").to_owned();
    assert!(
        detail.contains(&format!("gongfu approve allow {id}")),
        "{detail}"
    );
    assert_eq!(text_at(&listed, "/0/ruling"), "waiting");
    assert!(
        text_at(&listed, "/0/what").starts_with("x=$(cat"),
        "{listed}"
    );
    assert_eq!(text_at(&listed, "/0/skill"), "gcd");
    let told = fixture.gongfu(["approve", "list"]).good().text();
    for line in ["  skill: skills/gcd in ", "  client: test"] {
        assert!(told.contains(line), "{line}: {told}");
    }
    // Once is once, in the server that runs already.
    let allowed = fixture.gongfu(["approve", "allow", &id]).good().text();
    assert!(allowed.starts_with("allowed once"), "{allowed}");
    assert_eq!(stdout(&client.good(TOOL, dynamic())), "said\n");
    check_waits(&client.call(TOOL, dynamic()));
    fixture
        .gongfu(["approve", "allow", &id, "--always", "--expires", "1h"])
        .good();
    for _ in 0..2 {
        client.good(TOOL, dynamic());
    }
    fixture.gongfu(["approve", "deny", &id]).good();
    check_declined(&client.call(TOOL, dynamic()));
    let unknown = fixture.gongfu(["approve", "allow", "0"]).ends(1);
    assert!(
        unknown.stderr.contains("APPROVAL_UNKNOWN"),
        "{}",
        unknown.stderr
    );
    // Without readable answers nothing runs.
    fixture.write("home/approvals.json", "{");
    let (code, detail) = error(&client.call(TOOL, dynamic()));
    assert_eq!(code, "UNAVAILABLE");
    assert!(detail.contains("damaged"), "{detail}");
    client.close();
}
