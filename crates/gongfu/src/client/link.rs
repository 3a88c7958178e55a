//! Links that a client opens to add gongfu.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::known::{CLIENTS, Client, NAME};
use super::problem::Problem;
use super::transport::Transport;

impl Client {
    /// The link that adds gongfu to this client, which must be one that has such links.
    pub(crate) fn install_link(&self, transport: &Transport) -> Option<String> {
        let path = self.path("").ok()?;
        self.link.map(|link| link(&(self.entry)(transport, path)))
    }

    /// The problem that the client opens no links.
    pub(crate) fn no_link(&self) -> Problem {
        let others = CLIENTS.iter().filter(|client| client.link.is_some());
        let ids: Vec<&str> = others.map(|client| client.id).collect();
        Problem::new(
            "no-link",
            format!("{} has no install links", self.title),
            format!("omit --link; {} have one", ids.join(" and ")),
        )
    }
}

/// Cursor takes the entry as base64.
pub(super) fn cursor(entry: &Value) -> String {
    let entry = escaped(&STANDARD.encode(entry.to_string()));
    format!("cursor://anysphere.cursor-deeplink/mcp/install?name={NAME}&config={entry}")
}

/// VS Code takes the entry, with its name, as JSON.
pub(super) fn vscode(entry: &Value) -> String {
    let mut named = json!({ "name": NAME });
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
