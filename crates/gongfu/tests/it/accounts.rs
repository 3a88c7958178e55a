//! `gongfu serve --accounts` from outside: users who have nothing of each other, over the command line, REST and MCP.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gongfu_testing::client::TIMEOUT;
use gongfu_testing::json::{list_at, text_at};
use serde_json::{Value, json};

use crate::fixture::Fixture;
use crate::site::{Reply, Site};

/// Users of a server, each with a token.
struct Users {
    fixture: Fixture,
    site: Site,
    ann: String,
    bob: String,
}

fn password(name: &str) -> String {
    format!("four unrelated words of {name}")
}

fn add(fixture: &Fixture, name: &str) {
    let email = format!("{name}@example.com");
    let add = ["user", "add", name, "--email", &email, "--password-stdin"];
    fixture.gongfu(add).reading(password(name)).good();
}

fn token(fixture: &Fixture, name: &str, more: &[&str]) -> String {
    let create = [
        "token", "create", "--quiet", "--name", "test", "--user", name,
    ];
    let created = fixture.gongfu(create.iter().chain(more)).good();
    let token = created.text().trim_end().to_owned();
    assert!(
        token.starts_with("ask_live_") && token.len() == 73,
        "{token}"
    );
    token
}

fn serve(fixture: &Fixture) -> Site {
    Site::start(&fixture.only(["serve", "--accounts", "--listen", "127.0.0.1:0"]))
}

impl Users {
    fn new() -> Self {
        let fixture = Fixture::with_skills();
        for name in ["ann", "bob"] {
            add(&fixture, name);
        }
        let (ann, bob) = (token(&fixture, "ann", &[]), token(&fixture, "bob", &[]));
        Self {
            site: serve(&fixture),
            fixture,
            ann,
            bob,
        }
    }

    fn rest(&self, token: &str, method: &str, path: &str, body: &Value) -> Reply {
        let bearer = format!("Bearer {token}");
        let headers = [("authorization", bearer.as_str())];
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        self.site
            .send(method, &format!("/api/v1{path}"), &headers, &body)
    }

    fn tool(&self, token: &str, name: &str, arguments: Value) -> Reply {
        self.rest(token, "POST", &format!("/tools/{name}"), &arguments)
    }

    fn mcp(&self, token: &str, method: &str, params: Value) -> Reply {
        let bearer = format!("Bearer {token}");
        self.site
            .ask_with("/mcp", &[("authorization", &bearer)], method, params)
    }

    /// The text of a tool over MCP, and whether it failed.
    fn call(&self, token: &str, name: &str, arguments: Value) -> (String, bool) {
        let reply = self.mcp(
            token,
            "tools/call",
            json!({"name": name, "arguments": arguments}),
        );
        assert_eq!(reply.status, 200, "{reply:#?}");
        let result = &reply.json()["result"];
        let text = text_at(result, "/content/0/text").to_owned();
        (text, result["isError"] == true)
    }

    fn sign_in(&self, name: &str) -> Value {
        let body = json!({"email": format!("{name}@example.com"), "password": password(name)});
        let reply = self
            .site
            .send("POST", "/api/v1/auth/login", &[], &body.to_string());
        assert_eq!(reply.status, 200, "{reply:#?}");
        reply.json()
    }
}

/// The secret of a user, in their skill `budget` and in their workspace.
const SECRET: &str = "purple elephant";

impl Users {
    /// The same users, of whom ann has a skill and a file.
    fn with_secret() -> Self {
        let users = Self::new();
        let create = json!({
            "name": "budget", "description": format!("Reads a {SECRET}. Use it for each {SECRET}."),
            "instructions": SECRET,
        });
        let (created, failed) = users.call(&users.ann, "skill_create", create);
        assert!(!failed && created.contains("own/budget"), "{created}");
        let script = format!("echo {SECRET}\n");
        let write = json!({"skill_name": "budget", "path": "scripts/sum.sh", "content": script});
        assert_eq!(users.tool(&users.ann, "skill_write", write).status, 200);
        let command = "sh scripts/sum.sh | tee /workspace/sum.txt";
        let run = json!({"skill_name": "budget", "command": command});
        let ran = users.tool(&users.ann, "skill_run", run);
        assert!(ran.status == 200 && ran.body.contains(SECRET), "{ran:#?}");
        users
    }

