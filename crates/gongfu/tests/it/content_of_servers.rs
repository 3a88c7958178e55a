//! Prompts and resources of other servers: clients have them under the name of their server, and without starting it.

use std::thread;
use std::time::{Duration, Instant};

use gongfu_testing::json::{context, error_code, list_at, text_at, texts};
use serde_json::{Value, json};

use crate::connection::NOTICE_TIMEOUT;
use crate::fixture::Fixture;
use crate::stdio::Client;

const SERVER: &str = include_str!("../../../../scripts/content_server.py");

/// Adds a connection to the server, and approves it.
fn connect(fixture: &Fixture, name: &str, flags: &[&str], arguments: &[&str]) {
    let script = fixture.write("server.py", SERVER);
    let mut add = vec!["connection", "add", name];
    add.extend(flags);
    add.extend(["--", "python3", script.to_str().unwrap()]);
    add.extend(arguments);
    fixture.gongfu(add).good();
    let approve = ["connection", "approve", name, "--yes"];
    fixture.gongfu(approve).good();
}

/// Connections of these names to the server.
fn fixture(names: &[&str], flags: &[&str]) -> Fixture {
    let fixture = Fixture::new();
    for name in names {
        connect(&fixture, name, flags, &[]);
    }
    fixture
}

fn client(fixture: &Fixture, words: &[&str]) -> Client {
    let words = ["mcp"].iter().chain(words).copied();
    let mut client = Client::start(&fixture.only(words));
    client.initialize("2025-11-25");
    client
}

/// The entries of a list that are another server's: those of gongfu's own are of skills.
fn foreign(client: &mut Client, list: &str, items: &str, field: &str) -> Vec<String> {
    let page = client.ask(list, json!({}));
    let all = texts(list_at(&page, items), field).into_iter();
    let is_foreign =
        |text: &&str| text.contains("__") || text.contains("memo:") || text.contains("trick");
    all.filter(is_foreign).map(str::to_owned).collect()
}

fn prompts(client: &mut Client) -> Vec<String> {
    foreign(client, "prompts/list", "/prompts", "/name")
}

fn resources(client: &mut Client) -> Vec<String> {
    foreign(client, "resources/list", "/resources", "/uri")
}

fn read(client: &mut Client, uri: &str) -> Value {
    client.ask("resources/read", json!({ "uri": uri }))
}

fn code(client: &mut Client, method: &str, params: Value) -> String {
    let refused = client.request(method, params);
    text_at(&refused, "/error/data/code").to_owned()
}

#[test]
fn client_has_the_prompts_and_resources_of_a_server() {
    let fixture = fixture(&["notes"], &[]);
    let mut client = client(&fixture, &[]);
    assert_eq!(prompts(&mut client), ["notes__greet"]);
    assert_eq!(resources(&mut client), ["memo://list"]);
    let templates = foreign(
        &mut client,
        "resources/templates/list",
        "/resourceTemplates",
        "/uriTemplate",
    );
    assert_eq!(templates, ["memo://{id}"]);
    let list = client.ask("prompts/list", json!({}));
    let mut all = list_at(&list, "/prompts").iter();
    let greet = all.find(|prompt| prompt["name"] == "notes__greet");
    // A person sees what is hidden.
    assert_eq!(
        text_at(greet.unwrap(), "/description"),
        r"Greets\u{200b} somebody."
    );

    let asked = json!({ "name": "notes__greet", "arguments": { "who": "Ann" } });
    let prompt = client.ask("prompts/get", asked);
    assert_eq!(
        text_at(&prompt, "/messages/0/content/text"),
        "Say hello to Ann."
    );
    let listed = read(&mut client, "memo://list");
    assert_eq!(text_at(&listed, "/contents/0/text"), "memo://list as it is");
    let by_template = read(&mut client, "memo://7");
    assert_eq!(text_at(&by_template, "/contents/0/uri"), "memo://7");
    let with_server = read(&mut client, "mcp:notes/memo://8");
    assert_eq!(
        text_at(&with_server, "/contents/0/uri"),
        "mcp:notes/memo://8"
    );
    assert_eq!(
        text_at(&with_server, "/contents/0/text"),
        "memo://8 as it is"
    );
    for (about, value) in [
        (
            json!({ "type": "ref/prompt", "name": "notes__greet" }),
            "greet An",
        ),
        (
            json!({ "type": "ref/resource", "uri": "memo://{id}" }),
            "memo://{id} An",
        ),
    ] {
        let argument = json!({ "name": "who", "value": "An" });
        let params = json!({ "ref": about, "argument": argument });
        let completed = client.ask("completion/complete", params);
        assert_eq!(text_at(&completed, "/completion/values/0"), value);
    }

    let shown = fixture
        .gongfu(["connection", "show", "notes", "--json"])
        .good()
        .json();
    assert_eq!(shown["prompts"], json!(["greet"]));
    assert_eq!(shown["resources"], json!(["memo://list"]));
    assert_eq!(shown["templates"], json!(["memo://{id}"]));

    // The audit knows.
    let log = fixture.gongfu(["log", "--json"]).good();
    for method in ["prompts/get", "resources/read", "completion/complete"] {
        assert!(log.text().contains(method), "{method}");
    }
}

