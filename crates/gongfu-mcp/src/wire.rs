//! From the catalog's types to those of the wire.

use std::sync::Arc;

use gongfu_core::capability::Access;
use gongfu_hub::{Content, ErrorCode, ToolError, ToolResult, ToolSpec};
use rmcp::model::{
    CallToolResult, ContentBlock, ErrorData, MetaObject, ResourceContents, Tool, ToolAnnotations,
};
use serde::Deserialize as _;
use serde_json::Value;

use crate::client_limits::ClientLimits;

/// The member of a tool's `_meta` by which Claude Code shows it to the model without being asked.
const AT_ONCE: &str = "anthropic/alwaysLoad";

/// A tool as `tools/list` shows it.
pub(crate) fn tool(spec: ToolSpec, limits: ClientLimits) -> Tool {
    let reads = spec.access == Access::Read || spec.says_read_only;
    let annotations = ToolAnnotations::with_title(spec.title.to_string())
        .read_only(reads)
        .destructive(spec.destructive)
        .idempotent(reads)
        .open_world(spec.access == Access::Execute);
    let mut tool = Tool::new(
        spec.name.to_string(),
        spec.description,
        Arc::clone(&spec.input_schema),
    )
    .with_title(spec.title.to_string())
    .with_annotations(annotations);
    if limits.wants_at_once(&spec.name) {
        let mut meta = MetaObject::new();
        meta.0.insert(AT_ONCE.to_owned(), true.into());
        tool.meta = Some(meta);
    }
    if !spec.ui.is_empty() {
        let meta = tool.meta.get_or_insert_with(MetaObject::new);
        meta.0.extend(spec.ui);
    }
    match spec.output_schema {
        Some(schema) => tool.with_raw_output_schema(schema),
        None => tool,
    }
}

/// The answer of a call; text of documents is sent once, as content.
pub(crate) fn result(result: ToolResult) -> CallToolResult {
    let mut wire = CallToolResult::success(result.content.into_iter().map(content).collect());
    wire.structured_content = result.structured_content;
    wire.is_error = Some(result.is_error);
    wire.meta = (!result.meta.is_empty()).then_some(MetaObject(result.meta));
    wire
}

/// A failed call as a result that the model sees (`isError`), with the code for programs.
///
/// A dialect's clients get it in the form that they know.
pub(crate) fn failure(error: ToolError) -> CallToolResult {
    if let Some(rendered) = error.rendered {
        let mut wire = result(*rendered);
        wire.is_error = Some(true);
        return wire;
    }
    let mut wire = CallToolResult::error(vec![ContentBlock::text(error.to_string())]);
    wire.structured_content = Some(Value::Object(error.to_json()));
    wire
}

/// An unknown tool is a fault of the protocol's level (-32602), not of a tool.
pub(crate) fn unknown_tool(error: &ToolError) -> ErrorData {
    ErrorData::invalid_params(error.to_string(), Some(Value::Object(error.to_json())))
}

/// A request about skills that fails is a fault of the protocol's level: it has no result that could
/// say so. What is gongfu's own fault isn't told as the client's.
pub(crate) fn refused(error: &ToolError) -> ErrorData {
    let (text, data) = (error.to_string(), Some(Value::Object(error.to_json())));
    match error.code() {
        ErrorCode::Unavailable | ErrorCode::Internal => ErrorData::internal_error(text, data),
        _ => ErrorData::invalid_params(text, data),
    }
}

/// The same where a resource is asked for: a missing one has a code of its own, which `rmcp`
/// writes as the revision of the client has it (SEP-2164).
pub(crate) fn no_resource(error: &ToolError) -> ErrorData {
    match error.code() {
        ErrorCode::InvalidUri | ErrorCode::ResourceNotFound => {
            ErrorData::resource_not_found(error.to_string(), Some(Value::Object(error.to_json())))
        }
        _ => refused(error),
    }
}

fn content(content: Content) -> ContentBlock {
    match content {
        Content::Text { text } => ContentBlock::text(text),
        Content::Resource { resource } => ContentBlock::resource(
            ResourceContents::blob(resource.blob, resource.uri).with_mime_type(resource.mime_type),
        ),
        Content::Foreign(block) => {
            let text = || ContentBlock::text(block.to_string());
            ContentBlock::deserialize(&block).unwrap_or_else(|_| text())
        }
    }
}
