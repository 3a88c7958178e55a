//! Every fault ends in an answer after a retry, or in an error that says what is wrong.

use std::time::Duration;

use gongfu_core::port::ModelErrorKind;
use gongfu_llm::{Clients, Limits, Provider, ProviderKind};
use serde_json::{Value, json};

use crate::fixture::{
    KEY, Notes, Script, Server, Step, ask, ask_with, done, events, head, limits, question, send,
    status, whole,
};

fn text(text: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {"content": text}}]})
}

fn error(message: &str) -> String {
    json!({"error": {"message": message}}).to_string()
}

/// The notes when the first attempt fails this way, and the second one succeeds.
async fn recovers(first: Script) -> Vec<String> {
    let (answer, notes) = ask(vec![first, whole("ok")]).await;
    assert_eq!(answer.unwrap().text, "ok");
    notes
}

/// The kind, the attempts and the message when all attempts fail this way.
async fn fails(script: Script) -> (ModelErrorKind, u32, String) {
    let (answer, _) = ask(vec![script]).await;
    let error = answer.unwrap_err();
    (error.kind, error.attempts, error.message)
}

#[tokio::test]
async fn waits_as_long_as_it_is_asked_to() {
    let notes = recovers(status("429 Too Many Requests", "retry-after: 0\r\n", "")).await;
    assert_eq!(notes, ["retry 2 after RateLimited", "ok"]);
}

#[tokio::test]
async fn says_how_long_it_waits() {
    let notes = recovers(status(
        "429 Too Many Requests",
        "retry-after-ms: 120\r\n",
        "",
    ))
    .await;
    assert_eq!(notes, ["retry 2 after RateLimited, in 120 ms", "ok"]);
}

#[tokio::test]
async fn ends_at_once_when_the_wait_is_too_long() {
    for (line, kind, what) in [
        (
            "429 Too Many",
            ModelErrorKind::RateLimited,
            "is limiting requests (status 429)",
        ),
        (
            "503 Unavailable",
            ModelErrorKind::Unavailable,
            "isn't available right now (status 503)",
        ),
        (
            "529 Overloaded",
            ModelErrorKind::Unavailable,
            "isn't available right now (status 529)",
        ),
    ] {
        let found = fails(status(line, "retry-after: 300\r\n", &error("slow"))).await;
        let message = format!(
            "test {what}: slow; it asks to wait 300 s, longer than `models.longest_wait_seconds` (60)"
        );
        assert_eq!(found, (kind, 1, message));
    }
    let endless = "retry-after: 99999999999999999999\r\n";
    let (kind, attempts, _) = fails(status("429 Too Many", endless, "")).await;
    assert_eq!((kind, attempts), (ModelErrorKind::RateLimited, 1));
}

#[tokio::test]
async fn asks_again_when_the_provider_does_not_work() {
    for line in [
        "500 Internal Server Error",
        "502 Bad Gateway",
        "503 Unavailable",
        "504 Timeout",
        "529 Overloaded",
    ] {
        let notes = recovers(status(line, "", "<html>")).await;
        assert_eq!(notes, ["retry 2 after Unavailable", "ok"], "{line}");
    }
}

#[tokio::test]
async fn gives_up_after_the_last_attempt() {
    let (kind, attempts, message) = fails(status("503 Unavailable", "", &error("try later"))).await;
    assert_eq!((kind, attempts), (ModelErrorKind::Unavailable, 4));
    assert_eq!(
        message,
        "test isn't available right now (status 503): try later"
    );
}

#[tokio::test]
async fn asks_again_after_a_reset() {
    let notes = recovers(vec![Step::Reset]).await;
    assert_eq!(notes, ["retry 2 after Unavailable", "ok"]);
    let notes = recovers(vec![head(), events(&[text("o")]), Step::Reset]).await;
    // A reset may overtake the piece.
    assert!(
        notes.contains(&"retry 2 after Incomplete".to_owned()),
        "{notes:?}"
    );
    assert_eq!(notes.last().unwrap(), "ok");
}

#[tokio::test]
async fn asks_again_when_the_answer_is_cut() {
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\ndata:\r\n";
    let notes = recovers(vec![send(chunked)]).await;
    assert_eq!(notes, ["retry 2 after Incomplete", "ok"]);
}

#[tokio::test]
async fn says_that_nobody_listens() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(listener);
    let provider = Provider {
        name: "local".to_owned(),
        kind: ProviderKind::OpenAi,
        base_url: Some(address),
        key: None,
    };
    let model = Clients::new(limits())
        .chat_model(&provider, "model-1")
        .unwrap();
    let error = model.ask(&question("hello"), &()).await.unwrap_err();
    assert_eq!(
        (error.kind, error.attempts),
        (ModelErrorKind::Unavailable, 4)
    );
    assert_eq!(error.message, "local can't be reached: connection refused");
}

