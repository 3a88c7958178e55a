//! The calls that an answer of a model asks for.

use serde_json::{Map, Value};

use super::fence;
use crate::port::{ModelAnswer, ModelCall, StopReason};

/// A call that is to be made, or that can't be made as the model wrote it.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedCall {
    /// Its id, unique in the session's turn.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// The arguments.
    pub params: Map<String, Value>,
    /// The fault of the call, for the model; it isn't made then.
    pub problem: Option<String>,
    /// True if it stands in the text, and its result goes into a message of its own.
    pub is_fenced: bool,
}

/// The calls of an answer, at most so many that are made. `step` makes the ids of fenced ones unique.
pub(super) fn plan(answer: &ModelAnswer, step: u32, most: usize) -> Vec<PlannedCall> {
    let is_cut = answer.stop == StopReason::Length;
    let native = answer.calls.iter().map(|call| native(call, is_cut));
    let mut planned: Vec<PlannedCall> = native.collect();
    let (fenced, _) = fence::parse(&answer.text);
    for (index, call) in fenced.into_iter().enumerate() {
        // A model may write the same call both ways.
        let is_twin = planned.iter().any(|other| {
            !other.is_fenced && other.tool == call.tool && other.params == call.params
        });
        if is_twin && call.problem.is_none() {
            continue;
        }
        planned.push(PlannedCall {
            id: format!("action-{step}-{index}"),
            tool: call.tool,
            params: call.params,
            problem: call.problem,
            is_fenced: true,
        });
    }
    for call in planned.iter_mut().skip(most) {
        call.problem = Some(format!(
            "not called: an answer may call {most} tools; call this one in the next answer"
        ));
    }
    planned
}

fn native(call: &ModelCall, is_cut: bool) -> PlannedCall {
    let (params, problem) = match &call.arguments {
        Value::Object(params) => (params.clone(), None),
        Value::Null => (Map::new(), None),
        Value::String(text) if text.trim().is_empty() => (Map::new(), None),
        _ if is_cut => {
            let problem = "not called: the answer reached its length limit and cut the arguments off; \
                           make a shorter call, or several";
            (Map::new(), Some(problem.to_owned()))
        }
        _ => {
            let problem = "not called: the arguments are not a JSON object; write them as one";
            (Map::new(), Some(problem.to_owned()))
        }
    };
    PlannedCall {
        id: call.id.clone(),
        tool: call.name.clone(),
        params,
        problem,
        is_fenced: false,
    }
}

/// The same answer, whose calls have ids that no other call of the session has: some providers give none, or the same
/// in each answer. `n` is the number of the answer's entry.
#[must_use]
pub fn with_unique_ids(mut answer: ModelAnswer, n: u64) -> ModelAnswer {
    for (index, call) in answer.calls.iter_mut().enumerate() {
        call.id = format!("call-{n}-{index}");
    }
    answer
}
