//! The messages of a chat completion, as the conversation before a prompt.

use std::collections::VecDeque;

use gongfu_core::port::{Message, ModelCall};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::problem::Problem;

/// Precede the instructions of the client and what its user says. gongfu's own rules stay above them.
const INSTRUCTIONS: &str = "[Instructions of the program that asks]";
const SAID: &str = "[What its user says]";

/// A message.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct RequestMessage {
    /// `system`, `developer`, `user`, `assistant` or `tool`.
    role: String,
    /// A text, or a list of parts of the type `text`; null where an assistant only called tools.
    content: Option<Value>,
    /// The calls of tools by another assistant.
    tool_calls: Option<Vec<RequestCall>>,
    /// The call that a message of a tool is the result of.
    tool_call_id: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct RequestCall {
    /// Its id.
    id: String,
    /// The tool and its arguments.
    function: RequestFunction,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct RequestFunction {
    /// The tool.
    name: String,
    /// The arguments as JSON.
    arguments: String,
}

/// A conversation whose last message is a prompt.
#[derive(Debug)]
pub(super) struct Conversation {
    instructions: Vec<String>,
    history: Vec<Message>,
    pub(super) prompt: String,
}

impl Conversation {
    /// Reads messages.
    ///
    /// # Errors
    /// One of them has another role or content, results of calls are missing, or the last one isn't the user's.
    pub(super) fn read(messages: Vec<RequestMessage>) -> Result<Self, Problem> {
        let (mut instructions, mut history) = (Vec::new(), Vec::new());
        // The calls whose results come next.
        let mut open: VecDeque<(String, String)> = VecDeque::new();
        for (index, message) in messages.into_iter().enumerate() {
            let at = format!("messages[{index}]");
            let text = text(message.content, &at)?;
            if message.role != "tool"
                && let Some((id, _)) = open.front()
            {
                let why = format!("the result of the call `{id}` is missing before it");
                return Err(Problem::field(&at, why));
            }
            match message.role.as_str() {
                "system" | "developer" => instructions.push(text),
                "user" => history.push(Message::User { text }),
                "assistant" => {
                    let calls = message.tool_calls.unwrap_or_default();
                    let calls: Vec<ModelCall> = calls.into_iter().map(ModelCall::from).collect();
                    let named = calls
                        .iter()
                        .map(|call| (call.id.clone(), call.name.clone()));
                    open.extend(named);
                    if !text.is_empty() || !calls.is_empty() {
                        history.push(Message::Assistant { text, calls });
                    }
                }
                "tool" => {
                    let id = message.tool_call_id.unwrap_or_default();
                    let found = open.iter().position(|(open, _)| *open == id);
                    let Some((id, name)) = found.and_then(|found| open.remove(found)) else {
                        let at = format!("{at}.tool_call_id");
                        return Err(Problem::field(&at, "no call before it has this id"));
                    };
                    history.push(Message::Tool { id, name, text });
                }
                _ => {
                    let why = "it isn't one of: system, developer, user, assistant, tool";
                    return Err(Problem::field(&format!("{at}.role"), why));
                }
            }
        }
        match history.pop() {
            Some(Message::User { text: prompt }) => Ok(Self {
                instructions,
                history,
                prompt,
            }),
            _ => Err(Problem::field(
                "messages",
                "the last message isn't the user's",
            )),
        }
    }

    /// The conversation before the prompt, and the prompt with the instructions of the client: there, a summary of a long
    /// conversation leaves them whole.
    pub(super) fn with_instructions(self) -> (Vec<Message>, String) {
        let instructions = self.instructions.join("\n\n");
        let prompt = if instructions.trim().is_empty() {
            self.prompt
        } else {
            format!("{INSTRUCTIONS}\n{instructions}\n\n{SAID}\n{}", self.prompt)
        };
        (self.history, prompt)
    }
}

impl From<RequestCall> for ModelCall {
    fn from(call: RequestCall) -> Self {
        let written = call.function.arguments;
        let arguments = serde_json::from_str::<Value>(&written);
        Self {
            id: call.id,
            name: call.function.name,
            arguments: match arguments {
                Ok(arguments @ Value::Object(_)) => arguments,
                _ => Value::String(written),
            },
            signatures: Vec::new(),
        }
    }
}

/// The text of a content.
fn text(content: Option<Value>, at: &str) -> Result<String, Problem> {
    match content {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text),
        Some(Value::Array(parts)) => {
            let parts = parts.iter().enumerate().map(|(index, part)| {
                let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
                let text = part.get("text").and_then(Value::as_str);
                text.filter(|_| kind == "text").ok_or_else(|| {
                    let at = format!("{at}.content[{index}]");
                    Problem::field(&at, "only parts of the type `text` are read")
                })
            });
            Ok(parts.collect::<Result<Vec<_>, _>>()?.join("\n"))
        }
        Some(_) => Err(Problem::field(
            &format!("{at}.content"),
            "it is neither a text nor a list of parts",
        )),
    }
}
