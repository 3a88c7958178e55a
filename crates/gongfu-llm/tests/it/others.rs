//! Gemini and Ollama, as far as they differ.

use gongfu_core::port::{Message, ModelErrorKind, StopReason};
use gongfu_llm::ProviderKind;
use serde_json::{Value, json};

use crate::fixture::{
    KEY, Notes, Server, Step, ask_with, events, head, limits, question, send, status,
};
use crate::openai::conversation;

fn lines(values: &[Value]) -> Step {
    let lines: Vec<String> = values.iter().map(Value::to_string).collect();
    send(lines.join("\n") + "\n")
}

#[tokio::test]
async fn gemini_gets_its_signatures_back() {
    let part = |name: &str| json!({"functionCall": {"name": name, "args": {"x": 1}}, "thoughtSignature": "s1"});
    let call = json!({"candidates": [{"content": {"parts": [part("one")]}}]});
    let last = json!({
        "candidates": [{"content": {"parts": [part("one")]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 4, "candidatesTokenCount": 2, "totalTokenCount": 6},
    });
    let text =
        json!({"candidates": [{"content": {"parts": [{"text": "ok"}]}, "finishReason": "STOP"}]});
    let scripts = vec![
        vec![head(), events(&[call, last])],
        vec![head(), events(&[text])],
    ];
    let server = Server::start(scripts).await;
    let model = server.model(ProviderKind::Gemini, limits());
    let mut request = question("hello");
    let answer = model.ask(&request, &()).await.unwrap();
    assert_eq!(answer.stop, StopReason::Calls);
    assert_eq!(answer.calls[0].signatures, ["s1"]);
    assert_ne!(answer.calls[0].id, answer.calls[1].id);
    assert_eq!((answer.usage.input, answer.usage.output), (4, 2));

    let results = answer.calls.iter().map(|call| Message::Tool {
        id: call.id.clone(),
        name: call.name.clone(),
        text: "done".to_owned(),
    });
    let results: Vec<Message> = results.collect();
    request.messages.push(Message::Assistant {
        text: answer.text,
        calls: answer.calls,
    });
    request.messages.extend(results);
    assert_eq!(model.ask(&request, &()).await.unwrap().text, "ok");
    let received = server.received().remove(1);
    assert!(
        received
            .head
            .starts_with("POST /v1beta/models/model-1:streamGenerateContent?alt=sse HTTP/1.1\r\n")
    );
    assert!(
        received
            .head
            .contains(&format!("x-goog-api-key: {KEY}\r\n"))
    );
    let response = json!({"functionResponse": {"name": "one", "response": {"name": "one", "content": "done"}}});
    let expected = json!([
        {"role": "user", "parts": [{"text": "hello"}]},
        {"role": "model", "parts": [part("one"), part("one")]},
        {"role": "user", "parts": [response, response]},
    ]);
    assert_eq!(received.body["contents"], expected);
}

#[tokio::test]
async fn gemini_is_incomplete_without_a_reason() {
    let text = json!({"candidates": [{"content": {"parts": [{"text": "o"}]}}]});
    let scripts = vec![vec![head(), events(&[text])]];
    let (answer, _) = ask_with(ProviderKind::Gemini, limits(), scripts).await;
    let error = answer.unwrap_err();
    assert_eq!(
        (error.kind, error.attempts),
        (ModelErrorKind::Incomplete, 4)
    );
}

#[tokio::test]
async fn ollama_gets_each_result_in_a_message() {
    let call = json!({"function": {"name": "one", "arguments": {"x": 1}}});
    let first = json!({"message": {"role": "assistant", "content": "", "tool_calls": [call, call]}, "done": false});
    let last = json!({
        "message": {"role": "assistant", "content": ""}, "done": true, "done_reason": "stop",
        "prompt_eval_count": 4, "eval_count": 2,
    });
    let server = Server::start(vec![vec![head(), lines(&[first, last])]]).await;
    let answer = server
        .model(ProviderKind::Ollama, limits())
        .ask(&conversation(), &())
        .await
        .unwrap();
    assert_eq!(answer.stop, StopReason::Calls);
    assert_eq!(answer.calls[1].arguments, json!({"x": 1}));
    assert_eq!((answer.usage.input, answer.usage.output), (4, 2));
    let received = server.received().remove(0);
    assert!(received.head.starts_with("POST /api/chat HTTP/1.1\r\n"));
    assert!(
        received
            .head
            .contains(&format!("authorization: Bearer {KEY}\r\n"))
    );
    let messages = received.body["messages"].as_array().unwrap();
    let results: Vec<&Value> = messages
        .iter()
        .filter(|message| message["role"] == "tool")
        .collect();
    assert_eq!(results.len(), 2);
    assert_eq!(results[0]["content"], "loaded");
}

#[tokio::test]
async fn ollama_is_incomplete_without_its_last_line() {
    let first = json!({"message": {"role": "assistant", "content": "he"}, "done": false});
    let scripts = vec![vec![head(), lines(&[first])]];
    let (answer, _) = ask_with(ProviderKind::Ollama, limits(), scripts).await;
    assert_eq!(answer.unwrap_err().kind, ModelErrorKind::Incomplete);
}

#[tokio::test]
async fn ollama_says_why_it_broke_off() {
    let first = json!({"message": {"role": "assistant", "content": "he"}, "done": false});
    let error = json!({"error": "CUDA error"});
    let scripts = vec![vec![head(), lines(&[first, error])]];
    let (answer, _) = ask_with(ProviderKind::Ollama, limits(), scripts).await;
    let error = answer.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Unavailable);
    assert_eq!(
        error.message,
        "test ended the answer with an error: CUDA error"
    );
}

#[tokio::test]
async fn ollama_is_refused_a_request_that_its_context_does_not_hold() {
    let answer = || {
        let last = json!({"message": {"role": "assistant", "content": "ok"}, "done": true, "done_reason": "stop"});
        vec![head(), lines(&[last])]
    };
    let loaded = |name: &str, length: u64| {
        let list = json!({"models": [{"name": "other", "context_length": 1}, {"name": name, "context_length": length}]});
        status("200 OK", "", &list.to_string())
    };
    let long = question(&"word ".repeat(4000));
    for (list, request, is_refused) in [
        (loaded("model-1:latest", 4096), &long, true),
        (loaded("model-1", 4096), &question("hello"), false),
        (loaded("model-1", 32768), &long, false),
        (loaded("model-2", 4096), &long, false),
        (status("404 Not Found", "", ""), &long, false),
    ] {
        let server = Server::start(vec![answer(), list]).await;
        let model = server.model(ProviderKind::Ollama, limits());
        let notes = Notes::default();
        let answer = model.ask(request, &notes).await;
        let seen = server.received().remove(1);
        assert!(seen.head.starts_with("GET /api/ps "), "{}", seen.head);
        if !is_refused {
            assert_eq!(answer.unwrap().text, "ok");
            continue;
        }
        let error = answer.unwrap_err();
        assert_eq!((error.kind, error.attempts), (ModelErrorKind::TooLong, 1));
        assert!(
            error.message.starts_with("test reads 4096 tokens")
                && error.message.ends_with("OLLAMA_CONTEXT_LENGTH"),
            "{}",
            error.message
        );
        assert_eq!(notes.lines(), [""; 0]);
    }
}

#[tokio::test]
async fn gemini_says_what_it_refuses() {
    let blocked = json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}});
    let key = json!([{"error": {
        "code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT",
        "details": [{"reason": "API_KEY_INVALID"}],
    }}]);
    for (script, kind, message) in [
        (
            vec![head(), events(&[blocked])],
            ModelErrorKind::Rejected,
            "test blocks this conversation: PROHIBITED_CONTENT",
        ),
        (
            status("400 Bad Request", "", &key.to_string()),
            ModelErrorKind::Unauthorized,
            "test refuses the key (status 400): API key not valid.",
        ),
    ] {
        let (answer, _) = ask_with(ProviderKind::Gemini, limits(), vec![script]).await;
        let error = answer.unwrap_err();
        assert_eq!((error.kind, error.attempts), (kind, 1));
        assert_eq!(error.message, message);
    }
}
