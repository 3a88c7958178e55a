//! A pipeline of the agent: steps that call tools, without a model.

use std::sync::Arc;

use gongfu_hub::agent::TaskSpec;
use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::super::context::Context;
use super::super::endpoint::{Access, Answer, Endpoint, Refusal};
use super::super::skill::WRITE;
use crate::problem::Problem;

/// Run a pipeline to its end: one that comes with gongfu, or a definition.
///
/// A run that fails has an outcome, too. A client that closes the connection cancels the run; its log keeps what is
/// finished.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct AgentTask {
    /// The name of a pipeline that comes with gongfu; missing with `pipeline`.
    #[schemars(length(min = 1, max = 64), extend("example" = "demonstration"))]
    name: Option<String>,
    /// A definition, as in a file of a pipeline.
    pipeline: Option<Map<String, Value>>,
    /// The input.
    #[serde(default)]
    params: Map<String, Value>,
    /// The set that the request works with; a set only narrows.
    #[schemars(length(min = 1, max = 128))]
    set: Option<String>,
}

/// The outcome of a run.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::api) struct TaskReply {
    /// The id of the run.
    run: String,
    /// True if no step failed that ends the run.
    success: bool,
    /// The name of the pipeline.
    pipeline_id: String,
    /// The outputs of the steps, by name.
    outputs: Map<String, Value>,
    /// The steps in the order of their end: `step`, `status`, `durationMs`, `attempt`.
    trace: Vec<Map<String, Value>>,
    /// The duration, in milliseconds.
    duration_ms: u64,
    /// The reason why the run failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl Endpoint for AgentTask {
    const NAME: &'static str = "agent_task";
    const METHOD: Method = Method::POST;
    const PATH: &'static str = "/api/v1/agent/task";
    const ACCESS: Access = WRITE;
    const IS_LOCAL: bool = true;
    const QUERY: &'static [&'static str] = &["set"];
    const REFUSALS: &'static [Refusal] = &[Refusal::AGENT_OFF, Refusal::INVALID_ARGUMENT];
    type Reply = TaskReply;

    async fn answer(self, context: &Context) -> Result<Answer<TaskReply>, Problem> {
        if self.name.is_some() == self.pipeline.is_some() {
            let why = "set either `name` or `pipeline`";
            return Err(Problem::field("name", why));
        }
        let actor = context.actor_in(self.set.as_deref())?;
        let agent = Arc::clone(context.agent()?);
        let cancel = context.api.turns.child_token();
        let task = TaskSpec {
            name: self.name,
            pipeline: self.pipeline.map(Value::Object),
            params: Value::Object(self.params),
            cancel: cancel.clone(),
        };
        // Dropping it with the request cancels the run, which continues until the cancellation is handled.
        let _guard = cancel.drop_guard();
        let running = tokio::spawn(async move { agent.run_task(task, &actor).await });
        let Ok(ended) = context.unless_revoked(running).await? else {
            return Err(Problem::Fault);
        };
        let reply: Result<TaskReply, _> = serde_json::from_value(ended?);
        Ok(Answer::from(reply.map_err(|_| Problem::Fault)?))
    }
}
