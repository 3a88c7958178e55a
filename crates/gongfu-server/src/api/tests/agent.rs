//! The agent over REST, with one that does as it is told.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use futures_util::StreamExt as _;
use gongfu_core::account::{Actor, Owner, Role, Scope};
use gongfu_core::agent::{
    AgentLimits, CallRecord, CallStatus, End, Entry, EntryEvent, FORMAT, PlannedCall, Session,
};
use gongfu_core::pipeline::{Event, Outcome, Status, TraceEntry};
use gongfu_core::port::{Message, ModelError, ModelErrorKind, Usage};
use gongfu_hub::agent::{
    ChatAgent, ChatInput, ChatRequest, ChatResult, SessionInfo, ShownSession, TaskChoice,
    TaskEvent, TaskResult, TaskSpec, TurnEvent, tool_calls,
};
use gongfu_hub::gate::Answer;
use gongfu_hub::{Problem, Profile};
use gongfu_testing::FixedClock;
use http::header::{ACCEPT, CONTENT_TYPE, HOST};
use serde_json::{Map, Value, json};
use tower_service::Service as _;

use super::{OneSet, TestServer, all_scopes, request};
use crate::api::ApiParts;
use crate::caller::Caller;
use crate::metric::Metrics;
use crate::route::Surface;
use crate::state::Health;
use crate::token::Token;

