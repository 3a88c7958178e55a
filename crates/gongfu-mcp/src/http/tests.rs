//! The endpoint without a socket: refusals, profiles, limits, sessions, the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, ServerCapabilities,
    ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tower_service::Service as _;

use super::{
    HttpEndpoint, HttpResponse, HttpSettings, MAX_ANSWERING, MAX_INITIALIZE, PERMIT_TIME,
    RequestedProfiles,
};

mod user;

/// A handler whose one tool takes a while and tells which profiles it was asked for.
#[derive(Clone)]
struct Slow;

impl ServerHandler for Slow {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        _request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let parts = context.extensions.get::<http::request::Parts>();
        let asked = parts.and_then(|parts| parts.extensions.get::<RequestedProfiles>());
        let names = asked.map(|asked| asked.0.iter().map(|one| one.as_str()).collect::<Vec<_>>());
        Ok(CallToolResult::structured(json!({ "asked": names })).into())
    }
}

fn endpoint(settings: HttpSettings) -> HttpEndpoint {
    HttpEndpoint::new(|| Slow, settings)
}

async fn answer(endpoint: &HttpEndpoint, request: Request<Full<Bytes>>) -> HttpResponse {
    let Ok(answer) = endpoint.clone().call(request).await;
    answer
}

async fn told(response: HttpResponse) -> (StatusCode, Value) {
    let status = response.status();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    let told = serde_json::from_slice(&bytes)
        .unwrap_or(Value::String(String::from_utf8_lossy(&bytes).into_owned()));
    (status, told)
}

fn post(address: &str, headers: &[(&str, &str)], body: &str) -> Request<Full<Bytes>> {
    let mut request = Request::builder()
        .method(Method::POST)
        .uri(address)
        .header("host", "localhost")
        .header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Full::from(body.to_owned())).unwrap()
}

const MODERN: [(&str, &str); 3] = [
    ("mcp-protocol-version", "2026-07-28"),
    ("mcp-method", "tools/call"),
    ("mcp-name", "slow"),
];

fn call() -> String {
    json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "slow", "arguments": {}, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }}})
    .to_string()
}

fn initialize() -> Request<Full<Bytes>> {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}});
    post("/mcp", &[], &body.to_string())
}

fn session(response: &HttpResponse) -> String {
    response.headers()["mcp-session-id"]
        .to_str()
        .unwrap()
        .to_owned()
}

#[tokio::test]
async fn refuses_with_json_rpc_errors() {
    let endpoint = endpoint(HttpSettings {
        body_limit: 1_000,
        ..HttpSettings::default()
    });
    let long = format!("{{\"x\":\"{}\"}}", "y".repeat(2_000));
    for (body, status, code) in [
        ("{", 400, -32_700),
        ("[]", 400, -32_600),
        ("7", 400, -32_600),
        ("{\"jsonrpc\":\"2.0\",\"id\":1}", 400, -32_600),
        (long.as_str(), 413, -32_600),
    ] {
        let (seen, told) = told(answer(&endpoint, post("/mcp", &[], body)).await).await;
        assert_eq!(
            (seen.as_u16(), &told["error"]["code"]),
            (status, &json!(code)),
            "{body:.40}: {told}"
        );
    }
    // An invalid cursor must not get the first page.
    let list = r#"{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":5}}"#;
    let (seen, told_of) = told(answer(&endpoint, post("/mcp", &[], list)).await).await;
    assert_eq!(
        (seen.as_u16(), &told_of["error"]["code"], &told_of["id"]),
        (400, &json!(-32_602), &json!(3)),
        "{told_of}"
    );
    let mut plain = post("/mcp", &[], "{}");
    plain
        .headers_mut()
        .insert("content-type", "text/plain".parse().unwrap());
    assert_eq!(told(answer(&endpoint, plain).await).await.0.as_u16(), 415);
    let (seen, told) =
        told(answer(&endpoint, post("/mcp", &[("accept", "text/html")], &call())).await).await;
    assert_eq!(
        (seen.as_u16(), &told["error"]["code"]),
        (406, &json!(-32_000))
    );
}

#[tokio::test]
async fn address_selects_the_profile() {
    let endpoint = endpoint(HttpSettings::default());
    for (address, asked) in [
        ("/mcp", json!(null)),
        ("/mcp?profile=skills", json!(["skills"])),
        (
            "/mcp?profile=skills%2Cread_skill&profile=skills",
            json!(["skills", "read_skill"]),
        ),
        ("/mcp?profile=&other=1", json!(null)),
    ] {
        let (status, told) = told(answer(&endpoint, post(address, &MODERN, &call())).await).await;
        assert_eq!(
            (
                status.as_u16(),
                &told["result"]["structuredContent"]["asked"]
            ),
            (200, &asked),
            "{address}: {told}"
        );
    }
    let (status, told) =
        told(answer(&endpoint, post("/mcp?profile=none", &MODERN, &call())).await).await;
    assert_eq!(
        (status.as_u16(), &told["error"]["code"]),
        (400, &json!(-32_602))
    );
}

