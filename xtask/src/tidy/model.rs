//! Only the agent's driver holds the chat-model port.
//!
//! Tools, dialects, MCP and handlers have no model: what they answer depends on nothing that one says.

use super::{Check, Finding, Rule};
use crate::rust_text;
use crate::tree::Tree;

pub(super) const CHECK: Check = Check {
    name: "model",
    about: "only the agent's driver holds the chat-model port",
    rule: Rule::Strict(run),
};

/// The name of the port.
const PORT: &str = "ChatModel";

/// The places that may name it: the driver, the definition, the providers, the wiring.
const ALLOWED: &[&str] = &[
    "crates/gongfu-core/src/port.rs",
    "crates/gongfu-core/src/port/",
    "crates/gongfu-agent/",
    "crates/gongfu-llm/",
    "crates/gongfu/",
];

fn run(tree: &Tree) -> Vec<Finding> {
    let fenced = tree.rust().filter(|(path, _)| {
        path.starts_with("crates/") && !ALLOWED.iter().any(|allowed| path.starts_with(allowed))
    });
    fenced
        .flat_map(|(path, text)| {
            rust_text::lines_naming(text, PORT).into_iter().map(move |line| {
                Finding::new(
                    path,
                    line,
                    format!("`{PORT}` is named outside the agent's driver"),
                    "let the agent ask the model, and hand its answer to this code as plain data",
                )
            })
        })
        .collect()
}
