//! Scripts that call tools: each call passes the gate as its caller's own, and ends with the script.

use std::io::{BufRead as _, BufReader, Read};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gongfu_core::account::{Actor, Owner, Role};
use gongfu_core::approval::AnswerTarget;
use gongfu_core::capability::{Access, Origin, Safety};
use gongfu_core::port::Listener;
use gongfu_core::sandbox::{Exit, Outcome, Reader, Stream};
use gongfu_testing::MemorySpace;
use gongfu_testing::sandbox::{failed, good};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::shown;
use super::world::{audit, catalog_of};
use crate::call::{Asking, Call, EventSink, Events, Proposal, Question};
use crate::catalog::{Catalog, Request};
use crate::entry::Entry;
use crate::error::ToolError;
use crate::error_code::ErrorCode;
use crate::gate::{Answer, Review};
use crate::output::ToolResult;
use crate::profile::Profile;
use crate::surface::approval::{ApprovalAnswer, Reply};
use crate::tool::ToolSpec;

/// A call: its tool and arguments, the call that caused it, and its session.
type Note = (String, Value, Option<u64>, Option<Arc<str>>);

/// The calls of tools, as these noted them.
#[derive(Default)]
struct Notes {
    calls: Mutex<Vec<Note>>,
    running: AtomicUsize,
    most: AtomicUsize,
}

/// A made-up tool of another server: `wait` never answers, the others a little later.
struct Noter {
    spec: ToolSpec,
    notes: Arc<Notes>,
}

impl Review for Noter {
    fn review<'a>(&'a self, _call: &'a Call) -> Answer<'a, Option<Proposal>> {
        Box::pin(std::future::ready(Ok(None)))
    }
}

/// Counts a call while it runs.
struct Running<'a>(&'a Notes);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Entry for Noter {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(&'a self, call: &'a Call) -> Answer<'a, ToolResult> {
        Box::pin(async move {
            let notes = &self.notes;
            let arguments = Value::Object((*call.arguments).clone());
            let session = call.actor.session.clone();
            let note = (
                call.entry.to_string(),
                arguments.clone(),
                call.parent,
                session,
            );
            notes.calls.lock().unwrap().push(note);
            let running = notes.running.fetch_add(1, Ordering::Relaxed) + 1;
            notes.most.fetch_max(running, Ordering::Relaxed);
            let _running = Running(notes);
            if call.entry.ends_with("wait") {
                std::future::pending::<()>().await;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
            Ok(ToolResult {
                structured_content: Some(arguments),
                ..ToolResult::text("the same in words")
            })
        })
    }
}

/// A catalog with the tools `a-b__do`, `a-b__wait` and `a-b__harm`, which a person must allow.
fn setup() -> (Arc<Catalog>, Arc<MemorySpace>, Arc<Notes>) {
    let (catalog, space) = catalog_of(MemorySpace::default());
    let notes = Arc::<Notes>::default();
    let tool = |name: &str, safety| {
        Arc::new(Noter {
            spec: ToolSpec {
                name: format!("a-b__{name}").into(),
                title: name.into(),
                description: String::new(),
                input_schema: Arc::new(Map::new()),
                output_schema: None,
                access: Access::Execute,
                destructive: true,
                safety,
                says_read_only: false,
                person_only: false,
                ui: Map::new(),
                origin: Origin::Server("a-b".to_owned()),
                permission: format!("mcp.a-b.{name}").into(),
                definition: None,
                target: None,
            },
            notes: Arc::clone(&notes),
        }) as Arc<dyn Entry>
    };
    let tools = [
        tool("do", Safety::Medium),
        tool("wait", Safety::Medium),
        tool("harm", Safety::High),
    ];
    let origin = Origin::Server("a-b".to_owned());
    catalog
        .provide(&origin, Some(&Owner::Local), &tools)
        .unwrap();
    (Arc::new(catalog), space, notes)
}

/// The script's end of the channel.
struct Script {
    input: BufReader<Box<dyn Read>>,
    listener: Listener,
    code: String,
}

