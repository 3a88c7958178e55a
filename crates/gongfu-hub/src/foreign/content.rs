//! Prompts and resources of other MCP servers: their names here, and the server that one belongs to.

use std::collections::{BTreeMap, BTreeSet};

use gongfu_core::connection::{
    ConnectionName, SEPARATOR, entry_text, full_uri, is_skill_uri, names_server, split_full_uri,
    wire_name,
};
use gongfu_core::port::{ServerContents, ServerMethod};
use serde_json::{Map, Value};

/// An entry of a list, as MCP writes it.
pub type ContentEntry = Map<String, Value>;

/// Something that a client asks for, which another server may have.
#[derive(Debug, Clone)]
pub enum ContentRequest {
    /// A prompt, by the name that it has here.
    Prompt {
        /// The name.
        name: String,
        /// The arguments.
        arguments: Map<String, Value>,
    },
    /// A resource, by its URI.
    Resource {
        /// The URI: that of its server, or one that names the server as well.
        uri: String,
    },
    /// A completion: the parameters of the request, whose `ref` names a prompt or a template.
    Completion {
        /// The parameters.
        params: Map<String, Value>,
    },
}

/// A request to the server that has what was asked for.
pub(crate) struct ServerTarget<'a> {
    pub(crate) server: &'a ServerContents,
    pub(crate) method: ServerMethod,
    /// The parameters in the server's own names.
    pub(crate) params: Map<String, Value>,
}

impl ContentRequest {
    /// Returns true if another server may have it: gongfu's own things are named otherwise.
    pub fn may_be_foreign(&self) -> bool {
        let is_prompt = |name: &str| name.contains(SEPARATOR);
        match self {
            Self::Prompt { name, .. } => is_prompt(name),
            Self::Resource { uri } => !is_skill_uri(uri),
            Self::Completion { params } => {
                let about = params.get("ref").and_then(Value::as_object);
                about.is_some_and(|about| {
                    let uri = entry_text(about, "uri");
                    is_prompt(entry_text(about, "name")) || (!uri.is_empty() && !is_skill_uri(uri))
                })
            }
        }
    }

    /// The server that has it, among these.
    pub(crate) fn find<'a>(&self, all: &'a [ServerContents]) -> Option<ServerTarget<'a>> {
        let (server, method, params) = match self {
            Self::Prompt { name, arguments } => {
                let (server, own) = prompt_named(all, name)?;
                let mut params = Map::from_iter([("name".to_owned(), own.into())]);
                params.insert("arguments".to_owned(), arguments.clone().into());
                (server, ServerMethod::GetPrompt, params)
            }
            Self::Resource { uri } => {
                let (server, own) = resource_at(all, uri)?;
                let params = Map::from_iter([("uri".to_owned(), own.into())]);
                (server, ServerMethod::ReadResource, params)
            }
            Self::Completion { params } => {
                let about = params.get("ref")?.as_object()?;
                let is_prompt = entry_text(about, "type") == "ref/prompt";
                let (field, (server, own)) = if is_prompt {
                    ("name", prompt_named(all, entry_text(about, "name"))?)
                } else {
                    ("uri", template_of(all, entry_text(about, "uri"))?)
                };
                let mut about = about.clone();
                about.insert(field.to_owned(), own.into());
                let mut params = params.clone();
                params.insert("ref".to_owned(), about.into());
                (server, ServerMethod::Complete, params)
            }
        };
        Some(ServerTarget {
            server,
            method,
            params,
        })
    }
}

/// The prompts by the names that they have here. Of two that would have the same, none is listed: which of them a client
/// means can't be told.
pub(crate) fn prompts(all: &[ServerContents]) -> BTreeMap<String, ContentEntry> {
    let prompts = all.iter().flat_map(|server| {
        let prompts = server.content.prompts.iter();
        prompts.map(|prompt| (prompt_name(&server.connection, prompt), prompt))
    });
    let (mut listed, mut twice) = (BTreeMap::new(), BTreeSet::new());
    for (name, prompt) in prompts {
        let mut prompt = prompt.clone();
        prompt.insert("name".to_owned(), name.clone().into());
        if listed.insert(name.clone(), prompt).is_some() {
            twice.insert(name);
        }
    }
    listed.retain(|name, _| !twice.contains(name));
    listed
}

