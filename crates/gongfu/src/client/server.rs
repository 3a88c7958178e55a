//! How a client reaches gongfu, and what of that stands in an entry, whoever wrote it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Where `gongfu serve` listens unless it is told otherwise.
pub(crate) const DEFAULT_URL: &str = "http://127.0.0.1:7878/mcp";

/// The fields that say how a server is reached; they are gongfu's, all others are a person's, and so
/// is the switch that turns an entry off.
const OWN: [&str; 8] = [
    "type",
    "command",
    "args",
    "cmd",
    "url",
    "serverUrl",
    "httpUrl",
    "uri",
];

/// What says more of a program that is started, in the words of any client.
const OF_PROGRAMS: [&str; 7] = [
    "env",
    "env_vars",
    "envFile",
    "environment",
    "cwd",
    "dev",
    "sandboxEnabled",
];
/// What says more of an address. Clients refuse a file that has either beside the other.
const OF_ADDRESSES: [&str; 12] = [
    "headers",
    "headersHelper",
    "http_headers",
    "env_http_headers",
    "bearer_token",
    "bearer_token_env_var",
    "oauth",
    "oauth_resource",
    "auth",
    "authProviderType",
    "targetAudience",
    "targetServiceAccount",
];

/// How a client reaches a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "transport")]
pub(crate) enum Server {
    /// The client starts it.
    Stdio {
        /// The program.
        command: String,
        /// What is passed on to it.
        arguments: Vec<String>,
    },
    /// It runs already.
    Http {
        /// Its endpoint.
        url: String,
    },
}

impl Server {
    /// What an entry says, in the words of any client.
    pub(super) fn read(entry: &Value) -> Option<Self> {
        let texts = |value: &Value| -> Vec<String> {
            let items = value.as_array().into_iter().flatten();
            items.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let url = ["url", "serverUrl", "httpUrl", "uri"]
            .into_iter()
            .find_map(|name| entry.get(name)?.as_str());
        let mut arguments = entry.get("args").map(texts).unwrap_or_default();
        let command = match entry.get("command").or_else(|| entry.get("cmd")) {
            Some(Value::String(command)) => Some(command.clone()),
            Some(list @ Value::Array(_)) => {
                let mut words = texts(list);
                if words.is_empty() {
                    None
                } else {
                    let command = words.remove(0);
                    words.append(&mut arguments);
                    arguments = words;
                    Some(command)
                }
            }
            _ => None,
        };
        match (command, url) {
            (Some(command), _) => Some(Self::Stdio { command, arguments }),
            (None, Some(url)) => Some(Self::Http {
                url: url.to_owned(),
            }),
            (None, None) => None,
        }
    }

    /// Whether it looks like gongfu: a program of that name that serves, or its usual address.
    pub(super) fn is_gongfu(&self) -> bool {
        match self {
            Self::Stdio { command, arguments } => {
                let name = command.rsplit(['/', '\\']).next().unwrap_or_default();
                let stem = name.strip_suffix(".exe").unwrap_or(name);
                stem.eq_ignore_ascii_case("gongfu")
                    && arguments.first().is_some_and(|first| first == "mcp")
            }
            Self::Http { url } => url == DEFAULT_URL,
        }
    }

    /// What is started or called, for people.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Stdio { command, arguments } => {
                let words = std::iter::once(command).chain(arguments);
                let words: Vec<String> = words
                    .map(|word| {
                        if word.is_empty() || word.contains(char::is_whitespace) {
                            format!("{word:?}")
                        } else {
                            word.clone()
                        }
                    })
                    .collect();
                words.join(" ")
            }
            Self::Http { url } => url.clone(),
        }
    }
}

/// An entry brought up to date: what is gongfu's is as in `new`, what a person added stays, but for
/// what makes no sense any more where a program becomes an address or the other way round; those
/// names are told.
pub(super) fn merged(old: &Value, new: &Value) -> (Value, Vec<String>) {
    let becomes = Server::read(new);
    let senseless: &[&str] = match &becomes {
        Some(Server::Stdio { .. }) => &OF_ADDRESSES,
        Some(Server::Http { .. }) => &OF_PROGRAMS,
        None => &[],
    };
    let (Value::Object(old), Value::Object(new)) = (old, new) else {
        return (new.clone(), Vec::new());
    };
    let mut left_out = Vec::new();
    let mut merged: Map<String, Value> = Map::new();
    for (name, value) in old {
        if new.contains_key(name) {
            merged.insert(name.clone(), value.clone());
        } else if senseless.contains(&name.as_str()) {
            left_out.push(name.clone());
        } else if !OWN.contains(&name.as_str()) {
            merged.insert(name.clone(), value.clone());
        }
    }
    for (name, value) in new {
        if OWN.contains(&name.as_str()) || !merged.contains_key(name) {
            merged.insert(name.clone(), value.clone());
        }
    }
    (Value::Object(merged), left_out)
}

/// Whether an entry is there and switched off.
pub(super) fn switched_off(entry: &Value) -> bool {
    let says = |name: &str, truth: bool| entry.get(name).and_then(Value::as_bool) == Some(truth);
    says("enabled", false) || says("disabled", true)
}