/// A reader that several have.
struct SharedReader(Reader);

impl Read for SharedReader {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().read(buffer)
    }
}

impl Script {
    fn start(reader: Reader, listener: Listener) -> Self {
        let mut script = Self {
            input: BufReader::new(Box::new(SharedReader(reader))),
            listener,
            code: String::new(),
        };
        script.say("hello\n");
        script.code = script.read()["code"].as_str().unwrap().to_owned();
        script
    }

    fn say(&self, line: &str) {
        (self.listener)(Stream::Stdout, line.as_bytes());
    }

    fn ask(&self, number: usize, name: &str, arguments: &Value) {
        let call = json!({ "name": name, "arguments": arguments });
        self.say(&format!("{number} {call}\n"));
    }

    /// The next answer; null once there will be none.
    fn read(&mut self) -> Value {
        let mut line = String::new();
        self.input.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_default()
    }

    fn call(&mut self, name: &str, arguments: Value) -> Value {
        self.ask(1, name, &arguments);
        self.read()
    }

    /// The code of the error of a call.
    fn refused(&mut self, name: &str, arguments: Value) -> String {
        let answer = self.call(name, arguments);
        answer["code"]
            .as_str()
            .unwrap_or_else(|| panic!("{answer}"))
            .to_owned()
    }
}

fn agent() -> Actor {
    Actor {
        session: Some("session".into()),
        ..Actor::local(Role::ExternalAgent, "test")
    }
}

/// Runs a script in place of Python.
async fn run_with(
    catalog: &Catalog,
    space: &MemorySpace,
    request: Request<'_>,
    script: impl FnOnce(&mut Script) -> Outcome + Send + 'static,
) -> Result<ToolResult, ToolError> {
    space
        .sandbox
        .speak(|reader, listener| script(&mut Script::start(reader, listener)));
    catalog.call(request).await
}

async fn run(
    catalog: &Catalog,
    space: &MemorySpace,
    script: impl FnOnce(&mut Script) -> Outcome + Send + 'static,
) -> Result<ToolResult, ToolError> {
    run_with(catalog, space, request(&agent()), script).await
}

fn request(actor: &Actor) -> Request<'_> {
    let code = Map::from_iter([("code".to_owned(), json!("the code"))]);
    Request::new(&[Profile::Standard], "tool_script", code, actor)
}

/// The ends of calls in the audit: tool, outcome, parent; that of the script has none.
fn ends(space: &MemorySpace) -> Vec<(String, String, Option<u64>)> {
    let entries = audit(space).into_iter();
    let ends = entries.filter(|entry| entry["phase"] == "end");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    ends.map(|entry| {
        (
            text(&entry["tool"]),
            text(&entry["outcome"]),
            entry["parent"].as_u64(),
        )
    })
    .collect()
}

/// Waits until something is so, for a second.
async fn until(is_so: impl Fn() -> bool) {
    for _ in 0..1_000 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("it never came to that");
}