    /// The folder of ann's skill, as the source has it: the folder of the skills, the user, the skill.
    fn folder(&self) -> PathBuf {
        let me = self.sign_in("ann");
        let me = self.rest(
            text_at(&me, "/access_token"),
            "GET",
            "/users/me",
            &Value::Null,
        );
        let skills = self.fixture.path("home").join("user-skills");
        skills.join(text_at(&me.json(), "/id")).join("budget")
    }

    /// Loads the skill `budget` of a user.
    fn budget(&self, token: &str) -> String {
        self.call(token, "skill_load", json!({"skill_name": "budget"}))
            .0
    }
}

#[test]
fn users_have_nothing_of_each_other() {
    let users = Users::with_secret();
    let folder = users.folder();
    let read = |path: &str| fs::read_to_string(folder.join(path)).unwrap();
    assert!(read("SKILL.md").contains(SECRET));
    assert_eq!(read("scripts/sum.sh"), format!("echo {SECRET}\n"));
    // Every tool that reads: first by the user whose it is.
    let run = json!({"skill_name": "budget", "command": "cat /workspace/sum.txt"});
    let file = json!({"skill_name": "budget", "path": "scripts/sum.sh"});
    for (name, arguments) in [
        ("skill_list", json!({})),
        ("skill_search", json!({"query": SECRET})),
        ("skill_load", json!({"skill_name": "budget"})),
        ("skill_read", file),
        ("file_read", json!({"path": "sum.txt"})),
        ("skill_run", run),
    ] {
        let (own, failed) = users.call(&users.ann, name, arguments.clone());
        assert!(!failed && own.contains(SECRET), "{name} {arguments}: {own}");
        let rest = users.tool(&users.ann, name, arguments.clone());
        assert!(
            rest.status == 200 && rest.body.contains(SECRET),
            "{name}: {rest:#?}"
        );
        let (other, _) = users.call(&users.bob, name, arguments.clone());
        assert!(!other.contains(SECRET), "{name} {arguments}: {other}");
        let rest = users.tool(&users.bob, name, arguments);
        assert!(!rest.body.contains(SECRET), "{name}: {rest:#?}");
    }
    // One name, two skills.
    let create = json!({"name": "budget", "description": "Another one of bob. Use it for bob."});
    assert_eq!(users.tool(&users.bob, "skill_create", create).status, 200);
    assert!(users.budget(&users.bob).contains("of bob"));
    assert!(users.budget(&users.ann).contains(SECRET));
}

#[test]
fn refused_request_leaves_its_connection_usable() {
    let users = Users::new();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    let request = Site::wire("POST", "/mcp", &[], &body);
    let (head, body) = request.split_at(request.len() - body.len());
    let mut stream = users.site.connect();
    let mut answer = |piece: &[&str]| {
        for part in piece {
            stream.write_all(part.as_bytes()).unwrap();
            std::thread::sleep(Duration::from_millis(20));
        }
        let mut seen = vec![0; 16_384];
        let read = stream.read(&mut seen).unwrap();
        String::from_utf8_lossy(&seen[..read]).into_owned()
    };
    for round in 0..5 {
        let refused = answer(&[head, body]);
        assert!(refused.starts_with("HTTP/1.1 401"), "{round}: {refused}");
    }
    // A body without end isn't waited for, and the client is told.
    let long = head.replace(
        &format!("content-length: {}", body.len()),
        "content-length: 9999999",
    );
    let refused = answer(&[&long, body]);
    assert!(
        refused.starts_with("HTTP/1.1 401") && refused.contains("connection: close"),
        "{refused}"
    );
}

#[test]
fn change_by_hand_is_reported_and_not_served() {
    let users = Users::with_secret();
    let doctor = || users.fixture.gongfu(["doctor"]).run().text();
    assert!(doctor().contains("2 users"), "{}", doctor());
    let script = users.folder().join("scripts/sum.sh");
    fs::write(&script, "echo changed\n").unwrap();
    assert!(
        doctor().contains("1 skill of users changed by hand"),
        "{}",
        doctor()
    );
    let run = json!({"skill_name": "budget", "command": "sh scripts/sum.sh"});
    let ran = users.tool(&users.ann, "skill_run", run);
    assert!(
        ran.body.contains(SECRET) && !ran.body.contains("echo changed"),
        "{ran:#?}"
    );
    assert_eq!(
        fs::read_to_string(&script).unwrap(),
        format!("echo {SECRET}\n")
    );
    // What was changed is still there.
    assert!(doctor().contains(".changed"), "{}", doctor());
}

