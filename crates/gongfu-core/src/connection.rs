//! Connections: other MCP servers, as a person declares them (spec, "Connections").
//!
//! Starts nothing and connects to nothing; [`crate::port::Servers`] does.

mod confinement;
mod content;
mod definition;
mod health;
mod name;
mod pin;
mod reading;
mod secret;
mod skill;
mod skill_pin;
mod variable;

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Value, json};

use secret::{is_rotated, is_secret};

pub use confinement::{Confinement, sandbox_folder};
pub use content::{
    ServerContent, entry_text, full_uri, is_skill_uri, may_be_listed, names_server, split_full_uri,
};
pub use definition::{Definition, Difference, MAX_DEFINITION, UI_EXTENSION, is_for_ui_alone};
pub use health::{Fault, Health, Outcome, State};
pub use name::{ConnectionName, ConnectionNameError, SEPARATOR, permission, wire_name};
pub use pin::{ConnectionPin, PinnedTool, Verdict};
pub use reading::{Entry, FileKind, Mistake, Reading, read};
pub use skill::{LeftOut, OfferedFile, OfferedSkill, SkillList, SkillOffer, same_fields};
pub use skill_pin::{PinnedSkill, SkillPin, SkillVerdict};
pub use variable::{MissingVariable, expand};

use crate::capability::Safety;
use crate::skill::Digest;
use crate::text::visible;

/// Another MCP server, and the tools of it that are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connection {
    /// Its name.
    pub name: ConnectionName,
    /// The way to it.
    pub target: Target,
    /// The least safety level of its tools; `None` for the default.
    pub safety: Option<Safety>,
    /// The only tools that are offered; `None` for all.
    pub tools: Option<Vec<String>>,
    /// True if all clients of the person may use one server; else each has a server of its own.
    pub is_shared: bool,
}

/// The way to a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A program that speaks over its standard input and output.
    Program(Program),
    /// An address that speaks Streamable HTTP.
    Url(Url),
}

/// A program that is a server.
#[derive(Clone, PartialEq, Eq)]
pub struct Program {
    /// The program, by path or looked for in `PATH`.
    pub command: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its environment, besides what every server has.
    pub environment: BTreeMap<String, String>,
    /// The folder that it starts in; `None` for the person's home.
    pub folder: Option<String>,
    /// Its sandbox; `None` where it runs as the person.
    pub sandbox: Option<Confinement>,
}

/// The address of a server.
#[derive(Clone, PartialEq, Eq)]
pub struct Url {
    /// The endpoint: `https`, or `http`.
    pub url: String,
    /// The headers of each request.
    pub headers: BTreeMap<String, String>,
    /// True if it may be on this machine or its network.
    pub is_private: bool,
    /// The client as which gongfu signs in there; `None` for one that it registers itself.
    pub client: Option<OAuthClient>,
}

/// gongfu as a client of an authorization server.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct OAuthClient {
    /// Its id, or the `https` address of a document that describes it; empty for one that registers itself.
    pub id: String,
    /// Its secret, if it has one.
    pub secret: Option<String>,
    /// The scopes to ask for; none for those that the server names.
    pub scopes: Vec<String>,
    /// The port of this machine that the browser comes back to; `None` for any.
    pub port: Option<u16>,
}

impl Program {
    /// All that its sandbox shows: the folder that it starts in is read as well.
    pub fn confinement(&self) -> Option<Confinement> {
        let mut sandbox = self.sandbox.clone()?;
        sandbox.read.extend(self.folder.clone());
        Some(sandbox)
    }
}

impl fmt::Debug for OAuthClient {
    /// Without the secret.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("OAuthClient")
            .field("id", &self.id)
            .field("scopes", &self.scopes)
            .field("port", &self.port)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Program {
    /// Without values of the environment: they may be secrets.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.environment.keys().collect();
        formatter
            .debug_struct("Program")
            .field("command", &self.command)
            .field("arguments", &self.arguments)
            .field("environment", &names)
            .field("folder", &self.folder)
            .field("sandbox", &self.sandbox)
            .finish()
    }
}

impl fmt::Debug for Url {
    /// Without values of headers: they may be secrets.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.headers.keys().collect();
        formatter
            .debug_struct("Url")
            .field("url", &self.url)
            .field("headers", &names)
            .field("is_private", &self.is_private)
            .field("client", &self.client)
            .finish()
    }
}

impl Target {
    /// Everything that a person approves, a line each: all that decides what is started or contacted. Secrets are
    /// named, and their values left out.
    pub fn lines(&self) -> Vec<String> {
        match self {
            Self::Program(program) => {
                let mut lines = vec![format!("command: {}", shown(&program.command))];
                let arguments = secret::masked_arguments(&program.arguments);
                lines.extend(arguments.map(|word| format!("argument: {}", shown(&word))));
                lines.extend(program.environment.iter().map(|(name, value)| {
                    let value = if is_secret(name) {
                        secret::MASK.to_owned()
                    } else {
                        shown(&secret::masked_address(value))
                    };
                    format!("variable: {}={value}", shown(name))
                }));
                let folder = program.folder.iter();
                lines.extend(folder.map(|folder| format!("folder: {}", shown(folder))));
                lines.extend(match &program.sandbox {
                    Some(sandbox) => sandbox.lines(),
                    None => vec!["runs as you, without a sandbox".to_owned()],
                });
                lines
            }
            Self::Url(url) => {
                let mut lines = vec![format!("url: {}", shown(&secret::masked_address(&url.url)))];
                let names = url.headers.keys();
                lines.extend(names.map(|name| format!("header: {}: (a secret)", shown(name))));
                if url.is_private {
                    lines.push("may be on this machine or its network".to_owned());
                }
                if let Some(client) = &url.client {
                    let id = (!client.id.is_empty())
                        .then(|| format!("signs in as: {}", shown(&client.id)));
                    lines.extend(id);
                    let scopes = client.scopes.iter();
                    lines.extend(
                        scopes.map(|scope| format!("asks for the scope: {}", shown(scope))),
                    );
                }
                lines
            }
        }
    }

    /// The digest of what a person approves. Another secret needs no new approval.
    pub fn digest(&self) -> Digest {
        Digest::of(self.decides().to_string().as_bytes())
    }

    /// All that decides what is started or contacted, as it is: lines for people could be the same for two.
    fn decides(&self) -> Value {
        match self {
            Self::Program(program) => {
                let variables = program.environment.iter();
                let variables =
                    variables.map(|(name, value)| (name, (!is_rotated(name)).then_some(value)));
                json!({
                    "command": program.command,
                    "arguments": program.arguments,
                    "environment": variables.collect::<BTreeMap<_, _>>(),
                    "folder": program.folder,
                    "sandbox": program.sandbox.as_ref().map(Confinement::decides),
                })
            }
            Self::Url(url) => json!({
                "url": url.url,
                "headers": url.headers.keys().collect::<Vec<_>>(),
                "private": url.is_private,
                "client": url.client.as_ref().map(|client| json!([client.id, client.scopes])),
            }),
        }
    }
}

/// A text in one line, for people.
fn shown(text: &str) -> String {
    visible(text).replace('\n', "\\n")
}

#[cfg(test)]
mod tests;
