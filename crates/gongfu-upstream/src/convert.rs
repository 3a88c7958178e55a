//! The protocol's types as those of the core.

use gongfu_core::connection::{Definition, MAX_DEFINITION};
use gongfu_core::port::ServerAnswer;
use rmcp::model::{CallToolResult, MetaObject, Tool};
use serde_json::{Map, Value};

/// The longest description of a tool's user interface, in bytes of JSON.
const MAX_UI: usize = 4 * 1024;

/// The definition of a tool; why it can't be used, where it can't.
pub(crate) fn definition(tool: &Tool) -> Result<Definition, String> {
    let annotations = tool.annotations.clone().unwrap_or_default();
    let is_read_only = annotations.read_only_hint == Some(true);
    let definition = Definition {
        name: tool.name.to_string(),
        title: tool.title.clone().or(annotations.title.clone()),
        description: tool.description.as_deref().unwrap_or_default().to_owned(),
        input_schema: (*tool.input_schema).clone(),
        output_schema: tool.output_schema.as_deref().cloned(),
        is_read_only,
        // By the protocol a tool that doesn't say so may destroy something; most that don't are harmless.
        is_destructive: annotations.destructive_hint == Some(true),
        ui: ui(tool.meta.as_ref()),
    };
    let length = serde_json::to_vec(&definition).map_or(usize::MAX, |bytes| bytes.len());
    if definition.name.is_empty() || definition.name.chars().count() > 256 {
        return Err("its name is empty, or too long".to_owned());
    }
    if length > MAX_DEFINITION {
        return Err(format!("its definition has {length} bytes"));
    }
    Ok(definition)
}

/// The members of a tool's `_meta` that name its user interface: `ui`, and `ui/resourceUri` of its first draft. None of
/// them if they are too long for a name.
fn ui(meta: Option<&MetaObject>) -> Map<String, Value> {
    let members = meta.into_iter().flat_map(|meta| &meta.0);
    let ui: Map<String, Value> = members
        .filter(|(name, _)| matches!(name.as_str(), "ui" | "ui/resourceUri"))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let length = serde_json::to_vec(&ui).map_or(usize::MAX, |bytes| bytes.len());
    if length > MAX_UI {
        tracing::warn!("a user interface is left out: its `_meta` has {length} bytes");
        return Map::new();
    }
    ui
}

/// Returns true if the protocol keeps a member of `_meta` for itself, between us and the server.
fn is_reserved(name: &str) -> bool {
    let (prefix, _) = name.split_once('/').unwrap_or_default();
    let label = prefix.split('.').nth(1);
    matches!(label, Some("modelcontextprotocol" | "mcp")) || name == "progressToken"
}

/// The answer of a tool.
pub(crate) fn answer(result: CallToolResult) -> ServerAnswer {
    let content = result.content.iter();
    let meta = result.meta.into_iter().flat_map(|meta| meta.0);
    ServerAnswer {
        content: content
            .filter_map(|block| serde_json::to_value(block).ok())
            .collect(),
        structured: result.structured_content.filter(Value::is_object),
        is_error: result.is_error == Some(true),
        meta: meta.filter(|(name, _)| !is_reserved(name)).collect(),
    }
}
