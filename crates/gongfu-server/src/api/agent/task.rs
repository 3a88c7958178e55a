//! A pipeline of the agent: steps that call tools, without a model.

use std::sync::Arc;

use gongfu_hub::agent::{TaskChoice, TaskEvent, TaskResult, TaskSpec};
use http::Method;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::super::context::Context;
use super::super::endpoint::{Access, Answer, Endpoint, Refusal, ReplyBody};
use super::super::skill::WRITE;
use super::super::work::Work;
use crate::problem::Problem;

/// Run a pipeline to its end: one that comes with gongfu, or a definition; or the rest of a run.
///
/// A run that fails has an outcome, too. A client that closes the connection cancels the run; its log keeps what is
/// finished, and `resume` continues it. With `Accept: text/event-stream` it answers by events: `run` with the id, a `step`
/// for each event of a step, and at the end `result` with what the request gets as JSON otherwise, or `error`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct AgentTask {
    /// The name of a pipeline that comes with gongfu.
    #[schemars(length(min = 1, max = 64), extend("example" = "demonstration"))]
    name: Option<String>,
    /// A definition, as in a file of a pipeline, in place of `name`.
    pipeline: Option<Map<String, Value>>,
    /// The input.
    #[serde(default)]
    params: Map<String, Value>,
    /// The id of a run to continue, in place of `name` and `pipeline`; it has its input.
    #[schemars(length(min = 1, max = 128))]
    resume: Option<String>,
    /// The set that the request works with; a set only narrows.
    #[schemars(length(min = 1, max = 128))]
    set: Option<String>,
}

impl AgentTask {
    fn input(self) -> Result<TaskChoice, Problem> {
        let params = Value::Object(self.params);
        match (self.name, self.pipeline, self.resume) {
            (Some(name), None, None) => Ok(TaskChoice::Named(name, params)),
            (None, Some(definition), None) => {
                Ok(TaskChoice::Defined(Value::Object(definition), params))
            }
            (None, None, Some(run)) if params == json!({}) => Ok(TaskChoice::Resume(run)),
            (None, None, Some(_)) => {
                let why = "the run that is resumed has its input; leave it out";
                Err(Problem::field("params", why))
            }
            _ => {
                let why = "set one of `name`, `pipeline` and `resume`";
                Err(Problem::field("name", why))
            }
        }
    }
}

impl Endpoint for AgentTask {
    const NAME: &'static str = "agent_task";
    const METHOD: Method = Method::POST;
    const PATH: &'static str = "/api/v1/agent/task";
    const ACCESS: Access = WRITE;
    const IS_LOCAL: bool = true;
    const QUERY: &'static [&'static str] = &["set"];
    const REFUSALS: &'static [Refusal] = &[Refusal::AGENT_OFF, Refusal::INVALID_ARGUMENT];
    const HEADERS: &'static [&'static str] = &["Accept"];
    const REPLY: ReplyBody = ReplyBody::JsonOrEvents;
    type Reply = TaskResult;

    async fn answer(self, context: &Context) -> Result<Answer<TaskResult>, Problem> {
        let actor = context.actor_in(self.set.as_deref())?;
        let agent = Arc::clone(context.agent()?);
        let input = self.input()?;
        let run = Work::start(context, |events, cancel| async move {
            let events = Arc::new(events);
            let task = TaskSpec {
                input,
                events,
                cancel,
            };
            agent.run_task(task, &actor).await
        });
        run.answer(context, "result", TaskEvent::json).await
    }
}
