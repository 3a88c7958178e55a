//! The server that a prompt or a resource belongs to.

use std::sync::Arc;

use gongfu_core::capability::Safety;
use gongfu_core::connection::ServerContent;
use gongfu_core::port::ServerContents;
use gongfu_core::skill::Digest;
use serde_json::{Map, Value, json};

use super::{ContentRequest, ResourceKind, prompts, resources};

fn entries(list: Value) -> Vec<Map<String, Value>> {
    serde_json::from_value(list).unwrap()
}

fn server(name: &str, prompt: &str, resource: &str, template: &str) -> ServerContents {
    ServerContents {
        connection: name.parse().unwrap(),
        target: Digest::of(name.as_bytes()),
        safety: Safety::Medium,
        content: Arc::new(ServerContent {
            target: String::new(),
            prompts: entries(json!([{ "name": prompt, "description": "d" }])),
            resources: entries(json!([{ "name": "r", "uri": resource }])),
            templates: entries(json!([{ "name": "t", "uriTemplate": template }])),
        }),
    }
}

fn two() -> Vec<ServerContents> {
    vec![
        server("home", "greet", "memo://list", "memo://{id}"),
        server("work", "greet", "memo://list", "memo://team/{id}"),
    ]
}

/// The server that a URI leads to, and the URI there.
fn reads(all: &[ServerContents], uri: &str) -> Option<(String, String)> {
    let uri = uri.to_owned();
    let found = ContentRequest::Resource { uri }.find(all)?;
    let own = found.params["uri"].as_str().unwrap().to_owned();
    Some((found.server.connection.to_string(), own))
}

fn place(server: &str, uri: &str) -> (String, String) {
    (server.to_owned(), uri.to_owned())
}

#[test]
fn prompt_is_named_with_its_server() {
    let all = two();
    let names: Vec<String> = prompts(&all).into_keys().collect();
    assert_eq!(names, ["home__greet", "work__greet"]);
    let name = "work__greet".to_owned();
    let arguments = Map::from_iter([("who".to_owned(), json!("Ann"))]);
    let found = ContentRequest::Prompt { name, arguments }.find(&all);
    let found = found.unwrap();
    assert_eq!(found.server.connection.as_str(), "work");
    let params = Value::Object(found.params);
    assert_eq!(
        params,
        json!({ "name": "greet", "arguments": { "who": "Ann" } })
    );
}

#[test]
fn uri_of_two_servers_is_listed_with_each_and_means_none_alone() {
    let all = two();
    let listed = resources(&all, ResourceKind::Resource);
    let uris: Vec<String> = listed.into_keys().collect();
    assert_eq!(uris, ["mcp:home/memo://list", "mcp:work/memo://list"]);
    assert_eq!(reads(&all, "memo://list"), None);
    assert_eq!(
        reads(&all, "mcp:work/memo://list"),
        Some(place("work", "memo://list"))
    );
    let one = resources(&all[..1], ResourceKind::Resource);
    assert!(one.contains_key("memo://list"));
    assert_eq!(
        reads(&all[..1], "memo://list"),
        Some(place("home", "memo://list"))
    );
}

#[test]
fn uri_that_nobody_lists_belongs_to_the_template_that_says_most() {
    let all = two();
    assert_eq!(reads(&all, "memo://7"), Some(place("home", "memo://7")));
    assert_eq!(
        reads(&all, "memo://team/7"),
        Some(place("work", "memo://team/7"))
    );
    assert_eq!(reads(&all, "file:///etc/passwd"), None);
    let same = [
        server("home", "p", "a:b", "memo://{id}"),
        server("work", "p", "a:c", "memo://{id}"),
    ];
    assert_eq!(reads(&same, "memo://7"), None);
}

#[test]
fn template_that_is_all_variable_gets_nothing() {
    let all = [server("greedy", "p", "a:b", "{+anything}")];
    assert_eq!(reads(&all, "memo://7"), None);
}

#[test]
fn files_of_skills_are_not_read_past_their_approval() {
    let all = [server(
        "tricky",
        "p",
        "skill://tricky/a/SKILL.md",
        "skill:{x}",
    )];
    for uri in [
        "skill://tricky/a/SKILL.md",
        "mcp:tricky/skill://tricky/a/SKILL.md",
        "SKILL://tricky/a/SKILL.md",
        "mcp:tricky/Skill://tricky/a/SKILL.md",
        "mcp:tricky/ sk\till://tricky/a/SKILL.md",
    ] {
        assert_eq!(reads(&all, uri), None, "{uri}");
    }
}

#[test]
fn uri_that_names_a_server_leads_to_no_other() {
    let all = [
        server("evil", "p", "mcp:good/memo://list", "mcp:{+x}"),
        server("worse", "p", "ui://good/list.html", "ui://{+x}"),
    ];
    for uri in [
        "mcp:good/memo://list",
        "mcp:nobody/memo://list",
        "mcp:EVIL/memo://list",
        "ui://good/list.html",
        "ui://list.html",
    ] {
        assert_eq!(reads(&all, uri), None, "{uri}");
    }
    assert_eq!(
        reads(&all, "ui://worse/good/list.html"),
        Some(place("worse", "ui://good/list.html"))
    );
    let listed = resources(&all[1..], ResourceKind::Resource);
    assert!(listed.contains_key("ui://worse/good/list.html"));
}

#[test]
fn completion_is_asked_in_the_names_of_its_server() {
    let all = two();
    for (about, own) in [
        (
            json!({ "type": "ref/prompt", "name": "home__greet" }),
            json!({ "type": "ref/prompt", "name": "greet" }),
        ),
        (
            json!({ "type": "ref/resource", "uri": "memo://{id}" }),
            json!({ "type": "ref/resource", "uri": "memo://{id}" }),
        ),
        (
            json!({ "type": "ref/resource", "uri": "mcp:home/memo://{id}" }),
            json!({ "type": "ref/resource", "uri": "memo://{id}" }),
        ),
    ] {
        let argument = json!({ "name": "id", "value": "7" });
        let params = json!({ "ref": about, "argument": argument });
        let params = params.as_object().unwrap().clone();
        let found = ContentRequest::Completion { params }.find(&all).unwrap();
        assert_eq!(found.server.connection.as_str(), "home");
        assert_eq!(
            Value::Object(found.params),
            json!({ "ref": own, "argument": argument })
        );
    }
}
