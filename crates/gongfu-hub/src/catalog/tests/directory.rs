//! Tools of other servers that are too many to be listed: found, described, called as themselves, and no more.

use std::sync::{Arc, Mutex};

use gongfu_core::account::{Actor, Owner, Role};
use gongfu_core::approval::AnswerTarget;
use gongfu_core::capability::Safety;
use gongfu_core::connection::{ConnectionName, Definition};
use gongfu_core::port::{
    ConnectionStatus, Discovery, NoServers, Pending, PortError, Progress, ServerAnswer, ServerCall,
    ServerTools, Servers, SignIn, ready,
};
use gongfu_core::skill::Digest;
use gongfu_testing::{MemorySpace, now};
use serde_json::{Map, Value, json};

use super::shown;
use super::world::{audited, catalog_of};
use crate::call::{Elicitation, Event, EventSink, Events};
use crate::catalog::{Catalog, Request};
use crate::directory::KnownTools;
use crate::error::ToolError;
use crate::error_code::ErrorCode;
use crate::output::{Content, ToolResult};
use crate::problem::Problem;
use crate::profile::Profile;
use crate::surface::approval::{ApprovalAnswer, Reply};
use crate::tool::ToolSpec;
use crate::upstream;

/// Servers whose tools answer what they got.
#[derive(Default)]
pub(super) struct EchoServers {
    pub(super) tools: Vec<ServerTools>,
    pub(super) statuses: Vec<ConnectionStatus>,
    pub(super) calls: Mutex<Vec<String>>,
    /// The text of every answer, unless it is empty.
    pub(super) text: Mutex<String>,
}

impl Servers for EchoServers {
    fn statuses(&self) -> Pending<'_, Vec<ConnectionStatus>> {
        ready(Ok(self.statuses.clone()))
    }

    fn tools(&self) -> Pending<'_, Vec<ServerTools>> {
        ready(Ok(self.tools.clone()))
    }

    fn changed(&self, since: u64) -> Pending<'_, u64> {
        NoServers.changed(since)
    }

    fn discover<'a>(&'a self, _name: &'a ConnectionName) -> Pending<'a, Discovery> {
        ready(Err(PortError::NotFound))
    }

    fn sign_in<'a>(
        &'a self,
        _name: &'a ConnectionName,
        _redirect: String,
    ) -> Pending<'a, Box<dyn SignIn>> {
        ready(Err(PortError::NotFound))
    }

    fn sign_out<'a>(&'a self, _name: &'a ConnectionName) -> Pending<'a, bool> {
        ready(Ok(false))
    }

    fn call(&self, call: ServerCall) -> Pending<'_, ServerAnswer> {
        self.calls.lock().unwrap().push(call.tool.clone());
        Box::pin(async move {
            (call.progress)(Progress {
                done: 1.0,
                total: None,
                message: Some("half".to_owned()),
            });
            let text = self.text.lock().unwrap().clone();
            if !text.is_empty() {
                return Ok(ServerAnswer {
                    structured: serde_json::from_str(&text).ok(),
                    content: vec![
                        json!({ "type": "image", "data": "AAAA", "mimeType": "image/png" }),
                        json!({ "type": "text", "text": text, "annotations": {} }),
                    ],
                    is_error: false,
                    meta: Map::new(),
                });
            }
            let asked = (call.ask)(json!({ "message": "really?" })).await?;
            Ok(ServerAnswer {
                content: vec![
                    json!({ "type": "text", "text": format!("{asked:?}") }),
                    json!({ "type": "image", "data": "AAAA", "mimeType": "image/png" }),
                ],
                structured: Some(Value::Object(call.arguments)),
                is_error: true,
                meta: Map::new(),
            })
        })
    }
}

pub(super) fn definition(name: &str, description: &str, is_destructive: bool) -> Definition {
    let schema = json!({
        "type": "object",
        "properties": { "repo": { "type": "string", "description": "the repository" }, "page": {} },
        "required": ["repo"],
    });
    let Value::Object(input_schema) = schema else {
        unreachable!()
    };
    Definition {
        name: name.to_owned(),
        title: None,
        description: description.to_owned(),
        input_schema,
        output_schema: None,
        is_read_only: false,
        is_destructive,
        ui: Map::new(),
    }
}

