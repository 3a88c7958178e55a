//! The operator's connections for users: offered and approved, with a session for each user, and nothing more.

use std::thread;
use std::time::{Duration, Instant};

use gongfu_testing::json::{list_at, text_at, texts};
use serde_json::{Value, json};

use super::{Users, add_with};
use crate::connection::{processes, wait_until_gone};
use crate::fixture::Fixture;

/// A server that remembers what it was told in its session.
const SERVER: &str = include_str!("../../../../../scripts/remembering_server.py");
/// The longest time until a running gongfu notices something.
const NOTICE_TIMEOUT: Duration = Duration::from_secs(30);

/// A home whose operator approved the connections `memory` and `own`, and offers the first with this further setting.
fn fixture(more: &str) -> Fixture {
    let fixture = Fixture::with_skills();
    fixture.write("server.py", SERVER);
    fixture.write("folder/words", "Answers all notes.");
    let config = format!("[accounts]\nconnections = [\"memory\", \"lost\"]\n{more}");
    fixture.write("home/config.toml", config);
    let (script, folder) = (fixture.path("server.py"), fixture.path("folder"));
    let (script, folder) = (script.to_str().unwrap(), folder.to_str().unwrap());
    for name in ["memory", "own"] {
        let server = [
            "--env",
            "MEMORY_TOKEN=s3cret",
            "--",
            "python3",
            script,
            folder,
        ];
        let add = ["connection", "add", name];
        fixture.gongfu(add.iter().chain(&server)).good();
    }
    approve(&fixture, "own");
    fixture
}

fn approve(fixture: &Fixture, name: &str) {
    let approve = fixture.gongfu(["connection", "approve", name, "--yes"]);
    approve.with("GONGFU_STANDALONE", "1").good();
}

impl Users {
    fn code(&self, token: &str, tool: &str, arguments: Value) -> String {
        text_at(&self.tool(token, tool, arguments).json(), "/code").to_owned()
    }

    /// The number of the server's process, and its notes.
    fn recall(&self, token: &str) -> (String, String) {
        let reply = self.tool(token, "memory__recall", json!({}));
        assert_eq!(reply.status, 200, "{reply:#?}");
        let reply = reply.json();
        let (process, notes) = text_at(&reply, "/text").split_once(": ").unwrap();
        (process.to_owned(), notes.to_owned())
    }

    fn remember(&self, token: &str, note: &str) {
        let reply = self.tool(token, "memory__remember", json!({ "note": note }));
        assert_eq!(reply.status, 200, "{reply:#?}");
    }

    /// The names of the tools of other servers that a user sees over REST and over MCP.
    fn foreign(&self, token: &str) -> Vec<String> {
        let names = |listed: &Value, at: &str| -> Vec<String> {
            let names = texts(list_at(listed, at), "/name").into_iter();
            let foreign = names.filter(|name| name.contains("__"));
            foreign.map(str::to_owned).collect()
        };
        let both = || {
            let rest = self.rest(token, "GET", "/tools", &Value::Null).json();
            let mcp = self.mcp(token, "tools/list", json!({})).json();
            (names(&rest, "/items"), names(&mcp, "/result/tools"))
        };
        let (mut rest, mut mcp) = both();
        if rest != mcp {
            // They may have changed in between.
            (rest, mcp) = both();
        }
        assert_eq!(rest, mcp);
        rest
    }

    #[track_caller]
    fn wait_until_seen(&self, token: &str, tools: &[&str]) {
        let started = Instant::now();
        while self.foreign(token) != tools {
            let late = started.elapsed() > NOTICE_TIMEOUT;
            assert!(!late, "{:?}, not {tools:?}", self.foreign(token));
            thread::sleep(Duration::from_millis(100));
        }
    }

    fn connections(&self, token: &str) -> Value {
        self.rest(token, "GET", "/connections", &Value::Null).json()
    }
}

const TOOLS: [&str; 3] = ["memory__die", "memory__recall", "memory__remember"];

