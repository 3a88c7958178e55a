//! The agent for every chat client: chat completions as OpenAI's API has them.
//!
//! The calls of the agent are its own: a client sees them, and makes none.

use gongfu_hub::agent::{ChatInput, ChatRequest};
use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use self::chunk::Chunks;
use self::completion::{Completion, Head};
use self::message::{Conversation, RequestMessage};
use super::agent::TURN_REFUSALS;
use super::context::Context;
use super::endpoint::{Access, Answer, Endpoint, Refusal, ReplyBody, RequestBody};
use super::event_stream;
use super::skill::WRITE;
use super::work::TurnWork;
use crate::problem::Problem;

mod chunk;
mod completion;
mod message;
pub(super) mod refusal;

/// The name of the configured model.
const CONFIGURED: &str = "gongfu";
/// Names the session of a request, as `metadata.session` does.
const SESSION_HEADER: &str = "X-Gongfu-Session";
/// Asks for a new session that is kept.
const NEW_SESSION: &str = "new";

/// A request for a chat completion. Options that only tune the model, such as `temperature` and `max_tokens`, are ignored:
/// gongfu's settings decide them.
#[derive(Debug, Deserialize, JsonSchema)]
struct CompletionRequest {
    /// `gongfu` for the configured model, or the name of another as `PROVIDER/NAME`.
    #[schemars(length(min = 1, max = 256), extend("example" = "gongfu"))]
    model: String,
    /// The conversation; the last message is the user's.
    #[schemars(length(min = 1, max = 2_000))]
    messages: Vec<RequestMessage>,
    /// True to stream the answer.
    stream: Option<bool>,
    /// The options of the pieces.
    stream_options: Option<StreamOptions>,
    /// `session` continues a session by its id, or with `new` starts one that is kept.
    metadata: Option<Map<String, Value>>,
    /// The number of answers: 1.
    n: Option<u64>,
    /// Tools of the client: none, because the agent calls tools itself.
    tools: Option<Vec<Value>>,
    /// With `none`, `tools` are accepted and ignored.
    tool_choice: Option<Value>,
    /// The older form of `tools`.
    functions: Option<Vec<Value>>,
    /// The form of the answer: text.
    response_format: Option<Map<String, Value>>,
    /// Not supported.
    logprobs: Option<bool>,
    /// Not supported.
    stop: Option<Value>,
    /// The kinds of the answer: `text`.
    modalities: Option<Vec<String>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct StreamOptions {
    /// True for a last chunk with the token counts.
    include_usage: Option<bool>,
}

impl CompletionRequest {
    /// Refuses what would change the answer, and can't be done.
    fn check(&self) -> Result<(), Problem> {
        let refuse = |is_refused: bool, field: &str, why: &str| {
            if is_refused {
                Err(Problem::field(field, why))
            } else {
                Ok(())
            }
        };
        let is_any = |list: &Option<Vec<Value>>| list.as_ref().is_some_and(|list| !list.is_empty());
        let uses_tools = self.tool_choice != Some(json!("none"));
        let why = "the agent only calls its own tools and skills; leave the client's out";
        refuse(is_any(&self.tools) && uses_tools, "tools", why)?;
        refuse(is_any(&self.functions) && uses_tools, "functions", why)?;
        refuse(
            self.n.is_some_and(|n| n != 1),
            "n",
            "only one answer is supported; use 1",
        )?;
        let format = self.response_format.as_ref();
        let is_text = format.is_none_or(|format| format.get("type") == Some(&json!("text")));
        let why = "the answer is text; say in the prompt what it should look like";
        refuse(!is_text, "response_format", why)?;
        let why = "log probabilities aren't available; leave it out";
        refuse(self.logprobs == Some(true), "logprobs", why)?;
        let is_stopped = self
            .stop
            .as_ref()
            .is_some_and(|stop| !stop.is_null() && stop != &json!([]) && stop != &json!(""));
        refuse(
            is_stopped,
            "stop",
            "stop sequences aren't supported; leave it out",
        )?;
        let modalities = self.modalities.as_deref().unwrap_or_default();
        let is_text = modalities.iter().all(|kind| kind == "text");
        refuse(!is_text, "modalities", "the answer is text")
    }

    /// The session that the request or its header names; `None` for one that leaves no log.
    fn session<'a>(&'a self, context: &'a Context) -> Result<Option<&'a str>, Problem> {
        if let Some(header) = context.headers.get(SESSION_HEADER) {
            let header = header.to_str();
            return header
                .map(Some)
                .map_err(|_| Problem::field(SESSION_HEADER, "it isn't text in ASCII"));
        }
        let metadata = self.metadata.as_ref();
        match metadata.and_then(|metadata| metadata.get("session")) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(id)) => Ok(Some(id)),
            Some(_) => Err(Problem::field("metadata.session", "it isn't a string")),
        }
    }
}