/// Something that the agent does in a turn.
pub(super) enum Step {
    Text(&'static str),
    Retry,
    Answered,
    Call(&'static str, CallStatus),
    /// Waits until it is cancelled.
    Wait,
    Fail(ModelErrorKind),
    Reply(&'static str, End),
}

/// A request as the agent got it.
pub(super) struct Inquiry {
    pub(super) input: ChatInput,
    pub(super) session: Option<String>,
    pub(super) model: Option<String>,
    pub(super) history: Vec<Message>,
    pub(super) is_kept: bool,
    pub(super) actor: Actor,
}

/// An agent that does as it is told.
#[derive(Default)]
pub(super) struct FakeAgent {
    steps: Mutex<VecDeque<Step>>,
    asked: Mutex<Vec<Inquiry>>,
    /// Told when a turn was cancelled.
    pub(super) cancelled: tokio::sync::Notify,
}

impl FakeAgent {
    /// The steps of the next turn.
    pub(super) fn will(&self, steps: impl IntoIterator<Item = Step>) {
        self.steps.lock().unwrap().extend(steps);
    }

    /// The last request.
    pub(super) fn asked(&self) -> Inquiry {
        self.asked.lock().unwrap().pop().unwrap()
    }

    pub(super) fn is_unasked(&self) -> bool {
        self.asked.lock().unwrap().is_empty()
    }
}

fn record(tool: &str, status: CallStatus) -> CallRecord {
    CallRecord {
        call: PlannedCall {
            id: "call-1".to_owned(),
            tool: tool.to_owned(),
            params: Map::from_iter([("n".to_owned(), json!(1))]),
            problem: None,
            is_fenced: false,
        },
        status,
        result: "seen".to_owned(),
        duration_ms: 7,
    }
}

impl ChatAgent for FakeAgent {
    fn chat(self: Arc<Self>, request: ChatRequest, person: &Actor) -> Answer<'_, ChatResult> {
        let ChatRequest { events, cancel, .. } = request;
        let id = request.session.clone().unwrap_or("s-new".to_owned());
        self.asked.lock().unwrap().push(Inquiry {
            input: request.input,
            session: request.session,
            model: request.model.clone(),
            history: request.history,
            is_kept: request.is_kept,
            actor: person.clone(),
        });
        Box::pin(async move {
            if id == "s-unknown" {
                return Err(Problem::SessionUnknown { id }.error());
            }
            if request.model.as_deref() == Some("no/such") {
                let error = ModelError::new(ModelErrorKind::NotConfigured, "no provider `no`");
                let model = "no/such".to_owned();
                return Err(Problem::Model {
                    model,
                    error,
                    session: Some(id),
                }
                .error());
            }
            events.event(TurnEvent::Session(id.clone()));
            let mut calls = Vec::new();
            loop {
                let step = self.steps.lock().unwrap().pop_front();
                match step.unwrap_or(Step::Reply("Yes.", End::Answered)) {
                    Step::Text(piece) => events.event(TurnEvent::Text(piece.to_owned())),
                    Step::Retry => events.event(TurnEvent::Retry {
                        attempt: 2,
                        wait_ms: 5,
                        message: "it ended".to_owned(),
                    }),
                    Step::Answered => events.event(TurnEvent::Answered),
                    Step::Call(tool, status) => {
                        let record = record(tool, status);
                        events.event(TurnEvent::Calling(record.call.clone()));
                        events.event(TurnEvent::Called(record.clone()));
                        calls.push(record);
                    }
                    Step::Wait => {
                        cancel.cancelled().await;
                        self.cancelled.notify_one();
                        return Err(Problem::Cancelled.error());
                    }
                    Step::Fail(kind) => {
                        let error = ModelError::new(kind, "it ended");
                        let model = "fake/one".to_owned();
                        return Err(Problem::Model {
                            model,
                            error,
                            session: Some(id),
                        }
                        .error());
                    }
                    Step::Reply(reply, end) => {
                        return Ok(ChatResult {
                            reply: reply.to_owned(),
                            tool_calls: tool_calls(&calls),
                            usage: Usage {
                                input: 100,
                                cached: 40,
                                output: 10,
                                cost: 0,
                            },
                            session: id,
                            has_context: false,
                            end,
                            model: "fake/one".to_owned(),
                        });
                    }
                }
            }
        })
    }

    fn run_task(self: Arc<Self>, task: TaskSpec, _: &Actor) -> Answer<'_, TaskResult> {
        Box::pin(async move {
            let (run, pipeline_id, output) = match task.input {
                TaskChoice::Named(name, _) if name == "waits" => {
                    task.events.event(TaskEvent::Run("r-2".to_owned()));
                    task.cancel.cancelled().await;
                    self.cancelled.notify_one();
                    return Err(Problem::Cancelled.error());
                }
                TaskChoice::Named(name, params) => ("r-1".to_owned(), name, params),
                TaskChoice::Defined(definition, _) => {
                    ("r-1".to_owned(), "own".to_owned(), definition)
                }
                TaskChoice::Resume(run) if run == "r-unknown" => {
                    return Err(
                        Problem::wrong_value("run", "there is no such run", "use its id").error(),
                    );
                }
                TaskChoice::Resume(run) => (run, "rest".to_owned(), Value::Null),
            };
            task.events.event(TaskEvent::Run(run.clone()));
            let step = || "one".to_owned();
            for event in [
                Event::Resumed {},
                Event::StepStarted {
                    step: step(),
                    attempt: 1,
                },
                Event::StepFinished {
                    step: step(),
                    output: output.clone(),
                    duration_ms: 3,
                },
            ] {
                task.events.event(TaskEvent::Logged(event));
            }
            let outcome = Outcome {
                success: true,
                pipeline_id,
                outputs: Map::from_iter([(step(), output)]),
                trace: vec![TraceEntry {
                    step: step(),
                    status: Status::Ok,
                    duration_ms: 3,
                    attempt: 1,
                }],
                duration_ms: 4,
                error: None,
            };
            Ok(TaskResult { run, outcome })
        })
    }

    fn sessions<'a>(&'a self, person: &'a Actor) -> Answer<'a, Vec<SessionInfo>> {
        let info = |id: String| SessionInfo {
            id,
            ..SessionInfo::default()
        };
        let ids = ["s-2", "s-1"].map(|id| info(format!("{id} of {:?}", person.owner)));
        Box::pin(async move { Ok(ids.to_vec()) })
    }

    fn session<'a>(&'a self, id: &'a str, person: &'a Actor) -> Answer<'a, ShownSession> {
        let is_own = matches!(&person.owner, Owner::User(user) if user.as_str() == id);
        Box::pin(async move {
            if !is_own {
                return Err(Problem::SessionUnknown { id: id.to_owned() }.error());
            }
            let entries = vec![Entry {
                n: 0,
                at: "2026-01-01T00:00:00Z".to_owned(),
                event: EntryEvent::Started {
                    format: FORMAT,
                    forked_from: None,
                },
            }];
            let session = Session::of(&entries).unwrap();
            Ok(ShownSession { entries, session })
        })
    }

    fn remove_session<'a>(&'a self, id: &'a str, person: &'a Actor) -> Answer<'a, ()> {
        Box::pin(async move { self.session(id, person).await.map(drop) })
    }

    fn models(&self) -> Vec<String> {
        vec!["fake/one".to_owned(), "fast".to_owned()]
    }

    fn limits(&self) -> AgentLimits {
        AgentLimits::default()
    }
}

