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

/// The port, the function that makes one, and the places that may name each: the definition, the driver, the providers,
/// and where they are put together.
const FENCED: &[(&str, &[&str])] = &[
    (
        "ChatModel",
        &[
            "crates/gongfu-core/src/port.rs",
            "crates/gongfu-core/src/port/",
            "crates/gongfu-agent/",
            "crates/gongfu-llm/",
            "crates/gongfu/src/agent/",
        ],
    ),
    (
        "chat_model",
        &["crates/gongfu-llm/", "crates/gongfu/src/agent/"],
    ),
];

fn run(tree: &Tree) -> Vec<Finding> {
    let files = tree.rust().filter(|(path, _)| path.starts_with("crates/"));
    files
        .flat_map(|(path, text)| {
            let fenced = FENCED.iter();
            let fenced = fenced.filter(move |(_, allowed)| {
                !allowed.iter().any(|allowed| path.starts_with(allowed))
            });
            fenced.flat_map(move |(name, _)| {
                rust_text::lines_naming(text, name)
                    .into_iter()
                    .map(move |line| {
                        Finding::new(
                            path,
                            line,
                            format!("`{name}` is named outside the agent's driver"),
                            "let the agent ask the model, and hand its answer to this code as plain data",
                        )
                    })
            })
        })
        .collect()
}
