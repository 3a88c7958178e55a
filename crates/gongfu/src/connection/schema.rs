//! The form of gongfu's own file of connections, for editors. Clients' words for the same things are read as well, and
//! aren't in it.

use std::collections::BTreeMap;

use schemars::JsonSchema;

/// Connections to other MCP servers.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct File {
    /// The connections, by name.
    connections: BTreeMap<String, Entry>,
}

/// A connection: a command, or an address.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
struct Entry {
    /// The program that is the server. `${NAME}` and `${NAME:-default}` stand for variables, here and below.
    command: Option<String>,
    /// Its arguments.
    args: Option<Vec<String>>,
    /// Its variables, besides those that every server has, such as `PATH` and `HOME`.
    env: Option<BTreeMap<String, String>>,
    /// The folder that it starts in; else your home folder.
    workdir: Option<String>,
    /// Run it in the sandbox: with nothing of yours, or with these folders and hosts.
    sandbox: Option<Sandbox>,
    /// The address of a server that speaks Streamable HTTP.
    url: Option<String>,
    /// The headers of each request.
    headers: Option<BTreeMap<String, String>>,
    /// Let a name in the address lead to this machine or its network.
    private: Option<bool>,
    /// The client as which you are registered there.
    oauth: Option<OAuth>,
    /// The least safety level of its tools; from `HIGH` on each call is approved.
    safety: Option<Level>,
    /// The only tools that are offered.
    tools: Option<Vec<String>>,
    /// Let all of your clients use one server. With `false` each client over standard input and output has its own.
    shared: Option<bool>,
    /// Use it. A connection that isn't used stays in the file.
    enabled: Option<bool>,
}

/// The sandbox of a program.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum Sandbox {
    /// A sandbox with nothing of yours in it, or none.
    Plain(bool),
    /// A sandbox with these folders and hosts.
    With(Confinement),
}

/// The folders and hosts that a program in the sandbox gets.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
struct Confinement {
    /// Folders that it reads, at their own paths: absolute, or below `~/`.
    read: Option<Vec<String>>,
    /// Folders that it writes as well.
    write: Option<Vec<String>>,
    /// Hosts that it reaches by TLS, such as `api.example.com`, `*.example.com` or `example.com:8443`.
    hosts: Option<Vec<String>>,
}

/// A client that is registered at an authorization server.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
struct OAuth {
    /// Its id, or the `https` address of the document that describes it.
    client_id: Option<String>,
    /// Its secret.
    client_secret: Option<String>,
    /// The scopes to ask for; else those that the server names.
    scopes: Option<Vec<String>>,
    /// The port of this machine that the browser comes back to; else any.
    callback_port: Option<u16>,
}

/// A safety level.
#[derive(JsonSchema)]
#[schemars(rename_all = "UPPERCASE")]
#[expect(dead_code, reason = "only its schema is used")]
enum Level {
    Low,
    Medium,
    High,
    Critical,
}

#[cfg(test)]
mod tests {
    use gongfu_core::connection::{FileKind, read};
    use schemars::schema_for;
    use serde_json::{Value, json};

    use super::File;
    use crate::connection::file::entry;

    fn has(schema: &Value, name: &str, members: &Value) {
        let known = &schema["$defs"][name]["properties"];
        for member in members.as_object().unwrap().keys() {
            assert!(known.get(member).is_some(), "{name} has no `{member}`");
        }
    }

    #[test]
    fn all_that_is_written_is_in_the_schema() {
        let file = json!({ "connections": {
            "one": {
                "command": "uvx", "args": ["mcp-server-git"], "env": { "A": "b" }, "workdir": "/tmp",
                "sandbox": true, "safety": "HIGH", "tools": ["log"], "shared": false,
            },
            "three": {
                "command": "uvx", "args": [],
                "sandbox": { "read": ["/srv/a"], "write": ["/srv/b"], "hosts": ["a.example", "*.b.example:8443"] },
            },
            "two": {
                "url": "https://mcp.example.com", "headers": { "A": "b" }, "private": true,
                "oauth": { "client_id": "a", "client_secret": "b", "scopes": ["c"], "callback_port": 1 },
            },
        } });
        let schema = serde_json::to_value(schema_for!(File)).unwrap();
        let reading = read(&file, FileKind::Client);
        assert_eq!((reading.entries.len(), reading.mistakes.len()), (3, 0));
        for one in reading.entries {
            let written = entry(&one.connection);
            let name = one.connection.name.as_str();
            // All of the example is read, and all that is read is written.
            assert_eq!(written, file["connections"][name], "{name}");
            has(&schema, "Entry", &written);
            if let Some(sandbox) = written.get("sandbox").filter(|one| one.is_object()) {
                has(&schema, "Confinement", sandbox);
            }
            if let Some(client) = written.get("oauth") {
                has(&schema, "OAuth", client);
            }
        }
    }
}
