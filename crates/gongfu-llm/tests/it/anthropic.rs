//! Messages of Anthropic: requests as the wire wants them, answers as servers send them.

use gongfu_core::port::{ModelErrorKind, StopReason, Usage};
use gongfu_llm::ProviderKind;
use serde_json::{Value, json};

use crate::fixture::{KEY, Script, Server, Step, ask_with, head, limits, send};
use crate::openai::conversation;

/// The events of Anthropic's wire.
fn named(values: &[Value]) -> Step {
    let events = values.iter().map(|value| {
        let name = value["type"].as_str().unwrap();
        format!("event: {name}\ndata: {value}\n\n")
    });
    send(events.collect::<String>())
}

fn start() -> Value {
    json!({"type": "message_start", "message": {"usage": {
        "input_tokens": 7, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 3, "output_tokens": 1,
    }}})
}

fn open(index: u32, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn tool(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "one", "input": {}})
}

fn text(index: u32, text: &str) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": text}})
}

fn input(index: u32, piece: &str) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": {"type": "input_json_delta", "partial_json": piece}})
}

fn close(index: u32) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn stop(reason: &str) -> [Value; 2] {
    [
        json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 9}}),
        json!({"type": "message_stop"}),
    ]
}

fn answer(blocks: &[Value], reason: &str) -> Script {
    let values: Vec<Value> = [start()]
        .into_iter()
        .chain(blocks.iter().cloned())
        .chain(stop(reason))
        .collect();
    vec![head(), named(&values)]
}

fn hello() -> Script {
    let block = json!({"type": "text", "text": ""});
    answer(&[open(0, block), text(0, "hello"), close(0)], "end_turn")
}

#[tokio::test]
async fn sends_the_conversation_as_the_wire_wants_it() {
    let server = Server::start(vec![hello()]).await;
    let model = server.model(ProviderKind::Anthropic, limits());
    let mut request = conversation();
    // An id that another provider made.
    let id = |message: &mut gongfu_core::port::Message| match message {
        gongfu_core::port::Message::Assistant { calls, .. } => calls[0].id = "call#1".to_owned(),
        gongfu_core::port::Message::Tool { id, .. } if id == "c1" => "call#1".clone_into(id),
        _ => {}
    };
    request.messages.iter_mut().for_each(id);
    model.ask(&request, &()).await.unwrap();
    let received = server.received().remove(0);
    assert!(received.head.starts_with("POST /v1/messages HTTP/1.1\r\n"));
    assert!(received.head.contains(&format!("x-api-key: {KEY}\r\n")));
    assert!(received.head.contains("anthropic-version: 2023-06-01\r\n"));
    let expected = json!({
        "model": "model-1",
        "stream": true,
        "max_tokens": 100,
        "temperature": 0.5,
        "system": [{"type": "text", "text": "be brief", "cache_control": {"type": "ephemeral"}}],
        "tools": [{
            "name": "skill_load",
            "description": "Loads a skill",
            "input_schema": {"type": "object", "properties": {"name": {"type": "string"}}},
        }],
        "messages": [
            {"role": "user", "content": "load two"},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "call_1", "name": "skill_load", "input": {"name": "a"}},
                {"type": "tool_use", "id": "c2", "name": "skill_load", "input": {"unreadable": "{\"name"}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "call_1", "content": "loaded"},
                {"type": "tool_result", "tool_use_id": "c2", "content": "arguments are not JSON"},
            ]},
        ],
    });
    assert_eq!(received.body, expected);
}

#[tokio::test]
async fn streams_text_then_calls() {
    let blocks = [
        json!({"type": "ping"}),
        open(0, json!({"type": "text", "text": ""})),
        text(0, "I "),
        text(0, "load"),
        close(0),
        open(1, tool("a")),
        input(1, "{\"x\""),
        input(1, ":1}"),
        close(1),
        open(2, tool("b")),
        close(2),
    ];
    let scripts = vec![answer(&blocks, "tool_use")];
    let (answer, notes) = ask_with(ProviderKind::Anthropic, limits(), scripts).await;
    let answer = answer.unwrap();
    assert_eq!(answer.text, "I load");
    assert_eq!(notes, ["I ", "load"]);
    assert_eq!(answer.stop, StopReason::Calls);
    let found: Vec<_> = answer
        .calls
        .iter()
        .map(|call| (&*call.id, &call.arguments))
        .collect();
    assert_eq!(found, [("a", &json!({"x": 1})), ("b", &json!({}))]);
    let usage = Usage {
        input: 30,
        cached: 20,
        output: 9,
        cost: 0,
    };
    assert_eq!(answer.usage, usage);
}

#[tokio::test]
async fn says_when_arguments_are_cut_by_the_length() {
    for closing in [vec![close(0)], Vec::new()] {
        let mut blocks = vec![open(0, tool("a")), input(0, "{\"path\": \"/a")];
        blocks.extend(closing);
        let scripts = vec![answer(&blocks, "max_tokens")];
        let (answer, _) = ask_with(ProviderKind::Anthropic, limits(), scripts).await;
        let answer = answer.unwrap();
        assert_eq!(answer.stop, StopReason::Length);
        assert_eq!(answer.calls[0].arguments, json!("{\"path\": \"/a"));
    }
}

#[tokio::test]
async fn refuses_blocks_that_overlap() {
    let overlap = [
        open(0, tool("a")),
        open(1, tool("b")),
        input(0, "{}"),
        close(0),
        close(1),
    ];
    let foreign = [open(0, tool("a")), input(1, "{}"), close(0)];
    for blocks in [&overlap[..], &foreign[..]] {
        let scripts = vec![answer(blocks, "tool_use")];
        let (answer, _) = ask_with(ProviderKind::Anthropic, limits(), scripts).await;
        assert_eq!(answer.unwrap_err().kind, ModelErrorKind::Malformed);
    }
}

#[tokio::test]
async fn asks_again_after_an_error_amid_the_answer() {
    let overloaded =
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let block = open(0, json!({"type": "text", "text": ""}));
    let failed = vec![head(), named(&[start(), block, text(0, "he"), overloaded])];
    let (answer, notes) = ask_with(ProviderKind::Anthropic, limits(), vec![failed, hello()]).await;
    assert_eq!(answer.unwrap().text, "hello");
    assert_eq!(notes, ["he", "retry 2 after Unavailable", "hello"]);
}

#[tokio::test]
async fn is_incomplete_without_the_last_event() {
    let block = json!({"type": "text", "text": ""});
    let [delta, _] = stop("end_turn");
    let failed = vec![
        head(),
        named(&[start(), open(0, block), text(0, "he"), close(0), delta]),
    ];
    let (answer, notes) = ask_with(ProviderKind::Anthropic, limits(), vec![failed, hello()]).await;
    assert_eq!(answer.unwrap().text, "hello");
    assert_eq!(notes, ["he", "retry 2 after Incomplete", "hello"]);
}

#[tokio::test]
async fn ends_at_once_when_arguments_are_too_large() {
    let piece = "x".repeat(100 * 1024);
    let blocks = [
        open(0, tool("a")),
        input(0, &piece),
        input(0, &piece),
        input(0, &piece),
    ];
    let scripts = vec![vec![head(), named(&[start()]), named(&blocks), Step::Stall]];
    let (answer, _) = ask_with(ProviderKind::Anthropic, limits(), scripts).await;
    let error = answer.unwrap_err();
    assert_eq!((error.kind, error.attempts), (ModelErrorKind::TooLarge, 1));
}
