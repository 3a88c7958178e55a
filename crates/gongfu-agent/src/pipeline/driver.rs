//! The driver of a run: it makes the calls that the core asks for, and writes down what comes of them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use gongfu_core::account::Actor;
use gongfu_core::pipeline::{Event, Pipeline, Plan, Ready, Run, StepError, from_value};
use gongfu_hub::agent::{CallEvents, TaskEvent, TaskEvents, TaskResult};
use gongfu_hub::{Call, Events, Problem, Request, ToolError};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::log::{self, RunLog};
use super::{TaskInput, TaskRequest, checked, result, step_tool};
use crate::agent::Agent;
use crate::log::milliseconds;
use crate::sink::CallSink;

/// A run that a driver makes.
pub(super) struct Driver<'a> {
    agent: &'a Agent,
    /// The call of the gate that the run is.
    call: &'a Call,
    /// The agent as a caller of tools.
    actor: Actor,
    run: Run,
    log: RunLog,
    parallel: usize,
    events: Arc<dyn TaskEvents>,
    cancel: CancellationToken,
}

impl<'a> Driver<'a> {
    /// Starts or resumes the run of a request.
    pub(super) async fn open(
        agent: &'a Agent,
        request: TaskRequest,
        call: &'a Call,
    ) -> Result<Self, ToolError> {
        let TaskRequest {
            input,
            parallel,
            events,
            cancel,
        } = request;
        let space = &call.space;
        let (run, log) = match input {
            TaskInput::Start { pipeline, input } => {
                let plan = Arc::new(plan(agent, &pipeline, &call.actor).await?);
                // Before there is an id: an input that is wrong leaves no run.
                Run::start(Arc::clone(&plan), input.clone(), "").map_err(wrong("input"))?;
                let log = RunLog::create(call, &pipeline.name).await?;
                let run = Run::start(plan, input, log.id()).map_err(wrong("input"))?;
                (run, log)
            }
            TaskInput::Resume { run: id, pipeline } => {
                let log = RunLog::open(space, &id).await?;
                let past = log::events(space, &id).await?;
                let pipeline = match pipeline {
                    Some(pipeline) => pipeline,
                    None => logged(&past)?,
                };
                let plan = Arc::new(plan(agent, &pipeline, &call.actor).await?);
                let run = Run::resume(plan, past).map_err(wrong("run"))?;
                log.note_resumed(&pipeline.name).await?;
                (run, log)
            }
        };
        Ok(Self {
            agent,
            call,
            actor: Agent::actor(&call.actor, log.id()),
            run,
            log,
            parallel,
            events,
            cancel,
        })
    }

    /// Continues until the run is over.
    pub(super) async fn run(mut self) -> Result<TaskResult, ToolError> {
        let started = Instant::now();
        self.events.event(TaskEvent::Run(self.log.id().to_owned()));
        // Everything that is running ends with the run.
        let calls = CancellationToken::new();
        let _guard = calls.clone().drop_guard();
        let context = Context {
            agent: self.agent,
            call: self.call,
            actor: self.actor.clone(),
            events: Arc::clone(&self.events),
            cancel: calls,
        };
        let mut running = FuturesUnordered::new();
        let mut resting = FuturesUnordered::new();
        loop {
            let ready = self.run.next(self.parallel);
            self.note().await?;
            running.extend(ready.into_iter().map(|ready| context.attempt(ready)));
            if self.run.is_over() {
                break;
            }
            if running.is_empty() && resting.is_empty() {
                let reason = "a run has nothing left to wait for".to_owned();
                return Err(Problem::Fault { reason }.error());
            }
            tokio::select! {
                biased;
                Some((step, result, duration_ms)) = running.next() => {
                    if let Some(wait) = self.finished(&step, result, duration_ms) {
                        resting.push(async move {
                            tokio::time::sleep(Duration::from_millis(wait)).await;
                            step
                        });
                    }
                }
                Some(step) = resting.next() => self.run.wake(&step),
                () = self.cancel.cancelled() => {
                    self.run.cancel();
                    context.cancel.cancel();
                    running.clear();
                    for step in self.run.running_steps() {
                        let error = StepError::last("the run was cancelled");
                        self.finished(&step, Err(error), 0);
                    }
                }
            }
        }
        Ok(TaskResult {
            run: self.log.id().to_owned(),
            outcome: self.run.outcome(milliseconds(started)),
        })
    }

