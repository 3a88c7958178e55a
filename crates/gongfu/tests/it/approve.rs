//! Commands that a person is asked about: by a client over MCP, and the person at the command line.

use serde_json::{Value, json};

use crate::stdio::{Client, result};
use crate::world::{PATIENCE, World, text_at};

fn world() -> World {
    let world = World::new();
    world.skill("gcd", "Calculates the greatest common divisor.");
    world
}

/// The tool of the dialect with a list of programs, which is the only one that asks.
const TOOL: &str = "run_shell_command";

/// A server of that dialect.
fn server(world: &World) -> Client {
    Client::start(&world.only(["mcp", "--profile", "agentskills"]))
}

/// The code of an error of that dialect, and its text.
fn error(result: &Value) -> (String, String) {
    assert_eq!(result["isError"], json!(true), "{result:#}");
    let payload: Value = serde_json::from_str(text_at(result, "/content/0/text")).unwrap();
    let text = |part| text_at(&payload, part).to_owned();
    (text("/code"), text("/detail"))
}

/// Expects that a call waits for a person.
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
fn a_person_lets_an_agent_run_a_command() {
    let world = world();
    let mut client = server(&world);
    client.initialize("2025-11-25");
    assert_eq!(world.gongfu(["approve", "list"]).good().text(), "");
    let (_, detail) = error(&client.call(TOOL, dynamic()));
    let listed = world.gongfu(["approve", "list", "--json"]).good().json();
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
    // Once is once, in the server that runs already.
    let allowed = world.gongfu(["approve", "allow", &id]).good().text();
    assert!(allowed.starts_with("allowed once"), "{allowed}");
    assert_eq!(stdout(&client.good(TOOL, dynamic())), "said\n");
    check_waits(&client.call(TOOL, dynamic()));
    world
        .gongfu(["approve", "allow", &id, "--always", "--hours", "1"])
        .good();
    for _ in 0..2 {
        client.good(TOOL, dynamic());
    }
    world.gongfu(["approve", "deny", &id]).good();
    check_declined(&client.call(TOOL, dynamic()));
    let unknown = world.gongfu(["approve", "allow", "0"]).ends(1);
    assert!(
        unknown.stderr.contains("APPROVAL_UNKNOWN"),
        "{}",
        unknown.stderr
    );
    // Without readable answers nothing runs.
    world.write("home/approvals.json", "{");
    let (code, detail) = error(&client.call(TOOL, dynamic()));
    assert_eq!(code, "UNAVAILABLE");
    assert!(detail.contains("damaged"), "{detail}");
    client.close();
}

#[test]
fn what_is_refused_is_not_run() {
    let world = world();
    let mut client = world.client();
    for command in [
        "sudo ls",
        "bash <<E\nsudo ls\nE",
        "touch /etc/x",
        "rm -rf /usr",
        "echo 'a",
    ] {
        let call = json!({ "skill_name": "gcd", "command": command });
        let refused = client.bad("skill_run", call);
        assert_eq!(text_at(&refused, "/code"), "COMMAND_BLOCKED", "{command}");
        let run = world
            .only(["run", "gcd", "--", "sh", "-c", command])
            .ends(1);
        assert!(run.stderr.contains("COMMAND_BLOCKED"), "{}", run.stderr);
    }
    assert_eq!(world.gongfu(["approve", "list"]).good().text(), "");
    // A person needs nobody's approval.
    let line = "$(cat SKILL.md | head -c 0)echo said";
    let run = world.only(["run", "gcd", "--", "sh", "-c", line]).good();
    assert_eq!(run.text(), "said\n");
    client.close();
}

/// A client of an older revision that can ask the person at it.
fn asking(world: &World) -> Client {
    let mut client = server(world);
    client.initialize_as("2025-11-25", json!({ "elicitation": {} }));
    client
}

/// Calls; answers with this what the server asks for, and answers the question and the result.
fn asked(client: &mut Client, call: Value, id: u64, answer: Value) -> (Value, Value) {
    let params = json!({ "name": TOOL, "arguments": call });
    client.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }));
    let question = client.receive(PATIENCE).unwrap();
    assert_eq!(text_at(&question, "/method"), "elicitation/create");
    let mut response = json!({ "jsonrpc": "2.0", "id": question["id"] });
    response["result"] = answer;
    client.send(&response);
    let result = result(client.response(&id.into()));
    (question, result)
}