/// A turn with everything.
pub(super) fn turn() -> [Step; 8] {
    [
        Step::Text("I lo"),
        Step::Retry,
        Step::Text("I look."),
        Step::Answered,
        Step::Call("skill_list", CallStatus::Ok),
        Step::Text("Done."),
        Step::Answered,
        Step::Reply("Done.", End::Answered),
    ]
}

impl TestServer {
    /// A server with a user, and that one's API token.
    pub(super) fn with_ann() -> (Self, String) {
        let server = Self::new();
        let ann = server.user("ann", false);
        let (token, _) = server.token(&ann.id, &all_scopes());
        (server, token)
    }

    pub(super) async fn open(&self, path: &str, token: &str, body: &Value) -> Response {
        let request = request("POST", path, token)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream");
        let request = request.body(Body::from(body.to_string())).unwrap();
        self.router.clone().call(request).await.unwrap()
    }

    /// The events of an answer: the name and the data of each.
    pub(super) async fn events(
        &self,
        path: &str,
        token: &str,
        body: &Value,
    ) -> Vec<(String, String)> {
        let response = self.open(path, token, body).await;
        assert_eq!(response.headers()[CONTENT_TYPE], "text/event-stream");
        assert_eq!(response.headers()["cache-control"], "no-store");
        let body = axum::body::to_bytes(response.into_body(), usize::MAX).await;
        let text = String::from_utf8(body.unwrap().to_vec()).unwrap();
        let blocks = text.trim_end().split("\n\n");
        let field = |block: &str, name: &str| {
            let found = block.lines().find_map(|line| line.strip_prefix(name));
            found.unwrap_or_default().to_owned()
        };
        blocks
            .map(|block| (field(block, "event: "), field(block, "data: ")))
            .collect()
    }
}

const CHAT: &str = "/api/v1/agent/chat";
const TASK: &str = "/api/v1/agent/task";

#[tokio::test]
async fn turn_is_answered_as_json() {
    let (server, token) = TestServer::with_ann();
    server.agent.will(turn());
    let body = json!({
        "prompt": "Which?",
        "model": "fast",
        "history": [
            { "role": "user", "content": "Hi" },
            { "role": "assistant", "content": "Hello" },
        ],
        "keep": false,
    });
    let reply = server.call("POST", CHAT, &token, body).await.json();
    assert_eq!(
        reply,
        json!({
            "reply": "Done.",
            "tool_calls": [{
                "tool": "skill_list",
                "params": { "n": 1 },
                "result": "seen",
                "status": "ok",
                "duration_ms": 7,
            }],
            "usage": { "input": 100, "cached": 40, "output": 10 },
            "session": "s-new",
            "has_context": false,
            "end": "answered",
            "model": "fake/one",
        })
    );
    let asked = server.agent.asked();
    assert_eq!(asked.input, ChatInput::Prompt("Which?".to_owned()));
    assert_eq!(asked.model.as_deref(), Some("fast"));
    assert!(!asked.is_kept);
    assert_eq!(asked.actor.role, Role::ExternalAgent);
    assert!(matches!(asked.actor.owner, Owner::User(_)));
    let [
        Message::User { text: one },
        Message::Assistant { text: other, .. },
    ] = &asked.history[..]
    else {
        panic!("{:?}", asked.history);
    };
    assert_eq!((one.as_str(), other.as_str()), ("Hi", "Hello"));
}