    /// Takes a result; answers the wait before another attempt, in milliseconds.
    fn finished(
        &mut self,
        step: &str,
        result: Result<Value, StepError>,
        duration_ms: u64,
    ) -> Option<u64> {
        let taken = self.run.finished(step, result, duration_ms);
        taken.unwrap_or_else(|error| {
            tracing::error!(%error, "a result of a step is lost");
            None
        })
    }

    /// Writes down what happened, and then says it.
    async fn note(&mut self) -> Result<(), ToolError> {
        let events = self.run.take_events();
        self.log.add(&events).await?;
        for event in events {
            self.events.event(TaskEvent::Logged(event));
        }
        Ok(())
    }
}

/// The parts of a driver that a call needs.
struct Context<'a> {
    agent: &'a Agent,
    call: &'a Call,
    actor: Actor,
    events: Arc<dyn TaskEvents>,
    cancel: CancellationToken,
}

impl Context<'_> {
    /// Makes a call; answers the step, the result and the duration.
    async fn attempt(&self, ready: Ready) -> (String, Result<Value, StepError>, u64) {
        let started = Instant::now();
        let step = ready.step.clone();
        let timeout = ready.timeout_ms;
        let cancel = self.cancel.child_token();
        let guard = cancel.clone().drop_guard();
        let made = tokio::time::timeout(Duration::from_millis(timeout), self.make(ready, cancel));
        let result = made.await.unwrap_or_else(|_| {
            let what = format!(
                "the call took longer than {timeout} ms and was stopped; raise `timeout` of the step if it may"
            );
            Err(StepError::new(what))
        });
        drop(guard);
        (step, result, milliseconds(started))
    }

    async fn make(&self, ready: Ready, cancel: CancellationToken) -> Result<Value, StepError> {
        if let Some(tool) = step_tool::find(&ready.tool) {
            return tool.run(ready.params, self.call).await;
        }
        let events = Arc::clone(&self.events);
        let sink = CallSink {
            call: ready.step,
            events: events as Arc<dyn CallEvents>,
        };
        let request = Request {
            parent: Some(self.call.id),
            events: Events::new(Arc::new(sink)),
            cancel,
            ..Request::new(Agent::profiles(), &ready.tool, ready.params, &self.actor)
        };
        result::output(self.agent.catalog.call(request).await)
    }
}

/// The plan of a pipeline, or all its mistakes as an error.
async fn plan(agent: &Agent, pipeline: &Pipeline, actor: &Actor) -> Result<Plan, ToolError> {
    let plan = checked(&agent.catalog, pipeline, actor).await;
    plan.map_err(|mistakes| wrong_pipeline(&mistakes))
}

/// The pipeline in the log of a run.
fn logged(past: &[Event]) -> Result<Pipeline, ToolError> {
    let definition = past.first().and_then(|first| match first {
        Event::Started { definition, .. } => definition.as_ref(),
        _ => None,
    });
    let definition = definition.ok_or_else(|| {
        wrong("run")("its log has no definition of the pipeline, which the caller must pass")
    })?;
    from_value(definition).map_err(|mistakes| wrong_pipeline(&mistakes))
}

fn wrong_pipeline<M: ToString>(mistakes: &[M]) -> ToolError {
    let lines: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
    let reason = lines.join("\n");
    Problem::wrong_value("pipeline", reason, "correct its definition").error()
}

fn wrong<E: ToString>(argument: &'static str) -> impl Fn(E) -> ToolError {
    move |error| {
        let hint = "`gongfu task show NAME` shows what a pipeline takes";
        Problem::wrong_value(argument, error.to_string(), hint).error()
    }
}
