//! Tools: an input type with a name, a class of access and a `run`.
//!
//! The tools themselves lie below `tool/`, one file each; the list of them is in
//! [`crate::catalog`].

use std::sync::Arc;

use gongfu_core::capability::{Access, Origin, Safety};
use gongfu_core::library::Library;
use gongfu_core::skill::Digest;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::call::{Call, Proposal};
use crate::error::ToolError;
use crate::output::Output;

/// A tool: its fields are the arguments, its doc comment is the description.
pub trait Tool: DeserializeOwned + JsonSchema + Send + 'static {
    /// Its name: `noun_verb`.
    const NAME: &'static str;
    /// Its title for people.
    const TITLE: &'static str;
    /// Its effect on the world.
    const ACCESS: Access;
    /// The harm that it can do.
    const SAFETY: Safety;
    /// True if it may lose something that was there before.
    const DESTRUCTIVE: bool = !matches!(Self::ACCESS, Access::Read);
    /// True if its description depends on the caller's library.
    const DYNAMIC: bool = false;
    /// Its answer.
    type Output: Output;

    /// Adapts its description to the library; only called when it is [`Tool::DYNAMIC`].
    fn adapt(_spec: &mut ToolSpec, _library: &Library) {}

    /// True if [`Tool::review`] is asked; a tool that executes something is.
    const REVIEWED: bool = matches!(Self::ACCESS, Access::Execute);

    /// The action that a person must allow before the tool runs, or `None`. Must not have an effect.
    fn review(
        &self,
        _call: &Call,
    ) -> impl Future<Output = Result<Option<Proposal>, ToolError>> + Send {
        std::future::ready(Ok(None))
    }

    /// Runs the tool.
    ///
    /// Dropping the answer cancels it; everything that a tool starts must end with it.
    fn run(self, call: &Call) -> impl Future<Output = Result<Self::Output, ToolError>> + Send;
}

/// The description of a tool.
#[derive(Debug, Clone)]
pub struct ToolSpec {
    /// Its name.
    pub name: Arc<str>,
    /// Its title for people.
    pub title: Arc<str>,
    /// Its purpose and when to use it.
    pub description: String,
    /// The schema of its arguments.
    pub input_schema: Arc<Map<String, Value>>,
    /// The schema of its structured answer, if it has one.
    pub output_schema: Option<Arc<Map<String, Value>>>,
    /// Its effect on the world.
    pub access: Access,
    /// True if it may lose something that was there before.
    pub destructive: bool,
    /// The harm that it can do.
    pub safety: Safety,
    /// True if it is another server's, which says that it only reads: nothing is permitted by that.
    pub says_read_only: bool,
    /// True if only a person may call it.
    pub person_only: bool,
    /// The members of `_meta` that name the user interface of another server's tool (MCP Apps).
    pub ui: Map<String, Value>,
    /// Its origin.
    pub origin: Origin,
    /// The name under which it is permitted: `mcp.<connection>.<tool>` of another server, `tool.<name>` of gongfu's own.
    pub permission: Arc<str>,
    /// The digest of its definition, where that is another server's: a person approves this one.
    pub definition: Option<Digest>,
    /// The digest of the command or address of that server: an answer of a person holds for no other.
    pub target: Option<Digest>,
}

/// The bytes of JSON that are counted as one token.
const BYTES_PER_TOKEN: usize = 4;
/// The bytes of the annotations that surfaces add to a description.
const ANNOTATION_BYTES: usize = 128;

impl ToolSpec {
    /// Returns true if it is a tool of another server.
    pub fn is_foreign(&self) -> bool {
        matches!(self.origin, Origin::Server(_))
    }

    /// The description as `tools/list` of MCP has it, without annotations.
    pub fn to_json(&self) -> Value {
        let mut json = json!({
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": *self.input_schema,
        });
        if let (Some(schema), Some(json)) = (&self.output_schema, json.as_object_mut()) {
            json.insert("outputSchema".to_owned(), Value::Object((**schema).clone()));
        }
        json
    }

    /// The tokens that it takes in a list, about.
    pub fn tokens(&self) -> usize {
        let bytes = self.to_json().to_string().len() + self.title.len() + ANNOTATION_BYTES;
        bytes.div_ceil(BYTES_PER_TOKEN)
    }
}
