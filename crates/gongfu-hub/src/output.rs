//! The answers of tools: pieces of content, and data for programs.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::encoding;
use crate::schema;

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
    /// The answer for a model or a person.
    pub content: Vec<Content>,
    /// The same for programs, where there is more to it than text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Value>,
    /// True if another server's tool says that it failed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// The `_meta` of another server's answer.
    #[serde(rename = "_meta", skip_serializing_if = "Map::is_empty")]
    pub meta: Map<String, Value>,
}

impl ToolResult {
    /// An answer that is one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            content: vec![Content::text(text)],
            structured_content: None,
            is_error: false,
            meta: Map::new(),
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
    /// A piece of another server's answer, as that wrote it.
    #[serde(untagged)]
    Foreign(Value),
}

/// A binary file as a resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Blob {
    /// Its URI.
    pub uri: String,
    /// Its media type.
    pub mime_type: String,
    /// Its bytes in base64.
    pub blob: String,
}

impl Content {
    /// A piece of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// Returns the text of a piece of text.
    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text } => Some(text),
            Self::Foreign(block) if block.get("type")? == "text" => block.get("text")?.as_str(),
            Self::Foreign(_) | Self::Resource { .. } => None,
        }
    }

    /// A binary file.
    pub fn blob(uri: String, mime_type: &str, bytes: &[u8]) -> Self {
        let blob = encoding::base64(bytes);
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

impl Output for Document {
    fn schema() -> Option<Map<String, Value>> {
        None
    }

    fn into_result(self) -> ToolResult {
        ToolResult {
            content: self.0,
            structured_content: None,
            is_error: false,
            meta: Map::new(),
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
            is_error: false,
            meta: Map::new(),
        }
    }
}