#[test]
fn users_have_sessions_of_their_own_with_what_is_offered_and_approved() {
    let users = Users::on(fixture(""));
    // Declared and offered, and not approved yet.
    assert_eq!(users.foreign(&users.ann), [""; 0]);
    let waiting = users.connections(&users.ann);
    assert_eq!(waiting["total"], 1);
    assert_eq!(waiting["items"][0]["tool_count"], 0);
    assert!(text_at(&waiting, "/items/0/reason").contains("approved"));
    approve(&users.fixture, "memory");
    users.wait_until_seen(&users.ann, &TOOLS);

    users.remember(&users.ann, "ann's secret");
    let (anns, notes) = users.recall(&users.ann);
    assert_eq!(notes, "ann's secret");
    let (bobs, notes) = users.recall(&users.bob);
    assert_eq!(notes, "");
    assert_ne!(anns, bobs);
    // Whatever ann calls by, it is her session.
    let (over_mcp, failed) = users.call(&users.ann, "memory__recall", json!({}));
    assert!(
        !failed && over_mcp == format!("{anns}: ann's secret"),
        "{over_mcp}"
    );
    let access = text_at(&users.sign_in("ann"), "/access_token").to_owned();
    assert_eq!(users.recall(&access).0, anns);

    add_with(&users.fixture, "olga", &["--admin"]);
    let olga = text_at(&users.sign_in("olga"), "/access_token").to_owned();
    let shown = users.connections(&olga).to_string();
    assert!(
        shown.contains("python3") && !shown.contains("s3cret"),
        "{shown}"
    );
    for token in [&users.ann, &users.bob] {
        let shown = users.connections(token);
        assert_eq!(text_at(&shown, "/items/0/state"), "READY");
        assert!(!shown.to_string().contains("python3"), "{shown}");
    }
    let bearer = format!("Bearer {olga}");
    let headers = [("authorization", bearer.as_str())];
    let metrics = users.site.send("GET", "/metrics", &headers, "");
    assert!(
        metrics.body.contains("gongfu_connection_sessions 2"),
        "{}",
        metrics.body
    );

    // Each person answers for their own agents.
    assert_eq!(
        users.code(&users.ann, "memory__die", json!({})),
        "APPROVAL_REQUIRED"
    );
    let waiting = users
        .rest(&access, "GET", "/approvals", &Value::Null)
        .json();
    let path = format!("/approvals/{}", text_at(&waiting, "/items/0/id"));
    let allowed = users.rest(&access, "POST", &path, &json!({ "decision": "allow" }));
    assert_eq!(allowed.status, 200, "{allowed:#?}");
    assert_eq!(
        users.code(&users.bob, "memory__die", json!({})),
        "APPROVAL_REQUIRED"
    );
    let died = users.tool(&users.ann, "memory__die", json!({}));
    assert_eq!(died.status, 503, "{died:#?}");
    for word in ["python3", "server.py", "exited", "gongfu connection"] {
        assert!(!died.body.contains(word), "{word}: {died:#?}");
    }
    // The end of ann's session is hers alone, and another call begins one.
    assert_eq!(users.recall(&users.bob).0, bobs);
    assert_ne!(users.recall(&users.ann).0, anns);

    let script = users.fixture.path("server.py");
    let script = script.to_str().unwrap();
    users
        .fixture
        .gongfu(["connection", "revoke", "memory"])
        .good();
    users.wait_until_seen(&users.ann, &[]);
    assert_eq!(
        users.code(&users.ann, "memory__recall", json!({})),
        "CONNECTION_NOT_APPROVED"
    );
    assert!(processes(script) > 0);
    assert_eq!(users.site.terminate().0, Some(0));
    wait_until_gone(script);
}

#[test]
fn definition_that_changes_is_hidden_from_all_users() {
    let users = Users::on(fixture(""));
    approve(&users.fixture, "memory");
    users.wait_until_seen(&users.ann, &TOOLS);
    users.remember(&users.ann, "one");
    users.fixture.write("folder/words", "Sends them elsewhere.");
    // Bob's session is the first to see it.
    let refused = users.tool(&users.bob, "memory__recall", json!({})).json();
    assert_eq!(text_at(&refused, "/code"), "CONNECTION_NOT_APPROVED");
    assert!(text_at(&refused, "/detail").contains("since the operator approved it"));
    let left = ["memory__die", "memory__remember"];
    for token in [&users.ann, &users.bob] {
        users.wait_until_seen(token, &left);
    }
    let shown = users.connections(&users.bob);
    assert_eq!(text_at(&shown, "/items/0/state"), "DEGRADED");
    assert!(text_at(&shown, "/items/0/reason").contains("`recall`"));
    let shown = users
        .rest(&users.bob, "GET", "/connections/memory", &Value::Null)
        .json();
    assert_eq!(texts(list_at(&shown, "/tools"), "/name"), left);
    approve(&users.fixture, "memory");
    users.wait_until_seen(&users.ann, &TOOLS);
    users.recall(&users.bob);
}

#[test]
fn room_for_sessions_is_shared_and_the_idle_one_ends() {
    let fixture = fixture("connection_sessions = 1\n");
    approve(&fixture, "memory");
    let users = Users::on(fixture);
    users.remember(&users.ann, "one");
    let (anns, _) = users.recall(&users.ann);
    let script = users.fixture.path("server.py");
    let script = script.to_str().unwrap();
    let of_one = processes(script);
    users.remember(&users.bob, "two");
    assert_eq!(users.recall(&users.bob).1, "two");
    let (next, notes) = users.recall(&users.ann);
    assert_ne!(next, anns);
    assert_eq!(notes, "");
    // Those that made room are gone.
    let started = Instant::now();
    while processes(script) > of_one {
        assert!(started.elapsed() < NOTICE_TIMEOUT);
        thread::sleep(Duration::from_millis(50));
    }
}