#[test]
fn shared_skills_are_everybodys_and_nobodys_to_change() {
    let users = Users::new();
    let write = json!({"skill_name": "pdf-tools", "path": "x.md", "content": "x"});
    for token in [&users.ann, &users.bob] {
        let (text, failed) = users.call(token, "skill_load", json!({"skill_name": "pdf-tools"}));
        assert!(!failed, "{text}");
        let refused = users.tool(token, "skill_write", write.clone());
        assert_eq!(text_at(&refused.json(), "/code"), "SOURCE_READ_ONLY");
    }
}

#[test]
fn skills_stay_after_a_restart_and_go_with_their_user() {
    let Users {
        fixture,
        site,
        ann,
        bob,
    } = Users::with_secret();
    assert_eq!(site.terminate().0, Some(0));
    let users = Users {
        site: serve(&fixture),
        fixture,
        ann,
        bob,
    };
    assert!(users.budget(&users.ann).contains(SECRET));
    let folder = users.folder();
    assert!(folder.exists());
    let fixture = &users.fixture;
    fixture.gongfu(["user", "delete", "ann", "--yes"]).good();
    // A credential that was just used counts for half a second.
    std::thread::sleep(Duration::from_millis(600));
    assert_eq!(users.mcp(&users.ann, "tools/list", json!({})).status, 401);
    assert!(!folder.exists());
    let left = files_with(&fixture.path("home"), SECRET);
    assert_eq!(left, Vec::<String>::new());
}

/// The files below a folder that hold a text, but for those of the database, whose free pages stay for a while.
fn files_with(folder: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(files_with(&path, text));
        } else if let Ok(bytes) = fs::read(&path)
            && !path.to_string_lossy().contains("server.db")
            && bytes
                .windows(text.len())
                .any(|window| window == text.as_bytes())
        {
            found.push(path.display().to_string());
        }
    }
    found
}

#[test]
fn credential_decides_what_is_listed_and_called() {
    let users = Users::new();
    let names = |token: &str| -> Vec<String> {
        let listed = users.mcp(token, "tools/list", json!({})).json();
        let tools = list_at(&listed, "/result/tools").iter();
        tools
            .map(|tool| text_at(tool, "/name").to_owned())
            .collect()
    };
    assert_eq!(names(&users.ann).len(), 12);
    let reader = token(&users.fixture, "ann", &["--scope", "skills:read"]);
    let listed = names(&reader);
    assert!(
        listed
            .iter()
            .all(|name| !name.contains("run") && !name.contains("write")),
        "{listed:?}"
    );
    assert!(listed.contains(&"skill_load".to_owned()));
    let (refused, failed) = users.call(
        &reader,
        "skill_run",
        json!({"skill_name": "pdf-tools", "command": "id"}),
    );
    assert!(failed && refused.contains("skills:run"), "{refused}");
    let runner = token(&users.fixture, "ann", &["--scope", "skills:run"]);
    assert!(
        users
            .call(&runner, "skill_load", json!({"skill_name": "pdf-tools"}))
            .1
    );

    // A token for some skills knows no other.
    let few = token(
        &users.fixture,
        "ann",
        &["--skill", "pdf-tools", "--profile", "agentskills"],
    );
    let listed = names(&few);
    assert!(
        listed.contains(&"load_skill".to_owned()) && listed.len() == 4,
        "{listed:?}"
    );
    let (metadata, _) = users.call(&few, "load_skill_metadata", json!({}));
    assert_eq!(metadata.lines().count(), 2, "{metadata}");
    let (text, failed) = users.call(&few, "load_skill", json!({"skill_name": "pdf-tools"}));
    assert!(!failed, "{text}");
    let (every, _) = users.call(&users.ann, "skill_list", json!({}));
    let other = every.lines().find_map(|line| {
        line.strip_prefix("- ")?
            .split(':')
            .next()
            .filter(|name| *name != "pdf-tools")
    });
    let (text, failed) = users.call(&few, "load_skill", json!({"skill_name": other.unwrap()}));
    assert!(failed && text.contains("SKILL_NOT_FOUND"), "{text}");

    // No credential, wrong ones, and ones that count no more.
    for (bearer, code) in [
        (None, "UNAUTHORIZED"),
        (Some("x"), "INVALID_TOKEN_FORMAT"),
        (
            Some("ask_live_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"),
            "INVALID_TOKEN_FORMAT",
        ),
    ] {
        let header = bearer.map(|bearer| format!("Bearer {bearer}"));
        let headers: Vec<(&str, &str)> = header
            .iter()
            .map(|header| ("authorization", header.as_str()))
            .collect();
        let reply = users
            .site
            .ask_with("/mcp", &headers, "tools/list", json!({}));
        assert_eq!(
            (reply.status, text_at(&reply.json(), "/code")),
            (401, code),
            "{reply:#?}"
        );
        let challenge = reply.header("www-authenticate");
        assert!(
            challenge.contains("resource_metadata=\"http://127.0.0.1:"),
            "{challenge}"
        );
    }
    let expired = token(&users.fixture, "ann", &["--expires", "1s"]);
    std::thread::sleep(Duration::from_millis(1_100));
    let reply = users.mcp(&expired, "tools/list", json!({}));
    assert_eq!(text_at(&reply.json(), "/code"), "TOKEN_EXPIRED");
    users.fixture.gongfu(["user", "disable", "bob"]).good();
    // A credential that was just used counts for half a second.
    std::thread::sleep(Duration::from_millis(600));
    assert_eq!(
        text_at(
            &users.mcp(&users.bob, "tools/list", json!({})).json(),
            "/code"
        ),
        "TOKEN_REVOKED"
    );
    users
        .fixture
        .gongfu(["user", "disable", "bob", "--undo"])
        .good();
    assert_eq!(users.mcp(&users.bob, "tools/list", json!({})).status, 200);
}

