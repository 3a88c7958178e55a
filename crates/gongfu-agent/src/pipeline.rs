//! Pipelines: runs of them over the gate, their logs, and those that come with gongfu.
//!
//! No model is needed: a step calls a tool. The order of steps is decided by the core; no file is read here.

mod builtin;
mod driver;
mod log;
mod result;
mod step_tool;

use std::sync::Arc;

use gongfu_core::account::Actor;
use gongfu_core::capability::Origin;
use gongfu_core::pipeline::{Mistake, Pipeline, Plan, Tool, check};
use gongfu_hub::agent::{TaskEvents, TaskResult};
use gongfu_hub::surface::{Operation, operation};
use gongfu_hub::{Call, Catalog, Problem, ToolError, ToolSpec, specified};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub use builtin::{Builtin, builtin, builtins};
pub use log::RunInfo;

use crate::agent::Agent;
use driver::Driver;

/// The calls that a run makes at once, unless the request says otherwise.
pub const PARALLEL: usize = 4;

/// The run that is asked for.
#[derive(Debug, Clone)]
pub enum TaskInput {
    /// A new one.
    Start {
        /// The pipeline.
        pipeline: Pipeline,
        /// The input: an object, or null for none.
        input: Value,
    },
    /// The rest of one that was interrupted, cancelled, or failed.
    Resume {
        /// Its id.
        run: String,
        /// The pipeline, where its definition can't be written to the log.
        pipeline: Option<Pipeline>,
    },
}

/// A request for a run.
pub struct TaskRequest {
    /// The run.
    pub input: TaskInput,
    /// The calls that are made at once, at least 1.
    pub parallel: usize,
    /// Receives what happens.
    pub events: Arc<dyn TaskEvents>,
    /// Cancels the run.
    pub cancel: CancellationToken,
}

impl TaskRequest {
    /// A run whose events nobody receives.
    pub fn new(input: TaskInput) -> Self {
        Self {
            input,
            parallel: PARALLEL,
            events: Arc::new(()),
            cancel: CancellationToken::new(),
        }
    }
}

/// Runs a pipeline: steps that call tools, in the order of their dependencies.
#[derive(Serialize, JsonSchema)]
struct TaskRun {
    /// The name of the pipeline, or the id of the run that is resumed.
    task: String,
    #[serde(skip)]
    #[schemars(skip)]
    request: Option<(Arc<Agent>, TaskRequest)>,
}

impl Operation for TaskRun {
    const NAME: &'static str = "agent/task";
    type Output = TaskResult;

    specified!(operation::write_spec::<Self>());

    async fn run(mut self, call: &Call) -> Result<TaskResult, ToolError> {
        let Some((agent, request)) = self.request.take() else {
            let reason = "a run without an agent".to_owned();
            return Err(Problem::Fault { reason }.error());
        };
        // In a box, because it is large.
        Box::pin(async move { Driver::open(&agent, request, call).await?.run().await }).await
    }
}

/// Lists the runs of pipelines, the latest first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TaskRunList {}

impl Operation for TaskRunList {
    const NAME: &'static str = "task/list";
    type Output = Vec<RunInfo>;

    specified!();

    async fn run(self, call: &Call) -> Result<Vec<RunInfo>, ToolError> {
        crate::log::list(&call.space).await
    }
}

/// Removes a run with its log, unless it is running.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TaskRunRemove {
    /// Its id.
    pub run: String,
}

impl Operation for TaskRunRemove {
    const NAME: &'static str = "task/remove";
    type Output = ();

    specified!(operation::write_spec::<Self>());

    async fn run(self, call: &Call) -> Result<(), ToolError> {
        crate::log::remove::<RunInfo>(&call.space, &self.run).await
    }
}

impl Agent {
    /// Runs a pipeline to its end, as the person's agent. It passes the gate, as each of its calls does.
    ///
    /// A run that fails or is cancelled has an outcome, too.
    ///
    /// # Errors
    /// The gate refuses; the pipeline or its input isn't good; the run isn't there, or can't be resumed; its log can't be
    /// written.
    pub async fn run_task(
        self: &Arc<Self>,
        request: TaskRequest,
        person: &Actor,
    ) -> Result<TaskResult, ToolError> {
        let task = match &request.input {
            TaskInput::Start { pipeline, .. } => pipeline.name.clone(),
            TaskInput::Resume { run, .. } => run.clone(),
        };
        let operation = TaskRun {
            task,
            request: Some((Arc::clone(self), request)),
        };
        self.catalog.operate(operation, person).await
    }

    /// Checks a pipeline against the tools that a person's agent can call.
    ///
    /// # Errors
    /// All its mistakes.
    pub async fn check_task(
        &self,
        pipeline: &Pipeline,
        person: &Actor,
    ) -> Result<Plan, Vec<Mistake>> {
        checked(&self.catalog, pipeline, person).await
    }
}

/// Checks a pipeline against the tools of a caller.
async fn checked(
    catalog: &Catalog,
    pipeline: &Pipeline,
    actor: &Actor,
) -> Result<Plan, Vec<Mistake>> {
    let profiles = Agent::profiles();
    let mut specs = catalog.list(profiles, actor, None).await;
    for step in &pipeline.steps {
        // Of other servers' tools not all may be listed.
        if !specs.iter().any(|spec| *spec.name == step.tool) {
            specs.extend(catalog.spec(profiles, actor, &step.tool));
        }
    }
    let own = step_tool::STEP_TOOLS
        .iter()
        .map(|tool| Tool::any(tool.name()));
    let tools: Vec<Tool<'_>> = own.chain(specs.iter().map(|spec| tool(spec))).collect();
    check(pipeline, &tools)
}

fn tool(spec: &ToolSpec) -> Tool<'_> {
    let is_closed = spec.input_schema.get("additionalProperties") == Some(&Value::Bool(false));
    Tool {
        name: &spec.name,
        schema: Some(&spec.input_schema),
        // The gate refuses what the schema doesn't name, except for other servers.
        is_open: matches!(spec.origin, Origin::Server(_)) && !is_closed,
    }
}

#[cfg(test)]
mod tests;
