//! The tools of the catalog, and search.

use gongfu_core::account::Scope;
use gongfu_core::capability::Access as Effect;
use gongfu_core::trace::TraceContext;
use gongfu_hub::{Content, Profile, Request, ToolResult, ToolSpec};
use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::context::Context;
use super::endpoint::{Access, Answer, Endpoint, Refusal, RequestBody};
use crate::problem::Problem;

/// The tools that a caller sees: those of the profile that it asks for, of its token's, or of the server's.
pub(super) fn profiles(context: &Context, asked: Option<&str>) -> Result<Vec<Profile>, Problem> {
    let identity = context.identity.as_deref();
    let of_token = identity.and_then(|identity| identity.profile.as_deref());
    let Some(name) = asked.or(of_token) else {
        return Ok(context.api.parts.profiles.clone());
    };
    let profile = name.parse::<Profile>();
    Ok(vec![profile.map_err(|error| {
        Problem::field("profile", error.to_string())
    })?])
}

/// The names of the profiles, and null, for schemas.
pub(super) fn profile_names() -> Vec<Option<&'static str>> {
    let names = Profile::every().into_iter().map(Profile::as_str);
    names.map(Some).chain([None]).collect()
}

/// A tool.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ListedTool {
    /// The name, for the path.
    name: String,
    /// The title for people.
    title: String,
    /// Its purpose, and when to use it.
    description: String,
    /// The schema of its arguments (JSON Schema 2020-12).
    input_schema: Map<String, Value>,
    /// The schema of `data` in its answer; null for a document.
    output_schema: Option<Map<String, Value>>,
    /// The scope that a call needs.
    scope: &'static str,
    /// True if it only reads.
    is_read_only: bool,
    /// True if it may lose something that was there before.
    is_destructive: bool,
}

impl From<ToolSpec> for ListedTool {
    fn from(spec: ToolSpec) -> Self {
        Self {
            name: spec.name.to_string(),
            title: spec.title.to_string(),
            description: spec.description,
            input_schema: Map::clone(&spec.input_schema),
            output_schema: spec.output_schema.as_deref().cloned(),
            scope: Scope::of(spec.access).as_str(),
            is_read_only: spec.access == Effect::Read,
            is_destructive: spec.destructive,
        }
    }
}

/// Tools.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ToolPage {
    /// The tools, by name.
    items: Vec<ListedTool>,
    /// The number of all.
    total: usize,
}

/// List the tools that the credential may call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolList {
    /// The tools of this profile.
    #[schemars(extend("enum" = profile_names()))]
    profile: Option<String>,
    /// The set that the request works with; a set only narrows.
    #[schemars(length(min = 1, max = 128))]
    set: Option<String>,
}

impl Endpoint for ToolList {
    const NAME: &'static str = "tool_list";
    const METHOD: Method = Method::GET;
    const PATH: &'static str = "/api/v1/tools";
    const ACCESS: Access = Access::Credential;
    type Reply = ToolPage;

    async fn answer(self, context: &Context) -> Result<Answer<ToolPage>, Problem> {
        let profiles = profiles(context, self.profile.as_deref())?;
        let actor = context.actor_in(self.set.as_deref())?;
        let tools = context.catalog().list(&profiles, &actor, None).await;
        let items: Vec<ListedTool> = tools.into_iter().map(ListedTool::from).collect();
        let total = items.len();
        Ok(Answer::from(ToolPage { items, total }))
    }
}

/// The answer of a tool.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ToolReply {
    /// The answer for people and models.
    text: String,
    /// The same for programs, where there is more to it than text.
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Value>,
    /// The binary files of the answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<BinaryFile>,
    /// Other pieces of the answer of another server's tool, such as images, as MCP writes content blocks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    blocks: Vec<Value>,
    /// True if another server's tool says that it failed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_error: bool,
}

/// A binary file.
#[derive(Debug, Serialize, JsonSchema)]
struct BinaryFile {
    /// The URI.
    uri: String,
    /// The media type.
    media_type: String,
    /// The bytes in base64.
    base64: String,
}

impl From<ToolResult> for ToolReply {
    fn from(result: ToolResult) -> Self {
        let (mut texts, mut files, mut blocks) = (Vec::new(), Vec::new(), Vec::new());
        for piece in result.content {
            match piece {
                Content::Text { text } => texts.push(text),
                Content::Resource { resource } => files.push(BinaryFile {
                    uri: resource.uri,
                    media_type: resource.mime_type,
                    base64: resource.blob,
                }),
                Content::Foreign(block) => blocks.push(block),
            }
        }
        Self {
            text: texts.join("\n"),
            data: result.structured_content,
            files,
            blocks,
            is_error: result.is_error,
        }
    }
}

/// Call a tool. The body has its arguments.
///
/// `GET /api/v1/tools` has the schema of the arguments of each tool. A call that needs a person's approval is refused
/// with the code `APPROVAL_REQUIRED` and the id of the approval; the same call made again afterwards runs.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolCall {
    /// The name of the tool.
    #[schemars(length(min = 1, max = 128), extend("example" = "skill_list"))]
    pub(super) name: String,
    /// The arguments.
    pub(super) arguments: Map<String, Value>,
    /// The profile that the tool belongs to.
    #[schemars(extend("enum" = profile_names()))]
    pub(super) profile: Option<String>,
    /// The set that the request works with; a set only narrows.
    #[schemars(length(min = 1, max = 128))]
    pub(super) set: Option<String>,
}

