//! The driver of pipelines, over a catalog in memory with scripted tools.

mod builtin;
mod resume;
mod run;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gongfu_core::account::{Actor, Role};
use gongfu_core::capability::{Access, Origin, Safety};
use gongfu_core::pipeline::{Event, FileKind, Pipeline, read};
use gongfu_core::port::{ChatModel, ModelError, ModelErrorKind, RecordKey, Records as _};
use gongfu_hub::agent::{CallEvents, TaskEvent, TaskEvents, TaskResult};
use gongfu_hub::call::Proposal;
use gongfu_hub::entry::Entry;
use gongfu_hub::gate::{Answer, Review};
use gongfu_hub::surface::operation;
use gongfu_hub::{Call, Catalog, Problem, Quota, ToolError, ToolResult, ToolSpec};
use gongfu_testing::{MemorySpace, MemorySpaces, now};
use serde_json::{Value, json};

use super::{RunInfo, TaskInput, TaskRequest, TaskRunList};
use crate::{Agent, AgentSettings, Models};

/// No model at all: pipelines don't need one.
struct NoModels;

impl Models for NoModels {
    fn names(&self) -> Vec<String> {
        Vec::new()
    }

    fn model(&self, _name: Option<&str>) -> Result<Arc<dyn ChatModel>, ModelError> {
        Err(ModelError::new(ModelErrorKind::NotConfigured, "none"))
    }
}

/// A scripted tool.
type Script = Arc<dyn Fn(Value) -> Answer<'static, ToolResult> + Send + Sync>;

struct ScriptedTool {
    spec: ToolSpec,
    script: Script,
}

impl Review for ScriptedTool {
    fn review<'a>(&'a self, _call: &'a Call) -> Answer<'a, Option<Proposal>> {
        Box::pin(std::future::ready(Ok(None)))
    }
}

impl Entry for ScriptedTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(&'a self, call: &'a Call) -> Answer<'a, ToolResult> {
        (self.script)(Value::Object((*call.arguments).clone()))
    }
}

/// The answer of a tool that is this data.
fn data(value: Value) -> ToolResult {
    ToolResult {
        structured_content: Some(value),
        ..ToolResult::text("in words")
    }
}

fn broken() -> ToolError {
    let reason = "it is broken".to_owned();
    Problem::Fault { reason }.error()
}

/// An agent over a space, with the tools `echo`, `fail`, `stall` and `flaky`.
struct Fixture {
    agent: Arc<Agent>,
    space: Arc<MemorySpace>,
    /// The arguments of the calls of `echo`.
    echoed: Arc<Mutex<Vec<Value>>>,
    /// The calls that run at once, and the highest number of them.
    running: Arc<(AtomicUsize, AtomicUsize)>,
}

fn fixture() -> Fixture {
    fixture_over(Arc::new(MemorySpace::default()))
}

fn fixture_over(space: Arc<MemorySpace>) -> Fixture {
    let spaces = MemorySpaces::of(Arc::clone(&space));
    let catalog = Catalog::new(Arc::new(spaces), Quota::default(), None);
    let echoed: Arc<Mutex<Vec<Value>>> = Arc::default();
    let running: Arc<(AtomicUsize, AtomicUsize)> = Arc::default();
    let flakiness = Arc::new(AtomicUsize::new(0));
    let (seen, count) = (Arc::clone(&echoed), Arc::clone(&running));
    let echo: Script = Arc::new(move |params| {
        let (seen, count) = (Arc::clone(&seen), Arc::clone(&count));
        Box::pin(async move {
            seen.lock().unwrap().push(params.clone());
            let at_once = count.0.fetch_add(1, Ordering::SeqCst) + 1;
            count.1.fetch_max(at_once, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(1)).await;
            count.0.fetch_sub(1, Ordering::SeqCst);
            Ok(data(params))
        })
    });
    let entries: Vec<Arc<dyn Entry>> = vec![
        tool("echo", echo),
        tool(
            "say",
            Arc::new(|_| Box::pin(async { Ok(ToolResult::text("words")) })),
        ),
        tool("fail", Arc::new(|_| Box::pin(async { Err(broken()) }))),
        tool(
            "refuse",
            Arc::new(|_| Box::pin(async { Err(Problem::wrong_value("a", "no", "yes").error()) })),
        ),
        tool("stall", Arc::new(|_| Box::pin(std::future::pending()))),
        tool(
            "flaky",
            Arc::new(move |_| {
                let number = flakiness.fetch_add(1, Ordering::SeqCst);
                Box::pin(async move {
                    let is_error = number < 2;
                    Ok(ToolResult {
                        is_error,
                        ..ToolResult::text(format!("answer {number}"))
                    })
                })
            }),
        ),
    ];
    catalog.provide(&Origin::Native, None, &entries).unwrap();
    let agent = Agent::new(
        Arc::new(catalog),
        Arc::new(NoModels),
        AgentSettings::default(),
    );
    Fixture {
        agent: Arc::new(agent),
        space,
        echoed,
        running,
    }
}

