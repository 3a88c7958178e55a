//! A person at a client is asked before a command runs that nobody can judge beforehand.

use gongfu_core::port::{RecordKey, Records as _};
use gongfu_testing::client::TIMEOUT;
use gongfu_testing::json::{context, error_code, result, text_at};
use gongfu_testing::{now, sandbox};
use serde_json::{Value, json};

use crate::fixture::{Fixture, LocalClient};

/// The tool of the dialect with a list of programs, which is the only one that asks.
const TOOL: &str = "run_shell_command";

fn fixture() -> Fixture {
    let fixture = Fixture::default();
    fixture.skill("gcd", "Calculates the greatest common divisor.");
    fixture
}

/// Expects that a call failed with this in its detail.
#[track_caller]
fn check_refused(result: &Value, part: &str) {
    assert_eq!(result["isError"], json!(true), "{result:#}");
    let payload: Value = serde_json::from_str(text_at(result, "/content/0/text")).unwrap();
    let detail = text_at(&payload, "/detail");
    assert!(detail.contains(part), "{detail}");
}

const WAITS: &str = "gongfu approve allow";
const DECLINED: &str = "a person declined";

/// A call whose program is only known at run time.
fn dynamic(text: &str) -> Value {
    let command = format!("x=$(cat SKILL.md | head -c 0)echo; $x {text}");
    json!({ "skill_name": "gcd", "command": command })
}

fn accept(scope: &str) -> Value {
    json!({ "action": "accept", "content": { "scope": scope } })
}

/// Calls and answers the question; returns the question and the result.
fn asked(client: &mut LocalClient, call: Value, id: u64, answer: Value) -> (Value, Value) {
    let params = json!({ "name": TOOL, "arguments": call });
    client.begin(id, "tools/call", params);
    let question = client.receive(TIMEOUT).unwrap();
    assert_eq!(text_at(&question, "/method"), "elicitation/create");
    client.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer }));
    (question, result(client.response(&id.into())))
}

#[test]
fn older_client_asks_its_person_in_the_call() {
    let fixture = fixture();
    let runs = |text: &str| fixture.space.sandbox.script(sandbox::good(text));
    let ran = || fixture.space.sandbox.take_specs().len();
    let mut client = fixture.silent_client_of("agentskills");
    client.initialize_as("2025-11-25", json!({ "elicitation": {} }));
    runs("said\n");
    let (question, result) = asked(&mut client, dynamic("said"), 100, accept("once"));
    let message = text_at(&question, "/params/message");
    assert!(message.contains(TOOL), "{message}");
    let command = "x=$(cat SKILL.md | head -c 0)echo; $x said";
    assert!(message.contains(command), "{message}");
    assert_eq!(text_at(&result, "/structuredContent/stdout"), "said\n");
    assert_eq!(ran(), 1);
    // Closing the question is no answer, and neither is a fault of the client.
    for answer in [json!({ "action": "cancel" }), json!({ "action": "other" })] {
        let (_, refused) = asked(&mut client, dynamic("said"), 101, answer);
        check_refused(&refused, WAITS);
    }
    // After a refusal the question isn't repeated.
    let decline = json!({ "action": "decline" });
    let (_, refused) = asked(&mut client, dynamic("said"), 102, decline);
    check_refused(&refused, DECLINED);
    check_refused(&client.call(TOOL, dynamic("said")), DECLINED);
    assert_eq!(ran(), 0);
    // Always is for the same arguments alone.
    runs("");
    asked(&mut client, dynamic("other"), 103, accept("always"));
    runs("");
    client.good(TOOL, dynamic("other"));
    runs("third\n");
    asked(&mut client, dynamic("third"), 104, accept("once"));
    assert_eq!(ran(), 3);
    let log = RecordKey::new("audit").unwrap();
    let audit = now(fixture.space.records.entries(&log, usize::MAX))
        .unwrap()
        .concat();
    assert!(
        String::from_utf8(audit)
            .unwrap()
            .contains("approval/answer")
    );
    // A command that is refused to everybody raises no question, nor does one too long to be shown.
    let sudo = json!({ "skill_name": "gcd", "command": "sudo ls" });
    check_refused(&client.call(TOOL, sudo), "asks for more privileges");
    check_refused(&client.call(TOOL, dynamic(&"x".repeat(9_000))), WAITS);
    assert_eq!(ran(), 0);
}

/// Parameters of a call in 2026-07-28, of a client with these capabilities.
fn round(call: &Value, capabilities: &Value) -> Value {
    let mut params = json!({ "name": TOOL, "arguments": call, "_meta": context("2026-07-28") });
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities.clone();
    params
}

