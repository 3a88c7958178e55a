//! Tests of connections: their names, files, definitions, pins and health.

use serde_json::{Map, Value, json};

use super::{
    Connection, ConnectionName, ConnectionPin, Definition, Entry, FileKind, Health, OAuthClient,
    Outcome, PinnedTool, Program, Reading, State, Target, Verdict, expand, read, wire_name,
};
use crate::capability::Safety;

fn no_variable(_name: &str) -> Option<String> {
    None
}

fn name(text: &str) -> ConnectionName {
    ConnectionName::new(text).unwrap()
}

fn only(reading: &Reading) -> &Entry {
    let [entry] = &reading.entries[..] else {
        panic!("{reading:?}");
    };
    entry
}

fn program(connection: &Connection) -> &Program {
    let Target::Program(program) = &connection.target else {
        panic!("{connection:?}");
    };
    program
}

#[test]
fn name_has_no_character_that_means_something() {
    for good in ["a", "chrome_devtools", "web-search2", "1password"] {
        assert!(ConnectionName::new(good).is_ok(), "{good}");
    }
    for bad in [
        "",
        "A",
        "a__b",
        "_a",
        "a-",
        "a.b",
        "a b",
        "../a",
        "é",
        &"x".repeat(33),
    ] {
        assert!(ConnectionName::new(bad).is_err(), "{bad}");
    }
}

#[test]
fn foreign_name_is_adapted() {
    let (long, cut) = ("x".repeat(40), "x".repeat(32));
    for (text, adapted) in [
        ("GitHub MCP (beta)", Some("github-mcp-beta")),
        ("a__b", Some("a_b")),
        ("@scope/server.name", Some("scope-server-name")),
        ("日本", None),
        (&*long, Some(&*cut)),
    ] {
        let nearest = ConnectionName::nearest(text);
        assert_eq!(
            nearest.as_ref().map(ConnectionName::as_str),
            adapted,
            "{text}"
        );
    }
}

#[test]
fn wire_names_are_short_plain_and_apart() {
    let files = name("files");
    assert_eq!(wire_name(&files, "read_file"), "files__read_file");
    let long = [100, 101].map(|length| "x".repeat(length));
    let odd = ["a.b", "a/b", "a b", "", &long[0], &long[1]];
    let mut names: Vec<String> = odd.map(|tool| wire_name(&files, tool)).to_vec();
    for name in &names {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        assert!(name.len() <= 64 && name.bytes().all(is_plain), "{name}");
    }
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), odd.len());
}

#[test]
fn file_of_the_source_is_read() {
    let file = json!({ "connections": [
        { "name": "chrome_devtools", "command": "/usr/local/bin/chrome-mcp", "args": ["--headless"],
          "env": { "CHANNEL": "stable" }, "workdir": "/tmp", "safety": "HIGH",
          "tools": ["navigate_page", "take_screenshot"] },
        { "name": "web_search", "command": "/usr/local/bin/web-search-mcp", "args": [], "safety": "MEDIUM",
          "tools": ["web_search"] },
    ] });
    let reading = read(&file, FileKind::Own(&no_variable));
    assert_eq!(reading.mistakes, []);
    let [chrome, search] = &reading.entries[..] else {
        panic!("{reading:?}");
    };
    assert_eq!(chrome.connection.safety, Some(Safety::High));
    assert!(chrome.connection.wants("take_screenshot") && !chrome.connection.wants("other"));
    assert_eq!(program(&chrome.connection).folder.as_deref(), Some("/tmp"));
    assert_eq!(program(&chrome.connection).environment["CHANNEL"], "stable");
    assert_eq!(search.place, ["connections", "1"]);
}

