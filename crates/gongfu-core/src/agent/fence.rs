//! Calls that a model writes into its text: fenced blocks named `action` (seed 001, §2.2).
//!
//! ````text
//! ```action
//! {"tool": "tool_name", "params": {"key": "value"}}
//! ```
//! ````
//!
//! They are for models without calls of their own, and are understood from every model.

use serde_json::{Map, Value};

/// A call that stands in a text.
#[derive(Debug, Clone, PartialEq)]
pub struct FencedCall {
    /// The tool; empty where the block doesn't name one.
    pub tool: String,
    /// The arguments.
    pub params: Map<String, Value>,
    /// The fault of the block, for the model.
    pub problem: Option<String>,
}

/// The calls in a text, and the part of the text that the model could know when it wrote it: what follows the last
/// block may pretend to be a result.
pub fn parse(text: &str) -> (Vec<FencedCall>, &str) {
    let mut calls = Vec::new();
    let mut known = text;
    let mut open: Option<Fence> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        match &open {
            Some(fence) if fence.is_closed_by(line) => {
                if fence.is_action {
                    calls.push(call(
                        text.get(fence.content..start).unwrap_or_default(),
                        true,
                    ));
                    known = text.get(..at).unwrap_or(text);
                }
                open = None;
            }
            // A call inside an unnamed block: the closing fence of an example was mistaken for an opening one.
            Some(fence) if !fence.has_name && opens_action(line) => {
                open = Fence::opened_by(line, at);
            }
            Some(_) => {}
            None => open = Fence::opened_by(line, at),
        }
    }
    if let Some(fence) = open.filter(|fence| fence.is_action) {
        calls.push(call(text.get(fence.content..).unwrap_or_default(), false));
        known = text;
    }
    (calls, known.trim_end())
}

/// The part of a text before its first call.
pub fn before_calls(text: &str) -> &str {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if opens_action(line) {
            break;
        }
        at += line.len();
    }
    text.get(..at).unwrap_or(text)
}

/// An open fenced block.
struct Fence {
    ticks: usize,
    is_action: bool,
    has_name: bool,
    /// The place where its content begins, in bytes.
    content: usize,
}

impl Fence {
    fn opened_by(line: &str, content: usize) -> Option<Self> {
        let line = line.trim();
        let ticks = line.bytes().take_while(|byte| *byte == b'`').count();
        let info = line.get(ticks..)?.trim();
        if ticks < 3 || info.contains('`') {
            return None;
        }
        let word = info.split_whitespace().next().unwrap_or_default();
        Some(Self {
            ticks,
            is_action: word.eq_ignore_ascii_case("action"),
            has_name: !word.is_empty(),
            content,
        })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let line = line.trim();
        line.len() >= self.ticks && line.bytes().all(|byte| byte == b'`')
    }
}

fn opens_action(line: &str) -> bool {
    Fence::opened_by(line, 0).is_some_and(|fence| fence.is_action)
}

fn call(content: &str, is_closed: bool) -> FencedCall {
    let wrong = |tool: &str, problem: String| FencedCall {
        tool: tool.to_owned(),
        params: Map::new(),
        problem: Some(problem),
    };
    let form = r#"write {"tool": "NAME", "params": {…}} between ```action and ```"#;
    let block = match serde_json::from_str::<Value>(content.trim()) {
        Ok(Value::Object(block)) => block,
        Ok(_) => return wrong("", format!("the action block is not a JSON object: {form}")),
        Err(_) if !is_closed => {
            return wrong("", format!("the action block doesn't end: {form}"));
        }
        Err(error) => {
            return wrong(
                "",
                format!("the action block isn't valid JSON ({error}): {form}"),
            );
        }
    };
    let Some(tool) = block.get("tool").and_then(Value::as_str) else {
        return wrong("", format!("the action block has no `tool`: {form}"));
    };
    match block.get("params") {
        None | Some(Value::Null) => FencedCall {
            tool: tool.to_owned(),
            params: Map::new(),
            problem: None,
        },
        Some(Value::Object(params)) => FencedCall {
            tool: tool.to_owned(),
            params: params.clone(),
            problem: None,
        },
        Some(_) => wrong(tool, format!("`params` is not a JSON object: {form}")),
    }
}

#[cfg(test)]
mod tests;
