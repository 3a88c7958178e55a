//! Scripts and commands as people and clients run them: what they say, leave and end with, and that
//! nothing of them outlives whoever wanted it.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::Write as _;
use std::time::{Duration, Instant};

use gongfu_testing::client::TIMEOUT;
use gongfu_testing::json::{at, context, keys, result, text_at};
use serde_json::{Value, json};

use crate::fixture::Fixture;
use crate::site::Site;

const GCD: &str = "import math, sys\nprint(math.gcd(int(sys.argv[1]), int(sys.argv[2])))\n";
const SETUP: &str = "echo setting up\nmkdir -p output/data\necho 42 > output/data/result.txt\n";

fn fixture() -> Fixture {
    let fixture = Fixture::with_skills();
    fixture.skill("gcd", "Divides.");
    fixture.write("skills/gcd/scripts/gcd.py", GCD);
    fixture.write("skills/gcd/scripts/setup.sh", SETUP);
    fixture.write("skills/gcd/input.txt", "pattern one\n");
    fixture
}

/// How many processes have this word in their command line.
fn alive(word: &str) -> usize {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let told = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    // The program alone, not who was asked to run it.
    let sleeps = format!("sleep\0{word}\0");
    told.filter(|told| told.starts_with(sleeps.as_bytes()))
        .count()
}

