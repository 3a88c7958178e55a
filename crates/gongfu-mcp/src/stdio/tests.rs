//! The transport over pipes in memory: answers, limits, ends.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rmcp::ServerHandler;
use rmcp::model::{
    CustomRequest, CustomResult, ErrorData, ServerCapabilities, ServerConfig, SubscriptionFilter,
};
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, duplex};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::limit::{MAX_RUNNING, MAX_SUBSCRIPTIONS};
use super::{StdioError, serve};
use crate::message::MAX_BYTES;

/// Only a hang takes as long.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A server whose requests do what their names say.
#[derive(Clone)]
struct Puppet {
    begun: Arc<AtomicUsize>,
    /// Lets `hang` go on.
    go: Arc<Semaphore>,
    end: CancellationToken,
}

impl ServerHandler for Puppet {
    fn get_info(&self) -> ServerConfig {
        let tools = ServerCapabilities::builder().enable_tools();
        ServerConfig::new(tools.enable_tool_list_changed().build())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        self.begun.fetch_add(1, Ordering::SeqCst);
        match request.method.as_str() {
            "hang" => self.go.acquire().await.unwrap().forget(),
            "panic" => panic!("on purpose"),
            _ => {}
        }
        let size = request.params.and_then(|params| params["size"].as_u64());
        let text = "x".repeat(size.unwrap_or_default().try_into().unwrap());
        Ok(CustomResult::new(json!({ "text": text })))
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        tokio::select! {
            () = context.cancelled() => {}
            () = self.end.cancelled() => {}
        }
        Ok(())
    }
}

/// The client's side.
struct Client {
    to: Option<DuplexStream>,
    from: Option<Lines<BufReader<DuplexStream>>>,
    served: JoinHandle<Result<(), StdioError>>,
    puppet: Puppet,
}

impl Client {
    fn new() -> Self {
        let (to, input) = duplex(64 << 10);
        let (output, from) = duplex(64 << 10);
        let puppet = Puppet {
            begun: Arc::default(),
            go: Arc::new(Semaphore::new(0)),
            end: CancellationToken::new(),
        };
        let served = tokio::spawn(serve(puppet.clone(), input, output, puppet.end.clone()));
        Self {
            to: Some(to),
            from: Some(BufReader::new(from).lines()),
            served,
            puppet,
        }
    }

    async fn greeted() -> Self {
        let mut client = Self::new();
        let hello = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        });
        client.request(json!("hello"), "initialize", &hello).await;
        let answer = client.answer().await;
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
        client
    }

    async fn raw(&mut self, bytes: &[u8]) {
        let write = self.to.as_mut().unwrap().write_all(bytes);
        tokio::time::timeout(TIMEOUT, write)
            .await
            .expect("the pipe is full")
            .unwrap();
    }

    async fn request(&mut self, id: Value, method: &str, params: &Value) {
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.raw(format!("{request}\n").as_bytes()).await;
    }

    async fn cancel(&mut self, id: Value) {
        let params = json!({ "requestId": id });
        let method = "notifications/cancelled";
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        self.raw(format!("{message}\n").as_bytes()).await;
    }

    /// The next line, or none at the end.
    async fn line(&mut self) -> Option<Value> {
        let next = self.from.as_mut().unwrap().next_line();
        let line = tokio::time::timeout(TIMEOUT, next).await;
        let line = line.expect("no answer").unwrap()?;
        Some(serde_json::from_str(&line).unwrap())
    }

    async fn answer(&mut self) -> Value {
        self.line().await.expect("the server ended")
    }

    /// An error's code and id.
    async fn refused(&mut self) -> (i64, Value) {
        let answer = self.answer().await;
        let code = answer["error"]["code"].as_i64();
        let id = answer.get("id").cloned().unwrap_or_default();
        (code.unwrap_or_else(|| panic!("{answer}")), id)
    }

    /// The server is as far as a request that follows everything else.
    async fn settled(&mut self) {
        self.request(json!("settled"), "ping", &json!({})).await;
        let answer = self.answer().await;
        assert_eq!(
            (&answer["id"], &answer["result"]),
            (&json!("settled"), &json!({}))
        );
    }

    fn begun(&self) -> usize {
        self.puppet.begun.load(Ordering::SeqCst)
    }

    /// The number of begun requests, once it stays as it is.
    async fn steady(&self) -> usize {
        loop {
            let before = self.begun();
            tokio::time::sleep(Duration::from_millis(50)).await;
            if self.begun() == before {
                return before;
            }
        }
    }

    /// Closes the input; answers what was still said, once the server has ended.
    async fn close(mut self) -> Vec<Value> {
        self.to = None;
        let mut lines = Vec::new();
        while let Some(line) = self.line().await {
            lines.push(line);
        }
        ended(self.served).await;
        lines
    }
}

async fn ended(served: JoinHandle<Result<(), StdioError>>) {
    let ended = tokio::time::timeout(TIMEOUT, served).await;
    ended.expect("the server doesn't end").unwrap().unwrap();
}