#[test]
fn files_of_clients_are_read() {
    let stdio = json!({ "command": "npx", "args": ["-y", "x"] });
    for file in [
        json!({ "mcpServers": { "a": stdio } }),
        json!({ "servers": { "a": { "type": "stdio", "command": "npx", "args": ["-y", "x"] } }, "inputs": [] }),
        json!({ "mcp_servers": { "a": stdio }, "model": "m" }),
        json!({ "context_servers": { "a": stdio } }),
        json!({ "extensions": { "a": { "cmd": "npx", "args": ["-y", "x"], "type": "stdio" } } }),
        json!({ "mcp": { "a": { "type": "local", "command": ["npx", "-y", "x"] } } }),
        json!({ "mcp": { "servers": { "a": { "type": "local", "command": ["npx", "-y", "x"] } } } }),
        json!([{ "name": "a", "command": "npx", "args": ["-y", "x"] }]),
        json!({ "name": "a", "command": "npx", "args": ["-y", "x"] }),
    ] {
        let reading = read(&file, FileKind::Client);
        assert_eq!(reading.mistakes, [], "{file}");
        let connection = &only(&reading).connection;
        assert_eq!(connection.name, name("a"), "{file}");
        assert_eq!(program(connection).command, "npx", "{file}");
        assert_eq!(program(connection).arguments, ["-y", "x"], "{file}");
    }
    for word in ["url", "httpUrl", "serverUrl", "uri"] {
        let file = json!({ "mcpServers": { "a": { word: "https://example.com/mcp", "headers": { "X": "1" } } } });
        let reading = read(&file, FileKind::Client);
        let Target::Url(url) = &only(&reading).connection.target else {
            panic!("{file}");
        };
        assert_eq!(
            (&*url.url, &*url.headers["X"]),
            ("https://example.com/mcp", "1")
        );
    }
    let disabled = json!({ "mcpServers": { "a": { "command": "x", "disabled": true } } });
    assert!(only(&read(&disabled, FileKind::Client)).is_disabled);
}

#[test]
fn bad_entry_is_told_and_the_others_are_read() {
    let bad = [
        (json!(1), "must be a table"),
        (json!({}), "neither `command` nor `url`"),
        (json!({ "command": "" }), "empty"),
        (json!({ "command": [] }), "empty"),
        (json!({ "command": 1 }), "`command` must be a text"),
        (
            json!({ "command": "x", "url": "https://e" }),
            "a command and an address",
        ),
        (json!({ "url": "ftp://e" }), "https://"),
        (
            json!({ "command": "x", "args": "y" }),
            "`args` must be a list of texts",
        ),
        (
            json!({ "command": "x", "args": [1] }),
            "`args` must be a list of texts",
        ),
        (
            json!({ "command": "x", "env": { "A": [] } }),
            "`env` must be a table of texts",
        ),
        (
            json!({ "command": "x", "env": { "A=B": "c" } }),
            "`env` has a name",
        ),
        (json!({ "command": "x\0" }), "zero byte"),
        (
            json!({ "command": "x", "safety": "EXTREME" }),
            "safety level",
        ),
        (
            json!({ "command": "x", "tools": {} }),
            "`tools` must be a list",
        ),
        (
            json!({ "command": "${MISSING}" }),
            "`${MISSING}` has no value",
        ),
        (
            json!({ "url": "https://e", "type": "sse" }),
            "`sse` is not supported",
        ),
        (
            json!({ "command": "x", "sandbox": "yes" }),
            "`sandbox` must be true, false or a table",
        ),
        (
            json!({ "command": "x", "Sandbox": true }),
            "write `sandbox`",
        ),
        (
            json!({ "url": "https://e", "sandbox": true }),
            "no `sandbox`",
        ),
    ];
    for (entry, part) in bad {
        let file = json!({ "connections": { "bad": entry, "good": { "command": "x" } } });
        let reading = read(&file, FileKind::Own(&no_variable));
        assert_eq!(only(&reading).connection.name, name("good"), "{file}");
        let [mistake] = &reading.mistakes[..] else {
            panic!("{file}: {reading:?}");
        };
        assert!(mistake.what.contains(part), "{file}: {}", mistake.what);
        assert_eq!(mistake.place, ["connections", "bad"]);
    }
    for file in [json!(1), json!("x"), json!({ "connections": 1 }), json!({})] {
        let reading = read(&file, FileKind::Own(&no_variable));
        assert!(
            reading.entries.is_empty() && reading.mistakes.len() == 1,
            "{file}"
        );
    }
    let twice = json!([{ "name": "a", "command": "x" }, { "name": "a", "command": "y" }]);
    let reading = read(&twice, FileKind::Own(&no_variable));
    assert_eq!(program(&only(&reading).connection).command, "x");
    assert!(reading.mistakes[0].what.contains("already"));
    let both = json!({ "mcpServers": {}, "connections": { "a": { "command": "x" } } });
    let reading = read(&both, FileKind::Own(&no_variable));
    assert_eq!(only(&reading).connection.name, name("a"));
    assert_eq!(reading.mistakes[0].place, ["mcpServers"]);
    assert!(read(&both, FileKind::Client).mistakes.is_empty());
    let odd = json!({ "connections": { "My Server": { "command": "x" } } });
    let own = read(&odd, FileKind::Own(&no_variable));
    assert!(own.mistakes[0].what.ends_with("call it `my-server`"));
    assert_eq!(
        only(&read(&odd, FileKind::Client)).connection.name,
        name("my-server")
    );
}