pub(super) fn server(name: &str, definitions: Vec<Definition>) -> ServerTools {
    ServerTools {
        connection: ConnectionName::new(name).unwrap(),
        target: Digest::of(name.as_bytes()),
        safety: Safety::Medium,
        definitions,
    }
}

/// A catalog with the tools of two servers: `github` with three, and `numbers` with so many.
fn setup(numbers: usize) -> (Catalog, Arc<MemorySpace>, Arc<EchoServers>) {
    let number = |at| definition(&format!("tool_{at}"), &format!("Counts to {at}."), false);
    let servers = Arc::new(EchoServers {
        tools: vec![
            server(
                "github",
                vec![
                    definition(
                        "list_issues",
                        "Lists the issues of a repository.\nAll of them.",
                        false,
                    ),
                    definition("close_issue", "Closes an issue.", false),
                    definition("delete_repo", "Deletes a repository.", true),
                ],
            ),
            server("numbers", (0..numbers).map(number).collect()),
        ],
        ..EchoServers::default()
    });
    let space = MemorySpace {
        servers: Arc::<EchoServers>::clone(&servers),
        ..MemorySpace::default()
    };
    let document = b"---\nname: triage\ndescription: Sorts what users report, every Monday\nallowed-tools: mcp__gongfu__github__close_issue\n---\n# Triage\n\nCall github__list_issues first.\n";
    space
        .skills
        .replace(&[("lib/triage", &[("SKILL.md", document)])]);
    let (catalog, space) = catalog_of(space);
    let local = space.open(&Owner::Local);
    now(upstream::provide(
        &catalog,
        local.servers(),
        Some(&Owner::Local),
    ))
    .unwrap();
    (catalog, space, servers)
}

fn agent() -> Actor {
    Actor::local(Role::ExternalAgent, "test")
}

fn listed(catalog: &Catalog, actor: &Actor, known: Option<&KnownTools>) -> Vec<ToolSpec> {
    let specs = now(catalog.list(&[Profile::Standard], actor, known));
    let own = |spec: &ToolSpec| spec.is_foreign() || spec.name.starts_with("tool_");
    specs.into_iter().filter(own).collect()
}

fn names(specs: &[ToolSpec]) -> Vec<&str> {
    specs.iter().map(|spec| &*spec.name).collect()
}

fn object(value: Value) -> Map<String, Value> {
    let Value::Object(object) = value else {
        unreachable!()
    };
    object
}

fn call(catalog: &Catalog, name: &str, arguments: Value) -> Result<ToolResult, ToolError> {
    let actor = agent();
    let request = Request::new(&[Profile::Standard], name, object(arguments), &actor);
    now(catalog.call(request))
}

const OWN: [&str; 4] = ["tool_call", "tool_describe", "tool_script", "tool_search"];

#[test]
fn tools_are_listed_one_by_one_only_within_the_budget() {
    let (few, ..) = setup(2);
    let all = listed(&few, &agent(), None);
    assert_eq!(all.len(), 5, "{:?}", names(&all));
    assert!(all.iter().all(ToolSpec::is_foreign));
    // All of them fit exactly, or by one token not.
    let tokens: usize = all.iter().map(ToolSpec::tokens).sum();
    for (budget, is_listed) in [(tokens, true), (tokens - 1, false)] {
        let catalog = setup(2).0.with_tool_budget(budget);
        let specs = listed(&catalog, &agent(), None);
        assert_eq!(names(&specs) == OWN, !is_listed, "{:?}", names(&specs));
    }
    let (many, ..) = setup(1_000);
    let specs = listed(&many, &agent(), None);
    assert_eq!(names(&specs), OWN);
    let tokens: usize = specs.iter().map(ToolSpec::tokens).sum();
    assert!(tokens <= crate::directory::BUDGET, "{tokens}");
    assert!(specs[3].description.contains("github (3), numbers (1000)"));
    let (none, _) = catalog_of(MemorySpace::default());
    assert!(listed(&none, &agent(), None).is_empty());
    let unknown = call(&none, "tool_search", json!({ "query": "x" })).unwrap_err();
    assert_eq!(unknown.code(), ErrorCode::ToolNotFound);
}

