//! The tests of pipelines, with stand-ins for tools.

mod checking;
mod expressions;
mod random;
mod reading;
mod resuming;
mod running;
mod source;

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    Event, FileKind, Outcome, Pipeline, Plan, Ready, Run, Step, StepError, Tool, check, read,
};

/// The tools that the plans of these tests may call.
const TOOLS: [Tool<'_>; 6] = [
    Tool::any("tool_a"),
    Tool::any("tool_b"),
    Tool::any("tool_c"),
    Tool::any("bootstrap_knowledge"),
    Tool::any("enrich_candidate"),
    Tool::any("refine_bootstrap_candidates"),
];

/// A pipeline of these steps.
fn pipeline(steps: impl IntoIterator<Item = Step>) -> Pipeline {
    Pipeline {
        name: "test".to_owned(),
        steps: steps.into_iter().collect(),
        ..Pipeline::default()
    }
}

fn plan(pipeline: &Pipeline) -> Arc<Plan> {
    let plan = check(pipeline, &[&TOOLS[..], &[Tool::any("load_skill")]].concat());
    Arc::new(plan.unwrap())
}

fn plan_of(steps: impl IntoIterator<Item = Step>) -> Arc<Plan> {
    plan(&pipeline(steps))
}

fn yaml(text: &str) -> Arc<Plan> {
    plan(&read(text, FileKind::Yaml).unwrap())
}

/// The problems of a pipeline as text, a line each.
fn problems(pipeline: &Pipeline) -> String {
    let problems = check(pipeline, &TOOLS).unwrap_err();
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

/// Runs a plan, each call in 5 milliseconds; answers the outcome, and the calls in order.
fn drive(
    plan: &Arc<Plan>,
    input: Value,
    mut tool: impl FnMut(&Ready) -> Result<Value, StepError>,
) -> (Outcome, Vec<Ready>, Vec<Event>) {
    let mut run = Run::start(Arc::clone(plan), input, "run-1").unwrap();
    let mut calls = Vec::new();
    while !run.is_over() {
        let ready = run.next(4);
        assert!(!ready.is_empty() || run.is_over(), "nothing to do: {run:?}");
        for call in ready {
            run.finished(&call.step, tool(&call), 5).unwrap();
            run.wake(&call.step);
            calls.push(call);
        }
    }
    (run.outcome(42), calls, run.take_events())
}

/// Answers `{"did": STEP}`.
#[expect(clippy::unnecessary_wraps, reason = "a tool of these tests")]
fn echo(call: &Ready) -> Result<Value, StepError> {
    Ok(json!({ "did": call.step }))
}
