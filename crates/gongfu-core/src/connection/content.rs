//! The prompts and resources of a server, as it lists them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::text::visible;

/// The scheme of gongfu's own resources: the files of skills, which no other server answers for.
const SKILL_SCHEME: &str = "skill";
/// The scheme of the URI that names a resource with its server: `mcp:<connection>/<uri>`.
const SERVER_SCHEME: &str = "mcp";
/// The scheme of user interfaces (MCP Apps). Clients insist on it, and servers need not list them: so each names its
/// server, `ui://<connection>/<rest>`.
const UI_SCHEME: &str = "ui";

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

/// A text of an entry of a list: its name, or its URI.
pub fn entry_text<'a>(entry: &'a Map<String, Value>, field: &str) -> &'a str {
    entry.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// The scheme of a URI as parsers read it: in small letters, without the blanks and control characters that they drop.
/// Empty for a text without one.
fn scheme(uri: &str) -> String {
    let (scheme, _) = uri.split_once(':').unwrap_or_default();
    let kept = scheme.chars().filter(|character| *character > ' ');
    kept.collect::<String>().to_lowercase()
}

/// Returns true if no other server can have a resource of this URI: it is a file of a skill.
pub fn is_skill_uri(uri: &str) -> bool {
    scheme(uri) == SKILL_SCHEME
}

/// Returns true if a URI names its server: no server lists it by itself.
pub fn names_server(uri: &str) -> bool {
    matches!(&*scheme(uri), SERVER_SCHEME | UI_SCHEME)
}

/// Returns true if a server may list this URI as its own. One with hidden characters can't be asked for as it is shown.
pub fn may_be_listed(uri: &str) -> bool {
    let is_plain = !uri.is_empty() && !uri.contains(['\n', '\t']) && visible(uri) == uri;
    is_plain && !matches!(&*scheme(uri), SKILL_SCHEME | SERVER_SCHEME)
}

/// The URI that names a resource together with its server.
pub fn full_uri(connection: &str, uri: &str) -> String {
    match uri.strip_prefix("ui://") {
        Some(rest) => format!("ui://{connection}/{rest}"),
        None => format!("{SERVER_SCHEME}:{connection}/{uri}"),
    }
}

/// The server and its own URI in a URI that names both.
pub fn split_full_uri(uri: &str) -> Option<(&str, String)> {
    if let Some(rest) = uri.strip_prefix("ui://") {
        let (connection, rest) = rest.split_once('/')?;
        return Some((connection, format!("ui://{rest}")));
    }
    let rest = uri.strip_prefix(SERVER_SCHEME)?.strip_prefix(':')?;
    let (connection, own) = rest.split_once('/')?;
    may_be_listed(own).then(|| (connection, own.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::{full_uri, is_skill_uri, may_be_listed, split_full_uri};

    #[test]
    fn full_uri_leads_back_to_its_parts() {
        let full = full_uri("notes", "memo://insights/1?x=a/b");
        assert_eq!(full, "mcp:notes/memo://insights/1?x=a/b");
        assert_eq!(
            split_full_uri(&full),
            Some(("notes", "memo://insights/1?x=a/b".to_owned()))
        );
        let full = full_uri("notes", "ui://list/a.html");
        assert_eq!(full, "ui://notes/list/a.html");
        assert_eq!(
            split_full_uri(&full),
            Some(("notes", "ui://list/a.html".to_owned()))
        );
        for other in [
            "memo://insights",
            "skill://a/b",
            "mcp:notes",
            "mcp:notes/skill://a/SKILL.md",
            "mcp:notes/mcp:other/memo://a",
            "MCP:notes/memo://a",
            "ui://notes",
            "",
        ] {
            assert_eq!(split_full_uri(other), None, "{other}");
        }
    }

    #[test]
    fn scheme_is_read_as_parsers_do() {
        for uri in [
            "skill://a/SKILL.md",
            "SKILL://a",
            " Skill:a",
            "sk\till://a",
            "\u{1}skill://a",
        ] {
            assert!(is_skill_uri(uri), "{uri:?}");
            assert!(!may_be_listed(uri), "{uri:?}");
        }
        for uri in ["skills://a", "memo:skill:", "a", "/skill/a"] {
            assert!(!is_skill_uri(uri), "{uri:?}");
            assert!(may_be_listed(uri), "{uri:?}");
        }
        for uri in ["Mcp:a/b", "", "memo://a\u{202e}", "memo://\n"] {
            assert!(!may_be_listed(uri), "{uri:?}");
        }
    }
}