/// The resources by URI, or the templates: one that several servers have is listed with its server, and so is a user
/// interface.
pub(crate) fn resources(
    all: &[ServerContents],
    kind: ResourceKind,
) -> BTreeMap<String, ContentEntry> {
    let mut owners: BTreeMap<&str, BTreeSet<&ConnectionName>> = BTreeMap::new();
    for server in all {
        for uri in kind.uris(server) {
            owners.entry(uri).or_default().insert(&server.connection);
        }
    }
    let mut listed = BTreeMap::new();
    for server in all {
        for entry in kind.of(server) {
            let own = entry_text(entry, kind.field());
            let is_shared = owners.get(own).is_some_and(|owners| owners.len() > 1);
            let uri = if is_shared || names_server(own) {
                full_uri(server.connection.as_str(), own)
            } else {
                own.to_owned()
            };
            let mut entry = entry.clone();
            entry.insert(kind.field().to_owned(), uri.clone().into());
            listed.insert(uri, entry);
        }
    }
    listed
}

/// A list of things with URIs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResourceKind {
    Resource,
    Template,
}

impl ResourceKind {
    /// The member that holds the URI.
    fn field(self) -> &'static str {
        match self {
            Self::Resource => "uri",
            Self::Template => "uriTemplate",
        }
    }

    fn of(self, server: &ServerContents) -> &[ContentEntry] {
        match self {
            Self::Resource => &server.content.resources,
            Self::Template => &server.content.templates,
        }
    }

    fn uris(self, server: &ServerContents) -> impl Iterator<Item = &str> {
        let entries = self.of(server).iter();
        entries.map(move |entry| entry_text(entry, self.field()))
    }
}

fn prompt_name(connection: &ConnectionName, prompt: &ContentEntry) -> String {
    wire_name(connection, entry_text(prompt, "name"))
}

/// The only one that there is.
fn only<T>(mut all: impl Iterator<Item = T>) -> Option<T> {
    let first = all.next()?;
    all.next().is_none().then_some(first)
}

/// The server of a prompt, and the name of the prompt there.
fn prompt_named<'a>(all: &'a [ServerContents], name: &str) -> Option<(&'a ServerContents, String)> {
    only(all.iter().flat_map(|server| {
        let prompts = server.content.prompts.iter();
        let named = prompts.filter(|prompt| prompt_name(&server.connection, prompt) == name);
        named.map(move |prompt| (server, entry_text(prompt, "name").to_owned()))
    }))
}

/// The server that a URI names, and its own URI.
fn named_server<'a>(all: &'a [ServerContents], uri: &str) -> Option<(&'a ServerContents, String)> {
    let (name, own) = split_full_uri(uri)?;
    let mut all = all.iter();
    let server = all.find(|server| server.connection.as_str() == name)?;
    Some((server, own))
}

/// The only server that lists a URI.
fn listing_server<'a>(
    all: &'a [ServerContents],
    kind: ResourceKind,
    uri: &str,
) -> Option<(&'a ServerContents, String)> {
    let server = only(
        all.iter()
            .filter(|server| kind.uris(server).any(|own| own == uri)),
    )?;
    Some((server, uri.to_owned()))
}

/// The server of a resource, and its URI there: the one that the URI names, that lists it, or whose template it fits best.
fn resource_at<'a>(all: &'a [ServerContents], uri: &str) -> Option<(&'a ServerContents, String)> {
    if is_skill_uri(uri) {
        return None;
    }
    if names_server(uri) {
        return named_server(all, uri);
    }
    listing_server(all, ResourceKind::Resource, uri).or_else(|| {
        let lists =
            |server: &&ServerContents| ResourceKind::Resource.uris(server).any(|own| own == uri);
        // Of several that list it, none is meant more than another.
        if all.iter().any(|server| lists(&server)) {
            return None;
        }
        let fits = |server: &ServerContents| {
            let templates = ResourceKind::Template.uris(server);
            templates.filter_map(|template| fit(template, uri)).max()
        };
        let best = all.iter().filter_map(fits).max()?;
        let server = only(all.iter().filter(|server| fits(server) == Some(best)))?;
        Some((server, uri.to_owned()))
    })
}

/// The server of a template, and the template there.
fn template_of<'a>(all: &'a [ServerContents], uri: &str) -> Option<(&'a ServerContents, String)> {
    if names_server(uri) {
        return named_server(all, uri);
    }
    listing_server(all, ResourceKind::Template, uri)
}

/// The length of the fixed start of a template, where a URI has it: at least its scheme.
fn fit(template: &str, uri: &str) -> Option<usize> {
    let start = template.split('{').next().unwrap_or_default();
    (start.contains(':') && uri.len() > start.len() && uri.starts_with(start))
        .then_some(start.len())
}

#[cfg(test)]
mod tests;