#[test]
fn what_no_server_has_is_refused() {
    let fixture = fixture(&["notes"], &[]);
    let mut client = client(&fixture, &[]);
    for (uri, expected) in [
        ("memo://none", "INVALID_ARGUMENT"),
        ("file:///etc/passwd", "INVALID_URI"),
        ("mcp:other/memo://list", "INVALID_URI"),
        ("mcp:notes/skill://team/trick/SKILL.md", "INVALID_URI"),
        ("skill://team/trick/SKILL.md", "RESOURCE_NOT_FOUND"),
    ] {
        let uri = json!({ "uri": uri });
        assert_eq!(
            code(&mut client, "resources/read", uri.clone()),
            expected,
            "{uri}"
        );
    }
    let absent = json!({ "name": "notes__absent" });
    assert_eq!(code(&mut client, "prompts/get", absent), "PROMPT_NOT_FOUND");
}

#[test]
fn server_that_needs_approval_or_is_in_no_set_gives_nothing() {
    let fixture = fixture(&["notes"], &["--safety", "high"]);
    let sets = "[sets]\nbare = []\nwhole = [\"mcp.notes\"]\n";
    fixture.write("home/config.toml", sets);
    let mut whole = client(&fixture, &["--set", "whole"]);
    assert_eq!(prompts(&mut whole), ["notes__greet"]);
    let memo = json!({ "uri": "memo://list" });
    assert_eq!(
        code(&mut whole, "resources/read", memo.clone()),
        "APPROVAL_REQUIRED"
    );
    let mut bare = client(&fixture, &["--set", "bare"]);
    assert_eq!(prompts(&mut bare), [""; 0]);
    assert_eq!(
        code(&mut bare, "resources/read", memo.clone()),
        "INVALID_URI"
    );

    fixture.gongfu(["connection", "revoke", "notes"]).good();
    let mut late = client(&fixture, &[]);
    assert_eq!(resources(&mut late), [""; 0]);
    assert_eq!(code(&mut late, "resources/read", memo), "INVALID_URI");
}

#[test]
fn two_servers_with_one_uri_are_told_apart() {
    let fixture = fixture(&["home", "work"], &[]);
    let mut client = client(&fixture, &[]);
    let both = ["mcp:home/memo://list", "mcp:work/memo://list"];
    assert_eq!(resources(&mut client), both);
    assert_eq!(prompts(&mut client), ["home__greet", "work__greet"]);
    for uri in both {
        let whole = read(&mut client, uri);
        assert_eq!(text_at(&whole, "/contents/0/uri"), uri);
    }
    let memo = json!({ "uri": "memo://list" });
    assert_eq!(code(&mut client, "resources/read", memo), "INVALID_URI");
}

