//! Capabilities: one list of everything that an agent can use, with what is known and nothing else.

use std::sync::Arc;

use gongfu_core::account::{Actor, Owner, Role, Scope};
use gongfu_core::approval::AnswerTarget;
use gongfu_core::capability::Safety;
use gongfu_core::connection::{Connection, Definition, State, Target, Url};
use gongfu_core::port::{ConnectionStatus, ServerTools, Servers};
use gongfu_testing::{MemorySpace, now, sandbox};
use serde_json::{Map, Value, json};

use super::directory::{EchoServers, definition, server};
use super::world::catalog_of;
use crate::call::{Asking, EventSink, Events, Question};
use crate::capability::{Capability, CapabilityContext, CapabilityKind};
use crate::catalog::{CapabilityQuery, Catalog, Request};
use crate::error_code::ErrorCode;
use crate::profile::Profile;
use crate::surface::approval::{ApprovalAnswer, ApprovalRevoke, Reply};
use crate::upstream;

const PROFILES: &[Profile] = &[Profile::Standard];
const DOCUMENT: &[u8] =
    b"---\nname: pdf\ndescription: Reads PDF. Use when a report is a PDF.\n---\n# PDF\n";

fn read_only(name: &str) -> Definition {
    Definition {
        is_read_only: true,
        ..definition(name, "Searches. Use it for issues.", false)
    }
}

fn status(server: &ServerTools, state: State) -> ConnectionStatus {
    let target = Target::Url(Url {
        url: "https://example.com/mcp".to_owned(),
        headers: std::collections::BTreeMap::new(),
        is_private: false,
        client: None,
    });
    ConnectionStatus {
        connection: Connection {
            name: server.connection.clone(),
            target,
            safety: None,
            tools: None,
            is_shared: true,
        },
        source: String::new(),
        state,
        reason: (state == State::Degraded).then(|| "it doesn't answer".to_owned()),
        is_approved: true,
        tools: Vec::new(),
        skills: Vec::new(),
    }
}

/// A catalog with two servers, of which the first is degraded, and two skills.
fn setup() -> (Catalog, Arc<MemorySpace>) {
    let work = server(
        "work",
        vec![
            read_only("find"),
            definition("close", "Closes an issue.", true),
        ],
    );
    let home = server(
        "home",
        vec![
            read_only("find"),
            definition("open", "Opens an issue.", false),
        ],
    );
    let servers = EchoServers {
        statuses: vec![status(&work, State::Degraded), status(&home, State::Ready)],
        tools: vec![work, home],
        text: "done".to_owned().into(),
        ..EchoServers::default()
    };
    let space = MemorySpace {
        servers: Arc::new(servers),
        ..MemorySpace::default()
    };
    let plain =
        b"---\nname: notes\ndescription: Notes\nmetadata:\n  when-to-use: for notes\n---\n# N\n";
    space.skills.replace(&[
        (
            "lib/pdf",
            &[("SKILL.md", DOCUMENT), ("scripts/run.py", b"1")],
        ),
        ("lib/notes", &[("SKILL.md", plain)]),
        ("-lib/off", &[("SKILL.md", plain)]),
    ]);
    let (catalog, space) = catalog_of(space);
    let servers = Arc::clone(space.open(&Owner::Local).servers());
    now(upstream::provide(&catalog, &servers, Some(&Owner::Local))).unwrap();
    (catalog, space)
}

fn agent() -> Actor {
    Actor::local(Role::ExternalAgent, "test")
}

fn all(catalog: &Catalog, kind: Option<CapabilityKind>) -> Vec<Capability> {
    let query = CapabilityQuery {
        kind,
        ..CapabilityQuery::default()
    };
    now(catalog.capabilities(query, PROFILES, &agent()))
        .unwrap()
        .items
}

fn one(catalog: &Catalog, id: &str) -> Capability {
    let mut all = all(catalog, None).into_iter();
    all.find(|one| one.id == id)
        .unwrap_or_else(|| panic!("no {id}"))
}

fn context(catalog: &Catalog) -> CapabilityContext {
    now(catalog.capability_context(PROFILES, &agent())).unwrap()
}

