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
    let mut fences = Fences::default();
    // The place where the content of a call begins, and that of the line.
    let (mut content, mut at) = (0, 0);
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let was_call = fences.is_call();
        fences.take(line);
        match (was_call, fences.is_call()) {
            (false, true) => content = at,
            (true, false) => {
                let content = text.get(content..start).unwrap_or_default();
                calls.push(call(content, true));
                known = text.get(..at).unwrap_or(text);
            }
            _ => {}
        }
    }
    if fences.is_call() {
        calls.push(call(text.get(content..).unwrap_or_default(), false));
        known = text;
    }
    (calls, known.trim_end())
}

/// The part of a text before its first call.
pub fn before_calls(text: &str) -> &str {
    let (mut fences, mut at) = (Fences::default(), 0);
    for line in text.split_inclusive('\n') {
        fences.take(line);
        if fences.is_call() {
            break;
        }
        at += line.len();
    }
    text.get(..at).unwrap_or(text)
}

/// The fenced blocks of a text that is read line by line.
#[derive(Debug, Clone, Default)]
pub struct Fences {
    open: Option<Fence>,
}

impl Fences {
    /// Takes the next line.
    pub fn take(&mut self, line: &str) {
        match &self.open {
            Some(fence) if fence.is_closed_by(line) => self.open = None,
            // A call inside an unnamed block: the closing fence of an example was mistaken for an opening one.
            Some(fence) if !fence.has_name => {
                let inner = Fence::opened_by(line).filter(|inner| inner.is_action);
                self.open = inner.or(self.open.take());
            }
            Some(_) => {}
            None => self.open = Fence::opened_by(line),
        }
    }

    /// Returns true inside a block.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Returns true inside a block that is a call.
    pub fn is_call(&self) -> bool {
        self.open.as_ref().is_some_and(|fence| fence.is_action)
    }
}

/// An open fenced block.
#[derive(Debug, Clone)]
struct Fence {
    mark: char,
    length: usize,
    is_action: bool,
    has_name: bool,
}

impl Fence {
    fn opened_by(line: &str) -> Option<Self> {
        let line = line.trim();
        let mark = line.chars().next().filter(|mark| "`~".contains(*mark))?;
        let info = line.trim_start_matches(mark);
        let length = line.len() - info.len();
        if length < 3 || (mark == '`' && info.contains('`')) {
            return None;
        }
        let word = info.split_whitespace().next().unwrap_or_default();
        Some(Self {
            mark,
            length,
            is_action: mark == '`' && word.eq_ignore_ascii_case("action"),
            has_name: !word.is_empty(),
        })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let line = line.trim();
        line.len() >= self.length && line.chars().all(|letter| letter == self.mark)
    }
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