#[tokio::test]
async fn turn_is_told_by_events_in_order() {
    let (server, token) = TestServer::with_ann();
    server.agent.will(turn());
    let events = server
        .events(CHAT, &token, &json!({ "prompt": "Which?" }))
        .await;
    let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
    let wanted = [
        "session", "text", "retry", "text", "call", "result", "text", "done",
    ];
    assert_eq!(names, wanted);
    let data = |index: usize| serde_json::from_str::<Value>(&events[index].1).unwrap();
    assert_eq!(data(0), json!({ "session": "s-new" }));
    assert_eq!(data(1), json!({ "piece": "I lo" }));
    assert_eq!(
        data(2),
        json!({ "attempt": 2, "wait_ms": 5, "message": "it ended" })
    );
    assert_eq!(
        data(4),
        json!({ "id": "call-1", "tool": "skill_list", "params": { "n": 1 } })
    );
    assert_eq!(
        data(5),
        json!({
            "id": "call-1", "tool": "skill_list", "status": "ok", "duration_ms": 7, "result": "seen",
        })
    );
    assert_eq!(data(7)["reply"], "Done.");
    assert!(server.agent.asked().is_kept);

    server
        .agent
        .will([Step::Text("a"), Step::Fail(ModelErrorKind::Incomplete)]);
    let events = server
        .events(CHAT, &token, &json!({ "prompt": "Which?" }))
        .await;
    let (name, data) = events.last().unwrap();
    let data: Value = serde_json::from_str(data).unwrap();
    assert_eq!(name, "error");
    assert_eq!(data["code"], "MODEL_UNAVAILABLE");
    assert_eq!(data["kind"], "incomplete");
    assert!(data["message"].as_str().unwrap().contains("it ended"));
    assert!(data["hint"].is_string());
}

#[tokio::test(start_paused = true)]
async fn client_that_leaves_stops_the_turn() {
    let (server, token) = TestServer::with_ann();
    server.agent.will([Step::Text("a"), Step::Wait]);
    let response = server.open(CHAT, &token, &json!({ "prompt": "x" })).await;
    let mut pieces = response.into_body().into_data_stream();
    assert!(
        pieces
            .next()
            .await
            .unwrap()
            .unwrap()
            .starts_with(b"event: session")
    );
    drop(pieces);
    server.agent.cancelled.notified().await;

    // Without events, by dropping the answer itself.
    server.agent.will([Step::Text("a"), Step::Wait]);
    let call = server.call("POST", CHAT, &token, json!({ "prompt": "x" }));
    let left = tokio::time::timeout(std::time::Duration::from_millis(50), call).await;
    assert!(left.is_err());
    server.agent.cancelled.notified().await;
}

#[tokio::test(start_paused = true)]
async fn silent_turn_keeps_the_connection_alive() {
    let (server, token) = TestServer::with_ann();
    server.agent.will([Step::Wait]);
    let response = server.open(CHAT, &token, &json!({ "prompt": "x" })).await;
    let mut pieces = response.into_body().into_data_stream();
    pieces.next().await.unwrap().unwrap();
    assert_eq!(pieces.next().await.unwrap().unwrap(), ": still here\n\n");
    assert_eq!(pieces.next().await.unwrap().unwrap(), ": still here\n\n");
}