fn called(catalog: &Catalog, name: &str, arguments: &Value) -> Result<(), ErrorCode> {
    let (actor, arguments) = (agent(), arguments.as_object().unwrap().clone());
    let called = now(catalog.call(Request::new(PROFILES, name, arguments, &actor)));
    called.map(drop).map_err(|error| error.code())
}

/// Calls a tool that needs a person, who answers; the id of the answer.
fn answered(catalog: &Catalog, name: &str, reply: Reply, any_arguments: bool) -> String {
    let (actor, repo) = (agent(), Map::from_iter([("repo".to_owned(), json!("x"))]));
    let refused = now(catalog.call(Request::new(PROFILES, name, repo, &actor))).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::ApprovalRequired);
    let answer = ApprovalAnswer {
        approval: refused.to_json()["approval"].as_str().unwrap().to_owned(),
        target: AnswerTarget::Waiting,
        reply,
        any_arguments,
        hours: None,
    };
    let person = Actor::local(Role::Developer, "person");
    now(catalog.operate(answer, &person)).unwrap().unwrap().id
}

#[test]
fn everything_that_an_agent_can_use_is_in_one_form() {
    let (catalog, _) = setup();
    let everything = all(&catalog, None);
    let ids: Vec<&str> = everything.iter().map(|one| &*one.id).collect();
    let expected = [
        "file_read",
        "mcp.home.find",
        "mcp.home.open",
        "mcp.work.close",
        "mcp.work.find",
        "skill.notes",
        "skill.pdf",
        "skill_run",
    ];
    assert!(
        ids.is_sorted() && expected.iter().all(|id| ids.contains(id)),
        "{ids:?}"
    );
    assert!(!ids.contains(&"skill.off") && !ids.contains(&"tool_search"));
    let shares: usize = CapabilityKind::ALL
        .map(|kind| all(&catalog, Some(kind)).len())
        .iter()
        .sum();
    assert_eq!(shares, everything.len());

    let json = serde_json::to_value(one(&catalog, "mcp.work.close")).unwrap();
    assert_eq!(
        (
            &json["kind"],
            &json["name"],
            &json["safety_level"],
            &json["permission"],
            &json["origin"]
        ),
        (
            &json!("mcp"),
            &json!("work__close"),
            &json!("HIGH"),
            &json!("mcp.work.close"),
            &json!("work")
        )
    );
    assert_eq!(json["requires_approval"], json!(true));
    assert_eq!(
        json["health"],
        json!({ "state": "DEGRADED", "reason": "it doesn't answer" })
    );
    assert_eq!(json["input_schema"]["required"], json!(["repo"]));
    assert!(json["cost_hint"]["tokens"].as_u64().unwrap() > 30, "{json}");
    // Nothing that nobody knows.
    for absent in ["latency_hint", "fallback", "when_to_use", "output_schema"] {
        assert_eq!(json.get(absent), None, "{absent}");
    }
    let json = serde_json::to_value(one(&catalog, "skill.pdf")).unwrap();
    assert_eq!(
        (
            &json["kind"],
            &json["name"],
            &json["safety_level"],
            &json["permission"],
            &json["origin"]
        ),
        (
            &json!("skill"),
            &json!("pdf"),
            &json!("MEDIUM"),
            &json!("skill.pdf"),
            &json!("lib")
        )
    );
    assert_eq!(json["when_to_use"], json!("Use when a report is a PDF."));
    assert_eq!(
        json["cost_hint"]["tokens"],
        json!(DOCUMENT.len().div_ceil(4))
    );
    assert_eq!(one(&catalog, "skill.notes").safety_level, Safety::Low);
    assert_eq!(
        one(&catalog, "skill.notes").when_to_use.unwrap(),
        "for notes"
    );
    let run = one(&catalog, "skill_run");
    assert_eq!(
        (run.kind, &*run.permission, &*run.origin),
        (CapabilityKind::Tool, "tool.skill_run", "gongfu")
    );
    assert!(!run.requires_approval && run.health.state == State::Ready);
}

