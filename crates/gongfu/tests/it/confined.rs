//! Servers in the sandbox: they see and reach what a person approved, and the same program outside of it more.

use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use gongfu_testing::json::{failed, list_at, text_at, texts};
use serde_json::{Value, json};

use crate::connection::{processes, wait_until_gone};
use crate::fixture::Fixture;
use crate::stdio::Client;

/// A server that evaluates Python, and answers the value or the error.
const SERVER: &str = r#"
import json, os, socket, subprocess, sys, time
SCHEMA = {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]}
print("started", file=sys.stderr, flush=True)


def value(code):
    try:
        return str(eval(code))
    except OSError as error:
        return "error: " + type(error).__name__


def proxied(host):
    with socket.create_connection(("127.0.0.1", 3128), timeout=10) as proxy:
        proxy.sendall(f"CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        return proxy.recv(1000).split(b"\r\n")[0].decode()


def answer(method, params):
    if method == "initialize":
        info = {"name": "eval", "version": "1"}
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": [{"name": "eval", "description": "Evaluates.", "inputSchema": SCHEMA}]}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": value(params["arguments"]["code"])}]}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answer(message["method"], message.get("params"))
        outcome = {"result": result} if result else {"error": {"code": -32601, "message": "no such method"}}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **outcome}), flush=True)
"#;

/// A server `plain` that runs as the person, and the same as `boxed` in the sandbox with these flags. Its program lies
/// in a folder that it reads.
fn fixture(flags: &[&str]) -> Fixture {
    let fixture = Fixture::new();
    fixture.write("program/server.py", SERVER);
    fixture.write("shown/note", "shown");
    fixture.write("kept/note", "kept");
    fixture.write("user/note", "mine");
    fixture.write("user/.ssh/id", "key");
    add(&fixture, "plain", &["--env", "MARK=plain"]);
    let program = path(&fixture, "program");
    let own = ["--read", &program, "--env", "MARK=boxed"];
    add(&fixture, "boxed", &[&own, flags].concat());
    fixture
}

fn path(fixture: &Fixture, below: &str) -> String {
    fixture.path(below).to_str().unwrap().to_owned()
}

fn add(fixture: &Fixture, name: &str, flags: &[&str]) {
    let script = path(fixture, "program/server.py");
    let words = [
        &["connection", "add", name, "--replace"],
        flags,
        &["--", "python3", &script],
    ];
    fixture.gongfu(words.concat()).good();
    approve(fixture, name);
}

fn approve(fixture: &Fixture, name: &str) -> String {
    let words = ["connection", "approve", name, "--yes"];
    let approved = fixture.gongfu(words).with("GONGFU_STANDALONE", "1");
    approved.good().text()
}

fn client(fixture: &Fixture) -> Client {
    let mut client = Client::start(&fixture.only(["mcp", "--standalone"]));
    client.initialize("2025-11-25");
    client
}

/// The value of an expression in a server.
fn value(client: &mut Client, server: &str, code: &str) -> String {
    let result = client.good(&format!("{server}__eval"), json!({ "code": code }));
    text_at(&result, "/content/0/text").to_owned()
}

/// The values outside of the sandbox and in it.
fn both(client: &mut Client, code: &str) -> [String; 2] {
    ["plain", "boxed"].map(|server| value(client, server, code))
}

fn reads(path: &str) -> String {
    format!("open({path:?}).read()")
}

fn writes(path: &str) -> String {
    format!("open({path:?}, 'w').write('new')")
}

