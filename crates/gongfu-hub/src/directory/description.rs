//! `tool_describe`: the whole definitions of tools in the directory.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::Directory;
use super::inquiry::Inquiry;
use crate::call::Call;
use crate::error::ToolError;
use crate::output::Document;
use crate::problem::Problem;

/// The most tools in an answer.
const MAX_NAMES: usize = 10;

/// Show the whole definition of tools of other servers: what they do, and the schema of their arguments. Then call
/// them with `tool_call`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolDescribe {
    /// The names of the tools, as `tool_search` shows them (at most 10).
    #[schemars(length(min = 1, max = 10))]
    names: Vec<String>,
}

impl Inquiry for ToolDescribe {
    const NAME: &'static str = "tool_describe";
    const TITLE: &'static str = "Describe tools";
    type Output = Document;

    async fn answer(self, directory: &Directory, _call: &Call) -> Result<Document, ToolError> {
        if self.names.is_empty() || self.names.len() > MAX_NAMES {
            let reason = format!("it has {} names", self.names.len());
            let hint = format!("pass 1 to {MAX_NAMES} names");
            return Err(Problem::wrong_value("names", reason, hint).error());
        }
        let tools = self.names.iter();
        let tools = tools.map(|name| directory.tool(name).ok_or_else(|| directory.unknown(name)));
        let tools = tools.collect::<Result<Vec<_>, ToolError>>()?;
        directory.note(tools.iter().map(|tool| &tool.spec().name));
        let definitions = tools.iter().map(|tool| tool.spec().to_json());
        let definitions: Value = definitions.collect();
        Ok(Document::text(definitions.to_string()))
    }
}
