//! The agent behind the trait that surfaces know.

use std::sync::Arc;

use gongfu_core::account::Actor;
use gongfu_core::agent::AgentLimits;
use gongfu_core::pipeline::from_value;
use gongfu_core::text::clipped;
use gongfu_hub::agent::{
    ChatAgent, ChatRequest, ChatResult, SessionInfo, ShownSession, TaskChoice, TaskResult, TaskSpec,
};
use gongfu_hub::gate::Answer;
use gongfu_hub::{Problem, ToolError};

use crate::agent::Agent;
use crate::pipeline::{TaskInput, TaskRequest, builtin, builtins};
use crate::session::{SessionList, SessionRemove, SessionShow};

/// The run that is asked for.
fn input(asked: TaskChoice) -> Result<TaskInput, ToolError> {
    let (field, read, input) = match asked {
        TaskChoice::Named(name, input) => {
            let found = builtin(&name).ok_or_else(|| unknown(&name))?;
            ("name", found.pipeline(), input)
        }
        TaskChoice::Defined(definition, input) => ("pipeline", from_value(&definition), input),
        TaskChoice::Resume(run) => {
            let pipeline = None;
            return Ok(TaskInput::Resume { run, pipeline });
        }
    };
    let pipeline = read.map_err(|mistakes| {
        let mistakes = mistakes.iter().map(ToString::to_string);
        let reason = mistakes.collect::<Vec<_>>().join("; ");
        Problem::wrong_value(field, reason, "see the page about pipelines").error()
    })?;
    Ok(TaskInput::Start { pipeline, input })
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

    fn run_task(self: Arc<Self>, task: TaskSpec, person: &Actor) -> Answer<'_, TaskResult> {
        Box::pin(async move {
            let request = TaskRequest {
                events: task.events,
                cancel: task.cancel,
                ..TaskRequest::new(input(task.input)?)
            };
            Agent::run_task(&self, request, person).await
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
