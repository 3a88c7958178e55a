//! `tool_call`: another way to write the call of a tool.
//!
//! It is no entry of its own: the gate only sees the tool that is called.

use gongfu_core::capability::{Access, Safety};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::argument;
use crate::entry;
use crate::error::ToolError;
use crate::problem::Problem;
use crate::tool::ToolSpec;

/// The name.
pub(super) const NAME: &str = "tool_call";

/// Call a tool of another server by its name, as `tool_search` and `tool_describe` show it. The answer is that of the
/// tool.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Target {
    /// The name of the tool.
    pub(crate) name: String,
    /// The arguments of the tool, by its own schema.
    #[serde(default)]
    #[schemars(with = "Map<String, Value>")]
    pub(crate) arguments: Map<String, Value>,
}

/// The description: the tools that it calls may do anything.
pub(super) fn spec() -> ToolSpec {
    ToolSpec {
        access: Access::Execute,
        destructive: true,
        safety: Safety::Medium,
        ..entry::spec::<Target>(NAME, "Call a tool")
    }
}

impl Target {
    /// The tool that a call is for, if it is one of `tool_call`.
    ///
    /// # Errors
    /// The arguments don't name one.
    pub(crate) fn of(
        name: &str,
        arguments: &Map<String, Value>,
    ) -> Result<Option<Self>, ToolError> {
        if name != NAME {
            return Ok(None);
        }
        let checked = argument::check(&spec().input_schema, arguments);
        checked.map_err(Problem::error)?;
        entry::input(NAME, arguments).map(Some)
    }
}