#[tokio::test]
async fn calls_pass_the_gate_as_those_of_the_caller_under_the_script() {
    let (catalog, space, notes) = setup();
    let result = run(&catalog, &space, |script| {
        assert_eq!(script.code, "the code");
        let done = script.call("a-b__do", json!({ "n": 1 }));
        assert_eq!(done["result"], json!({ "n": 1 }));
        // As Python writes it.
        assert_eq!(
            script.call("a_b__do", json!({ "n": 2 }))["result"],
            json!({ "n": 2 })
        );
        let skills = script.call("skill_list", json!({}));
        assert!(skills["result"].is_object(), "{skills}");
        let found = script.call("tool_call", json!({ "name": "a-b__do", "arguments": {} }));
        assert_eq!(found["result"], json!({}));
        assert_eq!(script.refused("a-b__harm", json!({})), "APPROVAL_REQUIRED");
        assert_eq!(script.refused("a-b__none", json!({})), "TOOL_NOT_FOUND");
        assert_eq!(
            script.refused("tool_script", json!({ "code": "" })),
            "NESTED_SCRIPT"
        );
        let indirect = json!({ "name": "tool_script", "arguments": { "code": "" } });
        assert_eq!(script.refused("tool_call", indirect), "TOOL_NOT_FOUND");
        script.say("1 [\n");
        assert_eq!(script.read()["code"], "INVALID_ARGUMENT");
        (script.listener)(Stream::Stderr, b"printed");
        let mut outcome = good("lines of the channel");
        outcome.stderr.head = b"printed".to_vec();
        outcome
    });
    assert_eq!(shown(&result.await.unwrap()), "printed\n");
    let spec = space.sandbox.take_specs().remove(0);
    assert!(spec.reach.is_off() && spec.folder == "/workspace");
    assert_eq!(spec.limits.wall, Duration::from_mins(2));
    let ends = ends(&space);
    let script = audit(&space)
        .into_iter()
        .find(|entry| entry["tool"] == "tool_script")
        .unwrap();
    assert_eq!(script["command"], "the code");
    let parent = script["call"].as_u64();
    let named: Vec<(&str, &str)> = ends
        .iter()
        .map(|(tool, how, _)| (&**tool, &**how))
        .collect();
    let expected = [
        ("a-b__do", "ok"),
        ("a-b__do", "ok"),
        ("skill_list", "ok"),
        ("a-b__do", "ok"),
        ("a-b__harm", "APPROVAL_REQUIRED"),
        ("tool_script", "NESTED_SCRIPT"),
        ("tool_script", "ok"),
    ];
    assert_eq!(named, expected);
    let (own, inside) = ends.split_last().unwrap();
    assert!(
        own.2.is_none() && inside.iter().all(|end| end.2 == parent),
        "{ends:?}"
    );
    let calls = notes.calls.lock().unwrap();
    assert_eq!(calls.len(), 3);
    let session: Option<Arc<str>> = agent().session;
    assert!(
        calls
            .iter()
            .all(|call| call.2 == parent && call.3 == session)
    );
}

#[tokio::test]
async fn caller_without_the_scope_runs_no_script() {
    let (catalog, space, _) = setup();
    let mut actor = agent();
    actor.permissions.scopes = "skills:read".parse().unwrap();
    let error = catalog.call(request(&actor)).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::Forbidden);
    assert!(space.sandbox.take_specs().is_empty());
    assert!(
        catalog
            .spec(&[Profile::Standard], &actor, "tool_script")
            .is_none()
    );
    // It runs where no other server is connected, though it isn't listed there.
    let (alone, space) = catalog_of(MemorySpace::default());
    assert!(run(&alone, &space, |_| good("")).await.is_ok());
    let standard = [Profile::Standard];
    assert!(alone.spec(&standard, &agent(), "tool_script").is_some());
    let listed = alone.list(&standard, &agent(), None).await;
    assert!(!listed.iter().any(|spec| *spec.name == *"tool_script"));
    let dialect = Profile::Dialect("skills");
    let error = super::call_in(&alone, dialect, "tool_script", json!({ "code": "" }));
    assert_eq!(error.unwrap_err().code(), ErrorCode::ToolNotFound);
}

#[tokio::test]
async fn script_makes_two_hundred_calls_eight_at_once() {
    let (catalog, space, notes) = setup();
    let result = run(&catalog, &space, |script| {
        for number in 0..230 {
            script.ask(number, "a-b__do", &json!({ "n": number }));
        }
        let answers: Vec<Value> = (0..230).map(|_| script.read()).collect();
        for answer in &answers {
            let number = answer["id"].as_u64().unwrap();
            if number < 200 {
                assert_eq!(answer["result"], json!({ "n": number }));
            } else {
                assert_eq!(answer["code"], "QUOTA_EXCEEDED");
            }
        }
        good("")
    });
    assert_eq!(shown(&result.await.unwrap()), "[no output; exit code: 0]\n");
    assert_eq!(notes.calls.lock().unwrap().len(), 200);
    assert_eq!(notes.most.load(Ordering::Relaxed), 8);
}