/// Answer a conversation, as a chat completion of OpenAI's API.
///
/// gongfu's agent answers: it calls tools and follows skills by itself, so there are never `tool_calls` for the client. In
/// a stream, `gongfu` of a chunk tells a call and its result. Refusals have OpenAI's form, `{"error": {"message", "type",
/// "param", "code"}}`; in a stream that has begun, they are its last event.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ChatCompletion {
    /// The request.
    request: CompletionRequest,
    /// The set that the request works with; a set only narrows.
    #[schemars(length(min = 1, max = 128))]
    set: Option<String>,
}

impl Endpoint for ChatCompletion {
    const NAME: &'static str = "chat_completion";
    const METHOD: Method = Method::POST;
    const PATH: &'static str = "/v1/chat/completions";
    const ACCESS: Access = WRITE;
    const IS_LOCAL: bool = true;
    const QUERY: &'static [&'static str] = &["set"];
    const HEADERS: &'static [&'static str] = &[SESSION_HEADER];
    const BODY: RequestBody = RequestBody::Whole("request");
    const REFUSALS: &'static [Refusal] = TURN_REFUSALS;
    const REPLY: ReplyBody = ReplyBody::JsonOrEvents;
    type Reply = Completion;

    async fn answer(self, context: &Context) -> Result<Answer<Completion>, Problem> {
        let request = self.request;
        request.check()?;
        let session = request.session(context)?.map(str::to_owned);
        let is_kept = session.is_some();
        let conversation = Conversation::read(request.messages)?;
        let session = session.filter(|id| id != NEW_SESSION);
        let (history, prompt) = if session.is_some() {
            // The session has what was said before.
            (Vec::new(), conversation.prompt)
        } else {
            conversation.with_instructions()
        };
        let chat = ChatRequest {
            session,
            input: ChatInput::Prompt(prompt),
            model: Some(request.model.clone()).filter(|model| model != CONFIGURED),
            history,
            is_kept,
            ..ChatRequest::new("")
        };
        let mut turn = TurnWork::chat(context, chat, context.actor_in(self.set.as_deref())?)?;
        let head = Head {
            id: format!("chatcmpl-{}", uuid::Uuid::new_v4().simple()),
            created: context.now().0 / 1_000,
            model: request.model,
            is_kept,
        };
        if request.stream != Some(true) {
            let result = context.unless_revoked(turn.end()).await??;
            return Ok(Answer::from(Completion::new(head, result)));
        }
        let has_usage = request
            .stream_options
            .is_some_and(|options| options.include_usage == Some(true));
        let mut chunks = Chunks::new(turn, head, has_usage);
        let first = context.unless_revoked(chunks.first()).await??;
        Ok(Answer::events(event_stream::body(first, chunks)))
    }
}

/// The models.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ModelPage {
    /// `list`.
    object: &'static str,
    /// `gongfu` for the configured model, then the names of the settings.
    data: Vec<ListedModel>,
}

/// A model.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ListedModel {
    /// The name.
    id: String,
    /// `model`.
    object: &'static str,
    /// The time of this answer, in seconds since 1970: the model's own is unknown.
    created: i64,
    /// `gongfu`.
    owned_by: &'static str,
}

impl ListedModel {
    fn all(context: &Context) -> Result<Vec<Self>, Problem> {
        let names = context.agent()?.models();
        let names = std::iter::once(CONFIGURED.to_owned()).chain(names);
        let all = names.map(|id| Self {
            id,
            object: "model",
            created: context.now().0 / 1_000,
            owned_by: "gongfu",
        });
        Ok(all.collect())
    }
}

/// List the models that a chat completion may name, as OpenAI's API does.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ModelList {}

impl Endpoint for ModelList {
    const NAME: &'static str = "model_list";
    const METHOD: Method = Method::GET;
    const PATH: &'static str = "/v1/models";
    const ACCESS: Access = Access::Credential;
    const IS_LOCAL: bool = true;
    const REFUSALS: &'static [Refusal] = &[Refusal::AGENT_OFF];
    type Reply = ModelPage;

    async fn answer(self, context: &Context) -> Result<Answer<ModelPage>, Problem> {
        Ok(Answer::from(ModelPage {
            object: "list",
            data: ListedModel::all(context)?,
        }))
    }
}

/// Read one of the models that a chat completion may name, as OpenAI's API does.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ModelRead {
    /// The name of the model.
    #[schemars(length(min = 1, max = 256))]
    id: String,
}

impl Endpoint for ModelRead {
    const NAME: &'static str = "model_read";
    const METHOD: Method = Method::GET;
    const PATH: &'static str = "/v1/models/{*id}";
    const ACCESS: Access = Access::Credential;
    const IS_LOCAL: bool = true;
    const REFUSALS: &'static [Refusal] = &[Refusal::AGENT_OFF, Refusal::NOT_FOUND];
    type Reply = ListedModel;

    async fn answer(self, context: &Context) -> Result<Answer<ListedModel>, Problem> {
        let mut all = ListedModel::all(context)?.into_iter();
        let found = all.find(|model| model.id == self.id);
        found.map(Answer::from).ok_or(Problem::NotFound("model"))
    }
}