fn tool(name: &str, script: Script) -> Arc<dyn Entry> {
    let names = ["a", "b", "n", "x", "step", "again"];
    let properties: serde_json::Map<String, Value> = names
        .map(|name| (name.to_owned(), json!({})))
        .into_iter()
        .collect();
    let schema = json!({"type": "object", "properties": properties});
    let spec = ToolSpec {
        name: name.into(),
        title: name.into(),
        description: "Does something.".into(),
        input_schema: Arc::new(schema.as_object().unwrap().clone()),
        access: Access::Read,
        safety: Safety::Safe,
        permission: format!("tool.{name}").into(),
        ..operation::spec::<TaskRunList>()
    };
    Arc::new(ScriptedTool { spec, script })
}

fn person() -> Actor {
    Actor::local(Role::Developer, "cli")
}

/// The events of a run.
#[derive(Default)]
struct Recorder {
    events: Mutex<Vec<Event>>,
}

impl CallEvents for Recorder {}

impl TaskEvents for Recorder {
    fn event(&self, event: TaskEvent) {
        if let TaskEvent::Logged(event) = event {
            self.events.lock().unwrap().push(event);
        }
    }
}

fn pipeline(steps: &str) -> Pipeline {
    read(&format!("name: test\nsteps:\n{steps}"), FileKind::Yaml).unwrap()
}

fn start(steps: &str, input: Value) -> TaskRequest {
    let pipeline = pipeline(steps);
    TaskRequest::new(TaskInput::Start { pipeline, input })
}

fn resume(run: &str) -> TaskRequest {
    let (run, pipeline) = (run.to_owned(), None);
    TaskRequest::new(TaskInput::Resume { run, pipeline })
}

impl Fixture {
    async fn run(&self, request: TaskRequest) -> Result<TaskResult, ToolError> {
        self.agent.run_task(request, &person()).await
    }

    async fn steps(&self, steps: &str) -> TaskResult {
        self.run(start(steps, json!({}))).await.unwrap()
    }

    async fn runs(&self) -> Vec<RunInfo> {
        let person = person();
        let listed = self.agent.catalog.operate(TaskRunList {}, &person);
        listed.await.unwrap()
    }

    /// The lines of a run's log.
    fn log(&self, run: &str) -> Vec<Vec<u8>> {
        let log = RecordKey::new(format!("pipelines/{run}")).unwrap();
        now(self.space.records.entries(&log, usize::MAX)).unwrap()
    }

    /// The tools in the audit.
    fn audited(&self) -> Vec<String> {
        let log = RecordKey::new("audit").unwrap();
        let lines = now(self.space.records.entries(&log, usize::MAX)).unwrap();
        let tool = |line: &Vec<u8>| -> String {
            let entry: Value = serde_json::from_slice(line).unwrap();
            entry["tool"].as_str().unwrap_or_default().to_owned()
        };
        lines.iter().map(tool).collect()
    }
}

/// The trace in short.
fn trace(result: &TaskResult) -> Vec<String> {
    let entries = result.outcome.trace.iter();
    let entries =
        entries.map(|entry| format!("{} {:?} {}", entry.step, entry.status, entry.attempt));
    entries.collect()
}
