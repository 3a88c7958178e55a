//! A chat completion as it is answered.

use gongfu_core::agent::End;
use gongfu_core::port::Usage;
use gongfu_hub::agent::{ChatResult, ToolCall};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// The members that all pieces of an answer have in common.
pub(super) struct Head {
    pub(super) id: String,
    pub(super) created: i64,
    pub(super) model: String,
    pub(super) is_kept: bool,
}

/// An answer.
#[derive(Debug, Serialize, JsonSchema)]
pub(in super::super) struct Completion {
    /// Its id.
    id: String,
    /// `chat.completion`.
    object: &'static str,
    /// The time, in seconds since 1970.
    created: i64,
    /// The model as the request names it.
    model: String,
    /// One answer.
    choices: [Choice; 1],
    /// The tokens of all requests to the model.
    usage: CompletionUsage,
    /// The turn of the agent.
    gongfu: TurnReport,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Choice {
    /// 0.
    index: u32,
    /// The answer.
    message: ReplyMessage,
    /// Always null.
    logprobs: Option<Value>,
    /// `stop`, `length` or `content_filter`.
    finish_reason: &'static str,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ReplyMessage {
    /// `assistant`.
    role: &'static str,
    /// The reply.
    content: String,
    /// Always null.
    refusal: Option<String>,
}

/// The tokens of a turn.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct CompletionUsage {
    /// Those of the requests.
    prompt_tokens: u64,
    /// Those of the answers.
    completion_tokens: u64,
    /// All.
    total_tokens: u64,
    /// More about those of the requests.
    prompt_tokens_details: PromptTokens,
}

#[derive(Debug, Serialize, JsonSchema)]
struct PromptTokens {
    /// Those that came from a cache.
    cached_tokens: u64,
}

impl From<Usage> for CompletionUsage {
    fn from(usage: Usage) -> Self {
        Self {
            prompt_tokens: usage.input,
            completion_tokens: usage.output,
            total_tokens: usage.total(),
            prompt_tokens_details: PromptTokens {
                cached_tokens: usage.cached,
            },
        }
    }
}

/// The turn of the agent, for clients that know gongfu.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct TurnReport {
    /// The id of the session; null where it leaves no log.
    session: Option<String>,
    /// The model that answered.
    model: String,
    /// The reason why the turn ended: `answered`, `steps`, `length` or `filter`.
    #[schemars(with = "String")]
    end: End,
    /// The reply, in a stream: its text has what the model said between calls as well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reply: Option<String>,
    /// The calls that the agent made.
    tool_calls: Vec<ToolCall>,
}

impl TurnReport {
    pub(super) fn new(result: ChatResult, is_kept: bool) -> Self {
        Self {
            session: is_kept.then_some(result.session),
            model: result.model,
            end: result.end,
            reply: None,
            tool_calls: result.tool_calls,
        }
    }
}

impl Completion {
    pub(super) fn new(head: Head, mut result: ChatResult) -> Self {
        let content = std::mem::take(&mut result.reply);
        Self {
            id: head.id,
            object: "chat.completion",
            created: head.created,
            model: head.model,
            choices: [Choice {
                index: 0,
                message: ReplyMessage {
                    role: "assistant",
                    content,
                    refusal: None,
                },
                logprobs: None,
                finish_reason: finish_reason(result.end),
            }],
            usage: result.usage.into(),
            gongfu: TurnReport::new(result, head.is_kept),
        }
    }
}

pub(super) fn finish_reason(end: End) -> &'static str {
    match end {
        End::Length => "length",
        End::Filter => "content_filter",
        End::Answered | End::Steps | End::Budget => "stop",
    }
}