#[test]
fn prompt_that_a_server_adds_is_told() {
    let fixture = fixture(&["notes"], &[]);
    let mut client = client(&fixture, &[]);
    assert_eq!(prompts(&mut client), ["notes__greet"]);
    client.good("notes__add", json!({ "text": "bye" }));
    let told = client.notified("notifications/prompts/list_changed", NOTICE_TIMEOUT);
    assert!(told > 0);
    let started = Instant::now();
    while prompts(&mut client) != ["notes__bye", "notes__greet"] {
        assert!(started.elapsed() < NOTICE_TIMEOUT, "it isn't listed");
        thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn user_interface_of_a_tool_reaches_a_client_that_shows_it() {
    let fixture = fixture(&["notes"], &[]);
    let mut plain = client(&fixture, &[]);
    let tools = |client: &mut Client| -> Vec<Value> {
        let list = client.ask("tools/list", json!({}));
        let all = list_at(&list, "/tools").iter();
        let foreign = all.filter(|tool| text_at(tool, "/name").contains("__"));
        foreign.cloned().collect()
    };
    let seen = tools(&mut plain);
    assert_eq!(texts(&seen, "/name"), ["notes__add", "notes__ask"]);
    let uri = "ui://notes/notes/list.html";
    assert_eq!(seen[0]["_meta"], json!({ "ui": { "resourceUri": uri } }));
    let page = read(&mut plain, uri);
    assert_eq!(text_at(&page, "/contents/0/uri"), uri);
    assert_eq!(
        text_at(&page, "/contents/0/text"),
        "ui://notes/list.html as it is"
    );
    let answer = plain.good("notes__add", json!({ "text": "x" }));
    assert_eq!(answer["_meta"], json!({ "page": 3 }));
    let found = plain.good(
        "tool_call",
        json!({ "name": "notes__add", "arguments": { "text": "y" } }),
    );
    assert_eq!(found["_meta"], json!({ "page": 3 }));
    let arguments = json!({ "name": "notes__page", "arguments": { "text": "y" } });
    let hidden = json!({ "name": "tool_call", "arguments": arguments });
    assert_eq!(code(&mut plain, "tools/call", hidden), "TOOL_NOT_FOUND");

    let mut app = Client::start(&fixture.only(["mcp"]));
    let extension = json!({ "mimeTypes": ["text/html;profile=mcp-app"] });
    let capabilities = json!({ "extensions": { "io.modelcontextprotocol/ui": extension } });
    app.initialize_as("2025-11-25", capabilities);
    assert_eq!(
        texts(&tools(&mut app), "/name"),
        ["notes__add", "notes__ask", "notes__page"]
    );
}

/// Parameters of a call of `ask` in 2026-07-28, with an answer to an earlier round.
fn round(answer: Option<(&str, Value)>) -> Value {
    let mut params =
        json!({ "name": "notes__ask", "arguments": {}, "_meta": context("2026-07-28") });
    let capabilities = json!({ "elicitation": { "form": {} } });
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities;
    if let Some((state, answer)) = answer {
        params["requestState"] = json!(state);
        params["inputResponses"] = json!({ "question": answer });
    }
    params
}

/// Calls `ask`; answers the state of its question.
fn asked(client: &mut Client) -> String {
    let open = client.ask("tools/call", round(None));
    assert_eq!(text_at(&open, "/resultType"), "input_required", "{open}");
    let message = text_at(&open, "/inputRequests/question/params/message");
    assert_eq!(message, "notes asks: where?");
    text_at(&open, "/requestState").to_owned()
}

#[test]
fn question_of_a_server_is_asked_in_rounds() {
    let fixture = fixture(&["notes"], &[]);
    let mut client = Client::start(&fixture.only(["mcp"]));
    let answer = json!({ "action": "accept", "content": { "city": "Rome" } });
    let state = asked(&mut client);
    let done = client.ask("tools/call", round(Some((&state, answer.clone()))));
    let said: Value = serde_json::from_str(text_at(&done, "/content/0/text")).unwrap();
    assert_eq!(said, answer);

    // A state is good for one answer, and for its own call alone.
    for (state, answer) in [(&*state, &answer), ("", &answer), ("AAAA", &answer)] {
        let refused = client.request("tools/call", round(Some((state, answer.clone()))));
        assert_eq!(error_code(&refused), -32602, "{refused}");
        assert_eq!(text_at(&refused, "/error/data/code"), "INVALID_ARGUMENT");
    }
    let state = asked(&mut client);
    // Without an answer the question is open still, and the call doesn't begin again.
    let mut silent = round(None);
    silent["requestState"] = json!(state);
    let again = client.ask("tools/call", silent);
    assert_eq!(text_at(&again, "/resultType"), "input_required", "{again}");
    assert_eq!(text_at(&again, "/requestState"), state);
    let wrong = client.request("tools/call", round(Some((&state, json!("yes")))));
    assert_eq!(error_code(&wrong), -32602, "{wrong}");
    let decline = json!({ "action": "decline" });
    let done = client.ask("tools/call", round(Some((&state, decline))));
    assert!(text_at(&done, "/content/0/text").contains("decline"));

    // A client that can't ask is told so by the server's own answer.
    let mut blind = round(None);
    blind["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    let done = client.ask("tools/call", blind);
    assert!(
        text_at(&done, "/content/0/text").contains("cancel"),
        "{done}"
    );
}

#[test]
fn lists_that_are_none_cost_no_tool() {
    let fixture = Fixture::new();
    connect(&fixture, "odd", &[], &["broken"]);
    let mut client = client(&fixture, &[]);
    assert_eq!(prompts(&mut client), [""; 0]);
    assert_eq!(resources(&mut client), [""; 0]);
    client.good("odd__add", json!({ "text": "x" }));
    let wrong = client.call("odd__add", json!({}));
    assert_eq!(wrong["isError"], true, "{wrong}");
}

#[test]
fn malformed_entry_of_a_list_costs_no_other() {
    let fixture = Fixture::new();
    connect(&fixture, "notes", &[], &["odd"]);
    let mut client = client(&fixture, &[]);
    assert_eq!(prompts(&mut client), ["notes__greet"]);
    assert_eq!(resources(&mut client), ["memo://list"]);
    client.good("notes__add", json!({ "text": "x" }));
}