#[tokio::test]
async fn calls_end_with_the_script() {
    let (catalog, space, notes) = setup();
    let result = run(&catalog, &space, |script| {
        script.ask(1, "a-b__wait", &json!({}));
        // It is answered after the first one began.
        script.ask(2, "a-b__do", &json!({}));
        script.read();
        failed(Exit::Code(1), "Traceback\nValueError: no\n")
    });
    let text = shown(&result.await.unwrap());
    assert_eq!(text, "Traceback\nValueError: no\n[exit code: 1]\n");
    assert_eq!(notes.running.load(Ordering::Relaxed), 0);
    let ended: Vec<String> = ends(&space).into_iter().map(|end| end.1).collect();
    assert_eq!(ended, ["ok", "CANCELLED", "ok"]);
}

#[tokio::test]
async fn cancelled_script_ends_with_its_calls() {
    let (catalog, space, notes) = setup();
    let cancel = CancellationToken::new();
    let actor = agent();
    let request = Request {
        cancel: cancel.clone(),
        ..request(&actor)
    };
    let running = run_with(&catalog, &space, request, |script| {
        script.ask(1, "a-b__wait", &json!({}));
        // The answer may just have been on its way.
        let mut answer = script.read();
        if answer["code"] == "CANCELLED" {
            answer = script.read();
        }
        assert_eq!(answer, Value::Null, "the channel is closed");
        good("")
    });
    let cancelling = async {
        until(|| notes.running.load(Ordering::Relaxed) == 1).await;
        cancel.cancel();
    };
    let (result, ()) = tokio::join!(running, cancelling);
    assert_eq!(result.unwrap_err().code(), ErrorCode::Cancelled);
    assert_eq!(notes.running.load(Ordering::Relaxed), 0);
    assert!(ends(&space).iter().all(|end| end.1 == "CANCELLED"));
}

/// A person who allows everything, after a while.
struct Person(Arc<Catalog>, Duration);

impl EventSink for Person {
    fn ask<'a>(&'a self, question: &'a Question) -> Asking<'a> {
        Box::pin(async move {
            tokio::time::sleep(self.1).await;
            let answer = ApprovalAnswer {
                approval: question.id.clone(),
                target: AnswerTarget::Any,
                reply: Reply::Once,
                any_arguments: false,
                hours: None,
            };
            let person = Actor::local(Role::Developer, "cli");
            self.0.operate(answer, &person).await.unwrap().unwrap();
            true
        })
    }
}

#[tokio::test]
async fn call_that_waits_for_a_person_holds_the_script_and_its_clock() {
    let (catalog, space, notes) = setup();
    let wait = Duration::from_millis(60);
    let actor = agent();
    let request = Request {
        events: Events::new(Arc::new(Person(Arc::clone(&catalog), wait))),
        ..request(&actor)
    };
    let result = run_with(&catalog, &space, request, |script| {
        let harmed = script.call("a-b__harm", json!({ "n": 1 }));
        assert_eq!(harmed["result"], json!({ "n": 1 }));
        good("")
    });
    result.await.unwrap();
    assert_eq!(notes.calls.lock().unwrap().len(), 1);
    let spec = space.sandbox.take_specs().remove(0);
    let paused = (spec.dialogue.unwrap().paused)();
    assert!(paused >= wait, "{paused:?}");
}

#[tokio::test]
async fn missing_python_is_said() {
    let (catalog, space, _) = setup();
    let said = "python3: command (or its #! interpreter) not found in the sandbox\n";
    space.sandbox.script(failed(Exit::Code(127), said));
    let error = catalog.call(request(&agent())).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::Unavailable);
    assert!(
        error
            .to_string()
            .contains("there is no Python in the sandbox"),
        "{error}"
    );
    // A script may end with that code as well.
    let result = run(&catalog, &space, |_| failed(Exit::Code(127), ""));
    assert_eq!(shown(&result.await.unwrap()), "[exit code: 127]\n");
}