#[test]
fn tool_is_found_and_described() {
    let (catalog, ..) = setup(100);
    let found = call(
        &catalog,
        "tool_search",
        json!({ "query": "issues repository", "limit": 1 }),
    );
    let found = found.unwrap();
    assert_eq!(
        shown(&found),
        "- github__list_issues(repo: string): Lists the issues of a repository.\n… and 102 weaker matches\n"
    );
    let data = found.structured_content.unwrap();
    assert_eq!(data["results"][0]["name"], "github__list_issues");
    let names = json!({ "names": ["github__list_issues", "numbers__tool_7"] });
    let described = shown(&call(&catalog, "tool_describe", names).unwrap());
    let described: Value = serde_json::from_str(&described).unwrap();
    assert_eq!(described[1]["name"], "numbers__tool_7");
    let about = described.pointer("/0/inputSchema/properties/repo/description");
    assert_eq!(about, Some(&json!("the repository")));
    for (name, arguments) in [
        ("tool_search", json!({ "query": "?!" })),
        ("tool_describe", json!({ "names": [] })),
        ("tool_describe", json!({ "names": vec!["x"; 11] })),
        ("tool_call", json!({ "name": 7 })),
        (
            "tool_call",
            json!({ "name": "github__list_issues", "arguments": "{}" }),
        ),
    ] {
        let error = call(&catalog, name, arguments.clone()).unwrap_err();
        assert_eq!(
            error.code(),
            ErrorCode::InvalidArgument,
            "{name} {arguments}"
        );
    }
}

#[test]
fn skill_says_what_a_tool_is_for() {
    let (catalog, ..) = setup(100);
    let found = call(
        &catalog,
        "tool_search",
        json!({ "query": "monday", "limit": 3 }),
    );
    let found = found.unwrap().structured_content.unwrap();
    assert_eq!(found["total"], 1);
    assert_eq!(found["results"][0]["name"], "github__close_issue");
}

#[test]
fn unknown_name_lists_the_nearest() {
    let (catalog, ..) = setup(100);
    for (tool, arguments) in [
        (
            "tool_call",
            json!({ "name": "list_issues", "arguments": {} }),
        ),
        ("tool_describe", json!({ "names": ["list_issues"] })),
    ] {
        let error = call(&catalog, tool, arguments).unwrap_err();
        let Problem::UnknownTarget { nearest, .. } = &error.problem else {
            panic!("{error}")
        };
        assert_eq!(nearest, &["github__list_issues"]);
    }
    let misspelt = call(
        &catalog,
        "tool_call",
        json!({ "name": "github__list_issue" }),
    );
    let text = misspelt.unwrap_err().to_string();
    assert!(
        text.contains("did you mean `github__list_issues`?"),
        "{text}"
    );
    for own in OWN {
        let error = call(&catalog, "tool_call", json!({ "name": own })).unwrap_err();
        assert_eq!(error.code(), ErrorCode::ToolNotFound, "{own}");
    }
    // The error of a call by its name doesn't list a thousand others.
    let unknown = call(&setup(1_000).0, "tool_777", json!({})).unwrap_err();
    assert!(unknown.to_json()["available"].as_array().unwrap().len() <= 50);
}

/// Answers every question with yes, and keeps the progress.
#[derive(Default)]
struct Client(Mutex<Vec<String>>);

impl EventSink for Client {
    fn event(&self, event: Event<'_>) {
        if let Event::Progress(progress) = event {
            self.0.lock().unwrap().extend(progress.message.clone());
        }
    }

    fn elicit(&self, question: Value) -> Elicitation<'_> {
        let asked = question["message"].as_str().unwrap().to_owned();
        self.0.lock().unwrap().push(asked);
        Box::pin(std::future::ready(Some(json!("yes"))))
    }
}