/// The statuses with which a tool may fail.
pub(super) const TOOL_REFUSALS: &[Refusal] = &[
    Refusal {
        status: 403,
        codes: &[
            "FORBIDDEN",
            "APPROVAL_REQUIRED",
            "COMMAND_BLOCKED",
            "PROJECT_UNTRUSTED",
            "SOURCE_READ_ONLY",
            "CONNECTION_NOT_APPROVED",
            "SIGN_IN_REQUIRED",
        ],
    },
    Refusal {
        status: 404,
        codes: &[
            "TOOL_NOT_FOUND",
            "SKILL_NOT_FOUND",
            "FILE_NOT_FOUND",
            "SECTION_NOT_FOUND",
            "CHANGE_SET_NOT_FOUND",
            "CONNECTION_NOT_FOUND",
        ],
    },
    Refusal {
        status: 409,
        codes: &[
            "CONFLICT",
            "EDIT_REFUSED",
            "SKILL_EXISTS",
            "SKILL_DEACTIVATED",
            "SKILL_UNVERIFIED",
            "IS_A_DIRECTORY",
            "NOT_A_DIRECTORY",
        ],
    },
    Refusal {
        status: 413,
        codes: &["ARGUMENTS_TOO_LARGE", "FILE_TOO_LARGE"],
    },
    Refusal {
        status: 415,
        codes: &["FILE_NOT_TEXT"],
    },
    Refusal {
        status: 422,
        codes: &[
            "MISSING_ARGUMENT",
            "UNKNOWN_ARGUMENT",
            "INVALID_ARGUMENT",
            "INVALID_SKILL_NAME",
            "INVALID_FILE_PATH",
            "SKILL_INVALID",
            "DEPENDENCIES_INVALID",
        ],
    },
    Refusal {
        status: 429,
        codes: &["RATE_LIMIT_EXCEEDED", "QUOTA_EXCEEDED"],
    },
    Refusal {
        status: 503,
        codes: &[
            "UNAVAILABLE",
            "SANDBOX_UNAVAILABLE",
            "DEPENDENCIES_UNAVAILABLE",
            "SERVER_UNAVAILABLE",
        ],
    },
    Refusal {
        status: 504,
        codes: &["TIMEOUT"],
    },
];

impl Endpoint for ToolCall {
    const NAME: &'static str = "tool_call";
    const METHOD: Method = Method::POST;
    const PATH: &'static str = "/api/v1/tools/{name}";
    const ACCESS: Access = Access::Credential;
    const QUERY: &'static [&'static str] = &["profile", "set"];
    const BODY: RequestBody = RequestBody::Whole("arguments");
    const REFUSALS: &'static [Refusal] = TOOL_REFUSALS;
    type Reply = ToolReply;

    async fn answer(self, context: &Context) -> Result<Answer<ToolReply>, Problem> {
        let (profiles, actor) = (
            profiles(context, self.profile.as_deref())?,
            context.actor_in(self.set.as_deref())?,
        );
        let header = |name: &str| Some(context.headers.get(name)?.to_str().ok()?.to_owned());
        let request = Request {
            trace: TraceContext::read(header),
            ..Request::new(&profiles, &self.name, self.arguments, &actor)
        };
        let result = context
            .unless_revoked(context.catalog().call(request))
            .await?;
        Ok(Answer::from(ToolReply::from(result?)))
    }
}

/// The skills that fit a task.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct SkillHits {
    /// The skills, best first.
    results: Vec<SkillHit>,
    /// The number of skills that contain any of the words.
    total: usize,
}

/// A skill that fits.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct SkillHit {
    /// The name.
    name: String,
    /// The unique name.
    full_name: String,
    /// Its rank; comparable within one answer only.
    score: f64,
    /// Its purpose, and when to use it.
    description: String,
    /// The passage of its instructions that fits best.
    snippet: String,
}

/// Find the skills that fit a task, best first.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SkillFind {
    /// The task in a few plain words.
    #[schemars(length(min = 1, max = 1_000), extend("example" = "merge PDF files"))]
    q: String,
    /// The most skills to return (10).
    #[schemars(range(min = 1, max = 100))]
    limit: Option<u64>,
    /// The set that the request works with; a set only narrows.
    #[schemars(length(min = 1, max = 128))]
    set: Option<String>,
}

impl Endpoint for SkillFind {
    const NAME: &'static str = "skill_find";
    const METHOD: Method = Method::GET;
    const PATH: &'static str = "/api/v1/search";
    const ACCESS: Access = Access::Scopes(&[Scope::SkillsRead]);
    const REFUSALS: &'static [Refusal] = &[Refusal::INVALID_ARGUMENT];
    type Reply = SkillHits;

    async fn answer(self, context: &Context) -> Result<Answer<SkillHits>, Problem> {
        let mut arguments = Map::from_iter([("query".to_owned(), self.q.into())]);
        if let Some(limit) = self.limit {
            arguments.insert("limit".to_owned(), limit.into());
        }
        let actor = context.actor_in(self.set.as_deref())?;
        let standard = [Profile::Standard];
        let request = Request::new(&standard, "skill_search", arguments, &actor);
        let result = context.catalog().call(request).await?;
        let found = result.structured_content.unwrap_or_default();
        let hits: SkillHits = serde_json::from_value(found).map_err(|_| Problem::Fault)?;
        Ok(Answer::from(hits))
    }
}