#[tokio::test]
async fn wrong_requests_are_refused() {
    let (server, token) = TestServer::with_ann();
    for (body, field) in [
        (json!({}), "prompt"),
        (json!({ "prompt": "" }), "prompt"),
        (json!({ "prompt": 5 }), "prompt"),
        (json!({ "prompt": "x", "nosuch": 1 }), "nosuch"),
        (json!({ "resume": true }), "session"),
        (
            json!({ "resume": true, "session": "s", "prompt": "x" }),
            "prompt",
        ),
        (
            json!({ "prompt": "x", "session": "s", "keep": false }),
            "keep",
        ),
        (json!({ "prompt": "x", "set": "review" }), "set"),
        (
            json!({ "prompt": "x", "session": "s", "history": [{ "role": "user", "content": "y" }] }),
            "history",
        ),
        (
            json!({ "prompt": "x", "history": [{ "role": "system", "content": "y" }] }),
            "history[0].role",
        ),
    ] {
        let reply = server.call("POST", CHAT, &token, body.clone()).await;
        assert_eq!(
            reply.problem(),
            (422, "VALIDATION_ERROR".to_owned()),
            "{body}"
        );
        assert_eq!(reply.json()["errors"][0]["field"], field, "{reply:?}");
    }
    assert!(server.agent.is_unasked());
    for (body, wanted) in [
        (
            json!({ "prompt": "x", "session": "s-unknown" }),
            (404, "SESSION_NOT_FOUND"),
        ),
        (
            json!({ "prompt": "x", "model": "no/such" }),
            (409, "MODEL_NOT_CONFIGURED"),
        ),
    ] {
        let reply = server.call("POST", CHAT, &token, body.clone()).await;
        assert_eq!(reply.problem(), (wanted.0, wanted.1.to_owned()));
        // A stream that can't begin is refused in the same way.
        let refused = server.open(CHAT, &token, &body).await;
        assert_eq!(refused.status().as_u16(), wanted.0);
    }
    let ann = server.user("bob", false);
    let (read, _) = server.token(&ann.id, &[Scope::SkillsRead]);
    let reply = server
        .call("POST", CHAT, &read, json!({ "prompt": "x" }))
        .await;
    assert_eq!(reply.problem(), (403, "FORBIDDEN".to_owned()));
    let reply = server
        .call("POST", CHAT, "", json!({ "prompt": "x" }))
        .await;
    assert_eq!(reply.problem().0, 401);
}

#[tokio::test]
async fn stopped_turn_is_resumed() {
    let (server, token) = TestServer::with_ann();
    server.agent.will([Step::Reply("Done.", End::Answered)]);
    let body = json!({ "resume": true, "session": "s-1" });
    let path = format!("{CHAT}?set=review");
    assert_eq!(server.call("POST", &path, &token, body).await.status, 200);
    let asked = server.agent.asked();
    assert_eq!(asked.input, ChatInput::Resume);
    assert_eq!(asked.session.as_deref(), Some("s-1"));
    assert!(asked.actor.permissions.set.is_some());
}

#[tokio::test]
async fn pipeline_runs_without_a_model_and_ends_with_its_client() {
    let (server, token) = TestServer::with_ann();
    let body = json!({ "name": "demonstration", "params": { "n": 1 } });
    let reply = server.call("POST", TASK, &token, body).await.json();
    assert_eq!(
        reply,
        json!({
            "run": "r-1",
            "success": true,
            "pipelineId": "demonstration",
            "outputs": { "one": { "n": 1 } },
            "trace": [{ "step": "one", "status": "ok", "durationMs": 3, "attempt": 1 }],
            "durationMs": 4,
            "error": null,
        })
    );
    for body in [
        json!({}),
        json!({ "name": "x", "pipeline": {} }),
        json!({ "name": "x", "resume": "r-9" }),
        json!({ "resume": "r-9", "params": { "n": 1 } }),
        json!({ "resume": "r-unknown" }),
    ] {
        let refused = server.call("POST", TASK, &token, body.clone()).await;
        assert_eq!(refused.status, 422, "{body}");
        assert_eq!(server.open(TASK, &token, &body).await.status(), 422);
    }
    let call = server.call("POST", TASK, &token, json!({ "name": "waits" }));
    let left = tokio::time::timeout(std::time::Duration::from_millis(50), call).await;
    assert!(left.is_err());
    server.agent.cancelled.notified().await;
}