#[tokio::test]
async fn answers_each_line_that_wants_an_answer() {
    let mut client = Client::greeted().await;
    for (line, code, id) in [
        (&b"no json"[..], -32700, Value::Null),
        (
            br#"{"jsonrpc":"2.0","id":1,"method":"a\ud800"}"#,
            -32700,
            json!(1),
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"\xff\"}",
            -32700,
            json!(2),
        ),
        (
            br#"[{"jsonrpc":"2.0","id":3,"method":"ping"}]"#,
            -32600,
            Value::Null,
        ),
        (
            br#"{"jsonrpc":"1.0","id":4,"method":"ping"}"#,
            -32600,
            json!(4),
        ),
        (
            br#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":[]}"#,
            -32600,
            json!(5),
        ),
    ] {
        client.raw(line).await;
        client.raw(b"\r\n").await;
        assert_eq!(client.refused().await, (code, id));
    }
    let deep = format!(r#"{{"id":6,"a":{}"#, "[".repeat(100_000));
    client.raw(deep.as_bytes()).await;
    client.raw(b"\n").await;
    assert_eq!(client.refused().await, (-32700, json!(6)));
    // These want none.
    client.raw(b"\n\r\n  \n").await;
    client.raw(b"{\"method\":\"textDocument/didOpen\"}\n").await;
    client
        .raw(b"{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n")
        .await;
    client.cancel(json!("never sent")).await;
    client.settled().await;
    assert_eq!(client.close().await, Vec::<Value>::new());
}

#[tokio::test]
async fn answers_a_line_over_the_limit_and_reads_on() {
    let mut client = Client::greeted().await;
    client
        .raw(br#"{"jsonrpc":"2.0","id":9,"method":"a","params":{"a":""#)
        .await;
    let part = vec![b'x'; 1 << 20];
    for _ in 0..=(MAX_BYTES >> 20) {
        client.raw(&part).await;
    }
    client.raw(b"\"}}\n").await;
    let answer = client.answer().await;
    assert_eq!(
        (&answer["error"]["code"], &answer["id"]),
        (&json!(-32600), &json!(9))
    );
    assert_eq!(answer["error"]["data"]["limit"], MAX_BYTES);
    client.settled().await;
}

#[tokio::test]
async fn stray_messages_before_the_session_do_not_end_it() {
    let mut client = Client::new();
    client.cancel(json!(1)).await;
    client
        .raw(b"{}\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n")
        .await;
    assert_eq!(client.refused().await, (-32600, Value::Null));
    client.request(json!(1), "ping", &json!({})).await;
    assert_eq!(client.answer().await["result"], json!({}));
    client
        .raw(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")
        .await;
    client.request(json!(2), "tools/list", &json!({})).await;
    assert_eq!(client.refused().await, (-32602, json!(2)));
}

#[tokio::test]
async fn refuses_a_second_initialize() {
    let mut client = Client::greeted().await;
    let hello = json!({
        "protocolVersion": "2026-07-28",
        "capabilities": {},
        "clientInfo": { "name": "other", "version": "2" },
    });
    client.request(json!(2), "initialize", &hello).await;
    assert_eq!(client.refused().await, (-32600, json!(2)));
    client.settled().await;
}

#[tokio::test]
async fn refuses_an_id_that_is_in_use() {
    let mut client = Client::greeted().await;
    client
        .request(json!("a"), "hang", &json!({ "size": 3 }))
        .await;
    client.request(json!("a"), "other", &json!({})).await;
    assert_eq!(client.refused().await, (-32600, json!("a")));
    client.puppet.go.add_permits(1);
    assert_eq!(client.answer().await["result"]["text"], "xxx");
    assert_eq!(client.begun(), 1);
    client.request(json!("a"), "other", &json!({})).await;
    assert_eq!(client.answer().await["id"], "a");
}

#[tokio::test(start_paused = true)]
async fn requests_over_the_limit_wait() {
    let mut client = Client::greeted().await;
    for id in 0..MAX_RUNNING + 50 {
        client.request(json!(id), "hang", &json!({})).await;
    }
    assert_eq!(client.steady().await, MAX_RUNNING);
    // One that waits is cancelled before it began, and one that runs keeps its place.
    client.cancel(json!(MAX_RUNNING)).await;
    client.cancel(json!(0)).await;
    assert_eq!(client.steady().await, MAX_RUNNING);
    client.puppet.go.add_permits(MAX_RUNNING);
    assert_eq!(client.steady().await, MAX_RUNNING + 49);
    client.puppet.go.add_permits(49);
    let mut answered = HashSet::new();
    for _ in 0..MAX_RUNNING + 48 {
        let answer = client.answer().await;
        assert!(answer["result"].is_object(), "{answer}");
        assert!(answered.insert(answer["id"].as_u64().unwrap()), "{answer}");
    }
    assert!(!answered.contains(&0) && !answered.contains(&(MAX_RUNNING as u64)));
    client.settled().await;
}

#[tokio::test(start_paused = true)]
async fn runs_nothing_more_for_a_client_that_does_not_read() {
    const SIZE: usize = 256 << 10;
    let mut client = Client::greeted().await;
    let requests = 200;
    for id in 0..requests {
        client
            .request(json!(id), "big", &json!({ "size": SIZE }))
            .await;
    }
    // Each runs until its answer is written; a few fit into the pipe.
    let begun = client.steady().await;
    assert!((MAX_RUNNING..MAX_RUNNING + 5).contains(&begun), "{begun}");
    // Then nothing is read any more: the pipe fills.
    let mut written = 0;
    let line = format!(
        "{}\n",
        json!({ "jsonrpc": "2.0", "id": [], "a": "x".repeat(10_000) })
    );
    let to = client.to.as_mut().unwrap();
    let full = async {
        loop {
            to.write_all(line.as_bytes()).await.unwrap();
            written += 1;
        }
    };
    let full: Result<(), _> = tokio::time::timeout(Duration::from_secs(5), full).await;
    assert!(full.is_err() && written < 300, "{written}");
    // As soon as it reads, all goes on.
    let mut answered = 0;
    while answered < requests {
        let answer = client.answer().await;
        answered += usize::from(answer["result"]["text"].is_string());
    }
    assert_eq!(client.begun(), requests);
}

#[tokio::test(start_paused = true)]
async fn does_not_wait_for_a_client_that_does_not_read_and_leaves() {
    let mut client = Client::greeted().await;
    for id in 0..100 {
        client
            .request(json!(id), "big", &json!({ "size": 256 << 10 }))
            .await;
    }
    client.steady().await;
    client.to = None;
    ended(client.served).await;
}

#[tokio::test]
async fn a_broken_pipe_ends_the_session() {
    let mut client = Client::greeted().await;
    client.from = None;
    client.request(json!(1), "other", &json!({})).await;
    ended(client.served).await;
}

#[tokio::test]
async fn answers_what_was_asked_before_the_end() {
    let mut client = Client::greeted().await;
    for id in 0..200 {
        client
            .request(json!(id), "other", &json!({ "size": 5000 }))
            .await;
    }
    // The last line has no end.
    client
        .raw(br#"{"jsonrpc":"2.0","id":200,"method":"other"}"#)
        .await;
    let answers = client.close().await;
    let ids: HashSet<u64> = answers
        .iter()
        .filter_map(|answer| answer["id"].as_u64())
        .collect();
    assert_eq!((answers.len(), ids.len()), (201, 201));
}

#[tokio::test]
async fn ignores_a_message_cut_by_the_end() {
    let mut client = Client::greeted().await;
    client
        .raw(br#"{"jsonrpc":"2.0","id":200,"method":"other""#)
        .await;
    assert!(client.close().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn does_not_wait_for_a_hanging_request_after_the_end() {
    let mut client = Client::greeted().await;
    for id in 0..100 {
        client.request(json!(id), "hang", &json!({})).await;
    }
    client.to = None;
    let before = tokio::time::Instant::now();
    ended(client.served).await;
    assert!(
        before.elapsed() < Duration::from_secs(1),
        "{:?}",
        before.elapsed()
    );
}

#[tokio::test]
async fn answers_a_request_whose_handler_panics() {
    let mut client = Client::greeted().await;
    for id in 0..=MAX_RUNNING {
        client.request(json!(id), "panic", &json!({})).await;
        assert_eq!(client.refused().await, (-32603, json!(id)));
    }
    client.settled().await;
}

#[tokio::test]
async fn subscriptions_have_a_limit_of_their_own() {
    let mut client = Client::new();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let listen = json!({ "notifications": { "toolsListChanged": true }, "_meta": meta });
    for id in 0..MAX_SUBSCRIPTIONS {
        client
            .request(json!(id), "subscriptions/listen", &listen)
            .await;
        let told = client.answer().await;
        assert_eq!(told["method"], "notifications/subscriptions/acknowledged");
    }
    client
        .request(json!("more"), "subscriptions/listen", &listen)
        .await;
    assert_eq!(client.refused().await, (-32600, json!("more")));
    // They take no place from requests, and one that is cancelled makes room.
    let other = json!({ "_meta": meta, "size": 1 });
    client.request(json!("other"), "other", &other).await;
    assert_eq!(client.answer().await["id"], "other");
    client.cancel(json!(0)).await;
    let mut tries = 0;
    loop {
        let id = json!(format!("again {tries}"));
        client.request(id, "subscriptions/listen", &listen).await;
        let told = client.answer().await;
        if told["method"] == "notifications/subscriptions/acknowledged" {
            break;
        }
        tries += 1;
        assert!(tries < 1000, "{told}");
    }
    let last = client.close().await;
    assert_eq!(last.len(), MAX_SUBSCRIPTIONS, "each is told its end");
}
