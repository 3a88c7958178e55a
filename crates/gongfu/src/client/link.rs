//! Links that a client opens to add gongfu: what belongs in them is the entry of its file.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// Cursor takes the entry as base64.
pub(super) fn cursor(entry: &Value) -> String {
    let entry = escaped(&STANDARD.encode(entry.to_string()));
    format!("cursor://anysphere.cursor-deeplink/mcp/install?name=gongfu&config={entry}")
}

/// VS Code takes the entry, with its name, as JSON.
pub(super) fn vscode(entry: &Value) -> String {
    let mut named = json!({ "name": "gongfu" });
    if let (Some(named), Some(entry)) = (named.as_object_mut(), entry.as_object()) {
        named.extend(entry.clone());
    }
    format!("vscode:mcp/install?{}", escaped(&named.to_string()))
}

/// Text in the query of a link.
fn escaped(text: &str) -> String {
    let escaped: String = form_urlencoded::byte_serialize(text.as_bytes()).collect();
    escaped.replace('+', "%20")
}