#[tokio::test]
async fn refuses_foreign_hosts_and_pages() {
    let endpoint = endpoint(HttpSettings::default());
    let (status, _) = told(
        answer(
            &endpoint,
            post("/mcp", &[("origin", "http://evil.com")], &call()),
        )
        .await,
    )
    .await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    let mut foreign = post("/mcp", &MODERN, &call());
    foreign
        .headers_mut()
        .insert("host", "evil.com".parse().unwrap());
    assert_eq!(
        told(answer(&endpoint, foreign).await).await.0,
        StatusCode::FORBIDDEN
    );
    assert_eq!(
        told(answer(&endpoint, post("/mcp", &MODERN, &call())).await)
            .await
            .0,
        StatusCode::OK
    );
}

#[tokio::test]
async fn an_idle_session_makes_room_and_one_in_use_does_not() {
    let endpoint = endpoint(HttpSettings {
        session_limit: 2,
        ..HttpSettings::default()
    });
    let first = session(&answer(&endpoint, initialize()).await);
    let second = session(&answer(&endpoint, initialize()).await);
    let stream = |id: &str| {
        Request::builder()
            .uri("/mcp")
            .header("host", "localhost")
            .header("accept", "text/event-stream")
            .header("mcp-session-id", id)
            .body(Full::default())
            .unwrap()
    };
    let open = answer(&endpoint, stream(&first)).await;
    assert_eq!(open.status(), StatusCode::OK);
    // The second is older in use than the first now.
    let third = session(&answer(&endpoint, initialize()).await);
    assert_eq!(endpoint.sessions(), 2);
    let (status, told_of) = told(answer(&endpoint, stream(&second)).await).await;
    assert_eq!(
        (status.as_u16(), &told_of["error"]["code"]),
        (404, &json!(-32_001))
    );
    let also_open = answer(&endpoint, stream(&third)).await;
    let (status, told_of) = told(answer(&endpoint, initialize()).await).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{told_of}");
    drop((open, also_open));
    assert_eq!(
        answer(&endpoint, initialize()).await.status(),
        StatusCode::OK
    );
}

#[tokio::test(start_paused = true)]
async fn of_many_idle_sessions_only_some_stay() {
    let endpoint = endpoint(HttpSettings {
        idle_session_limit: 2,
        ..HttpSettings::default()
    });
    for _ in 0..5 {
        answer(&endpoint, initialize()).await;
    }
    tokio::time::sleep(Duration::from_secs(50)).await;
    assert_eq!(endpoint.sessions(), 5, "a minute is not over");
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(endpoint.sessions(), 2);
    tokio::time::sleep(Duration::from_mins(28)).await;
    assert_eq!(endpoint.sessions(), 2, "half an hour is not over");
    tokio::time::sleep(Duration::from_mins(2)).await;
    assert_eq!(endpoint.sessions(), 0);
}

#[tokio::test]
async fn refuses_a_session_that_would_keep_much() {
    let endpoint = endpoint(HttpSettings::default());
    let named = |length: usize| {
        let name = "n".repeat(length);
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": name, "version": "1"}});
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": "initialize", "params": params});
        post("/mcp", &[], &body.to_string())
    };
    let (status, told_of) = told(answer(&endpoint, named(MAX_INITIALIZE)).await).await;
    assert_eq!(
        (status, &told_of["id"]),
        (StatusCode::PAYLOAD_TOO_LARGE, &json!(7))
    );
    assert_eq!(endpoint.sessions(), 0);
    let response = answer(&endpoint, named(MAX_INITIALIZE - 1_000)).await;
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(endpoint.sessions(), 1);
}

