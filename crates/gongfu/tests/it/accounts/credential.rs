//! Credentials over HTTP: what they let their users do, and how long.

use std::io::{Read as _, Write as _};
use std::time::{Duration, Instant};

use gongfu_testing::client::TIMEOUT;
use gongfu_testing::json::{list_at, text_at};
use serde_json::json;

use super::{Users, token};
use crate::site::Site;

/// The full name of a skill that all share.
fn full_name(users: &Users, name: &str) -> String {
    let listed = users.tool(&users.ann, "skill_list", json!({})).json();
    let mut skills = list_at(&listed, "/data/skills").iter();
    let skill = skills.find(|skill| text_at(skill, "/name") == name);
    text_at(skill.unwrap(), "/full_name").to_owned()
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
        &[
            "--skill",
            &full_name(&users, "pdf-tools"),
            "--profile",
            "agentskills",
        ],
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
}

#[test]
fn missing_and_wrong_credentials_are_refused_for_one_reason_each() {
    let users = Users::new();
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
fn call_ends_when_its_user_is_disabled() {
    let users = Users::new();
    let run = json!({"skill_name": "pdf-tools", "command": "touch started; sleep 20; touch ended", "timeout": 60});
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let calls = [
            scope.spawn(|| users.tool(&users.ann, "skill_run", run.clone())),
            scope.spawn(|| {
                let params = json!({"name": "skill_run", "arguments": run});
                users.mcp(&users.ann, "tools/call", params)
            }),
        ];
        std::thread::sleep(Duration::from_secs(3));
        users.fixture.gongfu(["user", "disable", "ann"]).good();
        for call in calls {
            let reply = call.join().unwrap();
            assert_eq!(
                (reply.status, text_at(&reply.json(), "/code")),
                (401, "TOKEN_REVOKED"),
                "{reply:#?}"
            );
        }
    });
    // The command itself takes twenty seconds.
    assert!(
        begun.elapsed() < Duration::from_secs(15),
        "{:?}",
        begun.elapsed()
    );
    users
        .fixture
        .gongfu(["user", "disable", "ann", "--undo"])
        .good();
    let (listed, _) = users.call(&users.ann, "file_list", json!({}));
    assert!(!listed.contains("ended"), "{listed}");
    assert!(!listed.contains("on this machine"), "{listed}");
}

#[test]
fn limited_token_takes_the_name_of_no_other_skill() {
    let users = Users::new();
    let document = |name: &str, text: &str| {
        format!("---\nname: {name}\ndescription: Counts things. Use it.\n---\n{text}")
    };
    for name in ["mine", "other"] {
        let create = json!({"name": name, "description": "Counts things. Use it to count."});
        assert_eq!(
            users.rest(&users.ann, "POST", "/skills", &create).status,
            201
        );
    }
    let few = token(
        &users.fixture,
        "ann",
        &["--skill", "mine", "--skill", "own/new"],
    );
    let rename = |token: &str, name: &str| {
        let write =
            json!({"skill_name": "mine", "path": "SKILL.md", "content": document(name, "EVIL")});
        users.tool(token, "skill_write", write)
    };
    assert_eq!(rename(&few, "mine").status, 200);
    for name in ["other", "pdf-tools", "unused"] {
        let refused = rename(&few, name);
        assert_eq!(
            (refused.status, text_at(&refused.json(), "/code")),
            (403, "FORBIDDEN"),
            "{refused:#?}"
        );
    }
    // Without a limit only a name that is taken is refused.
    for name in ["other", "pdf-tools"] {
        let refused = rename(&users.ann, name);
        assert_eq!(
            (refused.status, text_at(&refused.json(), "/code")),
            (409, "SKILL_EXISTS"),
            "{refused:#?}"
        );
    }
    let create = |name: &str| {
        let create = json!({"name": name, "description": "Counts things. Use it to count."});
        users.rest(&few, "POST", "/skills", &create)
    };
    let refused = create("third");
    assert_eq!(
        (refused.status, text_at(&refused.json(), "/code")),
        (403, "FORBIDDEN"),
        "{refused:#?}"
    );
    assert_eq!(create("new").status, 201);
}
