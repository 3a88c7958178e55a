//! Tools of other MCP servers as entries of the catalog.

pub(crate) mod content;
mod large;

use std::sync::Arc;

use gongfu_core::capability::{Access, Origin};
use gongfu_core::connection::{ConnectionName, Definition, full_uri, permission, wire_name};
use gongfu_core::port::{PortError, ServerAnswer, ServerCall, ServerTools};
use serde_json::{Map, Value};

use crate::call::{Call, Event, Form, Proposal};
use crate::entry::Entry;
use crate::error::ToolError;
use crate::gate::{Answer, Review};
use crate::output::{Content, ToolResult};
use crate::problem::Problem;
use crate::tool::ToolSpec;

/// A tool of another server.
struct ForeignTool {
    spec: ToolSpec,
    connection: ConnectionName,
    /// Its name there.
    tool: String,
    /// The tokens of its description, about.
    tokens: usize,
}

impl ForeignTool {
    fn new(server: &ServerTools, definition: &Definition) -> Self {
        let connection = &server.connection;
        let spec = ToolSpec {
            name: wire_name(connection, &definition.name).into(),
            title: definition.title().into(),
            description: definition.description(),
            input_schema: Arc::new(input_schema(&definition.input_schema)),
            output_schema: definition.output_schema.clone().map(Arc::new),
            access: Access::Execute,
            destructive: definition.is_destructive && !definition.is_read_only,
            safety: definition.safety(server.safety),
            says_read_only: definition.is_read_only,
            person_only: false,
            ui: named_ui(connection, &definition.ui),
            origin: Origin::Server(connection.to_string()),
            permission: permission(connection, &definition.name).into(),
            definition: Some(definition.digest()),
            target: Some(server.target),
        };
        Self {
            tokens: spec.tokens(),
            spec,
            connection: connection.clone(),
            tool: definition.name.clone(),
        }
    }
}

/// A schema that clients take: an object, whatever the server forgot to say.
fn input_schema(schema: &Map<String, Value>) -> Map<String, Value> {
    let mut schema = schema.clone();
    schema
        .entry("type")
        .or_insert_with(|| Value::String("object".to_owned()));
    schema
}

/// The members that name a user interface, by the URI that it has here.
fn named_ui(connection: &ConnectionName, ui: &Map<String, Value>) -> Map<String, Value> {
    let rename = |uri: &mut Value| {
        if let Value::String(uri) = uri {
            *uri = full_uri(connection.as_str(), uri);
        }
    };
    let mut ui = ui.clone();
    if let Some(Value::Object(members)) = ui.get_mut("ui") {
        members.get_mut("resourceUri").map(rename);
    }
    ui.get_mut("ui/resourceUri").map(rename);
    ui
}

impl Review for ForeignTool {
    fn review<'a>(&'a self, _call: &'a Call) -> Answer<'a, Option<Proposal>> {
        // Its safety level decides.
        Box::pin(std::future::ready(Ok(None)))
    }
}

impl Entry for ForeignTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn tokens(&self) -> usize {
        self.tokens
    }

    fn run<'a>(&'a self, call: &'a Call) -> Answer<'a, ToolResult> {
        let (events, asking) = (call.events.clone(), call.events.clone());
        let asks = format!("{} asks: ", self.connection);
        let foreign = ServerCall {
            connection: self.connection.clone(),
            tool: self.tool.clone(),
            arguments: (*call.arguments).clone(),
            trace: call.trace.clone(),
            progress: Arc::new(move |progress| events.send(Event::Progress(&progress))),
            ask: Arc::new(move |mut question| {
                let events = asking.clone();
                // The person must know that it isn't gongfu, nor their own client, who asks: in each line.
                if let Some(Value::String(message)) = question.get_mut("message") {
                    let lines: Vec<&str> = message.trim_end().split(['\n', '\r']).collect();
                    *message = format!("{asks}{}", lines.join("\n> "));
                }
                Box::pin(async move { Ok(events.elicit(question).await) })
            }),
        };
        Box::pin(async move {
            let answer = call.space.servers().call(foreign).await;
            let answer = answer.map_err(|error| refusal(&self.connection, &error, call))?;
            let has_schema = self.spec.output_schema.is_some() && call.form == Form::Direct;
            Ok(large::fitted(result(answer), call, has_schema).await)
        })
    }
}

/// The answer as it goes on.
fn result(answer: ServerAnswer) -> ToolResult {
    let content = answer.content.into_iter();
    let content = content.map(|block| match block.get("type").and_then(Value::as_str) {
        Some("text") if block.as_object().is_some_and(|block| block.len() == 2) => Content::text(
            block
                .get("text")
                .and_then(Value::as_str)
                .unwrap_or_default(),
        ),
        _ => Content::Foreign(block),
    });
    ToolResult {
        content: content.collect(),
        structured_content: answer.structured,
        is_error: answer.is_error,
        meta: answer.meta,
    }
}

/// Why a connection can't be used by a call.
pub(crate) fn refusal(connection: &ConnectionName, error: &PortError, call: &Call) -> ToolError {
    Problem::of_server(connection.as_str(), error, call.space.has_account()).error()
}

/// The entries of a server's tools.
pub(crate) fn entries(server: &ServerTools) -> Vec<Arc<dyn Entry>> {
    let tools = server.definitions.iter();
    let tools = tools.map(|tool| ForeignTool::new(server, tool));
    tools.map(|tool| Arc::new(tool) as Arc<dyn Entry>).collect()
}
