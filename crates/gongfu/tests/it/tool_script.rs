//! Scripts that call tools, in the real sandbox: what comes back, what is asked, and what is recorded.

use std::thread;
use std::time::Duration;

use gongfu_testing::client::TIMEOUT;
use gongfu_testing::json::{failed, text_at};
use serde_json::{Value, json};

use crate::fixture::Fixture;
use crate::stdio::Client;

/// A server whose answers are as long as its argument says.
const SERVER: &str = include_str!("../../../../scripts/faulty_server.py");
/// A server that counts what it executed.
const COUNTING: &str = include_str!("../../../../scripts/counting_server.py");

/// A connection `my-server` whose answers have 100,000 bytes, and one named `other` that needs a person.
fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("server.py", SERVER);
    fixture.write("counting.py", COUNTING);
    fixture.write("count/version", "1");
    let path = |name: &str| fixture.path(name).to_str().unwrap().to_owned();
    let (server, counting, folder) = (path("server.py"), path("counting.py"), path("count"));
    let large = [
        "my-server",
        "--",
        "python3",
        &server,
        "huge-answer",
        "100000",
    ];
    let high = [
        "other", "--safety", "high", "--", "python3", &counting, &folder,
    ];
    for words in [&large[..], &high[..]] {
        let add = ["connection", "add"];
        fixture.gongfu(add.iter().chain(words)).good();
        let approve = ["connection", "approve", words[0], "--yes"];
        fixture.gongfu(approve).good();
    }
    fixture
}

fn client(fixture: &Fixture, capabilities: Value) -> Client {
    let mut client = Client::start(&fixture.only(["mcp"]));
    client.initialize_as("2025-11-25", capabilities);
    client
}

fn script(client: &mut Client, code: &str) -> String {
    let result = client.good("tool_script", json!({ "code": code }));
    text_at(&result, "/content/0/text").to_owned()
}

/// The calls that the counting server executed.
fn executed(fixture: &Fixture) -> Vec<String> {
    let calls = std::fs::read_to_string(fixture.path("count/calls")).unwrap_or_default();
    calls.lines().map(str::to_owned).collect()
}

/// The ends of calls in the audit.
fn ends(fixture: &Fixture) -> Vec<Value> {
    let log = fixture.gongfu(["log", "--json"]).good().text();
    let entries = log.lines().map(|line| serde_json::from_str(line).unwrap());
    entries
        .filter(|entry: &Value| entry["phase"] == "end")
        .collect()
}

#[test]
fn script_calls_tools_and_only_what_it_prints_comes_back() {
    let fixture = fixture();
    let mut client = client(&fixture, json!({}));
    let code = r#"
import os, sys
from concurrent.futures import ThreadPoolExecutor
from gongfu import tools, ToolError

with ThreadPoolExecutor(20) as pool:
    answers = list(pool.map(lambda n: tools.my_server.echo(text=str(n)), range(20)))
print(len(answers), {len(answer) for answer in answers})
os.system("echo from a child; cat")
print(repr(sys.stdin.read()), tools.call("skill_list")["total"])
for name in ["other__write", "nothing", "tool_script", "my_server__fail"]:
    try:
        tools.call(name, {"code": ""} if name == "tool_script" else {})
    except ToolError as error:
        print(error.code)
open("left.txt", "w").write("written by a script")
print(tools.file_read(path="left.txt") != "")
"#;
    let printed = script(&mut client, code);
    let lines: Vec<&str> = printed.lines().collect();
    let expected = [
        "20 {100000}",
        "from a child",
        "'' 0",
        "APPROVAL_REQUIRED",
        "TOOL_NOT_FOUND",
        "NESTED_SCRIPT",
        "TOOL_FAILED",
    ];
    assert_eq!(lines[..expected.len()], expected, "{printed}");
    assert!(executed(&fixture).is_empty());
    let ends = ends(&fixture);
    let own = |entry: &&Value| entry["tool"] == "tool_script" && entry["parent"].is_null();
    let script = ends.iter().find(own).unwrap();
    let inside: Vec<&Value> = ends
        .iter()
        .filter(|entry| entry["parent"] == script["call"])
        .collect();
    assert_eq!(inside.len(), 25, "{ends:?}");
}

#[test]
fn failing_script_answers_its_traceback() {
    let fixture = fixture();
    let mut client = client(&fixture, json!({}));
    let code = "from gongfu import tools\nprint('before')\ntools.my_server.fail()\n";
    assert_eq!(
        script(&mut client, code),
        "before\nTraceback (most recent call last):\n  File \"script.py\", line 3, in <module>\n    tools.my_server.fail()\nToolError: TOOL_FAILED: it failed\n[exit code: 1]\n"
    );
    let slow = json!({ "code": "print('begun')\nwhile True: pass", "timeout": 1 });
    let ended = client.good("tool_script", slow);
    let text = text_at(&ended, "/content/0/text");
    assert!(text.starts_with("begun\n[timed out after 1 s;"), "{text}");
    let missing = failed(&client.call("tool_script", json!({})));
    assert_eq!(text_at(&missing, "/code"), "MISSING_ARGUMENT");
    // The command line runs it as well, and no network is there.
    let code = "code=import socket\ntry: socket.create_connection(('127.0.0.1', 9))\nexcept OSError as e: print('no network')";
    let ran = fixture.gongfu(["tool", "call", "tool_script", code]).good();
    assert_eq!(ran.text(), "no network\n");
}

#[test]
fn script_waits_for_a_person_while_its_clock_stands() {
    let fixture = fixture();
    let mut client = client(&fixture, json!({ "elicitation": { "form": {} } }));
    let code = "from gongfu import tools\nprint(tools.other.write(n=7))";
    let arguments = json!({ "code": code, "timeout": 2 });
    let call = json!({ "name": "tool_script", "arguments": arguments });
    client.begin("script", "tools/call", call);
    let question = loop {
        let message = client.receive(TIMEOUT).unwrap();
        assert!(
            message.get("result").is_none(),
            "nobody was asked: {message}"
        );
        if message["method"] == "elicitation/create" {
            break message;
        }
    };
    let asked = text_at(&question, "/params/message");
    assert!(
        asked.contains("other__write") && asked.contains("n: 7"),
        "{asked}"
    );
    // A person takes longer than the script may run.
    thread::sleep(Duration::from_secs(3));
    let content = json!({ "scope": "once", "any_arguments": false });
    let answer = json!({ "action": "accept", "content": content });
    client.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer }));
    let ended = client.response(&"script".into());
    assert_eq!(text_at(&ended, "/result/content/0/text"), "done\n");
    assert_eq!(executed(&fixture), ["write 7"]);
}