#[test]
fn variables_are_filled_in() {
    let value = |name: &str| (name == "HOME").then(|| "/h".to_owned());
    for (text, expanded) in [
        ("${HOME}/x", "/h/x"),
        ("${env:HOME}${HOME}", "/h/h"),
        ("${NO:-d}-$HOME-${", "d-$HOME-${"),
        ("${NO:-}", ""),
    ] {
        assert_eq!(expand(text, &value).as_deref(), Ok(expanded));
    }
    assert!(expand("${input:key}", &value).is_err());
}

#[test]
fn secrets_are_named_and_not_shown() {
    let file = json!({ "name": "a", "command": "x", "args": ["one two", "\u{1b}[2K"],
        "env": { "GITHUB_TOKEN": "t0p", "API_KEY": "k3y", "MONKEY": "plain", "NODE_OPTIONS": "--require e" } });
    let connection = only(&read(&file, FileKind::Own(&no_variable)))
        .connection
        .clone();
    let lines = connection.target.lines().join("\n");
    assert!(!lines.contains("t0p") && !lines.contains("k3y"), "{lines}");
    assert!(lines.contains("NODE_OPTIONS=--require e") && lines.contains("GITHUB_TOKEN"));
    assert!(lines.contains("argument: one two") && lines.contains("\\u{1b}[2K"));
    assert!(!format!("{connection:?}").contains("t0p"));
    // Another secret is the same target; another command is not.
    let with = |path: &str, value: &str| {
        let mut file = file.clone();
        *file.pointer_mut(path).unwrap() = value.into();
        only(&read(&file, FileKind::Own(&no_variable)))
            .connection
            .target
            .digest()
    };
    assert_eq!(with("/env/GITHUB_TOKEN", "new"), connection.target.digest());
    for path in ["/command", "/args/0", "/env/NODE_OPTIONS"] {
        assert_ne!(with(path, "new"), connection.target.digest(), "{path}");
    }
    // Two texts that look the same to a person.
    for (one, other) in [("a\nb", "a\\nb"), ("\u{1b}", "\\u{1b}")] {
        assert_ne!(with("/args/0", one), with("/args/0", other));
    }
}

fn definition(name: &str, description: &str, schema: Value) -> Definition {
    let Value::Object(input_schema) = schema else {
        panic!("{schema}");
    };
    Definition {
        name: name.to_owned(),
        title: None,
        description: description.to_owned(),
        input_schema,
        output_schema: None,
        is_read_only: false,
        is_destructive: false,
        ui: Map::new(),
    }
}

