//! Servers that clients share, or don't, and the connections that a connected client has.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use gongfu_testing::json::{failed, text_at};
use serde_json::json;

use crate::connection::{
    NOTICE_TIMEOUT, add, approve, fixture, say, sees, server, wait_until_gone, wait_until_seen,
};
use crate::fixture::Fixture;

/// The processes that run servers for all clients of a fixture.
fn shared(fixture: &Fixture) -> Vec<i32> {
    let folder = std::fs::canonicalize(fixture.path("home/run")).unwrap();
    let all = Path::new("/proc").read_dir().unwrap();
    let here = all.filter_map(|entry| {
        let path = entry.ok()?.path();
        // Its guards have the same folder.
        let is_one = std::fs::read(path.join("cmdline"))
            .ok()?
            .ends_with(b"\0servers\0");
        let is_here = is_one && std::fs::read_link(path.join("cwd")).ok()? == folder;
        let number = path.file_name()?.to_str()?.parse().ok()?;
        is_here.then_some(number)
    });
    here.collect()
}

/// Kills the process that runs servers for all clients.
pub(crate) fn end_shared(fixture: &Fixture) {
    for process in shared(fixture) {
        let process = rustix::process::Pid::from_raw(process).unwrap();
        rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
    }
}

#[test]
fn clients_share_a_server_and_outlive_the_process_that_runs_it() {
    let fixture = fixture();
    add(&fixture, "stubborn", "children");
    approve(&fixture, "stubborn").good();
    let script = fixture.path("server.py");
    let script = script.to_str().unwrap();
    let (mut one, mut two) = (server(&fixture), server(&fixture));
    let first = say(&mut one, "stubborn__pid");
    assert_eq!(say(&mut two, "stubborn__pid"), first);
    let called = fixture.gongfu(["tool", "call", "stubborn__pid"]).good();
    assert_eq!(called.text().trim(), first);
    let standalone = ["tool", "call", "stubborn__pid", "--standalone"];
    assert_ne!(fixture.gongfu(standalone).good().text().trim(), first);
    let [process] = shared(&fixture)[..] else {
        panic!("{:?}", shared(&fixture));
    };

    end_shared(&fixture);
    wait_until_gone(script);
    let next = say(&mut two, "stubborn__pid");
    assert_ne!(next, first);
    assert_eq!(say(&mut one, "stubborn__pid"), next);
    assert_ne!(shared(&fixture), [process]);
    // A client that is killed costs the others nothing.
    drop(one);
    assert_eq!(say(&mut two, "stubborn__pid"), next);
    assert_eq!(two.close().code, Some(0));
    wait_until_gone(script);
}

#[test]
fn server_that_is_not_shared_is_one_for_each_client() {
    let fixture = fixture();
    let script = fixture.path("server.py");
    let script = script.to_str().unwrap();
    let own = [
        "connection",
        "add",
        "own",
        "--not-shared",
        "--",
        "python3",
        script,
        "none",
    ];
    fixture.gongfu(own).good();
    add(&fixture, "both", "none");
    for name in ["own", "both"] {
        approve(&fixture, name).good();
    }
    let file = fixture.read("home/connections.json");
    assert!(file.contains("\"shared\": false"), "{file}");
    let (mut one, mut two) = (server(&fixture), server(&fixture));
    assert_eq!(say(&mut one, "both__pid"), say(&mut two, "both__pid"));
    let first = say(&mut one, "own__pid");
    assert_ne!(say(&mut two, "own__pid"), first);
    assert_eq!(say(&mut one, "own__pid"), first);
    assert!(sees(&mut one, "own__echo") && sees(&mut one, "both__echo"));
    // It goes on when another connection comes.
    add(&fixture, "later", "none");
    approve(&fixture, "later").good();
    wait_until_seen(&mut one, "later__echo", true);
    assert_eq!(say(&mut one, "own__pid"), first);
    assert_eq!(one.close().code, Some(0));
    assert_eq!(two.close().code, Some(0));
    wait_until_gone(script);
}

#[test]
fn process_that_runs_servers_is_started_again_where_the_last_one_was_slow_to_end() {
    let fixture = fixture();
    add(&fixture, "other", "none");
    approve(&fixture, "other").good();
    let mut client = server(&fixture);
    assert_eq!(say(&mut client, "other__echo"), "hello");
    end_shared(&fixture);
    wait_until_gone(fixture.path("server.py").to_str().unwrap());
    // One process at a time has the lock: the first that is started now ends at once.
    let files = fixture.path("home/run").read_dir().unwrap();
    let paths = files.map(|file| file.unwrap().path());
    let locks = paths.filter(|path| path.extension().is_some_and(|end| end == "lock"));
    let held: Vec<_> = locks
        .map(|path| std::fs::File::open(path).unwrap())
        .collect();
    assert!(!held.is_empty());
    for lock in &held {
        lock.lock().unwrap();
    }
    let ending = thread::spawn(move || {
        thread::sleep(Duration::from_millis(600));
        drop(held);
    });
    assert_eq!(say(&mut client, "other__echo"), "hello");
    ending.join().unwrap();
    assert_eq!(shared(&fixture).len(), 1);
}

#[test]
fn connected_client_has_the_connections_that_are_declared_now() {
    let fixture = fixture();
    let mut client = server(&fixture);
    let script = fixture.path("server.py");
    let script = script.to_str().unwrap();
    let add = |level: &[&str], fault: &str| {
        let words = ["connection", "add", "other", "--replace"]
            .iter()
            .chain(level);
        let command = ["--", "python3", script, fault];
        fixture.gongfu(words.copied().chain(command)).good();
    };

    add(&[], "none");
    approve(&fixture, "other").good();
    wait_until_seen(&mut client, "other__echo", true);
    assert_eq!(say(&mut client, "other__echo"), "hello");

    add(&["--safety", "high"], "none");
    let started = Instant::now();
    let refused = loop {
        let answer = client.call("other__echo", json!({ "text": "hello" }));
        if answer["isError"] == json!(true) {
            break failed(&answer);
        }
        assert!(started.elapsed() < NOTICE_TIMEOUT, "{answer}");
    };
    assert_eq!(text_at(&refused, "/code"), "APPROVAL_REQUIRED");

    add(&[], "change");
    wait_until_seen(&mut client, "other__echo", false);
    let refused = failed(&client.call("other__echo", json!({ "text": "hello" })));
    assert_eq!(text_at(&refused, "/code"), "CONNECTION_NOT_APPROVED");

    add(&[], "none");
    wait_until_seen(&mut client, "other__echo", true);
    fixture.gongfu(["connection", "remove", "other"]).good();
    failed(&client.call("other__echo", json!({ "text": "hello" })));
    wait_until_seen(&mut client, "other__echo", false);
    assert_eq!(client.close().code, Some(0));
}
