//! Calls of tools, and their results as a model sees them.

use gongfu_core::account::Actor;
use gongfu_core::agent::{CallStatus, PlannedCall};
use gongfu_hub::{Catalog, Content, ErrorCode, Events, Request, ToolResult};
use serde_json::{Map, Value};
use std::fmt::Write as _;
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;

/// The tool that loads the instructions of a skill, and the arguments that ask for a part of them.
const LOADS: &str = "skill_load";
const PARTS: &[&str] = &["section", "start_line", "end_line", "start_column"];

/// A call that the agent makes.
pub(crate) struct Calling<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) actor: &'a Actor,
    /// The call of the gate that this one is a part of.
    pub(crate) parent: u64,
    pub(crate) call: &'a PlannedCall,
    pub(crate) events: Events,
    pub(crate) cancel: CancellationToken,
    /// True if a replay makes it again.
    pub(crate) is_replay: bool,
}

/// The end of a call.
pub(crate) struct CallEnd {
    pub(crate) status: CallStatus,
    /// The result, whole.
    pub(crate) text: String,
    /// The skill whose instructions, or a part of them, are the result.
    pub(crate) skill: Option<String>,
}

impl Calling<'_> {
    /// The skill whose instructions the call asks for, with the part of them that it asks for.
    pub(crate) fn loaded_skill(&self) -> Option<String> {
        let call = self.call;
        if call.tool != LOADS {
            return None;
        }
        let mut name = call.params.get("skill_name")?.as_str()?.to_owned();
        for part in PARTS {
            if let Some(value) = call.params.get(*part) {
                let _ = write!(name, ", {part} {value}");
            }
        }
        Some(name)
    }

    pub(crate) async fn run(self) -> CallEnd {
        if let Some(problem) = &self.call.problem {
            return CallEnd {
                status: CallStatus::Invalid,
                text: problem.clone(),
                skill: None,
            };
        }
        let skill = self.loaded_skill();
        let request = Request {
            parent: Some(self.parent),
            events: self.events,
            cancel: self.cancel,
            is_replay: self.is_replay,
            ..Request::new(
                Agent::profiles(),
                &self.call.tool,
                self.call.params.clone(),
                self.actor,
            )
        };
        match self.catalog.call(request).await {
            Ok(result) => {
                let status = if failed(&result) {
                    CallStatus::Failed
                } else {
                    CallStatus::Ok
                };
                let text = text(&result);
                let skill = skill.filter(|_| status == CallStatus::Ok);
                CallEnd {
                    status,
                    text,
                    skill,
                }
            }
            Err(error) => CallEnd {
                status: status(error.code()),
                text: error.to_string(),
                skill: None,
            },
        }
    }
}

/// Returns true if the tool says that it failed, or the program that it ran did.
pub(crate) fn failed(result: &ToolResult) -> bool {
    let data = result.structured_content.as_ref();
    let exit_code = data.and_then(|data| data.get("exit_code"));
    result.is_error || exit_code.is_some_and(|code| code.as_i64() != Some(0))
}

/// The result as text: what a model can't read is named.
pub(crate) fn text(result: &ToolResult) -> String {
    let pieces = result.content.iter().map(|content| match content {
        Content::Text { text } => text.clone(),
        Content::Resource { resource } => format!(
            "[{}: {}, {} characters of base64]",
            resource.uri,
            resource.mime_type,
            resource.blob.len()
        ),
        Content::Foreign(block) => foreign(block),
    });
    let text = pieces.collect::<Vec<_>>().join("\n");
    match &result.structured_content {
        Some(data) if text.trim().is_empty() => data.to_string(),
        _ => text,
    }
}

/// A piece of another server's answer.
fn foreign(block: &Value) -> String {
    let empty = Map::new();
    let block = block.as_object().unwrap_or(&empty);
    let member = |name: &str| block.get(name).and_then(Value::as_str);
    if let Some(text) = member("text") {
        return text.to_owned();
    }
    let resource = block.get("resource").and_then(Value::as_object);
    let within = |name: &str| resource.and_then(|resource| resource.get(name)?.as_str());
    if let Some(text) = within("text") {
        return text.to_owned();
    }
    let kind = member("type").unwrap_or("block");
    let about = member("uri").or(member("mimeType")).or(within("uri"));
    format!("[{kind}: {}]", about.unwrap_or("not text"))
}

/// The way in which a call ended that has this error.
pub(crate) fn status(code: ErrorCode) -> CallStatus {
    match code {
        ErrorCode::ToolNotFound
        | ErrorCode::MissingArgument
        | ErrorCode::UnknownArgument
        | ErrorCode::InvalidArgument
        | ErrorCode::ArgumentsTooLarge => CallStatus::Invalid,
        ErrorCode::Forbidden
        | ErrorCode::ApprovalRequired
        | ErrorCode::ProjectUntrusted
        | ErrorCode::CommandBlocked
        | ErrorCode::ConnectionNotApproved
        | ErrorCode::SignInRequired => CallStatus::Refused,
        ErrorCode::Cancelled => CallStatus::Interrupted,
        _ => CallStatus::Failed,
    }
}