#[test]
fn pages_together_are_the_list() {
    let (catalog, _) = setup();
    let (mut ids, mut cursor) = (Vec::new(), None);
    loop {
        let query = CapabilityQuery {
            kind: None,
            cursor,
            limit: Some(4),
        };
        let page = now(catalog.capabilities(query, PROFILES, &agent())).unwrap();
        assert!(page.items.len() <= 4);
        ids.extend(page.items.into_iter().map(|one| one.id));
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    let whole: Vec<String> = all(&catalog, None).into_iter().map(|one| one.id).collect();
    assert_eq!(ids, whole);
    let query = CapabilityQuery {
        cursor: Some("MQ".to_owned()),
        ..CapabilityQuery::default()
    };
    let error = now(catalog.capabilities(query, PROFILES, &agent())).unwrap_err();
    assert_eq!(error.code().as_str(), "INVALID_CURSOR");
}

#[test]
fn hint_says_that_a_call_waits_until_an_answer_that_lasts_allows_all() {
    let (catalog, _) = setup();
    let waits = || context(&catalog).planning_hints["mcp.work.close"].requires_approval;
    assert!(waits());
    // Neither an answer for these arguments nor one that is used up is enough.
    answered(&catalog, "work__close", Reply::Once, true);
    assert!(waits());
    called(&catalog, "work__close", &json!({ "repo": "y" })).unwrap();
    answered(&catalog, "work__close", Reply::Always, false);
    assert!(waits());
    called(&catalog, "work__close", &json!({ "repo": "x" })).unwrap();
    let person = Actor::local(Role::Developer, "person");
    let lasting = ApprovalAnswer {
        approval: now(catalog.operate(crate::surface::approval::ApprovalList {}, &person)).unwrap()
            [0]
        .id
        .clone(),
        target: AnswerTarget::Any,
        reply: Reply::Always,
        any_arguments: true,
        hours: None,
    };
    let id = now(catalog.operate(lasting, &person)).unwrap().unwrap().id;
    assert!(!waits());
    called(&catalog, "work__close", &json!({ "repo": "z" })).unwrap();
    now(catalog.operate(ApprovalRevoke { approval: id }, &person)).unwrap();
    assert!(waits());
}

#[test]
fn context_is_what_a_plan_must_heed() {
    let (catalog, _) = setup();
    let context = context(&catalog);
    assert_eq!(context.available_skills, ["notes", "pdf"]);
    assert_eq!(
        context.available_mcp_tools,
        [
            "mcp.home.find",
            "mcp.home.open",
            "mcp.work.close",
            "mcp.work.find"
        ]
    );
    // A skill that only reads, and is ready, needs no hint.
    let hints = &context.planning_hints;
    assert!(!hints.contains_key("skill.notes") && hints.contains_key("skill.pdf"));
    // An equal definition is a fallback where it only reads, and no other.
    assert_eq!(
        hints["mcp.work.find"].fallback.as_deref(),
        Some("mcp.home.find")
    );
    assert_eq!(
        hints["mcp.home.find"].fallback.as_deref(),
        Some("mcp.work.find")
    );
    assert_eq!(hints["mcp.work.close"].fallback, None);
    let lower = catalog.with_approvals_from(Safety::Medium);
    let hints = self::context(&lower).planning_hints;
    assert!(hints["skill_run"].requires_approval && hints["skill.pdf"].requires_approval);
    assert!(!hints.contains_key("skill_load"));
    let higher = lower.with_approvals_from(Safety::Critical);
    assert!(!self::context(&higher).planning_hints["mcp.work.close"].requires_approval);
}

#[test]
fn latency_is_that_of_past_calls_without_the_person() {
    let (catalog, space) = setup();
    assert_eq!(one(&catalog, "mcp.home.open").latency_hint, None);
    space.sandbox.script(sandbox::good("x"));
    let run = json!({ "skill_name": "pdf", "command": "ls" });
    called(&catalog, "skill_run", &run).unwrap();
    called(&catalog, "mcp.home.open", &json!({ "repo": "x" })).unwrap();
    for (id, calls) in [("mcp.home.open", 1), ("skill_run", 1), ("skill.pdf", 1)] {
        assert_eq!(one(&catalog, id).latency_hint.unwrap().calls, calls, "{id}");
    }
    assert_eq!(one(&catalog, "skill.notes").latency_hint, None);
    // Refused calls aren't measured.
    called(&catalog, "work__close", &json!({ "repo": "x" })).unwrap_err();
    assert_eq!(one(&catalog, "mcp.work.close").latency_hint, None);
    let (catalog, actor) = (Arc::new(catalog), agent());
    let person = SlowPerson {
        catalog: Arc::clone(&catalog),
        space,
    };
    let arguments = Map::from_iter([("repo".to_owned(), json!("x"))]);
    let request = Request {
        events: Events::new(Arc::new(person)),
        ..Request::new(PROFILES, "work__close", arguments, &actor)
    };
    now(catalog.call(request)).unwrap();
    let measured = one(&catalog, "mcp.work.close").latency_hint.unwrap();
    assert_eq!((measured.milliseconds, measured.calls), (0, 1));
}

/// A person who allows a call after a minute.
struct SlowPerson {
    catalog: Arc<Catalog>,
    space: Arc<MemorySpace>,
}

impl EventSink for SlowPerson {
    fn ask<'a>(&'a self, question: &'a Question) -> Asking<'a> {
        Box::pin(async move {
            self.space.clock.advance(60_000);
            let answer = ApprovalAnswer {
                approval: question.id.clone(),
                target: AnswerTarget::Waiting,
                reply: Reply::Once,
                any_arguments: false,
                hours: None,
            };
            let person = Actor::local(Role::Developer, "person");
            self.catalog
                .operate(answer, &person)
                .await
                .unwrap()
                .is_some()
        })
    }
}

#[test]
fn tool_of_another_server_is_called_by_its_id() {
    let (catalog, _) = setup();
    let arguments = json!({ "repo": "x" });
    for name in ["home__open", "mcp.home.open", "mcp.open", "mcp.home.find"] {
        called(&catalog, name, &arguments).unwrap_or_else(|code| panic!("{name}: {code}"));
    }
    let through = json!({ "name": "mcp.home.open", "arguments": arguments });
    called(&catalog, "tool_call", &through).unwrap();
    // Two servers have a tool of this name: the error has both.
    let actor = agent();
    let request = Request::new(PROFILES, "mcp.find", Map::new(), &actor);
    let error = now(catalog.call(request)).unwrap_err();
    assert_eq!(error.code(), ErrorCode::ToolNotFound);
    let text = serde_json::to_string(&error.to_json()).unwrap();
    assert!(
        text.contains("mcp.home.find") && text.contains("mcp.work.find"),
        "{text}"
    );
    // A tool whose name looks like the id of another server's, which may be gone for now, doesn't get its calls.
    let odd = server("odd", vec![definition("gone.open", "Opens.", false)]);
    let odd: Arc<dyn Servers> = Arc::new(EchoServers {
        tools: vec![odd],
        ..EchoServers::default()
    });
    now(upstream::provide(&catalog, &odd, Some(&Owner::Local))).unwrap();
    called(&catalog, "mcp.odd.gone.open", &arguments).unwrap();
    for name in [
        "mcp.",
        "mcp.home",
        "mcp.home.",
        "mcp.elsewhere.open",
        "mcp.gone.open",
        "skill.pdf",
        "mcp.skill_run",
    ] {
        assert_eq!(
            called(&catalog, name, &json!({})),
            Err(ErrorCode::ToolNotFound),
            "{name}"
        );
    }
}

#[test]
fn caller_sees_what_its_credential_reaches() {
    let (catalog, _) = setup();
    let mut reader = agent();
    reader.permissions.scopes = std::iter::once(Scope::SkillsRead).collect();
    reader.permissions.skills = Some(["lib/notes".to_owned()].into());
    let context = now(catalog.capability_context(PROFILES, &reader)).unwrap();
    assert_eq!(context.available_skills, ["notes"]);
    assert!(context.available_mcp_tools.is_empty());
    let ids: Vec<&str> = context.capabilities.iter().map(|one| &*one.id).collect();
    assert!(
        ids.contains(&"skill_load") && !ids.contains(&"skill_run"),
        "{ids:?}"
    );
    reader.permissions.scopes = std::iter::once(Scope::SkillsRun).collect();
    let refused = now(catalog.capability_context(PROFILES, &reader)).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::Forbidden);
}
