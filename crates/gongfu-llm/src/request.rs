//! Turns a request into genai's terms.
//!
//! Knows what each wire refuses, and nothing of answers.

use genai::Headers;
use genai::chat::{
    CacheControl, ChatMessage, ChatOptions, ChatRequest, ContentPart, MessageContent,
    ReasoningEffort, Tool, ToolCall, ToolResponse,
};
use gongfu_core::port::{Message, ModelCall, ModelRequest};
use serde_json::{Value, json};

use crate::settings::{Limits, Provider, ProviderKind};

/// The conversation and the tools.
pub(crate) fn chat(request: &ModelRequest, kind: ProviderKind) -> ChatRequest {
    let mut chat = ChatRequest::new(messages(&request.messages, kind));
    if !request.system.is_empty() {
        chat = chat.with_system(&request.system);
    }
    if !request.tools.is_empty() {
        chat = chat.with_tools(request.tools.iter().map(|tool| {
            Tool::new(tool.name.as_str())
                .with_description(&tool.description)
                .with_schema(Value::Object(tool.schema.clone()))
        }));
    }
    chat
}

/// Everything else about a request.
pub(crate) fn options(request: &ModelRequest, provider: &Provider, limits: &Limits) -> ChatOptions {
    let kind = provider.kind;
    let mut options = ChatOptions::default()
        .with_stream_header_timeout(limits.first_byte_timeout)
        .with_stream_read_timeout(limits.read_timeout)
        .with_capture_usage(true)
        .with_capture_tool_calls(kind != ProviderKind::OpenAi);
    options.max_tokens = request.max_tokens;
    options.temperature = request.temperature;
    match kind {
        // Otherwise genai takes the end of a name such as `qwen-max` for an effort, and asks for `qwen`. A budget is
        // an effort that this wire doesn't carry.
        ProviderKind::OpenAi => options.reasoning_effort = Some(ReasoningEffort::Budget(0)),
        // An agent sends the same instructions and tools each time.
        ProviderKind::Anthropic => options.cache_control = Some(CacheControl::Ephemeral),
        // genai sends no key on this wire.
        ProviderKind::Ollama => {
            let key = provider.key.as_ref();
            let bearer = |key| Headers::from(("Authorization".to_owned(), format!("Bearer {key}")));
            options.extra_headers = key.map(|key| bearer(key.expose()));
        }
        ProviderKind::Gemini => {}
    }
    options
}

/// The conversation, in which results that follow each other are one message: Anthropic and Gemini want all results of
/// a turn together, Ollama one by one.
fn messages(messages: &[Message], kind: ProviderKind) -> Vec<ChatMessage> {
    let is_result = |message: &Message| matches!(message, Message::Tool { .. });
    let belong_together =
        |a: &Message, b: &Message| kind != ProviderKind::Ollama && is_result(a) && is_result(b);
    messages
        .chunk_by(belong_together)
        .filter_map(|group| match group.first()? {
            Message::User { text } => Some(ChatMessage::user(text.as_str())),
            Message::Assistant { text, calls } => {
                Some(ChatMessage::assistant(assistant(text, calls, kind)))
            }
            Message::Tool { .. } => Some(ChatMessage::tool(results(group, kind))),
        })
        .collect()
}

fn assistant(text: &str, calls: &[ModelCall], kind: ProviderKind) -> MessageContent {
    // A text that is empty is refused beside calls.
    let text = (!text.is_empty()).then(|| ContentPart::Text(text.to_owned()));
    let calls = calls.iter().map(|call| {
        ContentPart::ToolCall(ToolCall {
            call_id: id(&call.id, kind),
            fn_name: tool_name(&call.name),
            fn_arguments: arguments(&call.arguments),
            thought_signatures: (!call.signatures.is_empty()).then(|| call.signatures.clone()),
        })
    });
    MessageContent::from_parts(text.into_iter().chain(calls).collect::<Vec<_>>())
}

fn results(group: &[Message], kind: ProviderKind) -> MessageContent {
    let responses = group.iter().filter_map(|message| match message {
        Message::Tool { id: of, name, text } => {
            Some(ToolResponse::new(id(of, kind), text.as_str()).with_fn_name(tool_name(name)))
        }
        _ => None,
    });
    MessageContent::from_tool_responses(responses.collect())
}

/// The id of a call. Anthropic refuses those that other providers make, in a conversation that moved.
fn id(id: &str, kind: ProviderKind) -> String {
    if kind != ProviderKind::Anthropic {
        return id.to_owned();
    }
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    id.chars()
        .map(|letter| if allowed(letter) { letter } else { '_' })
        .collect()
}

/// The name of a tool in a call. A model may have made up one that its provider refuses to read again.
fn tool_name(name: &str) -> String {
    const LONGEST: usize = 64;
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    let letters = name.chars().take(LONGEST);
    let name: String = letters
        .map(|letter| if allowed(letter) { letter } else { '_' })
        .collect();
    if name.is_empty() {
        "_".to_owned()
    } else {
        name
    }
}

/// The arguments of a call. Every wire wants an object, also where the model wrote none.
fn arguments(arguments: &Value) -> Value {
    if arguments.is_object() {
        arguments.clone()
    } else {
        json!({ "unreadable": arguments })
    }
}