#[test]
fn stream_ends_when_its_token_is_revoked() {
    let users = Users::new();
    let listed = users
        .fixture
        .gongfu(["token", "list", "--user", "ann", "--json"])
        .good()
        .json();
    let id = text_at(&listed, "/tokens/0/id").to_owned();
    let run = json!({"skill_name": "pdf-tools", "command": "for n in 1 2 3 4 5 6 7 8 9; do echo $n; sleep 2; done", "timeout": 60});
    let params = json!({"name": "skill_run", "arguments": run, "_meta": {
        "progressToken": 1,
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }});
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let bearer = format!("Bearer {}", users.ann);
    let headers = [
        ("authorization", bearer.as_str()),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "skill_run"),
    ];
    let mut stream = users.site.connect();
    stream
        .write_all(Site::wire("POST", "/mcp", &headers, &body).as_bytes())
        .unwrap();
    let mut seen = vec![0; 4_096];
    let mut text = String::new();
    while !text.contains("data:") {
        let read = stream.read(&mut seen).unwrap();
        assert!(read > 0, "{text}");
        text += &String::from_utf8_lossy(&seen[..read]);
    }
    users
        .fixture
        .gongfu(["token", "revoke", &id, "--user", "ann"])
        .good();
    let revoked = Instant::now();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    while !text.ends_with("0\r\n\r\n") {
        let read = stream.read(&mut seen).unwrap();
        if read == 0 {
            break;
        }
        text += &String::from_utf8_lossy(&seen[..read]);
    }
    // The command itself takes eighteen seconds.
    assert!(
        revoked.elapsed() < Duration::from_secs(9),
        "{:?}",
        revoked.elapsed()
    );
    assert!(!text.contains("\"result\""), "{text}");
    assert_eq!(users.mcp(&users.ann, "tools/list", json!({})).status, 401);
}