/// Waits until so many processes have the word in their command line.
fn wait_for(word: &str, count: usize) {
    let begun = Instant::now();
    while alive(word) != count {
        assert!(
            begun.elapsed() < TIMEOUT,
            "there are {} of {word}",
            alive(word)
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A number that no other process sleeps for.
fn word() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("86{:07}{number:02}", std::process::id() % 10_000_000)
}

/// A line that begins processes which outlive whoever began them.
fn stubborn(word: &str) -> String {
    format!("trap '' TERM HUP; setsid sleep {word} & sleep {word}")
}

#[test]
fn run_passes_output_input_and_exit_code() {
    let fixture = fixture();
    let run = |more: &[&str]| {
        let mut arguments = vec!["run", "gcd"];
        arguments.extend(more);
        fixture.only(arguments)
    };
    let ran = run(&["--", "python", "scripts/gcd.py", "12", "18"]).good();
    assert_eq!((ran.text().as_str(), ran.stderr.as_str()), ("6\n", ""));
    let ran = run(&["--", "sh", "-c", "echo out; echo error >&2; exit 3"]).ends(3);
    assert_eq!(
        (ran.text().as_str(), ran.stderr.as_str()),
        ("out\n", "error\n")
    );
    // Arguments arrive as they are.
    let ran = run(&["--", "printf", "%s|", "a b", "$HOME", "*", "--json"]).good();
    assert_eq!(ran.text(), "a b|$HOME|*|--json|");
    run(&["--", "sh", "-c", "kill -9 $$"]).ends(137);
    let ran = run(&["--timeout", "1", "--", "sleep", "60"]).ends(124);
    assert!(ran.stderr.contains("timed out after"), "{}", ran.stderr);
    let ran = run(&["--", "nonesuch"]).ends(127);
    assert!(
        ran.stderr
            .contains("nonesuch: command (or its #! interpreter) not found"),
        "{}",
        ran.stderr
    );
    let ran = run(&["--", "python", "scripts/nonesuch.py"]).ends(2);
    assert!(ran.stderr.contains("scripts/nonesuch.py"), "{}", ran.stderr);
    run(&[]).ends(2);
    run(&["--timeout", "0", "--", "true"]).ends(2);
    let ran = fixture.only(["run", "gdc", "--", "true"]).ends(1);
    assert!(
        ran.stderr.contains("SKILL_NOT_FOUND") && ran.stderr.contains("gcd"),
        "{}",
        ran.stderr
    );
    // Without input there is none, and nobody waits for it; what comes is passed on.
    assert_eq!(run(&["--", "cat"]).good().text(), "");
    let long = "line\n".repeat(100_000);
    assert_eq!(
        run(&["--", "cat"]).reading(long.clone()).good().text(),
        long
    );
    run(&["--", "true"]).reading(long).good();
    let ran = run(&["--", "python", "-c", "print(input('name? ')[::-1])"])
        .reading("abc\n")
        .good();
    assert_eq!(ran.text(), "name? cba\n");
    let ran = run(&["--", "python", "-c", "input('name? ')"]).ends(1);
    assert!(ran.stderr.contains("EOFError"), "{}", ran.stderr);
}

#[test]
fn run_json_reports_the_end() {
    let fixture = fixture();
    let ran = |arguments: &[&str], code| {
        let start = ["run", "gcd", "--json"];
        fixture
            .only(start.iter().chain(arguments))
            .ends(code)
            .json()
    };
    let good = ran(&["--", "bash", "scripts/setup.sh"], 0);
    for name in [
        "exit_code",
        "signal",
        "reason",
        "stdout",
        "stderr",
        "truncated",
        "level",
        "duration_ms",
        "artifacts",
    ] {
        assert!(keys(&good).contains(&name), "{name}: {good:#}");
    }
    assert_eq!(
        (at(&good, "/exit_code"), at(&good, "/signal")),
        (&json!(0), &Value::Null)
    );
    assert_eq!(text_at(&good, "/reason"), "ok");
    assert_eq!(text_at(&good, "/stdout"), "setting up\n");
    assert_eq!(at(&good, "/truncated"), false);
    let host = text_at(&good, "/artifacts/0/host_path");
    assert_eq!(fs::read_to_string(host).unwrap(), "42\n");
    assert_eq!(
        at(&good, "/artifacts"),
        &json!([{
            "path": "/skill/output/data/result.txt", "change": "written", "bytes": 3, "host_path": host,
        }])
    );
    let ended = ran(
        &["--timeout", "5", "--", "sh", "-c", "echo half; sleep 60"],
        124,
    );
    assert_eq!(
        (text_at(&ended, "/reason"), text_at(&ended, "/stdout")),
        ("timeout", "half\n")
    );
    assert_eq!(
        (at(&ended, "/exit_code"), at(&ended, "/signal")),
        (&Value::Null, &json!(9))
    );
    let long = ran(&["--", "seq", "300000"], 0);
    assert_eq!(at(&long, "/truncated"), true);
    let text = text_at(&long, "/stdout");
    assert!(
        text.starts_with("1\n2\n") && text.ends_with("299999\n300000\n") && text.len() < 1_100_000
    );
    let log = text
        .split("the full output is in ")
        .nth(1)
        .unwrap()
        .split(']')
        .next()
        .unwrap();
    // A later run reads it where the answer says that it is.
    let ran = fixture.only(["run", "gcd", "--", "wc", "-l", log]).good();
    assert_eq!(ran.text(), format!("300000 {log}\n"));
    let call = fixture.only([
        "tool",
        "call",
        "file_read",
        &format!("path={log}"),
        "start_line=250000",
        "end_line=250000",
    ]);
    assert!(call.good().text().starts_with("250000\n"));
    let binary = fixture
        .only([
            "run",
            "gcd",
            "--json",
            "--",
            "head",
            "-c",
            "1000",
            "/dev/zero",
        ])
        .good()
        .json();
    assert!(
        text_at(&binary, "/stdout").starts_with("[1000 bytes of binary output"),
        "{binary:#}"
    );
}

#[test]
fn runs_share_the_workspace_and_leave_the_skill_alone() {
    let fixture = fixture();
    let before = fs::read(fixture.path("skills/gcd/input.txt")).unwrap();
    let line = "echo one > /workspace/a; echo changed >> input.txt; echo two > beside.txt; rm scripts/gcd.py";
    fixture.only(["run", "gcd", "--", "sh", "-c", line]).good();
    let call = |arguments: &[&str]| {
        let start = ["tool", "call", "--profile", "all"];
        fixture.only(start.iter().chain(arguments)).good().text()
    };
    assert_eq!(call(&["file_read", "path=a"]), "one\n");
    assert_eq!(
        call(&["skills_bash", "command=cat a; echo three > b"]),
        "one\n"
    );
    assert_eq!(
        fixture
            .only(["run", "gcd", "--", "cat", "/workspace/b"])
            .good()
            .text(),
        "three\n"
    );
    // What a run left is there for the next one and to be read; the skill is as it was.
    assert_eq!(
        fixture
            .only(["run", "gcd", "--", "cat", "input.txt", "beside.txt"])
            .good()
            .text(),
        "pattern one\nchanged\ntwo\n"
    );
    assert_eq!(
        call(&[
            "read_reference_file",
            "skill_name=gcd",
            "file_name=beside.txt"
        ]),
        "two\n"
    );
    assert_eq!(
        call(&[
            "read_reference_file",
            "skill_name=gcd",
            "file_name=input.txt"
        ]),
        "pattern one\nchanged\n"
    );
    assert_eq!(
        fs::read(fixture.path("skills/gcd/input.txt")).unwrap(),
        before
    );
    assert!(
        fixture.path("skills/gcd/scripts/gcd.py").exists()
            && !fixture.path("skills/gcd/beside.txt").exists()
    );
    // A named workspace is the person's own folder.
    let project = fixture.path("project");
    fixture.write("project/notes.txt", "note\n");
    let named = fixture.only([
        "run",
        "gcd",
        "--workspace",
        project.to_str().unwrap(),
        "--",
        "sh",
        "-c",
        "cat /workspace/notes.txt; echo made > /workspace/made",
    ]);
    assert_eq!(named.good().text(), "note\n");
    assert_eq!(fixture.read("project/made"), "made\n");
    // So is a mounted one, unless it may only be read.
    fixture.write("data/x", "x\n");
    let data = fixture.path("data").display().to_string();
    let mounted = |mount: &str, line: &str| {
        fixture.only(["run", "gcd", "--mount", mount, "--", "sh", "-c", line])
    };
    mounted(&data, &format!("cat {data}/x; echo y > {data}/y")).good();
    assert_eq!(fixture.read("data/y"), "y\n");
    mounted(&format!("{data}:/in:ro"), "cat /in/x && ! touch /in/z").good();
    assert!(!fixture.path("data/z").exists());
}

#[test]
fn documented_commands_run_under_every_profile() {
    let fixture = fixture();
    for (profile, tool, name, where_) in [
        ("standard", "skill_run", "skill_name", ""),
        ("agentskills", "run_shell_command", "skill_name", ""),
        ("skills", "skills_run", "name", ""),
        ("skills", "skills_bash", "", "cwd=skills/gcd"),
    ] {
        let call = |command: &str| {
            let mut arguments = vec![
                "tool".to_owned(),
                "call".to_owned(),
                tool.to_owned(),
                "--profile".to_owned(),
                profile.to_owned(),
            ];
            arguments.push(format!("command={command}"));
            if name.is_empty() {
                arguments.push(where_.to_owned());
            } else {
                arguments.push(format!("{name}=gcd"));
            }
            fixture.only(arguments).good().text()
        };
        assert!(
            call("python scripts/gcd.py 12 18").starts_with("6\n"),
            "{tool}"
        );
        assert!(
            call("grep -r 'pattern' .").contains("./input.txt:pattern one"),
            "{tool}"
        );
        call("mkdir -p output/data");
        assert!(
            call("cd scripts && python gcd.py 21 14").starts_with("7\n"),
            "{tool}"
        );
        assert!(
            call("bash scripts/setup.sh").starts_with("setting up\n"),
            "{tool}"
        );
        assert!(call("ls -la").contains("SKILL.md"), "{tool}");
        call("sed s/one/two/ input.txt > input.out");
        let left = fixture.only([
            "tool",
            "call",
            "skill_read",
            "skill_name=gcd",
            "path=input.out",
        ]);
        assert_eq!(left.good().text(), "pattern two\n", "{tool}");
        let left = fixture.only([
            "tool",
            "call",
            "skill_read",
            "skill_name=gcd",
            "path=output/data/result.txt",
        ]);
        assert_eq!(left.good().text(), "42\n", "{tool}");
    }
}

/// The arguments of a call that runs a line.
fn call(line: &str) -> Value {
    json!({ "name": "skill_run", "arguments": { "skill_name": "gcd", "command": line, "timeout": 300 } })
}

#[test]
fn output_is_reported_while_it_runs() {
    let fixture = fixture();
    let mut client = fixture.client();
    let mut params =
        call("echo one; sleep 0.5; echo two >&2; sleep 0.5; printf '\\033[1mthree\\033[0m'");
    params["_meta"] = json!({ "progressToken": "t" });
    client.begin(7, "tools/call", params);
    let mut told = Vec::new();
    let answer = loop {
        let message = client.receive(TIMEOUT).unwrap();
        if message.get("id") == Some(&json!(7)) {
            break message;
        }
        assert_eq!(text_at(&message, "/method"), "notifications/progress");
        assert_eq!(text_at(&message, "/params/progressToken"), "t");
        told.push((
            at(&message, "/params/progress").as_f64().unwrap(),
            text_at(&message, "/params/message").to_owned(),
        ));
    };
    let all: String = told.iter().map(|(_, message)| message.as_str()).collect();
    assert_eq!(all, "one\ntwo\nthree");
    assert!(
        told.len() > 1 && told.is_sorted_by(|one, next| one.0 < next.0),
        "{told:?}"
    );
    assert_eq!(
        text_at(&result(answer), "/structuredContent/stdout"),
        "one\nthree"
    );
    client.close();
}

#[test]
fn cancelled_or_closed_client_leaves_no_process() {
    let fixture = fixture();
    let word = word();
    let mut client = fixture.client();
    client.begin(1, "tools/call", call(&stubborn(&word)));
    wait_for(&word, 2);
    client.notify("notifications/cancelled", json!({ "requestId": 1 }));
    wait_for(&word, 0);
    // The server goes on.
    assert_eq!(
        text_at(
            &client.good("skill_run", call("echo on")["arguments"].clone()),
            "/structuredContent/stdout"
        ),
        "on\n"
    );
    client.begin(2, "tools/call", call(&stubborn(&word)));
    wait_for(&word, 2);
    drop(client);
    wait_for(&word, 0);
}

#[test]
fn killed_server_leaves_no_process() {
    let fixture = fixture();
    let word = word();
    let mut client = fixture.client();
    for id in 1..=5 {
        client.begin(id, "tools/call", call(&stubborn(&word)));
    }
    wait_for(&word, 10);
    let server = rustix::process::Pid::from_raw(i32::try_from(client.id()).unwrap()).unwrap();
    rustix::process::kill_process(server, rustix::process::Signal::KILL).unwrap();
    wait_for(&word, 0);
}

#[test]
fn closed_http_connection_leaves_no_process() {
    let fixture = fixture();
    let word = word();
    let site = Site::start(&fixture.only(["serve", "--listen", "127.0.0.1:0"]));
    let line = stubborn(&word);
    // The newest revision: whoever closes the connection cancels.
    let mut params = call(&line);
    params["_meta"] = context("2026-07-28");
    let body =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string();
    let headers = [
        ("Accept", "application/json, text/event-stream"),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "skill_run"),
    ];
    let mut connection = site.connect();
    connection
        .write_all(Site::wire("POST", "/mcp", &headers, &body).as_bytes())
        .unwrap();
    wait_for(&word, 2);
    drop(connection);
    wait_for(&word, 0);
    // A session: whoever goes and doesn't come back does, too.
    let session = site.open("2025-11-25");
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call(&line) })
        .to_string();
    let headers = [
        ("Accept", "application/json, text/event-stream"),
        ("MCP-Protocol-Version", "2025-11-25"),
        ("Mcp-Session-Id", session.as_str()),
    ];
    let mut connection = site.connect();
    connection
        .write_all(Site::wire("POST", "/mcp", &headers, &body).as_bytes())
        .unwrap();
    wait_for(&word, 2);
    drop(connection);
    wait_for(&word, 0);
    // The level that is used stands where operators look.
    let begun = Instant::now();
    loop {
        let health = site.send("GET", "/health", &[], "").json();
        if let Some(level) = health.get("sandbox") {
            assert!(
                ["namespaces", "bubblewrap", "lite"].contains(&level.as_str().unwrap()),
                "{health}"
            );
            break;
        }
        assert!(begun.elapsed() < TIMEOUT, "{health}");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(site.terminate().0, Some(0));
}

