//! The server over a catalog in memory, with clients of both eras.

use std::sync::Arc;
use std::time::Duration;

use gongfu_core::capability::{Access, Origin, Safety};
use gongfu_hub::call::{Call, Proposal};
use gongfu_hub::entry::Entry;
use gongfu_hub::gate::{Answer, Review};
use gongfu_hub::{Catalog, Profile, Quota, ToolResult, ToolSpec};
use gongfu_testing::{MemorySpace, MemorySpaces};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, duplex};
use tokio::sync::{Notify, Semaphore};

use super::{Server, Settings};

/// Only a hang takes as long.
const TIMEOUT: Duration = Duration::from_secs(30);
const DOCUMENT: &[u8] = b"---\nname: pdf\ndescription: Reads PDF\n---\n# PDF\n";
const LIST_CHANGED: &str = "notifications/tools/list_changed";

/// A tool of another server, which answers once it may.
struct Weather {
    spec: ToolSpec,
    control: Arc<Control>,
}

struct Control {
    started: Notify,
    may_answer: Semaphore,
}

impl Review for Weather {
    fn review<'a>(&'a self, _call: &'a Call) -> Answer<'a, Option<Proposal>> {
        Box::pin(async { Ok(None) })
    }
}

impl Entry for Weather {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(&'a self, _call: &'a Call) -> Answer<'a, ToolResult> {
        Box::pin(async {
            self.control.started.notify_one();
            let _permit = self.control.may_answer.acquire().await;
            Ok(ToolResult::text("sunny"))
        })
    }
}

fn origin() -> Origin {
    Origin::Server("weather".to_owned())
}

fn weather(name: &str, control: &Arc<Control>) -> Arc<dyn Entry> {
    Arc::new(Weather {
        spec: ToolSpec {
            name: name.into(),
            title: name.into(),
            description: "The weather of today.".into(),
            input_schema: Arc::new(Map::new()),
            output_schema: None,
            access: Access::Read,
            destructive: false,
            safety: Safety::Low,
            says_read_only: false,
            ui: Map::new(),
            person_only: false,
            origin: origin(),
            permission: format!("mcp.weather.{name}").into(),
            definition: None,
            target: None,
        },
        control: Arc::clone(control),
    })
}

struct Client {
    input: DuplexStream,
    output: Lines<BufReader<DuplexStream>>,
    /// The members that each request has besides its own.
    meta: Option<Value>,
    requests: u64,
    list_changes: usize,
}

impl Client {
    fn connect(server: &Server, meta: Option<Value>) -> Self {
        let (input, from_client) = duplex(1 << 20);
        let (to_client, output) = duplex(1 << 20);
        let server = server.connection();
        let end = server.end.clone();
        tokio::spawn(crate::stdio::serve(server, from_client, to_client, end));
        Self {
            input,
            output: BufReader::new(output).lines(),
            meta,
            requests: 0,
            list_changes: 0,
        }
    }