#[test]
fn server_in_the_sandbox_has_only_what_was_approved() {
    let outside = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = outside.local_addr().unwrap().port();
    let granted = format!("localhost:{port}");
    let fixture = fixture(&["--host", &granted]);
    let (shown, kept) = (path(&fixture, "shown"), path(&fixture, "kept"));
    let program = path(&fixture, "program");
    let flags = [
        "--read",
        &program,
        "--read",
        &shown,
        "--write",
        &kept,
        "--host",
        &granted,
        "--env",
        "MARK=boxed",
    ];
    add(&fixture, "boxed", &flags);
    let mut client = client(&fixture);
    let tools = client.ask("tools/list", json!({}));
    let tools = texts(list_at(&tools, "/tools"), "/name");
    assert!(tools.contains(&"boxed__eval"), "{tools:?}");

    let missing = "error: FileNotFoundError";
    let home = reads(&path(&fixture, "user/note"));
    assert_eq!(both(&mut client, &home), ["mine", missing]);
    let own = "os.path.exists('HOME/connections.json')".replace("HOME", &path(&fixture, "home"));
    assert_eq!(both(&mut client, &own), ["True", "False"]);
    let note = format!("{shown}/note");
    assert_eq!(both(&mut client, &reads(&note)), ["shown", "shown"]);
    // What changes on the machine is seen at once, and a file that is replaced as well.
    assert_eq!(
        both(&mut client, &reads(&format!("{shown}/later"))),
        [missing; 2]
    );
    fixture.write("shown/later", "later");
    fixture.write("shown/other", "replaced");
    std::fs::rename(fixture.path("shown/other"), &note).unwrap();
    assert_eq!(value(&mut client, "boxed", &reads(&note)), "replaced");
    let later = reads(&format!("{shown}/later"));
    assert_eq!(value(&mut client, "boxed", &later), "later");

    let refused = value(&mut client, "boxed", &writes(&note));
    assert!(refused.starts_with("error: "), "{refused}");
    assert_eq!(fixture.read("shown/note"), "replaced");
    assert_eq!(value(&mut client, "plain", &writes(&note)), "3");
    // What it writes is on the machine at once.
    for file in ["note", "more"] {
        let write = writes(&format!("{kept}/{file}"));
        assert_eq!(value(&mut client, "boxed", &write), "3");
        assert_eq!(fixture.read(format!("kept/{file}")), "new");
    }
    // Its own folders end with it.
    for place in ["/tmp/x", "/run/home/x"] {
        assert_eq!(value(&mut client, "boxed", &writes(place)), "3", "{place}");
    }
    assert_eq!(
        value(&mut client, "boxed", "os.path.expanduser('~')"),
        "/run/home"
    );

    let connect = format!("socket.create_connection(('127.0.0.1', {port}), timeout=10) and 'open'");
    let [plain, boxed] = both(&mut client, &connect);
    assert_eq!(plain, "open");
    assert!(boxed.starts_with("error: "), "{boxed}");
    let by_proxy = |host: &str| format!("proxied({host:?})");
    let reached = value(&mut client, "boxed", &by_proxy(&granted));
    assert!(reached.starts_with("HTTP/1.1 200"), "{reached}");
    let other = value(&mut client, "boxed", &by_proxy("localhost:1"));
    assert!(other.starts_with("HTTP/1.1 403"), "{other}");

    let names = "sorted(name for name in os.environ if name in ('HOME', 'USER', 'GONGFU_HOME', 'XDG_RUNTIME_DIR'))";
    assert_eq!(value(&mut client, "boxed", names), "['HOME']");
    let marks = both(&mut client, "os.environ['MARK']");
    assert_eq!(marks, ["plain", "boxed"]);
    assert_eq!(client.close().code, Some(0));
}