#[test]
fn long_run_becomes_a_task() {
    let fixture = fixture();
    let word = word();
    let site = Site::start(&fixture.only(["serve", "--listen", "127.0.0.1:0"]));
    let ask = |method: &str, mut params: Value| {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": { "extensions": { "io.modelcontextprotocol/tasks": {} } },
        });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let name = params.get("name").or(params.get("taskId"));
        let name = name.and_then(Value::as_str).unwrap_or_default();
        let headers = [
            ("accept", "application/json, text/event-stream"),
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", method),
            ("mcp-name", name),
        ];
        site.send("POST", "/mcp", &headers, &body.to_string())
            .json()
    };
    let short = ask("tools/call", call("echo soon"));
    assert_eq!(
        text_at(&short, "/result/structuredContent/stdout"),
        "soon\n"
    );
    let task = ask("tools/call", call("sleep 4; echo late"));
    assert_eq!(text_at(&task, "/result/resultType"), "task", "{task:#}");
    let id = json!({ "taskId": text_at(&task, "/result/taskId") });
    let begun = Instant::now();
    let done = loop {
        let task = ask("tasks/get", id.clone());
        if text_at(&task, "/result/status") != "working" {
            break task;
        }
        assert!(begun.elapsed() < TIMEOUT, "{task:#}");
        std::thread::sleep(Duration::from_millis(100));
    };
    assert_eq!(text_at(&done, "/result/status"), "completed");
    assert_eq!(
        text_at(&done, "/result/result/structuredContent/stdout"),
        "late\n"
    );
    // One that is cancelled ends with all that it began.
    let task = ask("tools/call", call(&stubborn(&word)));
    let id = json!({ "taskId": text_at(&task, "/result/taskId") });
    wait_for(&word, 2);
    ask("tasks/cancel", id.clone());
    wait_for(&word, 0);
    let begun = Instant::now();
    while text_at(&ask("tasks/get", id.clone()), "/result/status") != "cancelled" {
        assert!(begun.elapsed() < TIMEOUT);
    }
    let unknown = ask("tasks/get", json!({ "taskId": "nonesuch" }));
    assert_eq!(at(&unknown, "/error/code"), -32602);
    assert_eq!(site.terminate().0, Some(0));
}
