//! Failed calls at the command line, for people and as JSON.

use gongfu_hub::{Content, ToolError};
use serde_json::{Value, json};

use crate::terminal::Terminal;

/// Reports a failed call: as JSON on standard output, or in words on standard error.
pub(super) fn report_error(
    error: &ToolError,
    json: bool,
    terminal: &mut Terminal,
) -> anyhow::Result<()> {
    if json {
        terminal.json(&json!({ "error": Value::Object(error.to_json()) }))?;
    } else {
        print_error(error, terminal);
    }
    Ok(())
}

/// Prints the reason of a failed call on standard error.
pub(super) fn print_error(error: &ToolError, terminal: &mut Terminal) {
    if let Some(rendered) = &error.rendered {
        for content in &rendered.content {
            if let Content::Text { text } = content {
                terminal.note(text);
            }
        }
        return;
    }
    let text = error.problem.text();
    terminal.note(&format!("error[{}]: {}", error.code(), text.message));
    if !text.hint.is_empty() {
        terminal.note(&format!("  hint: {}", text.hint));
    }
}