#[test]
fn accounts_survive_in_a_backup_and_the_audit_shows_every_change() {
    let users = Users::new();
    let create = json!({"name": "budget", "description": "Reads budgets. Use it for budgets."});
    assert_eq!(users.tool(&users.ann, "skill_create", create).status, 200);
    let write = json!({"path": "notes.txt", "content": "mine"});
    assert_eq!(users.tool(&users.ann, "file_write", write).status, 200);
    let (fixture, copy) = (&users.fixture, users.fixture.path("copy"));
    let copy = copy.to_str().unwrap();
    // The server runs.
    let saved = fixture.gongfu(["backup", copy, "--json"]).good().json();
    assert_eq!(
        (&saved["users"], &saved["blobs"], &saved["files"]),
        (&json!(2), &json!(1), &json!(1))
    );
    fixture.gongfu(["backup", copy]).ends(1);
    let audit = fixture
        .gongfu(["audit", "export", "--user", "ann"])
        .good()
        .text();
    let events: Vec<Value> = audit
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let event = |name: &str| events.iter().any(|event| event["entry"]["event"] == name);
    assert!(event("skill.create"), "{audit}");
    assert!(
        fixture
            .gongfu(["audit", "verify"])
            .good()
            .text()
            .starts_with("3 audits are whole")
    );

    let home = fixture.path("restored");
    let restored = |arguments: &[&str]| fixture.only(arguments).with("GONGFU_HOME", &home);
    let restore = || fixture.gongfu(["restore", copy]).with("GONGFU_HOME", &home);
    restore().good();
    restore().ends(1);
    let site = Site::start(&restored(&[
        "serve",
        "--accounts",
        "--listen",
        "127.0.0.1:0",
    ]));
    let bearer = format!("Bearer {}", users.ann);
    let ask = |name: &str, arguments: Value| {
        let params = json!({"name": name, "arguments": arguments});
        site.ask_with("/mcp", &[("authorization", &bearer)], "tools/call", params)
            .json()
            .to_string()
    };
    assert!(ask("skill_load", json!({"skill_name": "budget"})).contains("Reads budgets"));
    assert!(ask("file_read", json!({"path": "notes.txt"})).contains("mine"));
    drop(site);

    // One byte of one content.
    let blobs = fixture.path("copy/users");
    let blob = first_file(&blobs);
    fs::write(
        &blob,
        fs::read_to_string(&blob)
            .unwrap()
            .replace("budgets", "badgets"),
    )
    .unwrap();
    let home = fixture.path("other");
    let damaged = fixture
        .gongfu(["restore", copy])
        .with("GONGFU_HOME", &home)
        .ends(1);
    assert!(
        damaged.stderr.contains("another digest"),
        "{}",
        damaged.stderr
    );
    assert!(!home.join("server.db").exists());
}

fn first_file(folder: &Path) -> PathBuf {
    let path = fs::read_dir(folder)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    if path.is_dir() {
        first_file(&path)
    } else {
        path
    }
}

#[test]
fn mistakes_of_an_operator_are_refused_with_the_way_on() {
    let fixture = Fixture::new();
    for (arguments, code) in [
        (
            vec!["user", "add", "ann", "--email", "ann@example.com"],
            "PASSWORD_REQUIRED",
        ),
        (vec!["user", "delete", "ann"], "USER_NOT_FOUND"),
        (vec!["user", "disable", "ann@example.com"], "USER_NOT_FOUND"),
        (vec!["token", "list", "--user", "../x"], "USER_NOT_FOUND"),
        (vec!["serve", "--listen", "0.0.0.0:0"], "ADDRESS_OPEN"),
        (
            vec!["serve", "--accounts", "--listen", "0.0.0.0:0"],
            "ADDRESS_OPEN",
        ),
        (vec!["restore", "nowhere"], "BACKUP_UNUSABLE"),
    ] {
        let refused = fixture.gongfu(&arguments).run();
        assert!(
            refused.stderr.contains(&format!("error[{code}]")),
            "{arguments:?}: {}",
            refused.stderr
        );
        assert!(
            refused.stderr.contains("hint: "),
            "{arguments:?}: {}",
            refused.stderr
        );
    }
    add(&fixture, "ann");
    let wrong = |more: &[&str]| {
        let create = ["token", "create", "--name", "t", "--user", "ann"];
        fixture
            .gongfu(create.iter().chain(more))
            .run()
            .stderr
            .clone()
    };
    assert!(wrong(&["--expires", "soon"]).contains("30d"));
    assert!(wrong(&["--expires", "2020-01-01"]).contains("in the past"));
    assert!(wrong(&["--scope", "admin"]).contains("only an admin"));
    assert!(wrong(&["--scope", "skills:all"]).contains("skills:read"));
    let again = [
        "user",
        "add",
        "ANN",
        "--email",
        "other@example.com",
        "--password-stdin",
    ];
    let again = fixture.gongfu(again).reading(password("x")).ends(1);
    assert!(again.stderr.contains("USERNAME_TAKEN"), "{}", again.stderr);
    let _site = serve(&fixture);
    let second = ["serve", "--accounts", "--listen", "127.0.0.1:0"];
    let second = fixture.only(second).ends(1);
    assert!(
        second.stderr.contains("SERVER_RUNNING"),
        "{}",
        second.stderr
    );
}
