//! What is wrong with the parameters of a request, in words that name the place.
//!
//! `rmcp` reads a request whose parameters have another form as one of a method that it doesn't know,
//! and a list's without any: neither says what was wrong.

use memchr::memmem;
use rmcp::model::{
    CallToolRequestParams, CompleteRequestParams, GetPromptRequestParams, GetSkillRequestParams,
    InitializeRequestParams, PaginatedRequestParams, ReadResourceDirectoryRequestParams,
    ReadResourceRequestParams, RequestId, SubscribeRequestParams, SubscriptionsListenRequestParams,
    UnsubscribeRequestParams,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The longest description of a fault, in characters: it may repeat what was sent.
const MAX_FAULT: usize = 200;

/// How the parameter of a list in pages stands in a message.
const CURSOR: &[u8] = b"\"cursor\"";

/// Says of the parameters of a method that they are wrong, and where that can be told, why.
pub(crate) fn wrong(method: &str, params: Option<&Value>) -> String {
    let text = format!("the parameters of {method} are not as the protocol wants them");
    match fault(method, params) {
        Some(fault) => format!("{text}: {fault}"),
        None => text,
    }
}

/// What keeps parameters from being those of this method, if something does.
pub(super) fn fault(method: &str, params: Option<&Value>) -> Option<String> {
    let params = params.cloned().unwrap_or_else(|| json!({}));
    match method {
        "completion/complete" => unlike::<CompleteRequestParams>(params),
        "initialize" => unlike::<InitializeRequestParams>(params),
        "prompts/get" => unlike::<GetPromptRequestParams>(params),
        "resources/directory/read" => unlike::<ReadResourceDirectoryRequestParams>(params),
        "resources/read" => unlike::<ReadResourceRequestParams>(params),
        "resources/subscribe" => unlike::<SubscribeRequestParams>(params),
        "resources/unsubscribe" => unlike::<UnsubscribeRequestParams>(params),
        "skills/get" => unlike::<GetSkillRequestParams>(params),
        "subscriptions/listen" => unlike::<SubscriptionsListenRequestParams>(params),
        "tools/call" => unlike::<CallToolRequestParams>(params),
        method if is_list(method) => unlike::<PaginatedRequestParams>(params),
        _ => None,
    }
}

/// The request for a list whose cursor is none, and what is wrong with it: `rmcp` would answer with
/// the first page.
pub(super) fn wrong_list(bytes: &[u8]) -> Option<(RequestId, String)> {
    // Most requests have none, and needn't be read a second time.
    memmem::find(bytes, CURSOR)?;
    let request: ListRequest = serde_json::from_slice(bytes).ok()?;
    if !is_list(&request.method) || fault(&request.method, request.params.as_ref()).is_none() {
        return None;
    }
    let text = wrong(&request.method, request.params.as_ref());
    Some((request.id, text))
}

/// A request, as far as it tells whether it is one for a list.
#[derive(Deserialize)]
struct ListRequest {
    id: RequestId,
    method: String,
    params: Option<Value>,
}

fn is_list(method: &str) -> bool {
    matches!(
        method,
        "prompts/list"
            | "resources/list"
            | "resources/templates/list"
            | "skills/list"
            | "tools/list"
    )
}

/// Where a value isn't like a type, and how.
fn unlike<T: DeserializeOwned>(value: Value) -> Option<String> {
    let error = serde_path_to_error::deserialize::<_, T>(value).err()?;
    let place = error.path().to_string();
    let inner = error.inner().to_string();
    let fault = if place == "." {
        inner
    } else {
        format!("`{place}`: {inner}")
    };
    let mut short: String = fault.chars().take(MAX_FAULT).collect();
    if short.len() < fault.len() {
        short.push('…');
    }
    Some(short)
}