    /// A client of 2025-11-25, which is notified without a request.
    async fn initialized(server: &Server) -> Self {
        let mut client = Self::connect(server, None);
        let hello = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "old", "version": "1" },
        });
        client.request("initialize", hello).await;
        client
            .send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
            .await;
        client
    }

    /// A client of 2026-07-28, which subscribes to changes.
    async fn listening(server: &Server) -> Self {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "new", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let mut client = Self::connect(server, Some(meta));
        let wanted = json!({ "notifications": { "toolsListChanged": true } });
        client.start("subscriptions/listen", wanted).await;
        client
    }

    async fn send(&mut self, message: &Value) {
        let line = format!("{message}\n");
        self.input.write_all(line.as_bytes()).await.unwrap();
    }

    /// Sends a request, and returns its id.
    async fn start(&mut self, method: &str, mut params: Value) -> u64 {
        self.requests += 1;
        if let Some(meta) = &self.meta {
            params["_meta"] = meta.clone();
        }
        let (id, method) = (self.requests, method.to_owned());
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
            .await;
        id
    }

    async fn message(&mut self) -> Value {
        let line = tokio::time::timeout(TIMEOUT, self.output.next_line()).await;
        let line = line.expect("the server says nothing").unwrap().unwrap();
        let message: Value = serde_json::from_str(&line).unwrap();
        self.list_changes += usize::from(message["method"] == LIST_CHANGED);
        message
    }

    async fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.message().await;
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
        }
    }

    async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.start(method, params).await;
        self.answer(id).await
    }

    async fn lists(&mut self, name: &str) -> bool {
        let answer = self.request("tools/list", json!({})).await;
        let tools = answer["result"]["tools"].as_array().unwrap();
        tools.iter().any(|tool| tool["name"] == name)
    }

    async fn call(&mut self, name: &str) -> Value {
        let params = json!({ "name": name, "arguments": {} });
        self.request("tools/call", params).await
    }

    /// Waits for a notification that the list of tools changed, after so many of them.
    async fn notified_after(&mut self, count: usize) {
        while self.list_changes <= count {
            self.message().await;
        }
    }

    /// Waits until the server notifies this client. Nothing tells when it begins to, so the library
    /// changes until it does.
    async fn until_notified(&mut self, space: &MemorySpace) {
        let before = self.list_changes;
        for _ in 0..300 {
            space
                .skills
                .replace(&[("lib/pdf", &[("SKILL.md", DOCUMENT)])]);
            let soon = Duration::from_millis(100);
            let next = tokio::time::timeout(soon, self.notified_after(before)).await;
            if next.is_ok() {
                return;
            }
        }
        panic!("the server notifies nobody");
    }
}

fn world() -> (Arc<MemorySpace>, Arc<Catalog>, Server) {
    let space = Arc::new(MemorySpace::default());
    space
        .skills
        .replace(&[("lib/pdf", &[("SKILL.md", DOCUMENT)])]);
    let spaces = MemorySpaces::of(Arc::clone(&space));
    let catalog = Arc::new(Catalog::new(Arc::new(spaces), Quota::default(), None));
    let settings = Settings {
        profiles: vec![Profile::Standard],
        catalogue: 1_000,
        version: "1".to_owned(),
        adopt: None,
        work: None,
        set: None,
        roots: None,
    };
    let server = Server::new(Arc::clone(&catalog), settings);
    (space, catalog, server)
}

#[tokio::test]
async fn foreign_tool_comes_and_goes_while_clients_are_connected() {
    let (space, catalog, server) = world();
    let mut clients = [
        Client::initialized(&server).await,
        Client::listening(&server).await,
    ];
    for client in &mut clients {
        client.until_notified(&space).await;
        assert!(!client.lists("weather__today").await);
    }

    let control = Arc::new(Control {
        started: Notify::new(),
        may_answer: Semaphore::new(1),
    });
    let counts = clients.each_ref().map(|client| client.list_changes);
    let entry = weather("weather__today", &control);
    catalog.provide(&origin(), None, &[entry]).unwrap();
    for (client, count) in clients.iter_mut().zip(counts) {
        client.notified_after(count).await;
        assert!(client.lists("weather__today").await);
        let answer = client.call("weather__today").await;
        assert_eq!(answer["result"]["content"][0]["text"], "sunny", "{answer}");
    }

    // A name that is taken is refused, and everything stays as it was.
    let taken = weather("skill_list", &control);
    assert!(catalog.provide(&origin(), None, &[taken]).is_err());
    assert!(clients[0].lists("weather__today").await);

    // A call that runs ends, though its entry goes.
    control.may_answer.try_acquire().unwrap().forget();
    // Forgets the calls before.
    control.started.notify_one();
    control.started.notified().await;
    let params = json!({ "name": "weather__today", "arguments": {} });
    let running = clients[0].start("tools/call", params).await;
    control.started.notified().await;
    let counts = clients.each_ref().map(|client| client.list_changes);
    catalog.provide(&origin(), None, &[]).unwrap();
    control.may_answer.add_permits(1);
    let answer = clients[0].answer(running).await;
    assert_eq!(answer["result"]["content"][0]["text"], "sunny", "{answer}");
    for (client, count) in clients.iter_mut().zip(counts) {
        client.notified_after(count).await;
        assert!(!client.lists("weather__today").await);
        let answer = client.call("weather__today").await;
        assert!(answer["error"]["message"].is_string(), "{answer}");
    }
}