#[test]
fn the_person_at_an_older_client_is_asked() {
    let world = world();
    let mut client = asking(&world);
    let once = json!({ "action": "accept", "content": { "scope": "once" } });
    let (question, ran) = asked(&mut client, dynamic(), 100, once.clone());
    let message = text_at(&question, "/params/message");
    assert!(message.contains(TOOL), "{message}");
    assert!(
        message.contains("x=$(cat SKILL.md | head -c 0)echo; $x said"),
        "{message}"
    );
    assert_eq!(stdout(&ran), "said\n");
    // Whoever closes the question hasn't said anything, and a client's fault is none of theirs.
    for answer in [json!({ "action": "cancel" }), json!({ "action": "other" })] {
        let (_, refused) = asked(&mut client, dynamic(), 101, answer);
        check_waits(&refused);
    }
    // Whoever declines isn't asked again at once.
    let (_, refused) = asked(&mut client, dynamic(), 102, json!({ "action": "decline" }));
    check_declined(&refused);
    check_declined(&client.call(TOOL, dynamic()));
    // Always is for the same arguments alone.
    let other = says("other");
    let always = json!({ "action": "accept", "content": { "scope": "always" } });
    asked(&mut client, other.clone(), 103, always);
    client.good(TOOL, other.clone());
    let third = says("third");
    let (_, ran) = asked(&mut client, third, 104, once);
    assert_eq!(stdout(&ran), "third\n");
    client.close();
    // What was said is in the audit, and what is refused to everybody nobody is asked.
    let audit = world.read("home/audit/audit.jsonl");
    assert!(audit.contains("approval/answer"), "{audit}");
    let mut client = asking(&world);
    client.good(TOOL, other);
    let sudo = json!({ "skill_name": "gcd", "command": "sudo ls" });
    let (_, detail) = error(&client.call(TOOL, sudo));
    assert!(detail.contains("asks for more rights"), "{detail}");
    // What is too long to be seen whole isn't asked.
    check_waits(&client.call(TOOL, says(&"x".repeat(9_000))));
    client.close();
}

/// Parameters of a call in 2026-07-28, of a client with these capabilities.
fn round(call: &Value, capabilities: &Value) -> Value {
    json!({ "name": TOOL, "arguments": call, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    } })
}

#[test]
fn the_person_at_a_new_client_is_asked_in_rounds() {
    let world = world();
    let mut client = server(&world);
    let forms = json!({ "elicitation": { "form": {} } });
    let mut first = |call: &Value| {
        let open = result(client.request("tools/call", round(call, &forms)));
        assert_eq!(text_at(&open, "/resultType"), "input_required", "{open}");
        let question = &open["inputRequests"]["approval"];
        assert_eq!(text_at(question, "/method"), "elicitation/create");
        text_at(&open, "/requestState").to_owned()
    };
    let state = first(&dynamic());
    let other = says("other");
    let others = first(&other);
    let answered = |call: &Value, state: Option<&str>, answer: &Value| {
        let mut params = round(call, &forms);
        params["inputResponses"] = json!({ "approval": answer });
        if let Some(state) = state {
            params["requestState"] = json!(state);
        }
        params
    };
    let once = json!({ "action": "accept", "content": { "scope": "once" } });
    // A state of another call, a changed one, none at all, and answers that are none: nothing is run.
    let mut changed = state.clone();
    changed.replace_range(10..11, if &state[10..11] == "A" { "B" } else { "A" });
    for (call, state, answer) in [
        (&dynamic(), Some(&*others), &once),
        (&dynamic(), Some(&*changed), &once),
        (&dynamic(), Some(""), &once),
        (&dynamic(), None, &once),
        (&dynamic(), Some(&*state), &json!({ "action": "accept" })),
        (
            &dynamic(),
            Some(&*state),
            &json!({ "action": "accept", "content": { "scope": "for good" } }),
        ),
        (&dynamic(), Some(&*state), &json!("yes")),
    ] {
        let response = client.request("tools/call", answered(call, state, answer));
        assert_eq!(
            response.pointer("/error/code"),
            Some(&json!(-32602)),
            "{response}"
        );
    }
    let params = answered(&dynamic(), Some(&state), &once);
    let ran = result(client.request("tools/call", params));
    assert_eq!(stdout(&ran), "said\n");
    // Once is once.
    let open = result(client.request("tools/call", round(&dynamic(), &forms)));
    assert_eq!(text_at(&open, "/resultType"), "input_required");
    let params = answered(&other, Some(&others), &json!({ "action": "decline" }));
    let refused = result(client.request("tools/call", params));
    check_declined(&refused);
    // Who closes the question isn't asked once more by the answer to it, and who has no forms never.
    let state = text_at(&open, "/requestState");
    let params = answered(&dynamic(), Some(state), &json!({ "action": "cancel" }));
    let refused = result(client.request("tools/call", params));
    check_waits(&refused);
    for capabilities in [json!({}), json!({ "elicitation": { "url": {} } })] {
        let refused = result(client.request("tools/call", round(&dynamic(), &capabilities)));
        check_waits(&refused);
    }
    client.close();
}