#[tokio::test]
async fn run_is_told_by_events_and_continued() {
    let (server, token) = TestServer::with_ann();
    let events = server
        .events(TASK, &token, &json!({ "resume": "r-9" }))
        .await;
    let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["run", "step", "step", "result"]);
    let data = |index: usize| serde_json::from_str::<Value>(&events[index].1).unwrap();
    assert_eq!(data(0), json!({ "run": "r-9" }));
    assert_eq!(
        data(1),
        json!({ "event": "step_started", "step": "one", "attempt": 1 })
    );
    assert_eq!(data(2)["durationMs"], 3);
    assert_eq!(
        (&data(3)["run"], &data(3)["success"]),
        (&json!("r-9"), &json!(true))
    );
    let body = json!({ "pipeline": { "name": "own" } });
    let reply = server.call("POST", TASK, &token, body).await.json();
    assert_eq!(reply["outputs"], json!({ "one": { "name": "own" } }));

    let waiting = server.open(TASK, &token, &json!({ "name": "waits" })).await;
    let mut pieces = waiting.into_body().into_data_stream();
    let first = pieces.next().await.unwrap().unwrap();
    assert!(first.starts_with(b"event: run"));
    drop(pieces);
    server.agent.cancelled.notified().await;
}

#[tokio::test]
async fn tool_runs_without_a_model() {
    let (server, token) = TestServer::with_ann();
    let tool = "/api/v1/agent/tool";
    let body = json!({ "name": "skill_load", "params": { "skill_name": "pdf-tools" } });
    let reply = server.call("POST", tool, &token, body).await.json();
    assert!(reply["text"].as_str().unwrap().contains("# PDF tools"));
    let body = json!({ "name": "nosuch" });
    let reply = server.call("POST", tool, &token, body).await;
    assert_eq!(reply.problem(), (404, "TOOL_NOT_FOUND".to_owned()));
    assert!(server.agent.is_unasked());
}

#[tokio::test]
async fn capabilities_and_sessions_are_the_callers() {
    let server = TestServer::new();
    let ann = server.user("ann", false);
    let (token, _) = server.token(&ann.id, &all_scopes());
    let path = "/api/v1/agent/capabilities?kind=skill&limit=1";
    let page = server.get(path, &token).await.json();
    assert_eq!(page["items"][0]["kind"], "skill");
    assert_eq!(page["models"], json!(["fake/one", "fast"]));
    assert_eq!(page["limits"]["steps"], 6);
    assert_eq!(page["limits"]["session_tokens"], Value::Null);
    let page = server.get("/api/v1/agent/sessions?limit=1", &token).await;
    let items = page.json()["items"].clone();
    assert_eq!(page.json()["total"], 2);
    assert_eq!(items.as_array().unwrap().len(), 1);
    assert!(items[0]["id"].as_str().unwrap().starts_with("s-2 of User"));
    let path = format!("/api/v1/agent/sessions/{}", ann.id.as_str());
    let log = server.get(&path, &token).await.json();
    assert_eq!(log["entries"][0]["kind"], "started");
    let other = server.get("/api/v1/agent/sessions/s-9", &token).await;
    assert_eq!(other.problem(), (404, "SESSION_NOT_FOUND".to_owned()));
}

/// A server without accounts, with a token.
fn local(agent: Option<Arc<FakeAgent>>) -> (Router, Token) {
    let parts = TestServer::new();
    let token = Token::of(&[7; 32]);
    let catalog = gongfu_hub::Catalog::new(
        Arc::<gongfu_testing::MemorySpaces>::default(),
        gongfu_hub::Quota::default(),
        None,
    );
    drop(parts);
    let surface = Surface {
        mcp: Router::new(),
        health: Arc::new(|| Health {
            version: "1".to_owned(),
            ready: true,
            sandbox: None,
        }),
        metrics: Arc::new(Metrics::new("1", Vec::new())),
        clock: Arc::<FixedClock>::default(),
        link_parent_trace: None,
        public_url: None,
        token: Some(token.clone()),
        sign_in: None,
        published: None,
        api: Some(ApiParts {
            catalog: Arc::new(catalog),
            profiles: vec![Profile::Standard],
            sets: Arc::new(OneSet),
            set: None,
            agent: agent.map(|agent| agent as _),
            accounts: None,
        }),
    };
    (surface.router().0, token)
}