#[tokio::test]
async fn an_idle_session_expires() {
    let endpoint = endpoint(HttpSettings {
        session_idle: Duration::from_millis(100),
        ..HttpSettings::default()
    });
    let id = session(&answer(&endpoint, initialize()).await);
    for _ in 0..200 {
        if endpoint.sessions() == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(endpoint.sessions(), 0);
    let ended = Request::builder()
        .method(Method::DELETE)
        .uri("/mcp")
        .header("host", "localhost")
        .header("mcp-session-id", id)
        .body(Full::default())
        .unwrap();
    assert_eq!(
        answer(&endpoint, ended).await.status(),
        StatusCode::NOT_FOUND
    );
}

#[tokio::test]
async fn drain_waits_for_answers() {
    let endpoint = endpoint(HttpSettings::default());
    let mut busy = endpoint.clone();
    let running = tokio::spawn(async move { busy.call(post("/mcp", &MODERN, &call())).await });
    while endpoint.answering.is_empty() {
        tokio::task::yield_now().await;
    }
    endpoint.drain(Duration::from_secs(20)).await;
    let Ok(answered) = running.await.unwrap();
    assert_eq!(told(answered).await.0, StatusCode::OK);
    let (status, _) = told(answer(&endpoint, post("/mcp", &MODERN, &call())).await).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
}

#[tokio::test(start_paused = true)]
async fn slow_requests_give_their_permits_back() {
    let endpoint = endpoint(HttpSettings::default());
    let most = Arc::new(AtomicUsize::new(0));
    for (takes, together) in [
        (PERMIT_TIME / 10, MAX_ANSWERING),
        // Those that are still waited for no longer count.
        (PERMIT_TIME * 10, 3 * MAX_ANSWERING),
    ] {
        let begun = tokio::time::Instant::now();
        let running = Arc::new(AtomicUsize::new(0));
        most.store(0, Ordering::Relaxed);
        let mut works = tokio::task::JoinSet::new();
        for _ in 0..3 * MAX_ANSWERING {
            let (endpoint, running, most) = (endpoint.clone(), running.clone(), most.clone());
            works.spawn(async move {
                let work = async {
                    most.fetch_max(
                        running.fetch_add(1, Ordering::Relaxed) + 1,
                        Ordering::Relaxed,
                    );
                    tokio::time::sleep(takes).await;
                    running.fetch_sub(1, Ordering::Relaxed);
                };
                endpoint.with_permit(|| work).await;
            });
        }
        works.join_all().await;
        assert_eq!(most.load(Ordering::Relaxed), together, "{takes:?}");
        let rounds = begun.elapsed().as_secs_f64() / takes.as_secs_f64();
        assert!(rounds < 3.5, "{takes:?}: {rounds}");
    }
}

/// A handler whose one tool answers at length.
#[derive(Clone)]
struct Long;

impl ServerHandler for Long {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        _request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        Ok(CallToolResult::structured(json!({ "text": "x".repeat(400_000) })).into())
    }
}

#[tokio::test]
async fn refuses_a_large_answer_while_others_are_unread() {
    let settings = HttpSettings {
        large_response_limit: 2_000_000,
        ..HttpSettings::default()
    };
    let endpoint = HttpEndpoint::new(|| Long, settings);
    let begun = endpoint.clone().call(initialize()).await.unwrap();
    let id = session(&begun);
    let older = [("mcp-session-id", id.as_str())];
    let plain =
        json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "slow"}})
            .to_string();
    let ask = |headers: &[(&str, &str)], body: &str| {
        let mut endpoint = endpoint.clone();
        let request = post("/mcp", headers, body);
        async move { endpoint.call(request).await.unwrap() }
    };
    // Collected and held, as by a connection that can't write.
    let mut unread = Vec::new();
    let mut refused = None;
    for _ in 0..10 {
        let answer = ask(&MODERN, &call()).await;
        let status = answer.status();
        let bytes = answer.into_body().collect().await.unwrap().to_bytes();
        if status == StatusCode::SERVICE_UNAVAILABLE {
            refused = Some(serde_json::from_slice::<Value>(&bytes).unwrap());
            break;
        }
        assert_eq!(status, StatusCode::OK);
        unread.push(bytes);
    }
    let refused = refused.expect("some were refused");
    assert_eq!(
        (&refused["id"], &refused["error"]["code"]),
        (&json!(7), &json!(-32_000)),
        "{refused}"
    );
    let held: usize = unread.iter().map(Bytes::len).sum();
    assert!((800_000..=2_000_000).contains(&held), "{held}");
    // A stream says it in its own words.
    let (status, told_there) = told(ask(&older, &plain).await).await;
    let text = told_there.to_string();
    assert_eq!(status, StatusCode::OK);
    assert!(
        text.contains("are unread") && text.len() < 1_000,
        "{text:.300}"
    );
    drop(unread);
    assert_eq!(ask(&MODERN, &call()).await.status(), StatusCode::OK);
    let (_, told_there) = told(ask(&older, &plain).await).await;
    assert!(told_there.to_string().len() > 400_000);
}

/// A handler whose one tool runs until it is cancelled.
#[derive(Clone)]
struct Hanging(CancellationToken);