#[tokio::test]
async fn gives_up_on_a_server_that_stalls() {
    for script in [
        vec![Step::Stall],
        vec![head(), events(&[text("o")]), Step::Stall],
    ] {
        let limits = Limits {
            first_byte_timeout: Duration::from_millis(100),
            read_timeout: Duration::from_millis(100),
            attempts: 2,
            ..limits()
        };
        let (answer, _) = ask_with(ProviderKind::OpenAi, limits, vec![script]).await;
        let error = answer.unwrap_err();
        assert_eq!((error.kind, error.attempts), (ModelErrorKind::Stalled, 2));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ends_what_never_ends() {
    // Whatever ends no piece may be too much before the time is over.
    let stalled = &[ModelErrorKind::Stalled][..];
    let either = &[ModelErrorKind::Stalled, ModelErrorKind::TooLarge][..];
    for (endless, kinds) in [
        (": keep-alive\n\n", stalled),
        ("data: {\"choices\":[]}\n\n", stalled),
        (" ", either),
        ("\n\n", either),
    ] {
        let limits = Limits {
            total_timeout: Duration::from_millis(300),
            ..limits()
        };
        let script = vec![head(), Step::Repeat(endless.into())];
        let (answer, _) = ask_with(ProviderKind::OpenAi, limits, vec![script]).await;
        assert!(kinds.contains(&answer.unwrap_err().kind), "{endless:?}");
    }
}

#[tokio::test]
async fn bears_comments_for_as_long_as_the_provider_thinks() {
    let mut script = vec![head()];
    script.resize(1500, send(": thinking\n\n"));
    script.extend(whole("ok").split_off(1));
    let (answer, notes) = ask(vec![script]).await;
    assert_eq!(answer.unwrap().text, "ok");
    assert_eq!(notes, ["ok"]);
}

#[tokio::test]
async fn stops_reading_an_error_without_an_end() {
    let start = "HTTP/1.1 500 Internal Server Error\r\nconnection: close\r\n\r\n";
    let endless = Step::Repeat(vec![b'x'; 4096]);
    let (kind, attempts, _) = fails(vec![send(start), endless]).await;
    assert_eq!((kind, attempts), (ModelErrorKind::TooLarge, 1));
}

#[tokio::test]
async fn is_incomplete_without_an_end() {
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    for script in [
        vec![head(), events(&[text("o")])],
        vec![head(), events(&[text("o"), end])],
        vec![head(), events(&[text("o")]), done()],
        vec![head()],
        vec![head(), send("data: {\"choices\"")],
    ] {
        let (answer, notes) = ask(vec![script, whole("ok")]).await;
        assert_eq!(answer.unwrap().text, "ok");
        assert!(
            notes.contains(&"retry 2 after Incomplete".to_owned()),
            "{notes:?}"
        );
    }
}

#[tokio::test]
async fn asks_again_when_the_answer_is_empty_or_failed() {
    let end =
        |reason: &str| json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]});
    for values in [
        vec![end("stop")],
        vec![text("o"), end("tool_calls")],
        vec![text("o"), end("error")],
    ] {
        let notes = recovers(vec![head(), events(&values), done()]).await;
        assert!(
            notes.contains(&"retry 2 after Incomplete".to_owned()),
            "{notes:?}"
        );
    }
}

#[tokio::test]
async fn asks_again_when_a_character_is_cut_and_refuses_what_is_none() {
    let mut cut = b"data: {\"choices\": \"".to_vec();
    cut.extend_from_slice(&"功".as_bytes()[..2]);
    let notes = recovers(vec![head(), send(cut)]).await;
    assert_eq!(notes, ["retry 2 after Incomplete", "ok"]);
    let (kind, attempts, _) = fails(vec![head(), send(b"data: \xff\xff\n\n".to_vec())]).await;
    assert_eq!((kind, attempts), (ModelErrorKind::Malformed, 1));
}

#[tokio::test]
async fn refuses_what_is_not_json() {
    let (kind, attempts, message) = fails(vec![head(), send("data: {nonsense\n\n")]).await;
    assert_eq!((kind, attempts), (ModelErrorKind::Malformed, 1));
    assert_eq!(message, "test: a piece of the answer can't be read");
}

#[tokio::test]
async fn ends_at_once_when_the_answer_is_too_large() {
    let piece = "x".repeat(100 * 1024);
    let call = json!({"choices": [{"delta": {"tool_calls": [
        {"index": 0, "id": "a", "function": {"name": "one", "arguments": piece}},
    ]}}]});
    for value in [text(&piece), call] {
        let values = [value.clone(), value.clone(), value];
        let (kind, attempts, _) = fails(vec![head(), events(&values), Step::Stall]).await;
        assert_eq!((kind, attempts), (ModelErrorKind::TooLarge, 1));
    }
}

