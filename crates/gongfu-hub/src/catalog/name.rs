//! Names of entries: their own, and the ids of other servers' tools.

use std::sync::Arc;

use gongfu_core::capability::Origin;
use gongfu_core::near;

use crate::entry::Entry;
use crate::error::ToolError;
use crate::problem::Problem;
use crate::tool::ToolSpec;

/// The start of the id of another server's tool.
const PREFIX: &str = "mcp.";
/// The names near an unknown one that an error lists.
const MAX_NEAREST: usize = 50;

/// The entry that a name means: its own, its id `mcp.<server>.<tool>`, or `mcp.<tool>` while one server alone has such
/// a tool. One with a dot in it has its id alone: it could be that of another server's tool.
pub(super) fn found<'a>(
    visible: impl Iterator<Item = &'a Arc<dyn Entry>>,
    name: &str,
) -> Option<&'a Arc<dyn Entry>> {
    if !name.starts_with(PREFIX) {
        let mut visible = visible;
        return visible.find(|entry| *entry.spec().name == *name);
    }
    match meant(visible, name).as_slice() {
        [only] => Some(only),
        _ => None,
    }
}

/// The error about a name that no entry has, or several.
pub(super) fn unknown<'a>(
    permitted: impl Iterator<Item = &'a Arc<dyn Entry>>,
    name: &str,
) -> ToolError {
    let permitted: Vec<&Arc<dyn Entry>> = permitted.collect();
    let several = meant(permitted.iter().copied(), name);
    let nearest: Vec<&str> = if several.is_empty() {
        let names = permitted.iter().map(|entry| &*entry.spec().name);
        near::nearest_first(name, names)
    } else {
        let ids = several.iter().map(|entry| &*entry.spec().permission);
        ids.collect()
    };
    let nearest = nearest.into_iter().take(MAX_NEAREST);
    Problem::UnknownTool {
        name: name.to_owned(),
        nearest: nearest.map(str::to_owned).collect(),
    }
    .error()
}

/// The tools of other servers that an id may mean: the one that has it, else those that are called so there.
fn meant<'a>(
    visible: impl Iterator<Item = &'a Arc<dyn Entry>>,
    id: &str,
) -> Vec<&'a Arc<dyn Entry>> {
    let Some(tool) = id.strip_prefix(PREFIX) else {
        return Vec::new();
    };
    let foreign: Vec<_> = visible.filter(|entry| entry.spec().is_foreign()).collect();
    let exact = foreign.iter().find(|entry| *entry.spec().permission == *id);
    if let Some(exact) = exact {
        return vec![*exact];
    }
    if tool.contains('.') {
        return Vec::new();
    }
    let is_called_so = |entry: &&Arc<dyn Entry>| name_there(entry.spec()) == Some(tool);
    foreign.into_iter().filter(is_called_so).collect()
}

/// The name of another server's tool at that server.
fn name_there(spec: &ToolSpec) -> Option<&str> {
    let Origin::Server(server) = &spec.origin else {
        return None;
    };
    let rest = spec.permission.strip_prefix(PREFIX)?;
    rest.strip_prefix(&**server)?.strip_prefix('.')
}
