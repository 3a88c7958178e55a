//! Reads one JSON-RPC message of a client, and says why bytes are not a message.
//!
//! It accepts what `rmcp` accepts. An `id` that can't be read is left out of the answer, never
//! `null`: MCP has no such id in any revision, and strict clients drop the whole answer.

pub(crate) mod params;
mod salvage;

use std::borrow::Cow;

use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use serde_json::{Value, json};

pub(crate) use self::salvage::salvage_id;

/// The longest message that is read from a line, in bytes.
pub(crate) const MAX_BYTES: usize = 16 << 20;
/// The number of values in a message. A value of one byte takes hundreds once it is read.
const MAX_VALUES: usize = 100_000;
/// Some programs put it before a text.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// An error that is the answer to a message.
#[derive(Debug)]
pub(crate) struct Refusal {
    /// The request that is refused, if it can be read.
    pub(crate) id: Option<RequestId>,
    pub(crate) error: Box<ErrorData>,
    /// Over lines, notifications are never answered.
    pub(crate) is_notification: bool,
}

impl Refusal {
    pub(crate) fn new(error: ErrorData, id: Option<RequestId>) -> Self {
        Self {
            id,
            error: Box::new(error),
            is_notification: false,
        }
    }

    /// A message that breaks the protocol.
    pub(crate) fn invalid(text: impl Into<Cow<'static, str>>, id: Option<RequestId>) -> Self {
        Self::new(ErrorData::invalid_request(text, None), id)
    }

    /// A message over the limit, of which this is the start.
    pub(crate) fn too_large(start: &[u8], limit: usize) -> Self {
        let text = format!("the message is larger than {limit} bytes: send a shorter one");
        let error = ErrorData::invalid_request(text, Some(json!({ "limit": limit })));
        Self::new(error, salvage_id(start))
    }

    /// The answer.
    pub(crate) fn into_message(self) -> ServerJsonRpcMessage {
        ServerJsonRpcMessage::error(*self.error, self.id)
    }
}

/// Reads one message.
///
/// # Errors
/// The bytes are not JSON (-32700), no message (-32600), or a list from an invalid cursor (-32602).
pub(crate) fn read(bytes: &[u8]) -> Result<ClientJsonRpcMessage, Refusal> {
    check(bytes)?;
    let bytes = without_mark(bytes);
    serde_json::from_slice(bytes).map_err(|error| refusal(bytes, error))
}

/// Reads a message that may begin a session, as [`read`] does.
///
/// # Errors
/// Those of [`read`], and the parameters of `initialize` are wrong: `rmcp` would ask for the session
/// that it is to begin.
pub(crate) fn read_first(bytes: &[u8]) -> Result<ClientJsonRpcMessage, Refusal> {
    let message = read(bytes)?;
    if let JsonRpcMessage::Request(request) = &message
        && let ClientRequest::CustomRequest(custom) = &request.request
        && custom.method == "initialize"
    {
        let text = params::wrong(&custom.method, custom.params.as_ref());
        let error = ErrorData::invalid_params(text, None);
        return Err(Refusal::new(error, Some(request.id.clone())));
    }
    Ok(message)
}

/// Checks what `rmcp` does not: the number of values, and the cursor of a list.
///
/// # Errors
/// There are too many values (-32600), or the cursor is invalid (-32602).
pub(crate) fn check(bytes: &[u8]) -> Result<(), Refusal> {
    // Between two values stands a comma, so a short message can't have too many.
    if bytes.len() > 2 * MAX_VALUES && count_values(bytes) > MAX_VALUES {
        let text = format!("the message has more than {MAX_VALUES} values: send fewer at once");
        let error = ErrorData::invalid_request(text, Some(json!({ "limit": MAX_VALUES })));
        return Err(Refusal::new(error, salvage_id(bytes)));
    }
    match params::invalid_cursor(bytes) {
        Some((id, text)) => Err(Refusal::new(
            ErrorData::invalid_params(text, None),
            Some(id),
        )),
        None => Ok(()),
    }
}

/// Returns true for a request that begins a session.
pub(crate) fn is_initialize(bytes: &[u8]) -> bool {
    #[derive(serde::Deserialize)]
    struct Request<'a> {
        #[serde(borrow)]
        method: Cow<'a, str>,
    }
    let request: Result<Request<'_>, _> = serde_json::from_slice(without_mark(bytes));
    request.is_ok_and(|request| request.method == "initialize")
}

/// The bytes behind a byte order mark.
pub(crate) fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes)
}

/// About how many values there are: each follows a comma or opens something.
fn count_values(bytes: &[u8]) -> usize {
    let (mut count, mut in_string, mut escaped) = (0, false, false);
    for byte in bytes {
        if in_string {
            in_string = *byte != b'"' || escaped;
            escaped = *byte == b'\\' && !escaped;
        } else {
            in_string = *byte == b'"';
            count += usize::from(matches!(byte, b',' | b'[' | b'{'));
        }
    }
    count
}

/// Why bytes are no message, from the error of the parser.
fn refusal(bytes: &[u8], error: serde_json::Error) -> Refusal {
    // The parser stops at an object that is no message; what follows may not be JSON.
    let json = if error.is_data() {
        serde_json::from_slice(bytes)
    } else {
        Err(error)
    };
    let error = match &json {
        Err(error) => {
            let place = json!({ "line": error.line(), "column": error.column() });
            ErrorData::parse_error(format!("the message is not JSON: {error}"), Some(place))
        }
        Ok(Value::Array(_)) => ErrorData::invalid_request(
            "batches are not supported (MCP removed them in 2025-06-18): send each message separately",
            None,
        ),
        Ok(_) => ErrorData::invalid_request(
            "the message is not JSON-RPC 2.0: send `\"jsonrpc\": \"2.0\"`, a `method`, \
             `params` as an object, and an `id` (a string or an integer) with a request; or the \
             `id` of a request with its `result` or `error`",
            None,
        ),
    };
    Refusal {
        is_notification: json.is_ok_and(|message| {
            message.get("method").is_some_and(Value::is_string) && message.get("id").is_none()
        }),
        ..Refusal::new(error, salvage_id(bytes))
    }
}

#[cfg(test)]
mod tests;