#[test]
fn tool_is_called_as_itself() {
    let (catalog, space, servers) = setup(100);
    let client = Arc::new(Client::default());
    let target = json!({ "name": "github__list_issues", "arguments": { "repo": "a/b" } });
    let actor = agent();
    let calls = [
        ("tool_call", target),
        ("github__list_issues", json!({ "repo": "a/b" })),
    ];
    let answers = calls.map(|(name, arguments)| {
        let request = Request {
            events: Events::new(Arc::<Client>::clone(&client)),
            ..Request::new(&[Profile::Standard], name, object(arguments), &actor)
        };
        now(catalog.call(request)).unwrap()
    });
    assert_eq!(answers[0], answers[1]);
    let [answer, _] = answers;
    assert!(answer.is_error);
    assert_eq!(answer.structured_content, Some(json!({ "repo": "a/b" })));
    assert_eq!(answer.content[0], Content::text(r#"Some(String("yes"))"#));
    assert!(matches!(&answer.content[1], Content::Foreign(block) if block["type"] == "image"));
    assert_eq!(
        *servers.calls.lock().unwrap(),
        ["list_issues", "list_issues"]
    );
    let said = client.0.lock().unwrap();
    assert_eq!(
        *said,
        [
            "half",
            "github asks: really?",
            "half",
            "github asks: really?"
        ]
    );
    let names = audited(&space).into_iter().map(|(name, _)| name);
    assert_eq!(names.collect::<Vec<_>>(), vec!["github__list_issues"; 4]);
}

#[test]
fn person_is_asked_about_the_tool_itself() {
    let (catalog, _, servers) = setup(100);
    let delete = json!({ "name": "github__delete_repo", "arguments": { "repo": "a/b" } });
    let error = call(&catalog, "tool_call", delete.clone()).unwrap_err();
    let Problem::ApprovalWaiting { id, question, .. } = &error.problem else {
        panic!("{error}")
    };
    let question = &question.as_ref().unwrap().text();
    assert!(question.contains("mcp.github.delete_repo"), "{question}");
    assert!(!question.contains("tool_call"), "{question}");
    let answer = ApprovalAnswer {
        approval: id.clone(),
        target: AnswerTarget::Any,
        reply: Reply::Once,
        any_arguments: false,
        hours: None,
    };
    let person = Actor::local(Role::Developer, "cli");
    now(catalog.operate(answer, &person)).unwrap().unwrap();
    // An approval is for these arguments, however the call is written.
    let other = json!({ "name": "github__delete_repo", "arguments": { "repo": "c/d" } });
    assert!(call(&catalog, "tool_call", other).is_err());
    call(&catalog, "github__delete_repo", json!({ "repo": "a/b" })).unwrap();
    assert!(call(&catalog, "tool_call", delete).is_err());
    assert_eq!(*servers.calls.lock().unwrap(), ["delete_repo"]);
}

#[test]
fn caller_without_the_scope_learns_nothing() {
    let (catalog, _, servers) = setup(100);
    let mut actor = agent();
    actor.permissions.scopes = "skills:read".parse().unwrap();
    assert!(listed(&catalog, &actor, None).is_empty());
    for (name, arguments) in [
        ("tool_search", json!({ "query": "issues" })),
        ("tool_describe", json!({ "names": ["github__list_issues"] })),
        (
            "tool_call",
            json!({ "name": "github__list_issues", "arguments": { "repo": "x" } }),
        ),
    ] {
        let request = Request::new(&[Profile::Standard], name, object(arguments), &actor);
        let error = now(catalog.call(request)).unwrap_err();
        assert_eq!(error.code(), ErrorCode::ToolNotFound, "{name}");
        let told = Value::Object(error.to_json()).to_string();
        assert!(
            !told.contains("github") && !told.contains("numbers"),
            "{told}"
        );
    }
    assert!(servers.calls.lock().unwrap().is_empty());
}

#[test]
fn credential_for_some_skills_has_no_other_tools() {
    let (catalog, _, servers) = setup(2);
    let mut actor = agent();
    actor.permissions.skills = Some(Arc::from(["lib/triage".to_owned()]));
    assert!(listed(&catalog, &actor, None).is_empty());
    for (name, arguments, code) in [
        (
            "tool_search",
            json!({ "query": "issues" }),
            ErrorCode::ToolNotFound,
        ),
        // A name that it knows from somewhere leads nowhere.
        (
            "github__list_issues",
            json!({ "repo": "x" }),
            ErrorCode::ConnectionNotFound,
        ),
    ] {
        let request = Request::new(&[Profile::Standard], name, object(arguments), &actor);
        let error = now(catalog.call(request)).unwrap_err();
        assert_eq!(error.code(), code, "{name}");
    }
    assert!(servers.calls.lock().unwrap().is_empty());
}

#[test]
fn tools_that_a_client_has_to_do_with_are_listed_by_name() {
    let (catalog, ..) = setup(100);
    let known = Arc::new(KnownTools::default());
    let mut changes = known.changes();
    let actor = agent();
    let mut then_listed = |name: &str, arguments: Value| {
        let request = Request {
            known: Some(Arc::clone(&known)),
            ..Request::new(&[Profile::Standard], name, object(arguments), &actor)
        };
        now(catalog.call(request)).unwrap();
        let specs = listed(&catalog, &actor, Some(&known));
        let foreign = specs.iter().filter(|spec| spec.is_foreign());
        let names: Vec<String> = foreign.map(|spec| spec.name.to_string()).collect();
        let is_changed = changes.has_changed().unwrap();
        changes.mark_unchanged();
        (names.join(" "), is_changed)
    };
    let mut expect = |name: &str, arguments: Value, names: &str, is_changed: bool| {
        assert_eq!(
            then_listed(name, arguments),
            (names.to_owned(), is_changed),
            "{name}"
        );
    };
    expect("tool_search", json!({ "query": "issues" }), "", false);
    let called = json!({ "name": "numbers__tool_1", "arguments": {} });
    expect("tool_call", called.clone(), "numbers__tool_1", true);
    expect("tool_call", called, "numbers__tool_1", false);
    let both = "numbers__tool_1 numbers__tool_2";
    expect(
        "tool_describe",
        json!({ "names": ["numbers__tool_2"] }),
        both,
        true,
    );
    let body = json!({ "skill_name": "triage", "part": "body" });
    let three = format!("github__list_issues {both}");
    expect("skill_load", body, &three, true);
    let four = format!("github__close_issue {three}");
    expect("skill_load", json!({ "skill_name": "triage" }), &four, true);
    // Another connection doesn't see them.
    assert_eq!(names(&listed(&catalog, &actor, None)), OWN);
}

#[test]
fn known_tools_are_no_change_where_all_are_listed() {
    let (catalog, ..) = setup(2);
    let known = Arc::new(KnownTools::default());
    let changes = known.changes();
    let actor = agent();
    let request = Request {
        known: Some(Arc::clone(&known)),
        ..Request::new(&[Profile::Standard], "numbers__tool_1", Map::new(), &actor)
    };
    now(catalog.call(request)).unwrap();
    assert!(!changes.has_changed().unwrap());
    assert_eq!(listed(&catalog, &actor, Some(&known)).len(), 5);
    let list_of = |budget| listed(&setup(2).0.with_tool_budget(budget), &actor, Some(&known)).len();
    assert_eq!(list_of(1), 5);
}

#[test]
fn large_answer_becomes_a_file() {
    let (catalog, _, servers) = setup(100);
    let answer = |text: String, name: &str, arguments: Value| {
        *servers.text.lock().unwrap() = text;
        call(&catalog, name, arguments).unwrap()
    };
    let read = |path: &str, line: usize| {
        let arguments = json!({ "path": path, "start_line": line, "end_line": line });
        shown(&call(&catalog, "file_read", arguments).unwrap())
    };
    let indirect = json!({ "name": "github__list_issues", "arguments": { "repo": "x" } });
    // As long as it may be.
    let fits = "z".repeat(32 * 1024);
    let small = answer(fits.clone(), "tool_call", indirect.clone());
    assert!(shown(&small).contains(&fits));

    let rows: Vec<Value> = (0..2_000)
        .map(|n| json!({ "id": n, "title": "é" }))
        .collect();
    let text = serde_json::to_string_pretty(&rows).unwrap();
    let large = answer(text.clone(), "tool_call", indirect.clone());
    assert!(matches!(&large.content[0], Content::Foreign(block) if block["type"] == "image"));
    let [_, Content::Text { text: told }] = &*large.content else {
        panic!("{large:?}")
    };
    assert!(
        told.len() < 3_000 && told.starts_with("[\n  {\n    \"id\": 0,"),
        "{told}"
    );
    let shape = format!(
        "of {} bytes; JSON: a list of 2000 with the keys id, title;",
        text.len()
    );
    assert!(told.contains(&shape), "{told}");
    assert!(large.structured_content.is_none());
    let path = told.split("all of it is in ").nth(1).unwrap();
    let path = path.split(';').next().unwrap();
    let (last, line) = (text.lines().nth(7_998).unwrap(), 7_999);
    assert!(last.contains("1999") && read(path, line).contains(last));

    let lines = "a line\n".repeat(10_000);
    let plain = shown(&answer(
        lines,
        "github__list_issues",
        json!({ "repo": "x" }),
    ));
    assert!(
        plain.contains("10000 lines of text; all of it is in "),
        "{plain}"
    );
    assert!(plain.contains("answer.txt"));
}
