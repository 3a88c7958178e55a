//! The capabilities that the server declares.

use rmcp::model::{
    ExtensionCapabilities, SKILLS_EXTENSION_ID, ServerCapabilities, SkillsCapability,
    TASKS_EXTENSION_ID,
};
use serde_json::{Map, Value};

/// Everything that is declared, to every client.
pub(super) fn all() -> ServerCapabilities {
    let mut extensions = ExtensionCapabilities::new();
    let skills = SkillsCapability::new().with_directory_read();
    if let Ok(Value::Object(settings)) = serde_json::to_value(skills) {
        extensions.insert(SKILLS_EXTENSION_ID.to_owned(), settings);
    }
    extensions.insert(TASKS_EXTENSION_ID.to_owned(), Map::default());
    ServerCapabilities::builder()
        .enable_extensions_with(extensions)
        .enable_completions()
        .enable_prompts()
        .enable_prompts_list_changed()
        .enable_resources()
        .enable_resources_list_changed()
        .enable_resources_subscribe()
        .enable_tools()
        .enable_tool_list_changed()
        .build()
}