#[test]
fn order_of_fields_is_no_change_and_every_word_is() {
    let one = definition(
        "a",
        "b",
        json!({ "type": "object", "x": { "p": 1, "q": [2] } }),
    );
    let same = definition(
        "a",
        "b",
        json!({ "x": { "q": [2], "p": 1 }, "type": "object" }),
    );
    assert_eq!(one.digest(), same.digest());
    let others = [
        definition(
            "a",
            "B",
            json!({ "type": "object", "x": { "p": 1, "q": [2] } }),
        ),
        definition(
            "a",
            "b",
            json!({ "type": "object", "x": { "p": 1, "q": [3] } }),
        ),
        Definition {
            title: Some("t".to_owned()),
            ..one.clone()
        },
        Definition {
            is_read_only: true,
            ..one.clone()
        },
        Definition {
            output_schema: Some(Map::new()),
            ..one.clone()
        },
    ];
    for other in others {
        assert_ne!(other.digest(), one.digest(), "{other:?}");
    }
}

#[test]
fn server_raises_the_safety_level_and_never_lowers_it() {
    let plain = definition("a", "", json!({}));
    let destructive = Definition {
        is_destructive: true,
        ..plain.clone()
    };
    let reading = Definition {
        is_read_only: true,
        ..plain.clone()
    };
    assert_eq!(plain.safety(Safety::Medium), Safety::Medium);
    assert_eq!(destructive.safety(Safety::Low), Safety::High);
    assert_eq!(destructive.safety(Safety::Critical), Safety::Critical);
    assert_eq!(reading.safety(Safety::High), Safety::High);
}

#[test]
fn hidden_words_of_a_definition_are_seen() {
    let hidden = definition("a", "adds\u{e0041}\u{200b} numbers", json!({}));
    assert!(hidden.has_hidden_characters());
    assert!(hidden.description().contains("\\u{e0041}") && hidden.text().contains("\\u{200b}"));
    assert!(!definition("a", "adds\nnumbers – 日本 \"x\"", json!({})).has_hidden_characters());
    let long = definition("a", &"x".repeat(100_000), json!({}));
    assert!(long.description().chars().count() < 10_000);
    let lines = definition("two", "one\n\ttwo\n", json!({}));
    assert_eq!(lines.description(), "one\n\ttwo\n");
}

#[test]
fn change_hides_a_tool_until_it_is_approved_again() {
    let connection = Connection {
        tools: Some(["a", "b", "c"].map(str::to_owned).to_vec()),
        ..only(&read(
            &json!({ "name": "s", "command": "x" }),
            FileKind::Own(&no_variable),
        ))
        .connection
        .clone()
    };
    let pinned = ["a", "b"].map(|name| definition(name, "old", json!({})));
    let tools = pinned.map(|tool| (tool.name.clone(), PinnedTool::new(tool)));
    let pin = ConnectionPin {
        tools: tools.into_iter().collect(),
        ..ConnectionPin::default()
    };
    let offered = [
        definition("a", "old", json!({})),
        definition("b", "new", json!({})),
        definition("unwanted", "new", json!({})),
    ];
    let verdict = pin.judge(&connection, &offered.map(PinnedTool::new));
    assert_eq!(verdict.usable, ["a"]);
    assert_eq!(verdict.changed.len(), 1);
    let change = &verdict.changed[0];
    assert!(
        change.before.as_ref().unwrap().contains("old")
            && change.now.as_ref().unwrap().contains("new")
    );
    assert!(verdict.new.is_empty());
    assert_eq!(verdict.missing, ["c"]);
}

