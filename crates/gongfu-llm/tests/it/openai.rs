//! Chat completions: requests as the wire wants them, answers as servers send them.

use gongfu_core::port::{Message, ModelCall, ModelRequest, ModelTool, StopReason, Usage};
use gongfu_llm::{Clients, Provider, ProviderKind};
use serde_json::{Value, json};

use crate::fixture::{KEY, Script, Server, ask, done, events, head, limits, question, send, whole};

/// A piece of a call.
fn piece(call: Value) -> Value {
    json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]})
}

fn end(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

fn calls(pieces: &[Value], reason: &str) -> Vec<Script> {
    let mut values: Vec<Value> = pieces.iter().cloned().map(piece).collect();
    values.push(end(reason));
    vec![vec![head(), events(&values), done()]]
}

pub(crate) fn conversation() -> ModelRequest {
    let call = |id: &str, arguments: Value| ModelCall {
        id: id.to_owned(),
        name: "skill_load".to_owned(),
        arguments,
        signatures: Vec::new(),
    };
    let result = |id: &str, text: &str| Message::Tool {
        id: id.to_owned(),
        name: "skill_load".to_owned(),
        text: text.to_owned(),
    };
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    ModelRequest {
        system: "be brief".to_owned(),
        messages: vec![
            Message::User {
                text: "load two".to_owned(),
            },
            Message::Assistant {
                text: String::new(),
                calls: vec![
                    call("c1", json!({"name": "a"})),
                    call("c2", json!("{\"name")),
                ],
            },
            result("c1", "loaded"),
            result("c2", "arguments are not JSON"),
        ],
        tools: vec![ModelTool {
            name: "skill_load".to_owned(),
            description: "Loads a skill".to_owned(),
            schema: schema.as_object().unwrap().clone(),
        }],
        max_tokens: Some(100),
        temperature: Some(0.5),
    }
}

#[tokio::test]
async fn sends_the_conversation_as_the_wire_wants_it() {
    let server = Server::start(vec![whole("ok")]).await;
    let model = server.model(ProviderKind::OpenAi, limits());
    assert_eq!(model.name(), "test/model-1");
    model.ask(&conversation(), &()).await.unwrap();
    let received = server.received().remove(0);
    assert!(
        received
            .head
            .starts_with("POST /v1/chat/completions HTTP/1.1\r\n")
    );
    assert!(
        received
            .head
            .contains(&format!("authorization: Bearer {KEY}\r\n"))
    );
    let unreadable = r#"{"unreadable":"{\"name"}"#;
    let expected = json!({
        "model": "model-1",
        "stream": true,
        "stream_options": {"include_usage": true},
        "max_tokens": 100,
        "temperature": 0.5,
        "tools": [{"type": "function", "function": {
            "name": "skill_load",
            "description": "Loads a skill",
            "parameters": {"type": "object", "properties": {"name": {"type": "string"}}},
            "strict": false,
        }}],
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "load two"},
            {"role": "assistant", "content": "", "tool_calls": [
                {"type": "function", "id": "c1", "function": {"name": "skill_load", "arguments": r#"{"name":"a"}"#}},
                {"type": "function", "id": "c2", "function": {"name": "skill_load", "arguments": unreadable}},
            ]},
            {"role": "tool", "tool_call_id": "c1", "content": "loaded"},
            {"role": "tool", "tool_call_id": "c2", "content": "arguments are not JSON"},
        ],
    });
    assert_eq!(received.body, expected);
}

#[tokio::test]
async fn keeps_the_name_of_a_model_that_ends_like_an_effort_and_needs_no_key() {
    let server = Server::start(vec![whole("ok")]).await;
    let provider = Provider {
        name: "local".to_owned(),
        kind: ProviderKind::OpenAi,
        base_url: Some(format!("{}/v1/", server.address)),
        key: None,
    };
    let model = Clients::new(limits())
        .chat_model(&provider, "org/qwen-max")
        .unwrap();
    model.ask(&question("hello"), &()).await.unwrap();
    let received = server.received().remove(0);
    assert!(
        received
            .head
            .starts_with("POST /v1/chat/completions HTTP/1.1\r\n")
    );
    assert!(!received.head.to_lowercase().contains("authorization"));
    let messages = json!([{"role": "user", "content": "hello"}]);
    let expected = json!({
        "model": "org/qwen-max", "stream": true, "stream_options": {"include_usage": true}, "messages": messages,
    });
    assert_eq!(received.body, expected);
}

#[tokio::test]
async fn streams_text_and_counts_tokens() {
    let text = |text: &str| json!({"choices": [{"index": 0, "delta": {"content": text}}]});
    let usage = json!({"choices": [], "usage": {
        "prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14,
        "prompt_tokens_details": {"cached_tokens": 5},
    }});
    let role = json!({"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]});
    let script = vec![
        head(),
        send(": keep-alive\n\n"),
        events(&[role, text("good "), text("day"), end("stop"), usage]),
        done(),
    ];
    let (answer, notes) = ask(vec![script]).await;
    let answer = answer.unwrap();
    assert_eq!(answer.text, "good day");
    assert_eq!(answer.stop, StopReason::End);
    let usage = Usage {
        input: 11,
        cached: 5,
        output: 3,
        cost: 0,
    };
    assert_eq!(answer.usage, usage);
    assert_eq!(notes, ["good ", "day"]);
}

#[tokio::test]
async fn joins_characters_that_are_split_over_chunks() {
    let body = events(&[
        json!({"choices": [{"index": 0, "delta": {"content": "功夫"}, "finish_reason": "stop"}]}),
    ]);
    let crate::fixture::Step::Send(body) = body else {
        unreachable!()
    };
    let mut script = vec![send(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n",
    )];
    for byte in body.iter().chain(b"data: [DONE]\n\n") {
        script.push(send([b"1\r\n", &[*byte][..], b"\r\n"].concat()));
    }
    script.push(send("0\r\n\r\n"));
    let (answer, _) = ask(vec![script]).await;
    assert_eq!(answer.unwrap().text, "功夫");
}

#[tokio::test]
async fn joins_parallel_calls_whose_pieces_are_mixed() {
    let pieces = [
        json!({"index": 0, "id": "a", "type": "function", "function": {"name": "one", "arguments": ""}}),
        json!({"index": 1, "id": "b", "type": "function", "function": {"name": "two", "arguments": "{\"x\""}}),
        json!({"index": 0, "function": {"arguments": "{}"}}),
        json!({"index": 1, "function": {"arguments": ":[1,{}]}"}}),
    ];
    let (answer, _) = ask(calls(&pieces, "tool_calls")).await;
    let answer = answer.unwrap();
    assert_eq!(answer.stop, StopReason::Calls);
    let found: Vec<_> = answer
        .calls
        .iter()
        .map(|call| (&*call.id, &*call.name, &call.arguments))
        .collect();
    assert_eq!(
        found,
        [
            ("a", "one", &json!({})),
            ("b", "two", &json!({"x": [1, {}]}))
        ]
    );
}

#[tokio::test]
async fn takes_calls_without_an_index_or_with_one_for_all() {
    let pieces = [
        json!({"id": "a", "function": {"name": "one", "arguments": {"x": 1}}}),
        json!({"index": 0, "id": "b", "function": {"name": "two", "arguments": "{}"}}),
        json!({"index": 0, "id": "c", "function": {"name": "three", "arguments": "{}"}}),
    ];
    let (answer, _) = ask(calls(&pieces, "stop")).await;
    let answer = answer.unwrap();
    assert_eq!(answer.stop, StopReason::Calls);
    let found: Vec<_> = answer
        .calls
        .iter()
        .map(|call| (&*call.id, &*call.name))
        .collect();
    assert_eq!(found, [("a", "one"), ("b", "two"), ("c", "three")]);
    assert_eq!(answer.calls[0].arguments, json!({"x": 1}));
}

#[tokio::test]
async fn survives_an_index_that_is_out_of_all_bounds() {
    let pieces = [
        json!({"index": 4_294_967_295_u32, "id": "a", "function": {"name": "one", "arguments": "{}"}}),
    ];
    let (answer, _) = ask(calls(&pieces, "tool_calls")).await;
    assert_eq!(answer.unwrap().calls.len(), 1);
}

#[tokio::test]
async fn hands_on_arguments_that_are_not_an_object() {
    for written in ["{\"x\": ", "[1]", "x", "{\"x\":1} and"] {
        let pieces =
            [json!({"index": 0, "id": "a", "function": {"name": "one", "arguments": written}})];
        let (answer, _) = ask(calls(&pieces, "tool_calls")).await;
        assert_eq!(answer.unwrap().calls[0].arguments, json!(written));
    }
}

#[tokio::test]
async fn hands_on_arguments_that_nest_too_deeply_as_text() {
    for (levels, is_object) in [(63, true), (64, false), (100, false)] {
        let written = format!("{{\"x\":{}{}}}", "[".repeat(levels), "]".repeat(levels));
        let pieces =
            [json!({"index": 0, "id": "a", "function": {"name": "one", "arguments": written}})];
        let (answer, _) = ask(calls(&pieces, "tool_calls")).await;
        let found = answer.unwrap().calls.remove(0).arguments;
        assert_eq!(found.is_object(), is_object, "{levels}");
        assert!(is_object || found == json!(written));
    }
}

#[tokio::test]
async fn takes_a_refusal_for_the_answer() {
    let piece = |words: Value| json!({"choices": [{"index": 0, "delta": {"refusal": words}}]});
    let values = [
        piece(Value::Null),
        piece(json!("I can")),
        piece(json!("not.")),
        end("stop"),
    ];
    let (answer, notes) = ask(vec![vec![head(), events(&values), done()]]).await;
    let answer = answer.unwrap();
    assert_eq!(
        (&*answer.text, answer.stop),
        ("I cannot.", StopReason::Filter)
    );
    assert_eq!(notes, ["I cannot."]);
}

#[tokio::test]
async fn says_when_arguments_are_cut_by_the_length() {
    for written in ["{\"path\": \"/a", ""] {
        let pieces =
            [json!({"index": 0, "id": "a", "function": {"name": "one", "arguments": written}})];
        let (answer, _) = ask(calls(&pieces, "length")).await;
        let answer = answer.unwrap();
        assert_eq!(answer.stop, StopReason::Length);
        assert_eq!(answer.calls[0].arguments, json!(written));
    }
}

#[tokio::test]
async fn gives_each_call_an_id_of_its_own() {
    let pieces = [
        json!({"index": 0, "id": "a", "function": {"name": "one", "arguments": "{}"}}),
        json!({"index": 1, "id": "a", "function": {"name": "one", "arguments": "{}"}}),
        json!({"index": 2, "function": {"name": "one", "arguments": "{}"}}),
    ];
    let (answer, _) = ask(calls(&pieces, "tool_calls")).await;
    let answer = answer.unwrap();
    let ids: Vec<&str> = answer.calls.iter().map(|call| &*call.id).collect();
    assert_eq!(ids, ["a", "a#1", "call"]);
}
