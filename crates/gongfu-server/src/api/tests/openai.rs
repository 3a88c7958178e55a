//! Chat completions.

use axum::body::Body;
use futures_util::StreamExt as _;
use gongfu_core::agent::{CallStatus, End};
use gongfu_core::port::{Message, ModelErrorKind};
use gongfu_hub::agent::ChatInput;
use http::HeaderValue;
use serde_json::{Value, json};
use tower_service::Service as _;

use super::agent::{Step, turn};
use super::{Reply, TestServer};

const CHAT: &str = "/v1/chat/completions";

/// A request with these members beside a model and a message.
fn body(more: &Value) -> Value {
    let mut body = json!({
        "model": "gongfu",
        "messages": [{ "role": "user", "content": "Which?" }],
    });
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

/// The status of a refusal, with its type, its code and what it is about.
fn refusal(reply: &Reply) -> (u16, String, String, Value) {
    assert_eq!(
        reply.header("content-type"),
        "application/json",
        "{reply:?}"
    );
    assert_eq!(reply.header("x-should-retry"), "false");
    let error = &reply.json()["error"];
    let text = |name: &str| error[name].as_str().unwrap().to_owned();
    assert!(!text("message").is_empty());
    let param = error["param"].clone();
    (reply.status.as_u16(), text("type"), text("code"), param)
}

#[tokio::test]
async fn answer_has_the_form_of_openai() {
    let (server, token) = TestServer::with_ann();
    server.agent.will(turn());
    let reply = server.call(
        "POST",
        CHAT,
        &token,
        body(&json!({ "temperature": 0.5, "user": "u" })),
    );
    let reply = reply.await.json();
    assert!(reply["id"].as_str().unwrap().starts_with("chatcmpl-"));
    assert_eq!(reply["object"], "chat.completion");
    assert!(reply["created"].is_u64() || reply["created"].is_i64());
    assert_eq!(reply["model"], "gongfu");
    assert_eq!(
        reply["choices"],
        json!([{
            "index": 0,
            "message": { "role": "assistant", "content": "Done.", "refusal": null },
            "logprobs": null,
            "finish_reason": "stop",
        }])
    );
    assert_eq!(
        reply["usage"],
        json!({
            "prompt_tokens": 100,
            "completion_tokens": 10,
            "total_tokens": 110,
            "prompt_tokens_details": { "cached_tokens": 40 },
        })
    );
    assert_eq!(reply["gongfu"]["session"], Value::Null);
    assert_eq!(reply["gongfu"]["tool_calls"][0]["tool"], "skill_list");
    let asked = server.agent.asked();
    assert_eq!(asked.input, ChatInput::Prompt("Which?".to_owned()));
    assert_eq!(
        (asked.model, asked.session, asked.is_kept),
        (None, None, false)
    );
    assert!(asked.history.is_empty());
}

#[tokio::test]
async fn reasons_of_the_end_have_their_names() {
    let (server, token) = TestServer::with_ann();
    for (end, reason) in [
        (End::Steps, "stop"),
        (End::Length, "length"),
        (End::Filter, "content_filter"),
    ] {
        server.agent.will([Step::Reply("x", end)]);
        let reply = server
            .call("POST", CHAT, &token, body(&json!({})))
            .await
            .json();
        assert_eq!(reply["choices"][0]["finish_reason"], reason);
    }
}

#[tokio::test]
async fn chunks_come_in_order() {
    let (server, token) = TestServer::with_ann();
    server.agent.will(turn());
    let asked = body(&json!({ "stream": true, "stream_options": { "include_usage": true } }));
    let events = server.events(CHAT, &token, &asked).await;
    assert!(events.iter().all(|(name, _)| name.is_empty()));
    assert_eq!(events.last().unwrap().1, "[DONE]");
    let chunks = events[..events.len() - 1].iter();
    let chunks: Vec<Value> = chunks
        .map(|(_, data)| serde_json::from_str(data).unwrap())
        .collect();
    for chunk in &chunks {
        assert_eq!(chunk["object"], "chat.completion.chunk");
        assert_eq!(chunk["id"], chunks[0]["id"]);
        assert_eq!(chunk["model"], "gongfu");
    }
    let (usage, rest) = chunks.split_last().unwrap();
    assert_eq!(usage["choices"], json!([]));
    assert_eq!(usage["usage"]["total_tokens"], 110);
    assert!(rest.iter().all(|chunk| chunk["usage"].is_null()));
    let (last, rest) = rest.split_last().unwrap();
    assert_eq!(last["choices"][0]["finish_reason"], "stop");
    assert_eq!(last["gongfu"]["reply"], "Done.");
    let delta = |chunk: &Value| chunk["choices"][0]["delta"].clone();
    assert_eq!(
        delta(&rest[0]),
        json!({ "role": "assistant", "content": "I lo" })
    );
    let text = rest.iter().map(delta);
    let text: String = text
        .filter_map(|delta| delta["content"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(
        text,
        "I lo\n\n[The answer broke off, and the model was asked again:]\n\nI look.\n\nDone."
    );
    let reported: Vec<&Value> = rest
        .iter()
        .filter(|chunk| !chunk["gongfu"].is_null())
        .collect();
    assert_eq!(reported[0]["gongfu"]["call"]["tool"], "skill_list");
    assert_eq!(reported[1]["gongfu"]["result"]["result"], "seen");
}

#[tokio::test]
async fn failure_before_the_first_byte_is_a_status_and_later_an_event() {
    let (server, token) = TestServer::with_ann();
    let asked = body(&json!({ "stream": true }));
    server.agent.will([Step::Fail(ModelErrorKind::Unavailable)]);
    let reply = server.call("POST", CHAT, &token, asked.clone()).await;
    let wanted = (
        503,
        "server_error".to_owned(),
        "MODEL_UNAVAILABLE".to_owned(),
        Value::Null,
    );
    assert_eq!(refusal(&reply), wanted);
    assert_eq!(reply.json()["error"]["kind"], "unavailable");
    server.agent.will([
        Step::Call("x", CallStatus::Refused),
        Step::Fail(ModelErrorKind::Unavailable),
    ]);
    let events = server.events(CHAT, &token, &asked).await;
    let error: Value = serde_json::from_str(&events.last().unwrap().1).unwrap();
    assert_eq!(error["error"]["code"], "MODEL_UNAVAILABLE");
    assert_eq!(error["error"]["type"], "server_error");
    assert_eq!(error["error"]["kind"], "unavailable");
}

#[tokio::test(start_paused = true)]
async fn client_that_leaves_stops_the_turn() {
    let (server, token) = TestServer::with_ann();
    server.agent.will([Step::Text("a"), Step::Wait]);
    let asked = body(&json!({ "stream": true }));
    let reading = server.events(CHAT, &token, &asked);
    let left = tokio::time::timeout(std::time::Duration::from_millis(50), reading).await;
    assert!(left.is_err());
    server.agent.cancelled.notified().await;
}

#[tokio::test(start_paused = true)]
async fn silent_stream_begins_after_a_moment() {
    let (server, token) = TestServer::with_ann();
    server.agent.will([Step::Wait]);
    let asked = body(&json!({ "stream": true }));
    let response = server.open(CHAT, &token, &asked).await;
    assert_eq!(response.status().as_u16(), 200);
    let mut pieces = response.into_body().into_data_stream();
    assert_eq!(pieces.next().await.unwrap().unwrap(), ": still here\n\n");
}

#[tokio::test]
async fn conversation_becomes_history_and_prompt() {
    let (server, token) = TestServer::with_ann();
    server.agent.will([Step::Reply("x", End::Answered)]);
    let messages = json!([
        { "role": "system", "content": "Be brief." },
        { "role": "user", "content": [{ "type": "text", "text": "Sum" }, { "type": "text", "text": "1+1" }] },
        { "role": "assistant", "content": null, "tool_calls": [
            { "id": "c1", "type": "function", "function": { "name": "add", "arguments": "{\"a\": 1}" } },
            { "id": "c2", "type": "function", "function": { "name": "add", "arguments": "oops" } },
        ]},
        { "role": "tool", "tool_call_id": "c2", "content": "bad" },
        { "role": "tool", "tool_call_id": "c1", "content": "2" },
        { "role": "assistant", "content": "2" },
        { "role": "developer", "content": "In German." },
        { "role": "user", "content": "And 2+2?" },
    ]);
    let asked = body(&json!({ "messages": messages, "model": "fake/one" }));
    assert_eq!(server.call("POST", CHAT, &token, asked).await.status, 200);
    let asked = server.agent.asked();
    let prompt = "[Instructions of the program that asks]\nBe brief.\n\nIn German.\n\n[What its user says]\nAnd 2+2?";
    assert_eq!(asked.input, ChatInput::Prompt(prompt.to_owned()));
    assert_eq!(asked.model.as_deref(), Some("fake/one"));
    let [
        Message::User { text: sum },
        Message::Assistant { calls, .. },
        Message::Tool { id: first, .. },
        Message::Tool {
            id: second,
            name,
            text,
        },
        Message::Assistant { text: reply, .. },
    ] = &asked.history[..]
    else {
        panic!("{:?}", asked.history);
    };
    assert_eq!((sum.as_str(), reply.as_str()), ("Sum\n1+1", "2"));
    assert_eq!(calls[0].arguments, json!({ "a": 1 }));
    assert_eq!(calls[1].arguments, json!("oops"));
    assert_eq!((first.as_str(), second.as_str()), ("c2", "c1"));
    assert_eq!((name.as_str(), text.as_str()), ("add", "2"));
}

#[tokio::test]
async fn named_session_is_continued_and_a_new_one_kept() {
    let (server, token) = TestServer::with_ann();
    let messages = json!([
        { "role": "system", "content": "Be brief." },
        { "role": "user", "content": "One" },
        { "role": "assistant", "content": "1" },
        { "role": "user", "content": "Two" },
    ]);
    for (name, session) in [("s-1", Some("s-1")), ("new", None)] {
        server.agent.will([Step::Reply("x", End::Answered)]);
        let asked = body(&json!({ "messages": messages, "metadata": { "session": name } }));
        let reply = server.call("POST", CHAT, &token, asked).await.json();
        assert_eq!(reply["gongfu"]["session"], session.unwrap_or("s-new"));
        let asked = server.agent.asked();
        assert!(asked.is_kept);
        assert_eq!(asked.session.as_deref(), session);
        assert_eq!(asked.history.is_empty(), session.is_some());
        let ChatInput::Prompt(prompt) = asked.input else {
            panic!("no prompt")
        };
        assert_eq!(prompt.contains("Be brief."), session.is_none());
    }
    let asked = body(&json!({ "metadata": { "session": "s-unknown" } }));
    let reply = server.call("POST", CHAT, &token, asked).await;
    assert_eq!(refusal(&reply).2, "SESSION_NOT_FOUND");
}

#[tokio::test]
async fn session_header_that_is_no_text_is_refused() {
    let (server, token) = TestServer::with_ann();
    let request = super::request("POST", CHAT, &token)
        .header("content-type", "application/json")
        .header(
            "x-gongfu-session",
            HeaderValue::from_bytes(b"s-\xe9").unwrap(),
        );
    let request = request
        .body(Body::from(body(&json!({})).to_string()))
        .unwrap();
    let response = server.router.clone().call(request).await.unwrap();
    assert_eq!(response.status().as_u16(), 400);
    assert!(server.agent.is_unasked());
}

#[tokio::test]
async fn model_is_read_by_its_name() {
    let (server, token) = TestServer::with_ann();
    let all = server.get("/v1/models", &token).await.json();
    for (path, index) in [
        ("gongfu", 0),
        ("fake/one", 1),
        ("fake%2Fone", 1),
        ("fast", 2),
    ] {
        let model = server.get(&format!("/v1/models/{path}"), &token).await;
        assert_eq!(model.json(), all["data"][index], "{path}");
    }
    let unknown = server.get("/v1/models/no/such", &token).await;
    let (status, _, code, _) = refusal(&unknown);
    assert_eq!((status, code.as_str()), (404, "NOT_FOUND"));
}

#[tokio::test]
async fn what_cannot_be_done_is_refused() {
    let (server, token) = TestServer::with_ann();
    let message =
        |message: Value| json!({ "messages": [message, { "role": "user", "content": "x" }] });
    let tool = json!([{ "type": "function", "function": { "name": "f" } }]);
    for (more, param) in [
        (json!({ "tools": tool }), "tools"),
        (json!({ "functions": [{ "name": "f" }] }), "functions"),
        (json!({ "n": 2 }), "n"),
        (
            json!({ "response_format": { "type": "json_object" } }),
            "response_format",
        ),
        (json!({ "logprobs": true }), "logprobs"),
        (json!({ "stop": ["x"] }), "stop"),
        (json!({ "modalities": ["text", "audio"] }), "modalities"),
        (json!({ "metadata": { "session": 5 } }), "metadata.session"),
        (json!({ "messages": [] }), "messages"),
        (json!({ "messages": "x" }), "messages"),
        (
            json!({ "messages": [{ "role": "assistant", "content": "x" }] }),
            "messages",
        ),
        (
            json!({ "messages": [{ "role": "system", "content": "x" }] }),
            "messages",
        ),
        (json!({ "model": 5 }), "model"),
        (message(json!({ "content": "x" })), "messages[0].role"),
        (
            message(json!({ "role": "robot", "content": "x" })),
            "messages[0].role",
        ),
        (
            message(json!({ "role": "user", "content": 5 })),
            "messages[0].content",
        ),
        (
            message(
                json!({ "role": "user", "content": [{ "type": "image_url", "image_url": {} }] }),
            ),
            "messages[0].content[0]",
        ),
        (
            message(json!({ "role": "tool", "content": "x", "tool_call_id": "c9" })),
            "messages[0].tool_call_id",
        ),
        (
            message(json!({ "role": "assistant", "tool_calls": [
                { "id": "c1", "function": { "name": "f", "arguments": "{}" } },
            ]})),
            "messages[1]",
        ),
    ] {
        let reply = server.call("POST", CHAT, &token, body(&more)).await;
        let (status, kind, code, about) = refusal(&reply);
        assert_eq!(
            (status, kind.as_str()),
            (400, "invalid_request_error"),
            "{more}"
        );
        assert_eq!(
            (code.as_str(), about),
            ("VALIDATION_ERROR", json!(param)),
            "{more}"
        );
    }
    assert!(server.agent.is_unasked());
    // What a client sends by habit is no reason to refuse.
    for more in [
        json!({ "tools": [], "stop": null, "n": 1, "response_format": { "type": "text" } }),
        json!({ "tools": tool, "tool_choice": "none", "logprobs": false, "modalities": ["text"] }),
    ] {
        server.agent.will([Step::Reply("x", End::Answered)]);
        assert_eq!(
            server.call("POST", CHAT, &token, body(&more)).await.status,
            200
        );
    }
    let reply = server
        .call("POST", CHAT, &token, body(&json!({ "model": "no/such" })))
        .await;
    assert_eq!(refusal(&reply).0, 404);
    let reply = server.call("POST", CHAT, "", body(&json!({}))).await;
    assert_eq!(refusal(&reply).1, "authentication_error");
    let reply = server
        .call("POST", "/v1/embeddings", &token, json!({}))
        .await;
    assert_eq!(refusal(&reply).0, 404);
}

#[tokio::test]
async fn models_are_listed() {
    let (server, token) = TestServer::with_ann();
    let page = server.get("/v1/models", &token).await.json();
    assert_eq!(page["object"], "list");
    let ids = page["data"].as_array().unwrap().iter();
    let ids: Vec<&str> = ids.map(|model| model["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["gongfu", "fake/one", "fast"]);
    assert_eq!(page["data"][0]["object"], "model");
}