impl ServerHandler for Hanging {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        _request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        context.ct.cancelled().await;
        self.0.cancel();
        Err(ErrorData::internal_error("cancelled", None))
    }
}

#[tokio::test]
async fn run_ends_with_its_connection() {
    let ended = CancellationToken::new();
    let handler = Hanging(ended.clone());
    let mut endpoint = HttpEndpoint::new(move || handler.clone(), HttpSettings::default());
    let id = session(&endpoint.call(initialize()).await.unwrap());
    let call = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call",
        "params": {"name": "skill_run"}});
    let request = post("/mcp", &[("mcp-session-id", &id)], &call.to_string());
    let mut running = endpoint.call(request).await.unwrap();
    let first = running.body_mut().frame().await.unwrap().unwrap();
    assert!(
        first.into_data().unwrap().starts_with(b"data:"),
        "an event without data"
    );
    assert!(!ended.is_cancelled());
    drop(running);
    let cancelled = tokio::time::timeout(Duration::from_secs(10), ended.cancelled());
    cancelled.await.expect("cancelled");
}

#[tokio::test]
async fn refuses_a_second_initialize_in_a_session() {
    let endpoint = endpoint(HttpSettings::default());
    let id = session(&answer(&endpoint, initialize()).await);
    let mut second = initialize();
    let headers = second.headers_mut();
    headers.insert("mcp-session-id", id.parse().unwrap());
    let (status, told) = told(answer(&endpoint, second).await).await;
    assert_eq!(
        (status.as_u16(), &told["error"]["code"], &told["id"]),
        (400, &json!(-32_600), &json!(1)),
        "{told}"
    );
}

#[tokio::test]
async fn wrong_initialize_is_told_what_it_lacks() {
    let endpoint = endpoint(HttpSettings::default());
    let number = json!({"protocolVersion": 5, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});
    let unnamed = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}});
    for (params, named) in [
        (
            json!({"protocolVersion": "2025-11-25", "capabilities": {}}),
            "clientInfo",
        ),
        (json!({}), "protocolVersion"),
        (number, "string"),
        (unnamed, "name"),
    ] {
        let body = json!({"jsonrpc": "2.0", "id": 9, "method": "initialize", "params": params});
        let request = post("/mcp", &[], &body.to_string());
        let (status, told) = told(answer(&endpoint, request).await).await;
        let error = &told["error"];
        let seen = (status.as_u16(), &error["code"], &told["id"]);
        assert_eq!(seen, (400, &json!(-32_602), &json!(9)), "{told}");
        let message = error["message"].as_str().unwrap();
        assert!(
            message.contains("initialize") && message.contains(named),
            "{message}"
        );
    }
}

#[tokio::test]
async fn only_clients_since_2025_11_get_an_event_without_data() {
    let endpoint = endpoint(HttpSettings::default());
    for (version, events) in [
        ("2024-11-05", 0),
        ("2025-03-26", 0),
        ("2025-06-18", 0),
        ("2025-11-25", 1),
    ] {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}});
        let id = session(&answer(&endpoint, post("/mcp", &[], &body.to_string())).await);
        let headers = [("mcp-session-id", &*id), ("mcp-protocol-version", version)];
        let ping = r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#;
        let response = answer(&endpoint, post("/mcp", &headers, ping)).await;
        assert_eq!(response.status(), StatusCode::OK);
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let text = String::from_utf8(body.to_vec()).unwrap();
        let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
        let empty = data.filter(|data| data.trim().is_empty()).count();
        assert_eq!(empty, events, "{version}: {text}");
        assert!(text.contains("\"id\":3"), "{text}");
    }
}

#[tokio::test]
async fn id_in_use_is_refused_within_a_session() {
    let endpoint = endpoint(HttpSettings::default());
    let id = session(&answer(&endpoint, initialize()).await);
    let headers = [
        ("mcp-session-id", &*id),
        ("mcp-protocol-version", "2025-11-25"),
    ];
    let call = r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"slow"}}"#;
    let ask = || async { told(answer(&endpoint, post("/mcp", &headers, call)).await).await };
    let (first, second) = tokio::join!(ask(), ask());
    let (answered, refused) = if first.0 == StatusCode::OK {
        (first, second)
    } else {
        (second, first)
    };
    assert!(answered.1.to_string().contains("asked"), "{}", answered.1);
    let error = &refused.1["error"];
    let seen = (refused.0.as_u16(), &error["code"], refused.1.get("id"));
    assert_eq!(seen, (400, &json!(-32_600), None), "{}", refused.1);
    assert!(error["message"].as_str().unwrap().contains("unique ids"));
    // Afterwards the id is free again.
    assert_eq!(ask().await.0, StatusCode::OK);
}
