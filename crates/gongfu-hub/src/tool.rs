//! Tools: an input type with a name, a class of access and a `run`.
//!
//! The tools themselves lie below `tool/`, one file each; the list of them is in
//! [`crate::catalog`].

use std::sync::Arc;

use gongfu_core::capability::{Access, Origin, Safety};
use gongfu_core::library::Library;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::binary;
use crate::call::{Call, Proposal};
use crate::error::ToolError;
use crate::excerpt::Excerpt;
use crate::schema;

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
    /// Whether it may lose something that was there before.
    const DESTRUCTIVE: bool = !matches!(Self::ACCESS, Access::Read);
    /// Whether its description depends on the caller's library.
    const DYNAMIC: bool = false;
    /// Its answer.
    type Output: Output;

    /// Adapts its description to the library; only called when it is [`Tool::DYNAMIC`].
    fn adapt(_spec: &mut ToolSpec, _library: &Library) {}

    /// Whether [`Tool::review`] is asked; a tool that executes something is.
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

/// An answer that can be shown.
pub trait Output: Send {
    /// The schema of the structured part; `None` for documents, whose text is sent once.
    fn schema() -> Option<Map<String, Value>>;
    /// The answer as it goes over any surface.
    fn into_result(self) -> ToolResult;
}

/// The answer of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    /// What a model or a person reads.
    pub content: Vec<Content>,
    /// The same for programs, where there is more to it than text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Value>,
}

impl ToolResult {
    /// An answer that is one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            content: vec![Content::text(text)],
            structured_content: None,
        }
    }
}

/// A piece of an answer (MCP, content blocks).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Content {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// A binary file.
    Resource {
        /// The file.
        resource: Blob,
    },
}

/// A binary file as a resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Blob {
    /// Where it is from.
    pub uri: String,
    /// What it is.
    pub mime_type: String,
    /// Its bytes in base64.
    pub blob: String,
}

impl Content {
    /// A piece of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// A binary file.
    pub fn blob(uri: String, mime_type: &str, bytes: &[u8]) -> Self {
        let blob = binary::base64(bytes);
        Self::Resource {
            resource: Blob {
                uri,
                mime_type: mime_type.to_owned(),
                blob,
            },
        }
    }
}

/// An answer that is a document: pieces of content and nothing structured.
///
/// Several clients show a model the structured part only, so a document is never put into both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document(pub Vec<Content>);

impl Document {
    /// A document that is one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self(vec![Content::text(text)])
    }
}

impl From<Excerpt<'_>> for Document {
    fn from(excerpt: Excerpt<'_>) -> Self {
        let mut content = vec![Content::text(excerpt.text)];
        content.extend(excerpt.note.map(Content::text));
        Self(content)
    }
}

impl Output for Document {
    fn schema() -> Option<Map<String, Value>> {
        None
    }

    fn into_result(self) -> ToolResult {
        ToolResult {
            content: self.0,
            structured_content: None,
        }
    }
}

/// An answer that is data: structured for programs, and in few words for a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Data<T> {
    /// The data.
    pub data: T,
    /// The same in words.
    pub text: String,
}

impl<T: Serialize + JsonSchema + Send> Output for Data<T> {
    fn schema() -> Option<Map<String, Value>> {
        Some(schema::of::<T>().schema)
    }

    fn into_result(self) -> ToolResult {
        // A type that serde can't write would be a fault of the tool; its words still arrive.
        ToolResult {
            content: vec![Content::text(self.text)],
            structured_content: serde_json::to_value(self.data).ok(),
        }
    }
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
    /// Whether it may lose something that was there before.
    pub destructive: bool,
    /// The harm that it can do.
    pub safety: Safety,
    /// Whether only a person may call it.
    pub person_only: bool,
    /// Its origin.
    pub origin: Origin,
}