#[test]
fn health_follows_what_happens() {
    let second = std::time::Duration::from_secs(1);
    let mut health = Health::new("not started");
    assert_eq!((health.state(), health.is_usable()), (State::Init, true));
    health.connected(&Verdict::default());
    assert_eq!((health.state(), health.reason()), (State::Ready, None));
    for _ in 0..5 {
        health.called(Outcome::Failed);
    }
    assert_eq!(health.state(), State::Degraded);
    for _ in 0..6 {
        health.called(Outcome::Answered(second));
    }
    assert_eq!(health.state(), State::Ready);
    for _ in 0..5 {
        health.called(Outcome::Answered(30 * second));
    }
    assert_eq!(health.state(), State::Degraded);
    let missing = Verdict {
        missing: vec!["a".to_owned()],
        ..Verdict::default()
    };
    health.connected(&missing);
    assert_eq!(health.state(), State::Degraded);
    assert!(health.reason().unwrap().contains("`a`"));
    health.listed(&Verdict::default());
    assert_eq!(health.state(), State::Ready);
    assert!(health.probed(false) && health.state() == State::Ready);
    assert!(health.probed(false) && health.state() == State::Degraded);
    assert!(health.probed(true) && health.state() == State::Ready);
    for _ in 0..3 {
        assert!(health.probed(false));
    }
    assert!(!health.probed(false));
}

#[test]
fn restarts_are_bounded_and_ever_later() {
    let mut health = Health::new("not started");
    let end = |health: &mut Health, seconds| {
        let after = std::time::Duration::from_secs(seconds);
        health.ended("it exited".to_owned(), after, 0.0)
    };
    let mut pauses = Vec::new();
    while let Some(pause) = end(&mut health, 0) {
        assert_eq!((health.state(), health.is_usable()), (State::Dead, false));
        pauses.push(pause);
        assert!(pauses.len() < 20);
    }
    assert!(pauses.is_sorted() && pauses.len() == 6);
    // One that crashes keeps its tools for the next call, unless it does so again and again.
    let mut crashing = Health::new("not started");
    let usable = [(); 3].map(|()| {
        crashing.connected(&Verdict::default());
        end(&mut crashing, 1);
        crashing.is_usable()
    });
    assert_eq!(usable, [true, true, false]);
    // One that worked for a minute starts anew.
    health.connected(&Verdict::default());
    assert_eq!(end(&mut health, 59), None);
    health.connected(&Verdict::default());
    assert_eq!(end(&mut health, 60), pauses.first().copied());
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

#[test]
fn client_of_a_sign_in_is_read_in_the_words_of_each_client() {
    let file = json!({ "mcpServers": {
        "claude": { "url": "https://a.example/mcp", "oauth": { "clientId": "one", "callbackPort": 8080 } },
        "cursor": { "url": "https://b.example/mcp", "auth": {
            "CLIENT_ID": "two", "CLIENT_SECRET": "s3cret", "scopes": ["read", "write"],
        } },
        "own": { "url": "https://c.example/mcp", "oauth": { "scope": "read write" } },
        "port": { "url": "https://d.example/mcp", "oauth": { "callbackPort": 70_000 } },
        "text": { "url": "https://e.example/mcp", "oauth": "yes" },
    } });
    let reading = read(&file, FileKind::Client);
    let clients = reading
        .entries
        .iter()
        .map(|entry| match &entry.connection.target {
            Target::Url(url) => url.client.clone().unwrap(),
            Target::Program(_) => panic!("it is an address"),
        });
    let clients: Vec<OAuthClient> = clients.collect();
    let expected = [
        ("one", None, vec![], Some(8080)),
        ("two", Some("s3cret"), vec!["read", "write"], None),
        ("", None, vec!["read", "write"], None),
    ];
    assert_eq!(clients.len(), expected.len());
    for (client, (id, secret, scopes, port)) in clients.iter().zip(expected) {
        assert_eq!((&*client.id, client.secret.as_deref()), (id, secret));
        assert_eq!(
            (&client.scopes[..], client.port),
            (&owned(&scopes)[..], port)
        );
        assert!(!format!("{client:?}").contains("s3cret"));
    }
    let mistakes: Vec<&str> = reading
        .mistakes
        .iter()
        .map(|mistake| &*mistake.what)
        .collect();
    assert_eq!(
        mistakes,
        [
            "`callbackPort` must be the number of a port",
            "`oauth` must be a table"
        ]
    );
}
