//! Other servers that answer what they got.

use gongfu_core::capability::Safety;
use gongfu_core::connection::{Connection, ConnectionName, Definition, Program, State, Target};
use gongfu_core::port::{
    ConnectionStatus, Discovery, NoServers, Pending, PortError, ServerAnswer, ServerCall,
    ServerTools, Servers, SignIn, ready,
};
use gongfu_core::skill::Digest;
use serde_json::{Map, Value, json};

/// A connection `echo` with the tools `say` and `drop`, of which the second is destructive. Every call answers its
/// arguments as structured content beside a text and an image; one whose text is `fail` fails, and `die` gets no answer.
pub struct FakeServers {
    /// The state that its status tells.
    pub state: State,
}

impl Default for FakeServers {
    fn default() -> Self {
        Self {
            state: State::Ready,
        }
    }
}

fn name() -> ConnectionName {
    ConnectionName::new("echo").unwrap()
}

fn definition(name: &str, is_destructive: bool) -> Definition {
    Definition {
        name: name.to_owned(),
        title: None,
        description: format!("Does {name}."),
        input_schema: Map::from_iter([("type".to_owned(), json!("object"))]),
        output_schema: None,
        is_read_only: false,
        is_destructive,
        ui: Map::new(),
    }
}

impl Servers for FakeServers {
    fn statuses(&self) -> Pending<'_, Vec<ConnectionStatus>> {
        let reason = "`/secret/echo-server` can't be started: no such file";
        ready(Ok(vec![ConnectionStatus {
            connection: Connection {
                name: name(),
                target: Target::Program(Program {
                    command: "/secret/echo-server".to_owned(),
                    arguments: vec!["--port".to_owned()],
                    environment: [("ECHO_TOKEN".to_owned(), "s3cret".to_owned())].into(),
                    folder: None,
                    sandbox: None,
                }),
                safety: None,
                tools: None,
                is_shared: true,
            },
            source: "/secret/connections.json".to_owned(),
            state: self.state,
            reason: (self.state == State::Dead).then(|| reason.to_owned()),
            is_approved: true,
            tools: vec!["drop".to_owned(), "say".to_owned()],
            skills: Vec::new(),
        }]))
    }

    fn tools(&self) -> Pending<'_, Vec<ServerTools>> {
        ready(Ok(vec![ServerTools {
            connection: name(),
            target: Digest::of(b"echo-server"),
            safety: Safety::Medium,
            definitions: vec![definition("drop", true), definition("say", false)],
        }]))
    }

    fn changed(&self, since: u64) -> Pending<'_, u64> {
        NoServers.changed(since)
    }

    fn discover<'a>(&'a self, _name: &'a ConnectionName) -> Pending<'a, Discovery> {
        ready(Err(PortError::NotFound))
    }

    fn sign_in<'a>(
        &'a self,
        _name: &'a ConnectionName,
        _redirect: String,
    ) -> Pending<'a, Box<dyn SignIn>> {
        ready(Err(PortError::NotFound))
    }

    fn sign_out<'a>(&'a self, _name: &'a ConnectionName) -> Pending<'a, bool> {
        ready(Ok(false))
    }

    fn call(&self, call: ServerCall) -> Pending<'_, ServerAnswer> {
        let text = call.arguments.get("text").and_then(Value::as_str);
        let text = text.unwrap_or_default().to_owned();
        ready(match &*text {
            "die" => Err(PortError::Unavailable("it gives no answer".to_owned())),
            _ => Ok(ServerAnswer {
                is_error: text == "fail",
                meta: Map::new(),
                content: vec![
                    json!({ "type": "text", "text": text }),
                    json!({ "type": "image", "data": "AAAA", "mimeType": "image/png" }),
                ],
                structured: Some(Value::Object(call.arguments)),
            }),
        })
    }
}
