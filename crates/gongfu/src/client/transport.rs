//! The transport by which a client reaches gongfu, and the fields of entries that say so.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use crate::channel;

/// The address of `gongfu serve` without settings.
pub(crate) const DEFAULT_URL: &str = "http://127.0.0.1:7878/mcp";

/// The fields for an address, in the words of any client.
const URL_FIELDS: [&str; 4] = ["url", "serverUrl", "httpUrl", "uri"];

/// The hosts that no other machine can have.
const LOCAL: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// The way from a client to a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase", tag = "transport")]
pub(crate) enum Transport {
    /// The client starts a program.
    Stdio {
        command: String,
        arguments: Vec<String>,
    },
    /// The client calls a running server.
    Http { url: String },
}

impl Transport {
    /// The transport of an entry, in the words of any client.
    pub(super) fn from_entry(entry: &Value) -> Option<Self> {
        let words = |field: &str| -> Vec<String> {
            match entry.get(field) {
                Some(Value::String(word)) => vec![word.clone()],
                Some(Value::Array(words)) => {
                    let words = words.iter().filter_map(Value::as_str);
                    words.map(str::to_owned).collect()
                }
                _ => Vec::new(),
            }
        };
        let mut command = [words("command"), words("cmd")].concat();
        if !command.is_empty() {
            // opencode has the arguments in the same list.
            let arguments = [command.split_off(1), words("args")].concat();
            let command = command.pop()?;
            return Some(Self::Stdio { command, arguments });
        }
        let mut urls = URL_FIELDS.iter();
        let url = urls.find_map(|field| entry.get(field)?.as_str())?;
        Some(Self::Http {
            url: url.to_owned(),
        })
    }

    /// True for an address of this machine, whose server has the token of this home.
    pub(crate) fn is_local(&self) -> bool {
        let Self::Http { url } = self else {
            return false;
        };
        let authority = url.strip_prefix("http://").unwrap_or_default();
        let authority = authority.split('/').next().unwrap_or_default();
        LOCAL.iter().any(|host| {
            let port = authority.strip_prefix(host);
            port.is_some_and(|port| {
                let digits = port.strip_prefix(':').unwrap_or_default();
                port.is_empty() || digits.parse::<u16>().is_ok()
            })
        })
    }

    pub(crate) fn is_stdio(&self) -> bool {
        matches!(self, Self::Stdio { .. })
    }

    /// Recognises gongfu: a program of that name that serves MCP, or an address that ends
    /// like the one of `gongfu serve`.
    pub(super) fn is_gongfu(&self) -> bool {
        match self {
            Self::Stdio { command, arguments } => {
                let name = command.rsplit(['/', '\\']).next().unwrap_or_default();
                let own = if channel::is_launcher(name) {
                    let position = arguments
                        .iter()
                        .position(|word| word == "gongfu" || word.starts_with("gongfu@"));
                    position.and_then(|position| arguments.get(position + 1..))
                } else {
                    let is_own = name.to_ascii_lowercase().starts_with("gongfu");
                    is_own.then_some(arguments.as_slice())
                };
                own.and_then(<[String]>::first)
                    .is_some_and(|first| first == "mcp")
            }
            Self::Http { url } => url.ends_with("/mcp"),
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio { command, arguments } => {
                out.write_str(&quoted(command))?;
                for argument in arguments {
                    write!(out, " {}", quoted(argument))?;
                }
                Ok(())
            }
            Self::Http { url } => out.write_str(url),
        }
    }
}

fn quoted(word: &str) -> String {
    if word.is_empty() || word.contains(char::is_whitespace) {
        format!("{word:?}")
    } else {
        word.to_owned()
    }
}

/// True for a field that gongfu sets to its own value. All other fields are a person's.
fn is_own(field: &str) -> bool {
    matches!(field, "type" | "command" | "args" | "cmd") || URL_FIELDS.contains(&field)
}

/// True for a field that fits the transport. Some clients refuse an entry that has settings of a program
/// beside an address, or the other way round.
fn fits(field: &str, is_stdio: bool) -> bool {
    match field {
        "env" | "env_vars" | "envFile" | "environment" | "cwd" | "dev" | "sandboxEnabled" => {
            is_stdio
        }
        "headers"
        | "headersHelper"
        | "http_headers"
        | "env_http_headers"
        | "bearer_token"
        | "bearer_token_env_var"
        | "oauth"
        | "oauth_resource"
        | "auth"
        | "authProviderType"
        | "targetAudience"
        | "targetServiceAccount" => !is_stdio,
        _ => true,
    }
}

/// Updates an entry of gongfu's: a person's fields and switches stay, except those that don't fit
/// the new transport, which are named.
pub(super) fn merge(old: &Value, new: Value) -> (Value, Vec<String>) {
    let is_stdio = Transport::from_entry(&new).is_some_and(|new| new.is_stdio());
    let (Value::Object(old), Value::Object(new)) = (old, &new) else {
        return (new, Vec::new());
    };
    let mut merged = old.clone();
    merged.retain(|name, _| fits(name, is_stdio) && (new.contains_key(name) || !is_own(name)));
    for (name, value) in new {
        if is_own(name) || !merged.contains_key(name) {
            merged.insert(name.clone(), value.clone());
        }
    }
    let dropped = old.keys().filter(|name| !fits(name, is_stdio));
    (Value::Object(merged), dropped.cloned().collect())
}

/// True for an entry that is disabled.
pub(super) fn is_switched_off(entry: &Value) -> bool {
    let says = |name: &str, truth: bool| entry.get(name).and_then(Value::as_bool) == Some(truth);
    says("enabled", false) || says("disabled", true)
}
