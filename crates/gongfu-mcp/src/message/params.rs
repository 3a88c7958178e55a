//! Says what is wrong with the parameters of a request.
//!
//! `rmcp` reads a request whose parameters don't fit its method as a request with an unknown method,
//! and the parameters of a list as missing: neither says what was wrong.

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

/// The longest description of a fault, in characters: it may quote the message.
const MAX_FAULT: usize = 200;

/// The parameter of a list in pages, as a message has it.
const CURSOR: &[u8] = b"\"cursor\"";

/// Says that the parameters of a method are wrong, and why if it can be found.
pub(crate) fn wrong(method: &str, params: Option<&Value>) -> String {
    let text = format!("the parameters of {method} do not fit the protocol");
    match fault(method, params) {
        Some(fault) => format!("{text}: {fault}"),
        None => text,
    }
}

/// Why parameters are not those of this method.
fn fault(method: &str, params: Option<&Value>) -> Option<String> {
    let params = params.cloned().unwrap_or_else(|| json!({}));
    match method {
        "completion/complete" => mismatch::<CompleteRequestParams>(params),
        "initialize" => mismatch::<InitializeRequestParams>(params),
        "prompts/get" => mismatch::<GetPromptRequestParams>(params),
        "resources/directory/read" => mismatch::<ReadResourceDirectoryRequestParams>(params),
        "resources/read" => mismatch::<ReadResourceRequestParams>(params),
        "resources/subscribe" => mismatch::<SubscribeRequestParams>(params),
        "resources/unsubscribe" => mismatch::<UnsubscribeRequestParams>(params),
        "skills/get" => mismatch::<GetSkillRequestParams>(params),
        "subscriptions/listen" => mismatch::<SubscriptionsListenRequestParams>(params),
        "tools/call" => mismatch::<CallToolRequestParams>(params),
        method if is_list(method) => mismatch::<PaginatedRequestParams>(params),
        _ => None,
    }
}

/// The request for a list from an invalid cursor, and what is wrong with it: `rmcp` would answer with
/// the first page.
pub(super) fn invalid_cursor(bytes: &[u8]) -> Option<(RequestId, String)> {
    // Most requests have none, and are not read a second time.
    memmem::find(bytes, CURSOR)?;
    let request: ListRequest = serde_json::from_slice(super::without_mark(bytes)).ok()?;
    let params = request.params.as_ref();
    if !is_list(&request.method) || fault(&request.method, params).is_none() {
        return None;
    }
    Some((request.id, wrong(&request.method, params)))
}

/// A request for a list, if `method` says so.
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

/// Why a value is not one of a type, and where.
fn mismatch<T: DeserializeOwned>(value: Value) -> Option<String> {
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