/// The same with a person's answer to an earlier round.
fn answered(call: &Value, state: Option<&str>, answer: &Value) -> Value {
    let mut params = round(call, &forms());
    params["inputResponses"] = json!({ "approval": answer });
    if let Some(state) = state {
        params["requestState"] = json!(state);
    }
    params
}

fn forms() -> Value {
    json!({ "elicitation": { "form": {} } })
}

/// Calls, and returns the state of the question.
fn open(client: &mut LocalClient, call: &Value) -> String {
    let open = client.ask("tools/call", round(call, &forms()));
    assert_eq!(text_at(&open, "/resultType"), "input_required", "{open}");
    let question = &open["inputRequests"]["approval"];
    assert_eq!(text_at(question, "/method"), "elicitation/create");
    text_at(&open, "/requestState").to_owned()
}

#[test]
fn answer_in_a_round_counts_once() {
    let fixture = fixture();
    let mut client = fixture.silent_client_of("agentskills");
    let call = dynamic("said");
    let state = open(&mut client, &call);
    fixture.space.sandbox.script(sandbox::good("said\n"));
    let answer = |state: &str, scope: &str| answered(&call, Some(state), &accept(scope));
    client.ask("tools/call", answer(&state, "once"));
    assert_eq!(fixture.space.sandbox.take_specs().len(), 1);
    // The same state again, as of a client that lost the answer, or of one that wants more: a person is asked anew.
    for scope in ["once", "always", "once"] {
        let again = client.ask("tools/call", answer(&state, scope));
        assert_eq!(text_at(&again, "/resultType"), "input_required", "{again}");
    }
    // Neither does it undo what the person said meanwhile.
    let newer = open(&mut client, &call);
    let decline = json!({ "action": "decline" });
    client.ask("tools/call", answered(&call, Some(&newer), &decline));
    for state in [&state, &newer] {
        check_refused(&client.ask("tools/call", answer(state, "always")), DECLINED);
    }
    assert!(fixture.space.sandbox.take_specs().is_empty());
}

#[test]
fn newer_client_asks_its_person_in_rounds() {
    let fixture = fixture();
    let mut client = fixture.silent_client_of("agentskills");
    let (said, other) = (dynamic("said"), dynamic("other"));
    let state = open(&mut client, &said);
    let others = open(&mut client, &other);
    // A state of another call, a changed one, none at all, and answers that are none: nothing runs.
    let mut changed = state.clone();
    changed.replace_range(10..11, if &state[10..11] == "A" { "B" } else { "A" });
    for (state, answer) in [
        (Some(&*others), &accept("once")),
        (Some(&*changed), &accept("once")),
        (Some(""), &accept("once")),
        (None, &accept("once")),
        (Some(&*state), &json!({ "action": "accept" })),
        (Some(&*state), &accept("for good")),
        (Some(&*state), &json!("yes")),
    ] {
        let response = client.request("tools/call", answered(&said, state, answer));
        assert_eq!(error_code(&response), -32602, "{response}");
    }
    assert!(fixture.space.sandbox.take_specs().is_empty());
    fixture.space.sandbox.script(sandbox::good("said\n"));
    let ran = client.ask("tools/call", answered(&said, Some(&state), &accept("once")));
    assert_eq!(text_at(&ran, "/structuredContent/stdout"), "said\n");
    // Once is once.
    let state = open(&mut client, &said);
    let decline = json!({ "action": "decline" });
    let refused = client.ask("tools/call", answered(&other, Some(&others), &decline));
    check_refused(&refused, DECLINED);
    // A closed question isn't repeated at once, and a client without forms gets none.
    let cancel = json!({ "action": "cancel" });
    let refused = client.ask("tools/call", answered(&said, Some(&state), &cancel));
    check_refused(&refused, WAITS);
    for capabilities in [json!({}), json!({ "elicitation": { "url": {} } })] {
        let refused = client.ask("tools/call", round(&said, &capabilities));
        check_refused(&refused, WAITS);
    }
    assert_eq!(fixture.space.sandbox.take_specs().len(), 1);
}

#[test]
fn client_is_served_while_many_calls_wait_for_its_person() {
    let fixture = fixture();
    let mut client = fixture.silent_client_of("agentskills");
    client.initialize_as("2025-11-25", json!({ "elicitation": {} }));
    for id in 100..180 {
        let call = dynamic(&id.to_string());
        client.begin(id, "tools/call", json!({ "name": TOOL, "arguments": call }));
    }
    client.begin(999, "tools/list", json!({}));
    // The questions come before it.
    let answer =
        std::iter::from_fn(|| client.receive(TIMEOUT)).find(|message| message["id"] == 999);
    assert!(answer.unwrap()["result"]["tools"].is_array());
}
