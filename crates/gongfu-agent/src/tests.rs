//! Tests of the driver: a scripted model, and a catalog over a space in memory.

mod kill;
mod session;
mod span;
mod turn;

use std::sync::{Arc, Mutex};

use gongfu_core::account::{Actor, Role};
use gongfu_core::agent::Entry;
use gongfu_core::capability::Safety;
use gongfu_core::port::{
    ChatModel, Message, ModelAnswer, ModelCall, ModelError, ModelErrorKind, ModelEvents,
    ModelRequest, PendingAnswer, Price, RecordKey, Records as _, StopReason, Usage,
};
use gongfu_hub::{Catalog, Quota, ToolError};
use gongfu_testing::{MemorySpace, MemorySpaces, now};
use serde_json::{Value, json};

use gongfu_hub::agent::{ChatInput, ChatRequest, ChatResult};

use crate::{Agent, AgentSettings, Models};

const SKILL: &str = "---\nname: coldstart\ndescription: Set up a knowledge base.\nmetadata:\n  load-when: a knowledge base is to be set up\n---\n\nWrite `plan.md` first.\n";

/// The answer of a scripted model at its n-th message.
type Script = Arc<dyn Fn(usize, &ModelRequest) -> Result<ModelAnswer, ModelError> + Send + Sync>;

/// A model that follows a script; the number of an answer is that of the model's messages before it.
#[derive(Clone)]
struct ScriptModel {
    script: Script,
    requests: Arc<Mutex<Vec<ModelRequest>>>,
    calls_tools: bool,
    price: Option<Price>,
}

impl ScriptModel {
    fn new(
        script: impl Fn(usize, &ModelRequest) -> Result<ModelAnswer, ModelError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            script: Arc::new(script),
            requests: Arc::default(),
            calls_tools: true,
            price: None,
        }
    }

    /// A model that gives these answers, one after the other.
    fn saying(answers: Vec<ModelAnswer>) -> Self {
        Self::new(move |number, _| Ok(answers.get(number).cloned().unwrap_or_default()))
    }

    fn requests(&self) -> Vec<ModelRequest> {
        self.requests.lock().unwrap().clone()
    }
}

impl ChatModel for ScriptModel {
    fn name(&self) -> &'static str {
        "test/scripted"
    }

    fn calls_tools(&self) -> bool {
        self.calls_tools
    }

    fn price(&self) -> Option<Price> {
        self.price
    }

    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
        _events: &'a dyn ModelEvents,
    ) -> PendingAnswer<'a> {
        self.requests.lock().unwrap().push(request.clone());
        let is_answer = |message: &&Message| matches!(message, Message::Assistant { .. });
        let number = request.messages.iter().filter(is_answer).count();
        Box::pin(std::future::ready((self.script)(number, request)))
    }
}

impl Models for ScriptModel {
    fn model(&self, name: Option<&str>) -> Result<Arc<dyn ChatModel>, ModelError> {
        match name {
            None | Some("test/scripted" | "test/silent") => Ok(Arc::new(self.clone())),
            Some(name) => Err(ModelError::new(
                ModelErrorKind::NotConfigured,
                format!("there is no provider `{name}`"),
            )),
        }
    }

    fn names(&self) -> Vec<String> {
        Vec::new()
    }
}

fn say(text: &str) -> ModelAnswer {
    ModelAnswer {
        text: text.to_owned(),
        usage: Usage {
            input: 10,
            cached: 0,
            output: 2,
            cost: 0,
        },
        ..ModelAnswer::default()
    }
}

fn call(calls: &[(&str, Value)]) -> ModelAnswer {
    let call = |(index, (name, arguments)): (usize, &(&str, Value))| ModelCall {
        id: format!("c{index}"),
        name: (*name).to_owned(),
        arguments: arguments.clone(),
        signatures: Vec::new(),
    };
    ModelAnswer {
        calls: calls.iter().enumerate().map(call).collect(),
        stop: StopReason::Calls,
        ..say("")
    }
}

/// Loads the skill, writes two files at once, answers.
fn scenario() -> Vec<ModelAnswer> {
    vec![
        call(&[("skill_load", json!({ "skill_name": "coldstart" }))]),
        call(&[
            ("file_write", json!({ "path": "plan.md", "content": "one" })),
            (
                "file_write",
                json!({ "path": "notes.md", "content": "two" }),
            ),
        ]),
        call(&[("skill_list", json!({}))]),
        say("The plan is written."),
    ]
}

struct World {
    agent: Arc<Agent>,
    space: Arc<MemorySpace>,
}

fn world(model: &ScriptModel) -> World {
    world_with(model, AgentSettings::default())
}

fn world_with(model: &ScriptModel, settings: AgentSettings) -> World {
    world_asking(model, settings, Safety::High)
}

/// A world where a person is asked from this level on.
fn world_asking(model: &ScriptModel, settings: AgentSettings, asked_from: Safety) -> World {
    let space = Arc::new(MemorySpace::default());
    space
        .skills
        .replace(&[("lib/coldstart", &[("SKILL.md", SKILL.as_bytes())])]);
    let spaces = MemorySpaces::of(Arc::clone(&space));
    let catalog =
        Catalog::new(Arc::new(spaces), Quota::default(), None).with_approvals_from(asked_from);
    let agent = Agent::new(Arc::new(catalog), Arc::new(model.clone()), settings);
    World {
        agent: Arc::new(agent),
        space,
    }
}

fn person() -> Actor {
    Actor::local(Role::Developer, "cli")
}

impl World {
    async fn say(&self, session: Option<&str>, text: &str) -> Result<ChatResult, ToolError> {
        let request = ChatRequest {
            session: session.map(str::to_owned),
            ..ChatRequest::new(text)
        };
        self.agent.chat(request, &person()).await
    }

    async fn resume(&self, session: &str) -> Result<ChatResult, ToolError> {
        let request = ChatRequest {
            session: Some(session.to_owned()),
            input: ChatInput::Resume,
            ..ChatRequest::new("")
        };
        self.agent.chat(request, &person()).await
    }

    /// The lines of a session's log.
    fn log(&self, session: &str) -> Vec<Vec<u8>> {
        let log = RecordKey::new(format!("session-log/{session}")).unwrap();
        now(self.space.records.entries(&log, usize::MAX)).unwrap()
    }

    fn entries(&self, session: &str) -> Vec<Entry> {
        let lines = self.log(session);
        lines
            .iter()
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect()
    }

    /// The tools that were called, in the order in which they began.
    fn audited(&self) -> Vec<String> {
        let log = RecordKey::new("audit").unwrap();
        let lines = now(self.space.records.entries(&log, usize::MAX)).unwrap();
        // What changes something is there twice: at its beginning and at its end.
        let mut seen = std::collections::BTreeMap::new();
        for line in &lines {
            let entry: Value = serde_json::from_slice(line).unwrap();
            let tool = entry["tool"].as_str().unwrap_or_default().to_owned();
            seen.insert(entry["call"].as_u64().unwrap(), tool);
        }
        seen.into_values().collect()
    }
}

/// The calls in short.
fn trace(result: &ChatResult) -> Vec<String> {
    let calls = result.tool_calls.iter().map(|call| {
        let params = Value::Object(call.params.clone());
        format!("{} {params} {}", call.tool, call.status.as_str())
    });
    calls.collect()
}