#[test]
fn private_folders_stay_hidden_in_a_home_that_is_shown() {
    let fixture = fixture(&[]);
    let (user, home) = (path(&fixture, "user"), path(&fixture, "home"));
    let program = path(&fixture, "program");
    add(&fixture, "boxed", &["--read", "~/", "--read", &program]);
    let mut client = client(&fixture);
    let note = reads(&format!("{user}/note"));
    assert_eq!(both(&mut client, &note), ["mine", "mine"]);
    let key = format!("os.listdir({:?})", format!("{user}/.ssh"));
    assert_eq!(both(&mut client, &key), ["['id']", "[]"]);

    for (flags, part) in [
        (["--read", &home], "is gongfu's own"),
        (["--write", &user], "it has your home in it or is it"),
        (["--read", "/"], "the whole machine"),
        (["--read", "/proc/1"], "its own /proc"),
        (["--write", "/tmp/../etc"], "without `.` and `..`"),
    ] {
        let words = [&["connection", "add", "bad"], &flags[..], &["--", "true"]];
        let refused = fixture.gongfu(words.concat()).ends(2);
        assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
    }
    // The same in a file is told with its line, and costs that connection alone.
    let connections = json!({ "connections": {
        "own": { "command": "true", "sandbox": { "read": [home] } },
        "relative": { "command": "true", "sandbox": { "write": ["a"] } },
        "good": { "command": "true", "sandbox": { "read": ["~/"] } },
    } });
    let text = serde_json::to_string_pretty(&connections).unwrap();
    fixture.write("more.json", text);
    let listed = fixture
        .gongfu(["connection", "list"])
        .with("LLP_MCP_CONNECTIONS_FILE", fixture.path("more.json"))
        .run();
    let said = format!("{}{}", listed.text(), listed.stderr);
    for part in [
        "more.json:",
        "`own`: a folder for its sandbox: `",
        "`relative`: `sandbox.write`: `a` must be an absolute path",
        "good",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    // A link leads elsewhere whenever somebody swaps it.
    std::os::unix::fs::symlink(&user, fixture.path("shown/link")).unwrap();
    let link = path(&fixture, "shown/link");
    let words = ["connection", "add", "bad", "--read", &link, "--", "true"];
    let refused = fixture.gongfu(words).ends(2);
    assert!(
        refused.stderr.contains("is a link, or below one"),
        "{}",
        refused.stderr
    );
}

#[test]
fn other_folders_or_hosts_need_another_approval() {
    let fixture = fixture(&[]);
    let shown = path(&fixture, "shown");
    let program = path(&fixture, "program");
    let approved = |fixture: &Fixture| {
        let listed = fixture.gongfu(["connection", "list", "--json"]).good();
        let listed: Value = listed.json();
        let boxed = listed.as_array().unwrap().iter();
        let mut boxed = boxed.filter(|one| text_at(one, "/name") == "boxed");
        boxed.next().unwrap()["approved"] == json!(true)
    };
    assert!(approved(&fixture));
    let script = path(&fixture, "program/server.py");
    for (flags, line) in [
        (["--read", &shown], format!("reads: {shown}")),
        (["--write", &shown], format!("writes: {shown}")),
        (["--host", "a.example"], "reaches: a.example".to_owned()),
    ] {
        let words = [
            &[
                "connection",
                "add",
                "boxed",
                "--replace",
                "--read",
                &program,
            ],
            &flags[..],
            &["--", "python3", &script],
        ];
        fixture.gongfu(words.concat()).good();
        assert!(!approved(&fixture), "{line}");
        let shown = fixture
            .gongfu(["connection", "show", "boxed"])
            .good()
            .text();
        assert!(shown.contains(&line), "{shown}");
        let said = approve(&fixture, "boxed");
        assert!(
            said.contains(&line) && said.contains("runs in the sandbox"),
            "{said}"
        );
        assert!(approved(&fixture), "{line}");
    }
}

#[test]
fn nothing_is_left_of_a_server_in_the_sandbox_when_gongfu_is_killed() {
    let fixture = fixture(&[]);
    let script = path(&fixture, "program/server.py");
    let mut client = client(&fixture);
    let start =
        "subprocess.Popen(['sleep', '600', sys.argv[0]], start_new_session=True) and 'started'";
    // `sleep` takes no words, so a shell waits.
    let start = start.replace("'sleep', '600', ", "'sh', '-c', 'sleep 600; :', ");
    assert_eq!(value(&mut client, "boxed", &start), "started");
    thread::sleep(Duration::from_millis(100));
    assert!(processes(&script) > 1, "{}", processes(&script));
    // It is killed, and can tell nobody.
    drop(client);
    wait_until_gone(&script);
}

#[test]
fn end_of_a_server_in_the_sandbox_is_told() {
    let fixture = fixture(&[]);
    let mut client = client(&fixture);
    let died = failed(&client.call("boxed__eval", json!({ "code": "os._exit(3)" })));
    assert!(
        text_at(&died, "/message").contains("it exited with code 3"),
        "{died}"
    );
    assert_eq!(value(&mut client, "boxed", "1 + 1"), "2");
    for (words, part) in [
        (["no-such-program", "x"], "not found in the sandbox"),
        (["python3", "/no/such/file"], "it exited with code 2"),
    ] {
        let add = ["connection", "add", "bad", "--replace", "--sandbox", "--"];
        fixture.gongfu(add.iter().chain(&words)).good();
        let refused = fixture
            .gongfu(["connection", "approve", "bad", "--yes"])
            .ends(1);
        assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
    }
}
