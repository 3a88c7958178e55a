//! The agent behind the trait that surfaces know.

use std::sync::Arc;

use gongfu_core::account::Actor;
use gongfu_core::agent::AgentLimits;
use gongfu_core::pipeline::{Pipeline, from_value};
use gongfu_core::text::clipped;
use gongfu_hub::agent::{ChatAgent, ChatRequest, ChatResult, SessionInfo, ShownSession, TaskSpec};
use gongfu_hub::gate::Answer;
use gongfu_hub::{Problem, ToolError};
use serde_json::Value;

use crate::agent::Agent;
use crate::log::fault;
use crate::pipeline::{TaskInput, TaskRequest, builtin, builtins};
use crate::session::{SessionList, SessionRemove, SessionShow};

/// The pipeline that is asked for.
fn pipeline(task: &TaskSpec) -> Result<Pipeline, ToolError> {
    let (field, read) = match (&task.name, &task.pipeline) {
        (Some(name), _) => {
            let found = builtin(name).ok_or_else(|| unknown(name))?;
            ("name", found.pipeline())
        }
        (None, Some(definition)) => ("pipeline", from_value(definition)),
        (None, None) => return Err(unknown("")),
    };
    read.map_err(|mistakes| {
        let mistakes = mistakes.iter().map(ToString::to_string);
        let reason = mistakes.collect::<Vec<_>>().join("; ");
        Problem::wrong_value(field, reason, "see the page about pipelines").error()
    })
}

fn unknown(name: &str) -> ToolError {
    let names: Vec<&str> = builtins().iter().map(|builtin| builtin.name).collect();
    let reason = format!("there is no pipeline `{}`", clipped(name, 64, ' '));
    Problem::wrong_value("name", reason, format!("they are: {}", names.join(", "))).error()
}

impl ChatAgent for Agent {
    fn chat(self: Arc<Self>, request: ChatRequest, person: &Actor) -> Answer<'_, ChatResult> {
        Box::pin(async move { Agent::chat(&self, request, person).await })
    }

    fn run_task(self: Arc<Self>, task: TaskSpec, person: &Actor) -> Answer<'_, Value> {
        Box::pin(async move {
            let request = TaskRequest {
                cancel: task.cancel.clone(),
                ..TaskRequest::new(TaskInput::Start {
                    pipeline: pipeline(&task)?,
                    input: task.params,
                })
            };
            let result = Agent::run_task(&self, request, person).await?;
            serde_json::to_value(result).map_err(|error| fault(&error))
        })
    }

    fn sessions<'a>(&'a self, person: &'a Actor) -> Answer<'a, Vec<SessionInfo>> {
        Box::pin(self.catalog.operate(SessionList {}, person))
    }

    fn session<'a>(&'a self, id: &'a str, person: &'a Actor) -> Answer<'a, ShownSession> {
        let id = id.to_owned();
        Box::pin(self.catalog.operate(SessionShow { id }, person))
    }

    fn remove_session<'a>(&'a self, id: &'a str, person: &'a Actor) -> Answer<'a, ()> {
        let id = id.to_owned();
        Box::pin(self.catalog.operate(SessionRemove { id }, person))
    }

    fn models(&self) -> Vec<String> {
        self.models.names()
    }

    fn limits(&self) -> AgentLimits {
        self.settings.limits
    }
}