async fn ask(router: &Router, method: &str, path: &str, headers: &[(&str, &str)]) -> (u16, Value) {
    let mut request = Request::builder().method(method).uri(path);
    request = request.header(HOST, "127.0.0.1:7878");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let body = if method == "POST" {
        request = request.header(CONTENT_TYPE, "application/json");
        Body::from(r#"{"prompt": "x"}"#)
    } else {
        Body::empty()
    };
    let response = router
        .clone()
        .call(request.body(body).unwrap())
        .await
        .unwrap();
    let status = response.status().as_u16();
    let body = axum::body::to_bytes(response.into_body(), usize::MAX).await;
    (
        status,
        serde_json::from_slice(&body.unwrap()).unwrap_or_default(),
    )
}

#[tokio::test]
async fn server_without_accounts_answers_its_own_user_alone() {
    let agent = Arc::<FakeAgent>::default();
    let (router, token) = local(Some(Arc::clone(&agent)));
    let (status, refused) = ask(&router, "POST", CHAT, &[]).await;
    assert_eq!((status, &refused["code"]), (401, &json!("UNAUTHENTICATED")));
    let (status, refused) = ask(&router, "GET", "/v1/models", &[]).await;
    assert_eq!(
        (status, &refused["error"]["code"]),
        (401, &json!("UNAUTHENTICATED"))
    );
    assert!(agent.is_unasked());

    let header = token.header();
    let known = [("authorization", header.as_str()), ("user-agent", "me")];
    agent.will([Step::Reply("Done.", End::Answered)]);
    let (status, reply) = ask(&router, "POST", CHAT, &known).await;
    assert_eq!((status, &reply["reply"]), (200, &json!("Done.")));
    let asked = agent.asked();
    assert_eq!(asked.actor.owner, Owner::Local);
    assert_eq!(
        (asked.actor.role, asked.actor.client.as_str()),
        (Role::ExternalAgent, "me")
    );
    // Only what needs no accounts is there.
    let (status, document) = ask(&router, "GET", "/openapi.json", &known).await;
    assert_eq!(status, 200);
    let paths: Vec<&String> = document["paths"].as_object().unwrap().keys().collect();
    assert!(paths.len() >= 7, "{paths:?}");
    for path in paths {
        let is_agents = path.starts_with("/api/v1/agent/") || path.starts_with("/v1/");
        assert!(is_agents, "{path}");
    }
    for path in ["/api/v1/users/me", "/api/v1/tools", "/docs"] {
        assert_eq!(ask(&router, "GET", path, &known).await.0, 404, "{path}");
    }
}

#[tokio::test]
async fn agent_that_is_off_says_what_turns_it_on() {
    let (router, token) = local(None);
    let header = token.header();
    let known = [("authorization", header.as_str())];
    for (method, path) in [("POST", CHAT), ("GET", "/api/v1/agent/sessions")] {
        let (status, refused) = ask(&router, method, path, &known).await;
        assert_eq!((status, &refused["code"]), (403, &json!("AGENT_OFF")));
        assert!(refused["hint"].as_str().unwrap().contains("agent.accounts"));
    }
    let (status, refused) = ask(&router, "GET", "/v1/models", &known).await;
    assert_eq!(
        (status, &refused["error"]["code"]),
        (403, &json!("AGENT_OFF"))
    );
    assert_eq!(refused["error"]["type"], "permission_error");
}

#[tokio::test]
async fn other_connection_of_the_servers_user_needs_no_token() {
    let agent = Arc::<FakeAgent>::default();
    let (router, _) = local(Some(Arc::clone(&agent)));
    let mut request = Request::builder()
        .uri("/v1/models")
        .header(HOST, "localhost");
    request = request.header("authorization", "Bearer anything");
    let mut request = request.body(Body::empty()).unwrap();
    request.extensions_mut().insert(Caller::Own);
    let response = router.clone().call(request).await.unwrap();
    assert_eq!(response.status().as_u16(), 200);
}
