//! The prompts and resources of a server, as it lists them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The scheme of the URI that names a resource with its server: `mcp:<connection>/<uri>`.
const SCHEME: &str = "mcp:";

/// The prompts, resources and resource templates of a server, as MCP writes them. Nobody approves them one by one: they
/// are data, which a person or a program asks for by name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerContent {
    /// The digest of the target that listed them.
    pub target: String,
    /// The prompts.
    pub prompts: Vec<Map<String, Value>>,
    /// The resources.
    pub resources: Vec<Map<String, Value>>,
    /// The templates of resources.
    pub templates: Vec<Map<String, Value>>,
}

impl ServerContent {
    /// Returns true if the server lists nothing.
    pub fn is_empty(&self) -> bool {
        self.prompts.is_empty() && self.resources.is_empty() && self.templates.is_empty()
    }
}

/// A text of an entry of a list: its name, or its URI.
pub fn entry_text<'a>(entry: &'a Map<String, Value>, field: &str) -> &'a str {
    entry.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// The URI that names a resource together with its server.
pub fn full_uri(connection: &str, uri: &str) -> String {
    format!("{SCHEME}{connection}/{uri}")
}

/// The server and its own URI in a URI that names both.
pub fn split_full_uri(uri: &str) -> Option<(&str, &str)> {
    uri.strip_prefix(SCHEME)?.split_once('/')
}

#[cfg(test)]
mod tests {
    use super::{full_uri, split_full_uri};

    #[test]
    fn full_uri_leads_back_to_its_parts() {
        let full = full_uri("notes", "memo://insights/1?x=a/b");
        assert_eq!(full, "mcp:notes/memo://insights/1?x=a/b");
        assert_eq!(
            split_full_uri(&full),
            Some(("notes", "memo://insights/1?x=a/b"))
        );
        for other in ["memo://insights", "skill://a/b", "mcp:notes", ""] {
            assert_eq!(split_full_uri(other), None, "{other}");
        }
    }
}