#[tokio::test]
async fn refuses_calls_without_number() {
    let call =
        |index: u32| json!({"index": index, "id": index.to_string(), "function": {"name": "one"}});
    let calls: Vec<Value> = (0..200).map(call).collect();
    let values = [json!({"choices": [{"delta": {"tool_calls": calls}}]})];
    let (kind, ..) = fails(vec![head(), events(&values), Step::Stall]).await;
    assert_eq!(kind, ModelErrorKind::TooLarge);
}

#[tokio::test]
async fn never_shows_the_key() {
    for said in [
        format!("Incorrect API key provided: {KEY}."),
        format!("bad header 'Bearer {}'", &KEY[..16]),
    ] {
        for body in [error(&said), said.clone()] {
            let (kind, attempts, message) = fails(status("401 Unauthorized", "", &body)).await;
            assert_eq!((kind, attempts), (ModelErrorKind::Unauthorized, 1));
            assert!(
                message.contains("[key]") && !message.contains("0123"),
                "{message}"
            );
        }
    }
}

#[tokio::test]
async fn never_shows_the_request() {
    let secret = "the password of the vault is swordfish, and nobody may know it";
    let server = Server::start(vec![status(
        "422 Unprocessable",
        "",
        &error(&format!("bad value: {secret}")),
    )])
    .await;
    let model = server.model(ProviderKind::OpenAi, limits());
    let error = model.ask(&question(secret), &()).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Rejected);
    assert!(!error.message.contains("swordfish"), "{}", error.message);
}

#[tokio::test]
async fn tells_refusals_apart() {
    let long = error("This model's maximum context length is 8192 tokens");
    let quota =
        json!({"error": {"message": "no credit", "code": "insufficient_quota"}}).to_string();
    for (line, body, kind) in [
        ("400 Bad Request", long.as_str(), ModelErrorKind::TooLong),
        ("400 Bad Request", "{}", ModelErrorKind::Rejected),
        ("402 Payment Required", "{}", ModelErrorKind::Rejected),
        ("403 Forbidden", "{}", ModelErrorKind::Unauthorized),
        ("404 Not Found", "{}", ModelErrorKind::UnknownModel),
        ("413 Too Large", "{}", ModelErrorKind::TooLong),
        ("429 Too Many", quota.as_str(), ModelErrorKind::RateLimited),
    ] {
        let (found, attempts, _) = fails(status(line, "", body)).await;
        assert_eq!((found, attempts), (kind, 1), "{line}");
    }
}

#[tokio::test]
async fn says_what_to_do_about_a_refusal() {
    let quota = json!({"error": {"message": "no credit", "code": "insufficient_quota"}});
    let in_stream = vec![head(), events(std::slice::from_ref(&quota))];
    let quota = status("429 Too Many", "", &quota.to_string());
    for script in [quota, in_stream] {
        let (kind, attempts, message) = fails(script).await;
        assert_eq!((kind, attempts), (ModelErrorKind::RateLimited, 1));
        assert!(
            message.contains("quota of this key is used up"),
            "{message}"
        );
    }
    let no_tools = error("registry.ollama.ai/library/m does not support tools");
    let (kind, attempts, message) = fails(status("400 Bad Request", "", &no_tools)).await;
    assert_eq!((kind, attempts), (ModelErrorKind::Rejected, 1));
    assert!(message.contains("`models.without_tools`"), "{message}");
    for (body, is_path) in [
        ("404 page not found", true),
        ("{\"detail\":\"Not Found\"}", true),
        (
            "{\"error\":{\"message\":\"The model `m` does not exist\"}}",
            false,
        ),
    ] {
        let (kind, _, message) = fails(status("404 Not Found", "", body)).await;
        assert_eq!(kind, ModelErrorKind::UnknownModel);
        assert_eq!(message.contains("`/v1`"), is_path, "{message}");
    }
}

#[tokio::test]
async fn follows_no_redirect() {
    let elsewhere = Server::start(vec![whole("wrong")]).await;
    let location = format!("location: {}/v1/chat/completions\r\n", elsewhere.address);
    let (kind, ..) = fails(status("307 Temporary Redirect", &location, "")).await;
    assert_eq!(kind, ModelErrorKind::Rejected);
    assert!(elsewhere.received().is_empty());
}

#[tokio::test]
async fn voids_the_pieces_of_an_attempt_that_failed() {
    let server = Server::start(vec![
        vec![head(), events(&[text("wrong ")])],
        whole("right"),
    ])
    .await;
    let notes = Notes::default();
    let model = server.model(ProviderKind::OpenAi, limits());
    let answer = model.ask(&question("hello"), &notes).await.unwrap();
    assert_eq!(answer.text, "right");
    assert_eq!(
        notes.lines(),
        ["wrong ", "retry 2 after Incomplete", "right"]
    );
    let received = server.received();
    assert_eq!(received[0].body, received[1].body);
}
