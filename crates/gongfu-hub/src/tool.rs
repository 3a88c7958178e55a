//! What a tool is: an input type with a name, a class of access and a `run`.
//!
//! The tools themselves lie below `tool/`, one file each; the list of them is in
//! [`crate::catalog`].

use std::sync::Arc;

use gongfu_core::account::Actor;
use gongfu_core::capability::{Access, Origin, Safety};
use gongfu_core::library::{Library, Skill};
use gongfu_core::port::{
    ApprovalStore, Clock, Environments, Listener, Runs, Sandbox, SkillSearch, SkillStore, Workspace,
};
use gongfu_core::sandbox::{Input, Limits};
use gongfu_core::skill::SkillPath;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::binary;
use crate::error::ToolError;
use crate::excerpt::Excerpt;
use crate::gate::Hosts;
use crate::run::Installs;
use crate::schema;
use crate::surface::{Tables, address};

/// A tool: its fields are the arguments, its doc comment is the description.
pub trait Tool: DeserializeOwned + JsonSchema + Send + 'static {
    /// What it is called by: `noun_verb`.
    const NAME: &'static str;
    /// What people see.
    const TITLE: &'static str;
    /// What it does to the world.
    const ACCESS: Access;
    /// How much harm it can do.
    const SAFETY: Safety;
    /// Whether it may lose something that was there before.
    const DESTRUCTIVE: bool = !matches!(Self::ACCESS, Access::Read);
    /// Whether what it says about itself depends on the caller's library.
    const DYNAMIC: bool = false;
    /// What it answers.
    type Output: Output;

    /// Makes what it says about itself fit the library; only asked when it is [`Tool::DYNAMIC`].
    fn adapt(_spec: &mut ToolSpec, _library: &Library) {}

    /// Does it.
    fn run(self, context: &Context)
    -> impl Future<Output = Result<Self::Output, ToolError>> + Send;
}

/// What passes between a program that runs and whoever had it run.
#[derive(Clone)]
pub struct Talk {
    /// Hears what the program says, as it says it.
    pub heard: Listener,
    /// What it reads, unless the call itself says so.
    pub input: Input,
}

impl Default for Talk {
    /// Nobody listens, and there is nothing to read.
    fn default() -> Self {
        Self {
            heard: Arc::new(|_, _| {}),
            input: Input::Nothing,
        }
    }
}

/// What a tool may use while it runs.
///
/// Dropping the future of a call cancels it; whatever a tool starts must end with it.
#[derive(Clone)]
pub struct Context {
    /// Who calls.
    pub actor: Actor,
    /// The skills of everybody; each method takes the owner.
    pub skills: Arc<dyn SkillStore>,
    /// Search over them.
    pub search: Arc<dyn SkillSearch>,
    /// The files that everybody works on; each method takes the owner.
    pub workspace: Arc<dyn Workspace>,
    /// What runs see of them, and leave.
    pub runs: Arc<dyn Runs>,
    /// Where scripts and commands are run.
    pub sandbox: Arc<dyn Sandbox>,
    /// What each of them may use at most.
    pub limits: Limits,
    /// The packages that they need.
    pub environments: Arc<dyn Environments>,
    /// Which of those are installed without anybody being asked.
    pub installs: Installs,
    /// What they say to whoever calls, and what they read of them.
    pub talk: Talk,
    /// What people said about calls that need one.
    pub approvals: Arc<dyn ApprovalStore>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The hosts that it asked for.
    pub(crate) hosts: Hosts,
    /// Where skills lie as resources.
    pub(crate) tables: Arc<Tables>,
}

impl Context {
    /// The URI of a file of a skill: the one that every surface reads it by, and for a skill without
    /// one, whose name would have to be encoded, one that says where the file lies.
    ///
    /// # Errors
    /// The library can't be read right now.
    pub async fn uri(&self, skill: &Skill, path: &SkillPath) -> Result<String, ToolError> {
        let view = self.tables.view(self).await?;
        let root = view.root_of(skill);
        let root = root.map_or(&*skill.full_name, |root| root);
        Ok(address::join(&address::encode(root), path.as_str()))
    }
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

/// What the catalog says about a tool.
#[derive(Debug, Clone)]
pub struct ToolSpec {
    /// What it is called by.
    pub name: &'static str,
    /// What people see.
    pub title: &'static str,
    /// What it does and when to use it.
    pub description: String,
    /// The schema of its arguments.
    pub input_schema: Arc<Map<String, Value>>,
    /// The schema of its structured answer, if it has one.
    pub output_schema: Option<Arc<Map<String, Value>>>,
    /// What it does to the world.
    pub access: Access,
    /// Whether it may lose something that was there before.
    pub destructive: bool,
    /// How much harm it can do.
    pub safety: Safety,
    /// Where it is from.
    pub origin: Origin,
}
