//! The calls that an answer of a model asks for.

use serde_json::{Map, Value};

use super::fence;
use crate::port::{ModelAnswer, ModelCall, StopReason};

/// The levels of arguments: with those of a log's entry, a reader of JSON takes them all.
const MAX_LEVELS: usize = 64;
const NOT_ARGUMENTS: &str =
    "not called: the arguments are not a JSON object of at most 64 levels; write them as one";

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
        let (params, problem) = if call
            .params
            .values()
            .any(|value| !has_levels(value, MAX_LEVELS))
        {
            (Map::new(), Some(NOT_ARGUMENTS.to_owned()))
        } else {
            (call.params, call.problem)
        };
        planned.push(PlannedCall {
            id: format!("action-{step}-{index}"),
            tool: call.tool,
            params,
            problem,
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
        _ => (Map::new(), Some(NOT_ARGUMENTS.to_owned())),
    };
    PlannedCall {
        id: call.id.clone(),
        tool: call.name.clone(),
        params,
        problem,
        is_fenced: false,
    }
}

/// The same answer as it can be logged; `n` is the number of its entry.
///
/// Its calls have ids that no other call of the session has: some providers give none, or the same in each answer.
/// Arguments with too many levels are text.
#[must_use]
pub fn as_logged(mut answer: ModelAnswer, n: u64) -> ModelAnswer {
    for (index, call) in answer.calls.iter_mut().enumerate() {
        call.id = format!("call-{n}-{index}");
        if !has_levels(&call.arguments, MAX_LEVELS) {
            call.arguments = Value::String(call.arguments.to_string());
        }
    }
    answer
}

/// Returns true if a value has at most so many levels.
fn has_levels(value: &Value, most: usize) -> bool {
    match value {
        Value::Array(items) => most > 0 && items.iter().all(|item| has_levels(item, most - 1)),
        Value::Object(members) => {
            most > 0 && members.values().all(|member| has_levels(member, most - 1))
        }
        _ => true,
    }
}
